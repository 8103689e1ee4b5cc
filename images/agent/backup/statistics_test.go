package backup

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// olderStatistics are a real Statistics.db in the form that ScyllaDB writes: without the checksum at its head.
func olderStatistics(t *testing.T) (newer, older []byte) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join("testdata", "nb", "*-Statistics.db"))
	newer, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	older = slices.Concat(newer[:4], newer[8:])
	for part := range int(binary.BigEndian.Uint32(newer)) {
		at := 4 + 8*part + 4
		binary.BigEndian.PutUint32(older[at:], binary.BigEndian.Uint32(older[at:])-4)
	}
	return newer, older
}

func TestStatisticsOfScyllaDBAreRead(t *testing.T) {
	newer, older := olderStatistics(t)
	level, repairedAt, err := levelAndRepair(newer, "nb")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"me", "ms"} {
		if found, at, err := levelAndRepair(older, version); err != nil || found != level || at != repairedAt {
			t.Errorf("%s: %d %d %v", version, found, at, err)
		}
	}
	if _, _, err := levelAndRepair(older, "nb"); err == nil {
		t.Error("the head of another family is believed")
	}
}

func TestTokensOfATrieIndexAreRead(t *testing.T) {
	folder := t.TempDir()
	_, older := olderStatistics(t)
	tries, err := filepath.Glob(filepath.Join("testdata", "da", "*-Partitions.db"))
	if err != nil || len(tries) == 0 {
		t.Fatal(err)
	}
	trie, err := os.ReadFile(tries[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"ms-1-big-Statistics.db": older, "ms-1-big-Partitions.db": trie} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := readFacts(filepath.Join(folder, "ms-1-big-"), "ms", "big")
	if err != nil || facts.MinToken == math.MinInt64 || facts.MinToken > facts.MaxToken {
		t.Errorf("%+v %v", facts, err)
	}
}
