package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"ringmaster/agent"
)

// mostKeys bounds a request to less than the API takes.
const mostKeys = 1000

// storedEntry is a line of the journal of a snapshot's uploads: what a job that was interrupted need not do again.
type storedEntry struct {
	agent.StoredObject
	// Where is the store, without its secrets.
	Where string `json:"where"`
}

func place(of agent.Store) string {
	return fmt.Sprintf("%s %s %s %s %s", of.Kind, of.Folder, of.Endpoint, of.Bucket, of.Prefix)
}

// Upload stores bundles of a snapshot. Error codes: invalid-parameters, snapshot-not-indexed, bundle-not-found, bundle-changed,
// store-unreachable, store-refused, store-full.
func (s *Service) Upload(ctx context.Context, parameters agent.UploadBundlesParameters, report agent.Report) (agent.Uploaded, error) {
	if err := checkName("tag", parameters.Tag); err != nil {
		return agent.Uploaded{}, err
	}
	if len(parameters.Keys) == 0 || len(parameters.Keys) > mostKeys {
		return agent.Uploaded{}, agent.Errorf("invalid-parameters", "keys must be 1 to %d", mostKeys)
	}
	with, err := deriveKeys(parameters.Encryption)
	if err != nil {
		return agent.Uploaded{}, err
	}
	parallel, err := s.transfer(parameters.BytesPerSecond, parameters.Parallel)
	if err != nil {
		return agent.Uploaded{}, err
	}
	bundles, err := s.chosen(parameters.Tag, parameters.Keys)
	if err != nil {
		return agent.Uploaded{}, err
	}
	to, err := s.openStore(parameters.Store)
	if err != nil {
		return agent.Uploaded{}, err
	}
	journal, err := s.openJournal(parameters.Tag, place(parameters.Store))
	if err != nil {
		return agent.Uploaded{}, err
	}
	defer journal.file.Close()
	done := &progress{report: report, doing: "Storing"}
	for _, one := range bundles {
		done.total += one.StoredBytes
	}
	done.add(0)
	stored := make([]agent.StoredObject, len(bundles))
	working, ctx := errgroup.WithContext(ctx)
	working.SetLimit(parallel)
	for index, one := range bundles {
		working.Go(func() (err error) {
			if before, found := journal.stored[one.Key]; found {
				// The store is asked: somebody may have emptied it.
				if size, err := to.size(ctx, objectName(one.Key)); err == nil && size == before.Bytes {
					stored[index] = before
					done.add(one.StoredBytes)
					return nil
				}
			}
			if stored[index], err = s.uploadOne(ctx, to, with, one, done); err != nil {
				return err
			}
			return journal.add(stored[index])
		})
	}
	return agent.Uploaded{Stored: stored}, working.Wait()
}

// chosen are lines of the index, in the order of the keys, each key once.
func (s *Service) chosen(tag string, keys []string) ([]indexed, error) {
	wanted := map[string]int{}
	for _, key := range keys {
		if _, twice := wanted[key]; !twice {
			wanted[key] = len(wanted)
		}
	}
	bundles, found := make([]indexed, len(wanted)), map[string]bool{}
	err := readLines(s.indexPath(tag), 0, func(line []byte) (bool, error) {
		var one indexed
		if err := json.Unmarshal(line, &one); err != nil {
			return false, err
		}
		if index, is := wanted[one.Key]; is && !found[one.Key] {
			bundles[index], found[one.Key] = one, true
		}
		return len(found) < len(wanted), nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, agent.Errorf("snapshot-not-indexed", "No snapshot %s was indexed on this node.", tag)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if !found[key] {
			return nil, agent.Errorf("bundle-not-found", "The snapshot %s has no bundle %s; it may have been indexed with another key.", tag, key)
		}
	}
	return bundles, nil
}

func (s *Service) uploadOne(ctx context.Context, to store, with keys, one indexed, done *progress) (agent.StoredObject, error) {
	content := seal(with, one.Header, one.Checks, one.Key, func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(one.Folder, one.SSTable+"-"+name))
	})
	defer content.Close()
	err := to.put(ctx, objectName(one.Key), one.StoredBytes, &paced{ctx: ctx, in: content, limit: &s.limit, done: done})
	switch {
	case errors.Is(err, errChanged):
		return agent.StoredObject{}, agent.Errorf("bundle-changed", "%s of %s.%s: %v. Take a new snapshot.", one.SSTable, one.Keyspace, one.Table, err)
	case errors.Is(err, fs.ErrNotExist):
		return agent.StoredObject{}, agent.Errorf("snapshot-not-found", "The snapshot ended while it was stored: %v", err)
	case err != nil:
		return agent.StoredObject{}, err
	}
	return agent.StoredObject{Key: one.Key, Bytes: one.StoredBytes, SHA256: content.digest()}, nil
}

// paced gives bytes at the pace of the node's limit.
type paced struct {
	ctx   context.Context
	in    io.Reader
	limit *limit
	done  *progress
}

func (p *paced) Read(into []byte) (int, error) {
	count, err := p.in.Read(into[:min(len(into), p.limit.piece())])
	if count > 0 {
		if err := p.limit.take(p.ctx, count); err != nil {
			return 0, err
		}
		p.done.add(int64(count))
	}
	return count, err
}

// journal remembers what was stored of a snapshot. After a crash its last line may be cut; that object is stored again.
type journal struct {
	where  string
	stored map[string]agent.StoredObject
	mu     sync.Mutex
	file   *os.File
}

func (s *Service) openJournal(tag, where string) (*journal, error) {
	j := &journal{where: where, stored: map[string]agent.StoredObject{}}
	err := readLines(s.journalPath(tag), 0, func(line []byte) (bool, error) {
		var one storedEntry
		if json.Unmarshal(line, &one) == nil && one.Where == where {
			j.stored[one.Key] = one.StoredObject
		}
		return true, nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	j.file, err = os.OpenFile(s.journalPath(tag), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return j, err
}

func (j *journal) add(stored agent.StoredObject) error {
	line, err := json.Marshal(storedEntry{StoredObject: stored, Where: j.where})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// A line of its own even after one that was cut.
	_, err = j.file.Write(append(append([]byte{'\n'}, line...), '\n'))
	return err
}
