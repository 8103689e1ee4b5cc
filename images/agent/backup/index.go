package backup

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"ringmaster/agent"
)

// TableFolder is where the files of one table of a snapshot are.
type TableFolder struct {
	Keyspace, Table, TableID string
	Folder                   string
}

// sstable is one found in a folder, with its files.
type sstable struct {
	TableFolder
	// name is how its files begin: nb-3gx0_0wzo_1ab2c-big.
	name, version, id, format string
	files                     []fileFact
}

// fileFact is a file as it is on disk. As long as none of it changes, its content is believed not to have changed either.
type fileFact struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"`
	Inode   uint64 `json:"inode"`
}

// known is an SSTable that was hashed.
type known struct {
	TableID string     `json:"table_id"`
	SSTable string     `json:"sstable"`
	Files   []fileFact `json:"files"`
	SHA256  []string   `json:"sha256"`
	// Checks are checksums of the files, CRC-32C.
	Checks []uint32     `json:"checks"`
	Facts  sstableFacts `json:"facts"`
}

// indexed is a line of the index of a snapshot: a bundle, and what is needed to make its object.
type indexed struct {
	agent.Bundle
	Folder string `json:"folder"`
	Header header `json:"header"`
	// Checks are checksums of the files, CRC-32C.
	Checks []uint32 `json:"checks"`
}

// An SSTable's name: version, id, format, component. An id is a number, or three parts of a UUID, base 36, joined with underscores.
var fileForm = regexp.MustCompile(`^([a-z]{2})-([0-9]+|[0-9a-z]{4}_[0-9a-z]{4}_[0-9a-z]{18})-(big|bti)-([A-Za-z0-9_+.]+)$`)

// fromUUID tells whether no other SSTable ever has that id.
func (s sstable) fromUUID() bool { return strings.Contains(s.id, "_") }

// leftOut are files that are made anew at a restore: the list of contents, to which the engine appends, and indexes.
func leftOut(name string) bool {
	return name == "TOC.txt" || strings.HasPrefix(name, "SAI+") || strings.HasPrefix(name, "SI_")
}

