package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"ringmaster/agent"
)

// Verify looks at objects in a store. Error codes: invalid-parameters, wrong-key, store-unreachable, store-refused.
func (s *Service) Verify(ctx context.Context, parameters agent.VerifyObjectsParameters, report agent.Report) (agent.Verified, error) {
	if len(parameters.Objects) == 0 || len(parameters.Objects) > mostKeys {
		return agent.Verified{}, agent.Errorf("invalid-parameters", "objects must be 1 to %d", mostKeys)
	}
	if parameters.Mode != agent.VerifySize && parameters.Mode != agent.VerifyContent {
		return agent.Verified{}, agent.Errorf("invalid-parameters", "mode must be size or content")
	}
	done := &progress{report: report, doing: "Verifying"}
	for _, one := range parameters.Objects {
		if err := checkObject(one); err != nil {
			return agent.Verified{}, err
		}
		done.total += one.Bytes
	}
	with, err := deriveKeys(parameters.Encryption)
	if err != nil {
		return agent.Verified{}, err
	}
	parallel, err := s.transfer(parameters.BytesPerSecond, parameters.Parallel)
	if err != nil {
		return agent.Verified{}, err
	}
	in, err := s.openStore(parameters.Store)
	if err != nil {
		return agent.Verified{}, err
	}
	result := agent.Verified{Checked: len(parameters.Objects), Bad: []agent.BadObject{}}
	var found sync.Mutex
	var read atomic.Int64
	working, ctx := errgroup.WithContext(ctx)
	working.SetLimit(parallel)
	for _, one := range parameters.Objects {
		working.Go(func() error {
			reason, err := s.verifyOne(ctx, in, with, one, parameters.Mode, &read, done)
			if err != nil || reason == "" {
				return err
			}
			found.Lock()
			defer found.Unlock()
			result.Bad = append(result.Bad, agent.BadObject{Key: one.Key, Reason: reason})
			return nil
		})
	}
	err = working.Wait()
	result.Bytes = read.Load()
	slices.SortFunc(result.Bad, func(a, b agent.BadObject) int { return strings.Compare(a.Key, b.Key) })
	return result, err
}

func checkObject(one agent.StoredObject) error {
	if !validKey(one.Key) || !validKey(one.SHA256) || one.Bytes <= 0 {
		return agent.Errorf("invalid-parameters", "an object has a key and a sha256 of 64 hexadecimal digits each, and bytes")
	}
	return nil
}

func (s *Service) verifyOne(
	ctx context.Context, in store, with keys, one agent.StoredObject, mode agent.VerifyMode, read *atomic.Int64, done *progress,
) (agent.BadReason, error) {
	reason, err := lookAt(ctx, in, one)
	if err != nil || reason != "" || mode == agent.VerifySize {
		done.add(one.Bytes)
		return reason, err
	}
	err = s.readObject(ctx, in, with, one, done, read, nothing, func(component) (io.WriteCloser, error) { return discarded{}, nil })
	return reasonOf(err)
}

// lookAt compares length only.
func lookAt(ctx context.Context, in store, one agent.StoredObject) (agent.BadReason, error) {
	size, err := in.size(ctx, objectName(one.Key))
	switch {
	case errors.Is(err, errMissing):
		return agent.ObjectMissing, nil
	case err != nil:
		return "", err
	case size != one.Bytes:
		return agent.ObjectSize, nil
	}
	return "", nil
}

// reasonOf tells apart what is wrong with the object from what went wrong.
func reasonOf(err error) (agent.BadReason, error) {
	switch {
	case errors.Is(err, errMissing):
		return agent.ObjectMissing, nil
	case errors.Is(err, errDamaged):
		return agent.ObjectContent, nil
	}
	return "", err
}

func nothing(header) error { return nil }

type discarded struct{}

func (discarded) Write(content []byte) (int, error) { return len(content), nil }
func (discarded) Close() error                      { return nil }

// readObject reads all of an object, checks every byte of it, and gives its files. The object as such is not hashed: its bytes follow
// from the hashes of the files, which its key is made of, and each is authenticated when it is decrypted. Errors: errMissing,
// errDamaged, those of the store and of create, and with the code wrong-key.
func (s *Service) readObject(
	ctx context.Context, in store, with keys, one agent.StoredObject, done *progress, read *atomic.Int64,
	begin func(header) error, create func(component) (io.WriteCloser, error),
) error {
	line := &steady{ctx: ctx, from: in, name: objectName(one.Key)}
	defer line.Close()
	counted := &counter{in: line, read: read}
	_, err := unseal(with, one.Key, &paced{ctx: ctx, in: counted, limit: &s.limit, done: done}, begin, create)
	if errors.Is(err, errWrongKey) {
		return s.wrongKey(ctx, in, one, done, read)
	}
	if err == nil && counted.own != one.Bytes {
		return errDamaged
	}
	return err
}

// wrongKey tells an object of another key from one whose beginning was damaged: only the hash of all its bytes can.
func (s *Service) wrongKey(ctx context.Context, in store, one agent.StoredObject, done *progress, read *atomic.Int64) error {
	line := &steady{ctx: ctx, from: in, name: objectName(one.Key)}
	defer line.Close()
	sum := sha256.New()
	counted := &counter{in: line, read: read}
	if _, err := io.Copy(sum, &paced{ctx: ctx, in: counted, limit: &s.limit, done: done}); err != nil {
		return err
	}
	if counted.own != one.Bytes || digest(sum) != one.SHA256 {
		return errDamaged
	}
	return agent.Errorf("wrong-key", "%s is whole, but was encrypted with another key than the one given.", one.Key)
}

// counter counts what was read of one object, and of all.
type counter struct {
	in   io.Reader
	own  int64
	read *atomic.Int64
}

func (c *counter) Read(into []byte) (int, error) {
	count, err := c.in.Read(into)
	c.own += int64(count)
	c.read.Add(int64(count))
	return count, err
}
