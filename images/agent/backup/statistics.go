package backup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"ringmaster/agent/token"
)

// sstableFacts are what a plan for a restore needs to know of an SSTable.
type sstableFacts struct {
	MinToken   int64 `json:"min_token"`
	MaxToken   int64 `json:"max_token"`
	Level      int   `json:"level"`
	RepairedAt int64 `json:"repaired_at"`
}

// readFacts reads them from the files of an SSTable; path is how the names of the files begin, up to the last hyphen. Tokens are
// those of the first and last key, which are at the end of Summary.db (format big) or Partitions.db (bti); an SSTable without
// that file may hold anything. Level and time of repair are in Statistics.db.
func readFacts(path, version, format string) (sstableFacts, error) {
	facts := sstableFacts{MinToken: math.MinInt64, MaxToken: math.MaxInt64}
	var first, last []byte
	var err error
	// The bti of ScyllaDB is called ms-big.
	if format == "bti" || version == "ms" {
		first, last, err = keysOfPartitions(path + "Partitions.db")
	} else {
		first, last, err = keysOfSummary(path + "Summary.db")
	}
	switch {
	case err == nil:
		facts.MinToken, facts.MaxToken = token.Of(first), token.Of(last)
	// Of ms the end of that file was not seen yet; what cannot be read may hold anything, too.
	case !errors.Is(err, os.ErrNotExist) && version != "ms":
		return sstableFacts{}, err
	}
	content, err := os.ReadFile(path + "Statistics.db")
	if err != nil {
		return sstableFacts{}, err
	}
	if facts.Level, facts.RepairedAt, err = levelAndRepair(content, version); err != nil {
		return sstableFacts{}, fmt.Errorf("%sStatistics.db: %w", filepath.Base(path), err)
	}
	return facts, nil
}

// longestKey is what a partition key may have at most.
const longestKey = 1 << 16

// keysOfSummary: a head of 24 bytes that tells how long the samples after it are, then first and last key with their lengths.
func keysOfSummary(path string) (first, last []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	var head struct {
		MinInterval, Samples int32
		Bytes                int64
		Sampling, Full       int32
	}
	if err := binary.Read(file, binary.BigEndian, &head); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := file.Seek(head.Bytes, io.SeekCurrent); err != nil || head.Bytes < 0 {
		return nil, nil, fmt.Errorf("%s: no keys at its end", path)
	}
	for _, key := range []*[]byte{&first, &last} {
		var length uint32
		if err := binary.Read(file, binary.BigEndian, &length); err != nil || length > longestKey {
			return nil, nil, fmt.Errorf("%s: no keys at its end", path)
		}
		*key = make([]byte, length)
		if _, err := io.ReadFull(file, *key); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return first, last, nil
}

// keysOfPartitions: the last 24 bytes are where the keys are, how many there are, and where the root of the index is.
func keysOfPartitions(path string) (first, last []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if _, err := file.Seek(-24, io.SeekEnd); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	var at int64
	if err := binary.Read(file, binary.BigEndian, &at); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := file.Seek(at, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, key := range []*[]byte{&first, &last} {
		var length uint16
		if err := binary.Read(file, binary.BigEndian, &length); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		*key = make([]byte, length)
		if _, err := io.ReadFull(file, *key); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return first, last, nil
}

// statsComponent is the number of the part of Statistics.db that is about data, not about its types.
const statsComponent = 2

// levelAndRepair walks to both: they stand after three histograms whose lengths vary.
func levelAndRepair(content []byte, version string) (level int, repairedAt int64, err error) {
	in := bytes.NewReader(content)
	var count, checksum int32
	if err := read(in, &count); err != nil || count < 1 || count > 16 {
		return 0, 0, errors.New("not a list of parts")
	}
	// Cassandra's have checksums since na; ScyllaDB's, me and ms, are of the family before.
	if version[0] != 'm' {
		if err := read(in, &checksum); err != nil {
			return 0, 0, err
		}
	}
	start := int64(-1)
	for range count {
		var kind, position int32
		if err := read(in, &kind, &position); err != nil {
			return 0, 0, err
		}
		if kind == statsComponent {
			start = int64(position)
		}
	}
	if _, err := in.Seek(start, io.SeekStart); err != nil {
		return 0, 0, errors.New("no part about data")
	}
	// Sizes of partitions, and of cells in them.
	const histogramEntry = 16
	for range 2 {
		if err := skipCounted(in, histogramEntry); err != nil {
			return 0, 0, err
		}
	}
	// A position in the commit log (12), the first and last time of a write (8 each), of a deletion (4), of a life time (4), how well it
	// is compressed (8).
	const fixed = 12 + 2*8 + 2*4 + 2*4 + 8
	if _, err := in.Seek(fixed+4, io.SeekCurrent); err != nil {
		return 0, 0, err
	}
	// When deletions are due: a number of bins (skipped above), then the bins.
	entry := int64(histogramEntry)
	if version >= "oa" || version == "da" {
		entry = 12
	}
	if err := skipCounted(in, entry); err != nil {
		return 0, 0, err
	}
	var found int32
	if err := read(in, &found, &repairedAt); err != nil {
		return 0, 0, err
	}
	if found < 0 || found > 64 || repairedAt < 0 {
		return 0, 0, fmt.Errorf("level %d, repaired at %d", found, repairedAt)
	}
	return int(found), repairedAt, nil
}

func skipCounted(in *bytes.Reader, entry int64) error {
	var count int32
	if err := read(in, &count); err != nil {
		return err
	}
	if count < 0 || int64(count)*entry > int64(in.Len()) {
		return fmt.Errorf("a list of %d", count)
	}
	_, err := in.Seek(int64(count)*entry, io.SeekCurrent)
	return err
}

func read(in io.Reader, into ...any) error {
	for _, one := range into {
		if err := binary.Read(in, binary.BigEndian, one); err != nil {
			return err
		}
	}
	return nil
}