// findSSTables lists those of a folder. One without its list of contents is whole too: the engine makes that last, but not in
// snapshots of its own that are older.
func findSSTables(of TableFolder) ([]sstable, error) {
	entries, err := os.ReadDir(of.Folder)
	if err != nil {
		return nil, err
	}
	byName := map[string]*sstable{}
	for _, entry := range entries {
		parts := fileForm.FindStringSubmatch(entry.Name())
		if parts == nil || !entry.Type().IsRegular() || leftOut(parts[4]) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		name := strings.Join(parts[1:4], "-")
		if byName[name] == nil {
			byName[name] = &sstable{TableFolder: of, name: name, version: parts[1], id: parts[2], format: parts[3]}
		}
		fact := fileFact{Name: parts[4], Size: info.Size(), Changed: info.ModTime().UnixNano()}
		if system, ok := info.Sys().(*syscall.Stat_t); ok {
			fact.Inode = system.Ino
		}
		byName[name].files = append(byName[name].files, fact)
	}
	found := make([]sstable, 0, len(byName))
	for _, one := range byName {
		if !slices.ContainsFunc(one.files, func(file fileFact) bool { return file.Name == "Data.db" }) {
			return nil, fmt.Errorf("%s/%s has no Data.db", of.Folder, one.name)
		}
		slices.SortFunc(one.files, func(a, b fileFact) int { return strings.Compare(a.Name, b.Name) })
		found = append(found, *one)
	}
	slices.SortFunc(found, func(a, b sstable) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func (s sstable) bytes() int64 {
	var total int64
	for _, file := range s.files {
		total += file.Size
	}
	return total
}

// hash reads all files. Facts come from the same files.
func (s sstable) hash(ctx context.Context, read *atomic.Int64) (known, error) {
	hashed := known{TableID: s.TableID, SSTable: s.name, Files: s.files}
	path := filepath.Join(s.Folder, s.name+"-")
	for _, file := range s.files {
		sum, check, err := hashFile(ctx, path+file.Name, file.Size, read)
		if err != nil {
			return known{}, err
		}
		hashed.SHA256, hashed.Checks = append(hashed.SHA256, sum), append(hashed.Checks, check)
	}
	var err error
	hashed.Facts, err = readFacts(path, s.version, s.format)
	return hashed, err
}

func hashFile(ctx context.Context, path string, size int64, read *atomic.Int64) (sha string, check uint32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum, buffer := sha256.New(), make([]byte, min(size+1, chunkBytes))
	var total int64
	for {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		count, err := file.Read(buffer)
		sum.Write(buffer[:count])
		check = crc32.Update(check, castagnoli, buffer[:count])
		total += int64(count)
		read.Add(int64(count))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", 0, err
		}
	}
	if total != size {
		return "", 0, fmt.Errorf("%s changed while it was read", path)
	}
	return digest(sum), check, nil
}

// describe makes the line of the index.
func (s sstable) describe(hashed known, with keys) indexed {
	of := header{Format: s.version + "-" + s.format}
	for index, file := range s.files {
		of.Components = append(of.Components, component{Name: file.Name, Size: file.Size, SHA256: hashed.SHA256[index]})
	}
	return indexed{
		Bundle: agent.Bundle{
			Key: with.bundleKey(of), Keyspace: s.Keyspace, Table: s.Table, TableID: s.TableID, SSTable: s.name,
			Bytes: of.bytes(), StoredBytes: of.storedBytes(),
			MinToken: hashed.Facts.MinToken, MaxToken: hashed.Facts.MaxToken, Level: hashed.Facts.Level, RepairedAt: hashed.Facts.RepairedAt,
		},
		Folder: s.Folder, Header: of, Checks: hashed.Checks,
	}
}

// hashers is how many files are read at once: enough for a disk, not for all of the engine's CPUs.
const hashers = 2

// Index names all bundles of a snapshot by their content. Error codes: snapshot-not-found, invalid-parameters.
func (s *Service) Index(ctx context.Context, parameters agent.IndexSnapshotParameters, report agent.Report) (agent.Indexed, error) {
	if err := checkName("tag", parameters.Tag); err != nil {
		return agent.Indexed{}, err
	}
	with, err := deriveKeys(parameters.Encryption)
	if err != nil {
		return agent.Indexed{}, err
	}
	folders, err := s.node.Snapshot(parameters.Tag)
	if err != nil {
		return agent.Indexed{}, err
	}
	if len(folders) == 0 {
		return agent.Indexed{}, agent.Errorf("snapshot-not-found", "There is no snapshot %s on this node; it may have ended by itself.", parameters.Tag)
	}
	report(0.01, "Looking for SSTables")
	var found []sstable
	for _, folder := range folders {
		of, err := findSSTables(folder)
		if err != nil {
			return agent.Indexed{}, err
		}
		found = append(found, of...)
	}
	// One index at a time: all share the file of what is known.
	s.indexing.Lock()
	defer s.indexing.Unlock()
	s.forgetOldIndexes(parameters.Tag)
	before, err := s.readKnown()
	if err != nil {
		return agent.Indexed{}, err
	}
	result := agent.Indexed{Bundles: len(found)}
	for _, one := range found {
		result.Bytes += one.bytes()
	}
	hashed, err := s.hashUnknown(ctx, found, before, &result.HashedBytes, report)
	if err != nil {
		return agent.Indexed{}, err
	}
	// The largest first, so that the last upload to end is a short one.
	order := make([]int, len(found))
	for index := range order {
		order[index] = index
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(found[b].bytes(), found[a].bytes()) })
	err = writeLines(s.indexPath(parameters.Tag), func(yield func(any) error) error {
		for _, index := range order {
			if err := yield(found[index].describe(hashed[index], with)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return agent.Indexed{}, err
	}
	return result, s.writeKnown(before, found, hashed)
}

// hashUnknown gives what is known of all, in the same order.
func (s *Service) hashUnknown(
	ctx context.Context, found []sstable, before map[string]known, read *int64, report agent.Report,
) ([]known, error) {
	hashed := make([]known, len(found))
	var done atomic.Int64
	var toRead int64
	var unknown []int
	for index, one := range found {
		if last, seen := before[one.TableID+"/"+one.name]; seen && one.fromUUID() && slices.Equal(last.Files, one.files) {
			hashed[index] = last
			continue
		}
		unknown = append(unknown, index)
		toRead += one.bytes()
	}
	working, ctx := errgroup.WithContext(ctx)
	working.SetLimit(hashers)
	for _, index := range unknown {
		working.Go(func() (err error) {
			hashed[index], err = found[index].hash(ctx, &done)
			report(0.02+0.97*float64(done.Load())/float64(max(toRead, 1)), "Hashing: "+of(done.Load(), toRead))
			return err
		})
	}
	err := working.Wait()
	*read = done.Load()
	if errors.Is(err, fs.ErrNotExist) {
		err = agent.Errorf("snapshot-not-found", "The snapshot ended while it was read: %v", err)
	}
	return hashed, err
}

// readKnown reads what was hashed before; a file that cannot be read only costs hashing again.
func (s *Service) readKnown() (map[string]known, error) {
	before := map[string]known{}
	err := readLines(s.knownPath(), 0, func(line []byte) (bool, error) {
		var one known
		if err := json.Unmarshal(line, &one); err != nil {
			return false, nil
		}
		before[one.TableID+"/"+one.SSTable] = one
		return true, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return before, err
}

// writeKnown keeps what was found now, and what was known of tables that were not looked at.
func (s *Service) writeKnown(before map[string]known, found []sstable, hashed []known) error {
	looked := map[string]bool{}
	for _, one := range found {
		looked[one.TableID] = true
	}
	return writeLines(s.knownPath(), func(yield func(any) error) error {
		for index, one := range found {
			if one.fromUUID() {
				if err := yield(hashed[index]); err != nil {
					return err
				}
			}
		}
		for _, one := range before {
			if !looked[one.TableID] {
				if err := yield(one); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// longestLine is far above that of any bundle.
const longestLine = 1 << 20

// writeLines writes JSON lines: the file is whole or as before.
func writeLines(path string, write func(yield func(any) error) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	buffered := bufio.NewWriterSize(file, 1<<16)
	encoder := json.NewEncoder(buffered)
	if err := write(encoder.Encode); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// readLines gives lines from a place in the file on, until take wants no more.
func readLines(path string, from int64, take func(line []byte) (more bool, err error)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 1<<16), longestLine)
	for lines.Scan() {
		if more, err := take(lines.Bytes()); err != nil || !more {
			return err
		}
	}
	return lines.Err()
}

// mostOnPage bounds a page to some 400 KiB.
const mostOnPage = 1000

// Bundles gives a page of the index of a snapshot. Error codes: snapshot-not-found, snapshot-not-indexed, invalid-page.
func (s *Service) Bundles(tag, after string, limit int) (agent.BundlePage, error) {
	if err := checkName("tag", tag); err != nil {
		return agent.BundlePage{}, err
	}
	var from int64
	if after != "" {
		var err error
		if from, err = strconv.ParseInt(after, 10, 64); err != nil || from < 0 {
			return agent.BundlePage{}, agent.Errorf("invalid-page", "after must be the next of the page before.")
		}
	}
	if limit < 1 || limit > mostOnPage {
		return agent.BundlePage{}, agent.Errorf("invalid-page", "limit must be 1 to %d.", mostOnPage)
	}
	page := agent.BundlePage{Items: []agent.Bundle{}}
	next := from
	err := readLines(s.indexPath(tag), from, func(line []byte) (bool, error) {
		if len(page.Items) == limit {
			page.Next = strconv.FormatInt(next, 10)
			return false, nil
		}
		var one indexed
		if err := json.Unmarshal(line, &one); err != nil {
			return false, agent.Errorf("invalid-page", "after must be the next of the page before.")
		}
		page.Items = append(page.Items, one.Bundle)
		next += int64(len(line)) + 1
		return true, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return agent.BundlePage{}, agent.Errorf("snapshot-not-indexed", "No snapshot %s was indexed on this node.", tag)
	}
	return page, err
}

// Forget removes the index of a snapshot that is gone.
func (s *Service) Forget(tag string) error {
	if err := checkName("tag", tag); err != nil {
		return err
	}
	for _, path := range []string{s.indexPath(tag), s.journalPath(tag)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// forgetOldIndexes forgets those of snapshots that have ended by themselves.
func (s *Service) forgetOldIndexes(current string) {
	paths, _ := filepath.Glob(s.indexPath("*"))
	for _, path := range paths {
		tag := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		if tag == current {
			continue
		}
		if folders, err := s.node.Snapshot(tag); err == nil && len(folders) == 0 {
			_ = s.Forget(tag)
		}
	}
}
