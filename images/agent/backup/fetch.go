package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"ringmaster/agent"
)

// mostBundles bounds a request to less than the API takes.
const mostBundles = 500

// tableForm is what engines accept as the name of a keyspace or a table.
var tableForm = regexp.MustCompile(`^[A-Za-z0-9_]{1,222}$`)

// A fetched bundle is a folder RESTORE/KEYSPACE.TABLE/KEY with the files of one SSTable. It gets that name when all of it is
// on the disk and was found to be right.
const unfinished = ".part"

// fetching keeps two jobs from writing the same bundle.
type fetching struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// alone waits until nobody else fetches a bundle.
func (f *fetching) alone(ctx context.Context, path string) (release func(), err error) {
	for {
		f.mu.Lock()
		other, busy := f.busy[path]
		if !busy {
			if f.busy == nil {
				f.busy = map[string]chan struct{}{}
			}
			ended := make(chan struct{})
			f.busy[path] = ended
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				delete(f.busy, path)
				close(ended)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Service) checkFetch(parameters agent.FetchBundlesParameters) error {
	if err := checkName("restore", parameters.Restore); err != nil {
		return err
	}
	if len(parameters.Bundles) == 0 || len(parameters.Bundles) > mostBundles {
		return agent.Errorf("invalid-parameters", "bundles must be 1 to %d", mostBundles)
	}
	for _, one := range parameters.Bundles {
		if err := checkObject(one.StoredObject); err != nil {
			return err
		}
		if !tableForm.MatchString(one.Keyspace) || !tableForm.MatchString(one.Table) {
			return agent.Errorf("invalid-parameters", "a bundle has the names of a keyspace and of a table")
		}
	}
	return nil
}

// Fetch puts bundles into the folder of a restore. All are tried; those that are right stay. Error codes: invalid-parameters,
// no-space, object-damaged, wrong-key, store-unreachable, store-refused.
func (s *Service) Fetch(ctx context.Context, parameters agent.FetchBundlesParameters, report agent.Report) (agent.Fetched, error) {
	if err := s.checkFetch(parameters); err != nil {
		return agent.Fetched{}, err
	}
	with, err := deriveKeys(parameters.Encryption)
	if err != nil {
		return agent.Fetched{}, err
	}
	parallel, err := s.transfer(parameters.BytesPerSecond, parameters.Parallel)
	if err != nil {
		return agent.Fetched{}, err
	}
	from, err := s.openStore(parameters.Store)
	if err != nil {
		return agent.Fetched{}, err
	}
	if err := s.room(parameters); err != nil {
		return agent.Fetched{}, err
	}
	done := &progress{report: report, doing: "Fetching"}
	for _, one := range parameters.Bundles {
		done.total += one.Bytes
	}
	done.add(0)
	var files, read atomic.Int64
	var found sync.Mutex
	var bad []string
	working, ctx := errgroup.WithContext(ctx)
	working.SetLimit(parallel)
	for _, one := range parameters.Bundles {
		working.Go(func() error {
			bytes, reason, err := s.fetchOne(ctx, from, with, parameters.Restore, one, &read, done)
			files.Add(bytes)
			if reason != "" {
				found.Lock()
				defer found.Unlock()
				bad = append(bad, fmt.Sprintf("%s (%s)", one.Key, reason))
			}
			return err
		})
	}
	if err := working.Wait(); err != nil {
		return agent.Fetched{}, err
	}
	if len(bad) > 0 {
		slices.Sort(bad)
		const most = 5
		more := ""
		if len(bad) > most {
			more = fmt.Sprintf(" and %d more", len(bad)-most)
		}
		return agent.Fetched{}, agent.Errorf("object-damaged", "Not what was stored, nothing of them is used: %s%s.",
			strings.Join(bad[:min(len(bad), most)], ", "), more)
	}
	return agent.Fetched{Bundles: len(parameters.Bundles), Bytes: files.Load(), FetchedBytes: read.Load()}, nil
}

// room refuses what does not fit, with a twentieth of the disk left for the engine. Error code: no-space.
func (s *Service) room(parameters agent.FetchBundlesParameters) error {
	if err := os.MkdirAll(s.restorePath(parameters.Restore), 0o700); err != nil {
		return err
	}
	var needed int64
	for _, one := range parameters.Bundles {
		if _, err := os.Stat(s.bundlePath(parameters.Restore, one)); err != nil {
			needed += one.Bytes
		}
	}
	free, err := freeBytes(s.node.Restores)
	if err != nil {
		return err
	}
	if needed > free-free/20 {
		return agent.Errorf("no-space", "%d bytes are to be fetched and %d are free on this node.", needed, free)
	}
	return nil
}

func (s *Service) bundlePath(restore string, one agent.BundleToFetch) string {
	return filepath.Join(s.tablePath(restore, one.Keyspace+"."+one.Table), one.Key)
}

func (s *Service) fetchOne(
	ctx context.Context, from store, with keys, restore string, one agent.BundleToFetch, read *atomic.Int64, done *progress,
) (bytes int64, reason agent.BadReason, err error) {
	path := s.bundlePath(restore, one)
	release, err := s.fetching.alone(ctx, path)
	if err != nil {
		return 0, "", err
	}
	defer release()
	if bytes, err := folderBytes(path); err == nil {
		done.add(one.Bytes)
		return bytes, "", nil
	}
	// What is in a folder of this name was not finished: it is begun anew.
	folder := path + unfinished
	if err := os.RemoveAll(folder); err != nil {
		return 0, "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, "", err
	}
	if reason, err = lookAt(ctx, from, one.StoredObject); err == nil && reason == "" {
		bytes, err = s.writeBundle(ctx, from, with, one.StoredObject, folder, read, done)
		reason, err = reasonOf(err)
	}
	if reason != "" || err != nil {
		return 0, reason, errors.Join(err, os.RemoveAll(folder))
	}
	if err := os.Rename(folder, path); err != nil {
		return 0, "", err
	}
	return bytes, "", syncFolder(filepath.Dir(path))
}

// fetchedName is how the files of a fetched SSTable begin: each is alone in its folder, and the engine gives it a name of its own.
func fetchedName(of header) string {
	version, format, _ := strings.Cut(of.Format, "-")
	return version + "-1-" + format + "-"
}

func (s *Service) writeBundle(
	ctx context.Context, from store, with keys, one agent.StoredObject, folder string, read *atomic.Int64, done *progress,
) (int64, error) {
	var told header
	var written []*directFile
	defer func() {
		for _, file := range written {
			_ = file.Close()
		}
	}()
	begin := func(of header) error {
		told = of
		return nil
	}
	create := func(part component) (io.WriteCloser, error) {
		file, err := createDirect(filepath.Join(folder, fetchedName(told)+part.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600, part.Size)
		if err != nil {
			return nil, err
		}
		written = append(written, file)
		return leftOpen{file}, nil
	}
	if err := s.readObject(ctx, from, with, one, done, read, begin, create); err != nil {
		return 0, err
	}
	list, err := createDirect(filepath.Join(folder, fetchedName(told)+"TOC.txt"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600, 0)
	if err != nil {
		return 0, err
	}
	written = append(written, list)
	for _, part := range told.Components {
		if _, err := fmt.Fprintln(list, part.Name); err != nil {
			return 0, err
		}
	}
	if _, err := fmt.Fprintln(list, "TOC.txt"); err != nil {
		return 0, err
	}
	for _, file := range written {
		if err := file.finish(); err != nil {
			return 0, err
		}
	}
	return told.bytes(), syncFolder(folder)
}

// leftOpen is closed later, when the file is made to last.
type leftOpen struct{ file io.Writer }

func (l leftOpen) Write(content []byte) (int, error) { return l.file.Write(content) }
func (leftOpen) Close() error                        { return nil }

// folderBytes are those of the files of an SSTable in a folder, without the list of contents.
func folderBytes(path string) (int64, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return 0, err
		}
		if !strings.HasSuffix(entry.Name(), "-TOC.txt") {
			total += info.Size()
		}
	}
	return total, nil
}

// Ready is a bundle that was fetched.
type Ready struct {
	// Folder holds the files of one SSTable and nothing else.
	Folder string
	Bytes  int64
}

// Taken removes the files. The folder stays: the bundle is not fetched again for the same restore.
func (r Ready) Taken() error {
	entries, err := os.ReadDir(r.Folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(r.Folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Fetched lists the bundles of a table that were fetched for a restore and not taken yet. Error codes: invalid-parameters,
// restore-not-found.
func (s *Service) Fetched(restore, keyspace, table string) ([]Ready, error) {
	if err := checkName("restore", restore); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.restorePath(restore)); errors.Is(err, fs.ErrNotExist) {
		return nil, agent.Errorf("restore-not-found", "Nothing was fetched for the restore %s on this node.", restore)
	}
	parent := s.tablePath(restore, keyspace+"."+table)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ready []Ready
	for _, entry := range entries {
		if !validKey(entry.Name()) {
			continue
		}
		folder := filepath.Join(parent, entry.Name())
		if data, err := filepath.Glob(filepath.Join(folder, "*-Data.db")); err != nil || len(data) == 0 {
			continue
		}
		bytes, err := folderBytes(folder)
		if err != nil {
			return nil, err
		}
		ready = append(ready, Ready{Folder: folder, Bytes: bytes})
	}
	return ready, nil
}

// Drop removes what was fetched for a restore. Error code: invalid-parameters.
func (s *Service) Drop(_ context.Context, parameters agent.DropRestoreParameters, _ agent.Report) (struct{}, error) {
	if err := checkName("restore", parameters.Restore); err != nil {
		return struct{}{}, err
	}
	return struct{}{}, os.RemoveAll(s.restorePath(parameters.Restore))
}
