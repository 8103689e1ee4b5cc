package backup

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"ringmaster/agent"
)

// SSTables that other programs left are fetched into the folder of a restore as bundles are: from there on they are treated alike.

const (
	// murmur3 is the only way in which our rings place keys.
	murmur3 = "org.apache.cassandra.dht.Murmur3Partitioner"
	// mostForeignFile bounds the small files that are read whole.
	mostForeignFile = 64 << 20
	tableOfContents = "TOC.txt"
)

var (
	// foreignName is how files of SSTables that engines read today begin: those of 3.0 and later.
	foreignName = regexp.MustCompile(`^([mno][a-z]|da)-([0-9]+|[0-9a-z]{4}_[0-9a-z]{4}_[0-9a-z]{18})-(big|bti)$`)
	// storedName is that of an object: parts that do not begin with a dot, so that none leads elsewhere.
	storedName = regexp.MustCompile(`^[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*(/[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*)*$`)
	md5Form    = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// needed are files without which an SSTable is none.
func needed(format string) []string {
	if format == "bti" {
		return []string{"Data.db", "Statistics.db", "Partitions.db", "Rows.db"}
	}
	return []string{"Data.db", "Statistics.db", "Index.db"}
}

func checkForeign(one agent.ForeignSSTable) error {
	parts := foreignName.FindStringSubmatch(one.SSTable)
	switch {
	case !validKey(one.Key):
		return agent.Errorf("invalid-parameters", "the key of an SSTable is 64 hexadecimal digits")
	case !tableForm.MatchString(one.Keyspace) || !tableForm.MatchString(one.Table):
		return agent.Errorf("invalid-parameters", "an SSTable has the names of a keyspace and of a table")
	case parts == nil:
		return agent.Errorf("unknown-format", "%s is not of a format that this engine reads.", one.SSTable)
	case !storedName.MatchString(one.Folder):
		return agent.Errorf("invalid-parameters", "%q is not a folder of a store", one.Folder)
	}
	for _, file := range one.Files {
		if !componentForm.MatchString(file.Name) || file.Bytes < 0 || (file.MD5 != "" && !md5Form.MatchString(file.MD5)) || file.PartBytes < 0 {
			return agent.Errorf("invalid-parameters", "%q of %s is not a file", file.Name, one.SSTable)
		}
	}
	for _, name := range needed(parts[3]) {
		if !slices.ContainsFunc(one.Files, func(file agent.ForeignFile) bool { return file.Name == name }) {
			return agent.Errorf("sstable-incomplete", "%s/%s has no %s.", one.Folder, one.SSTable, name)
		}
	}
	return nil
}

// FetchFiles puts SSTables that other programs left into the folder of a restore. Every file is as long as was told and has the MD5
// that was told, the data have the checksum that the engine wrote beside them, nothing that the list of contents names is missing, and
// keys are placed as in our rings. All are tried. Error codes: invalid-parameters, unknown-format, sstable-incomplete, no-space,
// file-damaged, other-partitioner, store-unreachable, store-refused.
func (s *Service) FetchFiles(ctx context.Context, parameters agent.FetchFilesParameters, report agent.Report) (agent.Fetched, error) {
	if err := checkName("restore", parameters.Restore); err != nil {
		return agent.Fetched{}, err
	}
	if len(parameters.SSTables) == 0 || len(parameters.SSTables) > mostBundles {
		return agent.Fetched{}, agent.Errorf("invalid-parameters", "sstables must be 1 to %d", mostBundles)
	}
	done := &progress{report: report, doing: "Fetching"}
	var needs []agent.BundleToFetch
	for _, one := range parameters.SSTables {
		if err := checkForeign(one); err != nil {
			return agent.Fetched{}, err
		}
		done.total += bytesOf(one)
		needs = append(needs, agent.BundleToFetch{
			StoredObject: agent.StoredObject{Key: one.Key, Bytes: bytesOf(one)}, Keyspace: one.Keyspace, Table: one.Table,
		})
	}
	parallel, err := s.transfer(parameters.BytesPerSecond, parameters.Parallel)
	if err != nil {
		return agent.Fetched{}, err
	}
	from, err := s.openStore(parameters.Store)
	if err != nil {
		return agent.Fetched{}, err
	}
	if err := s.room(agent.FetchBundlesParameters{Restore: parameters.Restore, Bundles: needs}); err != nil {
		return agent.Fetched{}, err
	}
	done.add(0)
	var files, read atomic.Int64
	var found sync.Mutex
	var bad []string
	working, ctx := errgroup.WithContext(ctx)
	working.SetLimit(parallel)
	for index, one := range parameters.SSTables {
		working.Go(func() error {
			bytes, err := s.fetchForeign(ctx, from, s.bundlePath(parameters.Restore, needs[index]), one, &read, done)
			files.Add(bytes)
			if errors.Is(err, errDamaged) || errors.Is(err, errMissing) {
				found.Lock()
				defer found.Unlock()
				bad = append(bad, err.Error())
				return nil
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
		return agent.Fetched{}, agent.Errorf("file-damaged", "Not what it should be, nothing of it is used: %s%s.",
			strings.Join(bad[:min(len(bad), most)], "; "), more)
	}
	return agent.Fetched{Bundles: len(parameters.SSTables), Bytes: files.Load(), FetchedBytes: read.Load()}, nil
}

func bytesOf(one agent.ForeignSSTable) int64 {
	var total int64
	for _, file := range one.Files {
		total += file.Bytes
	}
	return total
}

func (s *Service) fetchForeign(
	ctx context.Context, from store, whole string, one agent.ForeignSSTable, read *atomic.Int64, done *progress,
) (int64, error) {
	release, err := s.fetching.alone(ctx, whole)
	if err != nil {
		return 0, err
	}
	defer release()
	if bytes, err := folderBytes(whole); err == nil {
		done.add(bytesOf(one))
		return bytes, nil
	}
	folder := whole + unfinished
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return 0, err
	}
	if err := s.writeForeign(ctx, from, folder, one, read, done); err != nil {
		return 0, errors.Join(err, os.RemoveAll(folder))
	}
	if err := os.Rename(folder, whole); err != nil {
		return 0, err
	}
	bytes, err := folderBytes(whole)
	return bytes, errors.Join(err, syncFolder(filepath.Dir(whole)))
}

func (s *Service) writeForeign(
	ctx context.Context, from store, folder string, one agent.ForeignSSTable, read *atomic.Int64, done *progress,
) error {
	parts := foreignName.FindStringSubmatch(one.SSTable)
	version, format := parts[1], parts[3]
	begins := filepath.Join(folder, version+"-1-"+format+"-")
	var names []string
	var dataSum uint32
	for _, file := range one.Files {
		if leftOut(file.Name) && file.Name != tableOfContents {
			continue
		}
		sum, err := s.writeForeignFile(ctx, from, path.Join(one.Folder, one.SSTable+"-"+file.Name), file, begins+file.Name, read, done)
		if err != nil {
			return err
		}
		if file.Name == "Data.db" {
			dataSum = sum
		}
		if file.Name != tableOfContents {
			names = append(names, file.Name)
		}
	}
	if err := foreignIsWhole(begins, path.Join(one.Folder, one.SSTable), version, names, dataSum); err != nil {
		return err
	}
	if err := os.WriteFile(begins+tableOfContents, []byte(strings.Join(append(names, tableOfContents), "\n")+"\n"), 0o600); err != nil {
		return err
	}
	return syncFolder(folder)
}

// writeForeignFile returns the CRC-32 of the file. Errors: errDamaged, errMissing, those of the store.
func (s *Service) writeForeignFile(
	ctx context.Context, from store, name string, file agent.ForeignFile, to string, read *atomic.Int64, done *progress,
) (uint32, error) {
	line := &steady{ctx: ctx, from: from, name: name}
	defer line.Close()
	counted := &counter{in: line, read: read}
	into, err := createDirect(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600, file.Bytes)
	if err != nil {
		return 0, err
	}
	defer into.Close()
	check := crc32.NewIEEE()
	sums := []io.Writer{into, check}
	var md5s *partedMD5
	if file.MD5 != "" {
		md5s = newPartedMD5(file.PartBytes)
		sums = append(sums, md5s)
	}
	if _, err := copyUntil(ctx, io.MultiWriter(sums...), &paced{ctx: ctx, in: counted, limit: &s.limit, done: done}); err != nil {
		if errors.Is(err, errMissing) {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return 0, err
	}
	switch {
	case counted.own != file.Bytes:
		return 0, fmt.Errorf("%s: %w: %d bytes instead of %d", name, errDamaged, counted.own, file.Bytes)
	case md5s != nil && md5s.digest() != file.MD5:
		return 0, fmt.Errorf("%s: %w: its MD5 is another", name, errDamaged)
	}
	return check.Sum32(), into.finish()
}

// partedMD5 is the MD5 of what is written, or, of what was stored in parts, the MD5 of their MD5s.
type partedMD5 struct {
	part, left int64
	current    hash.Hash
	all        []byte
}

func newPartedMD5(part int64) *partedMD5 {
	return &partedMD5{part: part, left: part, current: md5.New()}
}

func (p *partedMD5) Write(content []byte) (int, error) {
	if p.part == 0 {
		return p.current.Write(content)
	}
	rest := content
	for len(rest) > 0 {
		if p.left == 0 {
			p.all = p.current.Sum(p.all)
			p.current.Reset()
			p.left = p.part
		}
		piece := rest[:min(int64(len(rest)), p.left)]
		p.current.Write(piece)
		p.left -= int64(len(piece))
		rest = rest[len(piece):]
	}
	return len(content), nil
}

func (p *partedMD5) digest() string {
	if p.part == 0 {
		return hex.EncodeToString(p.current.Sum(nil))
	}
	whole := md5.Sum(p.current.Sum(p.all))
	return hex.EncodeToString(whole[:])
}

// foreignIsWhole looks at the files of an SSTable together. Errors: errDamaged, and with the code other-partitioner.
func foreignIsWhole(begins, name, version string, names []string, dataSum uint32) error {
	if content, err := os.ReadFile(begins + tableOfContents); err == nil {
		for _, listed := range strings.Fields(string(content)) {
			if !leftOut(listed) && !slices.Contains(names, listed) {
				return fmt.Errorf("%s: %w: it has no %s, which its list of contents names", name, errDamaged, listed)
			}
		}
	}
	content, err := os.ReadFile(begins + "Digest.crc32")
	if err == nil {
		told, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 32)
		if err != nil || uint32(told) != dataSum {
			return fmt.Errorf("%s-Data.db: %w: it has not the checksum that stands beside it", name, errDamaged)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if content, err = os.ReadFile(begins + "Statistics.db"); err != nil {
		return err
	}
	partitioner, err := partitionerOf(content, version)
	if err != nil || len(content) > mostForeignFile {
		return fmt.Errorf("%s-Statistics.db: %w: it cannot be read", name, errDamaged)
	}
	if partitioner != murmur3 {
		return agent.Errorf("other-partitioner", "%s was written with %s; this cluster places keys with %s. Copy the rows with CQL instead.",
			name, partitioner, murmur3)
	}
	return nil
}

// partitionerOf reads it from Statistics.db: the first words of the part that is about how keys are found.
func partitionerOf(content []byte, version string) (string, error) {
	in := bytes.NewReader(content)
	var count int32
	if err := read(in, &count); err != nil || count < 1 || count > 16 {
		return "", errors.New("not a list of parts")
	}
	// Since 4.0 a checksum follows.
	if version >= "na" || version == "da" {
		var checksum int32
		if err := read(in, &checksum); err != nil {
			return "", err
		}
	}
	for range count {
		var kind, position int32
		if err := read(in, &kind, &position); err != nil {
			return "", err
		}
		const validation = 0
		if kind != validation {
			continue
		}
		if _, err := in.Seek(int64(position), io.SeekStart); err != nil {
			return "", err
		}
		var length uint16
		if err := binary.Read(in, binary.BigEndian, &length); err != nil {
			return "", err
		}
		name := make([]byte, length)
		_, err := io.ReadFull(in, name)
		return string(name), err
	}
	return "", errors.New("no part about keys")
}
