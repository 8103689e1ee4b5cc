package backup

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ringmaster/agent"
)

// foreign lays the files of a real SSTable into the store as another program would, changed as wanted, and tells of them.
func (m *machine) foreign(format, folder string, change func(files map[string][]byte)) agent.ForeignSSTable {
	m.t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", format, format+"-*"))
	if err != nil || len(paths) == 0 {
		m.t.Fatal(paths, err)
	}
	files := map[string][]byte{}
	for _, one := range paths {
		content, err := os.ReadFile(one)
		if err != nil {
			m.t.Fatal(err)
		}
		files[fileForm.FindStringSubmatch(filepath.Base(one))[4]] = content
	}
	told := agent.ForeignSSTable{
		Key: strings.Repeat(fmt.Sprintf("%02x", len(folder)), 32), Keyspace: "shop", Table: "orders", Folder: folder, SSTable: format + "-7-big",
	}
	if format == "da" {
		told.SSTable = "da-7-bti"
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := md5.Sum(files[name])
		told.Files = append(told.Files, agent.ForeignFile{Name: name, Bytes: int64(len(files[name])), MD5: hex.EncodeToString(sum[:])})
	}
	change(files)
	for name, content := range files {
		path := filepath.Join(m.store.Folder, m.store.Prefix, folder, told.SSTable+"-"+name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			m.t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	return told
}

func (m *machine) fetchFiles(sstables ...agent.ForeignSSTable) (agent.Fetched, error) {
	return m.service.FetchFiles(m.t.Context(), agent.FetchFilesParameters{Restore: "r", Store: m.store, SSTables: sstables}, silent)
}

func TestFilesOfOthersAreFetchedAndStandAsBundlesDo(t *testing.T) {
	for _, format := range []string{"nb", "oa", "da"} {
		m := newMachine(t)
		told := m.foreign(format, "node1/data/shop/orders-1f", func(map[string][]byte) {})
		for range 2 {
			if fetched, err := m.fetchFiles(told); err != nil || fetched.Bundles != 1 || fetched.Bytes == 0 {
				t.Fatal(format, fetched, err)
			}
		}
		ready, err := m.service.Fetched("r", "shop", "orders")
		if err != nil || len(ready) != 1 {
			t.Fatal(format, ready, err)
		}
		for name := range m.contents("r") {
			if strings.Contains(name, "SAI+") {
				t.Error(name, "is made anew by the engine")
			}
		}
	}
}

func TestWhatIsWrongWithFilesOfOthersIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string][]byte)
		told   func(one *agent.ForeignSSTable)
		code   string
		says   string
	}{
		"a flipped bit": {change: func(f map[string][]byte) { f["Index.db"][0] ^= 1 }, code: "file-damaged", says: "Index.db"},
		"a flipped bit without an MD5": {
			change: func(f map[string][]byte) { f["Data.db"][3] ^= 1 }, told: withoutMD5, code: "file-damaged", says: "Data.db",
		},
		"a cut file":  {change: func(f map[string][]byte) { f["Data.db"] = f["Data.db"][1:] }, told: withoutMD5, code: "file-damaged", says: "bytes instead of"},
		"a lost file": {change: func(f map[string][]byte) { delete(f, "Statistics.db") }, code: "file-damaged", says: "Statistics.db"},
		"a filter that nobody told of": {
			told: func(one *agent.ForeignSSTable) {
				one.Files = slices.DeleteFunc(one.Files, func(f agent.ForeignFile) bool { return f.Name == "Filter.db" })
			},
			code: "file-damaged", says: "has no Filter.db",
		},
		"no index": {
			told: func(one *agent.ForeignSSTable) {
				one.Files = slices.DeleteFunc(one.Files, func(f agent.ForeignFile) bool { return f.Name == "Index.db" })
			},
			code: "sstable-incomplete", says: "Index.db",
		},
		"an old format": {told: func(one *agent.ForeignSSTable) { one.SSTable = "la-7-big" }, code: "unknown-format", says: "la-7-big"},
		"another place": {told: func(one *agent.ForeignSSTable) { one.Folder = "../../etc" }, code: "invalid-parameters", says: "folder"},
		"another way to place keys": {
			change: func(f map[string][]byte) {
				f["Statistics.db"] = bytes.Replace(f["Statistics.db"], []byte("Murmur3Partitioner"), []byte("_RandomPartitioner"), 1)
			},
			told: withoutMD5, code: "other-partitioner", says: "_RandomPartitioner",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			change := c.change
			if change == nil {
				change = func(map[string][]byte) {}
			}
			told := m.foreign("nb", "data/shop/orders", change)
			if c.told != nil {
				c.told(&told)
			}
			if _, err := m.fetchFiles(told); codeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, not %s with %q", err, c.code, c.says)
			}
			if ready, _ := m.service.Fetched("r", "shop", "orders"); len(ready) > 0 {
				t.Error(ready)
			}
		})
	}
}

func withoutMD5(one *agent.ForeignSSTable) {
	for index := range one.Files {
		one.Files[index].MD5 = ""
	}
}

func TestTheMD5OfPartsIsThatOfTheirMD5s(t *testing.T) {
	content := randomBytes(1000)
	for _, part := range []int64{1, 7, 250, 999, 1000, 1001} {
		var all []byte
		for piece := range slices.Chunk(content, int(part)) {
			sum := md5.Sum(piece)
			all = append(all, sum[:]...)
		}
		want := md5.Sum(all)
		sums := newPartedMD5(part)
		for piece := range slices.Chunk(content, 33) {
			_, _ = sums.Write(piece)
		}
		if sums.digest() != hex.EncodeToString(want[:]) {
			t.Error(part)
		}
	}
}

func TestFilesOfOthersComeFromBuckets(t *testing.T) {
	eachBucket(t, func(t *testing.T, m *machine, to store, _ *bucket) {
		lying := newMachine(t)
		told := lying.foreign("nb", "node1/shop/orders", func(map[string][]byte) {})
		for _, file := range told.Files {
			name := told.Folder + "/" + told.SSTable + "-" + file.Name
			content, err := os.ReadFile(filepath.Join(lying.store.Folder, lying.store.Prefix, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := to.put(t.Context(), name, file.Bytes, bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
		}
		fetch := func(name string) error {
			var read atomic.Int64
			_, err := m.service.fetchForeign(t.Context(), to, filepath.Join(t.TempDir(), name), told, &read, &progress{report: silent})
			return err
		}
		if err := fetch("whole"); err != nil {
			t.Error(err)
		}
		told.Files[0].Name = "Gone.db"
		if err := fetch("lacking"); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "Gone.db") {
			t.Error(err)
		}
	})
}
