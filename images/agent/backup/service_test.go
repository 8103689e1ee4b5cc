package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent"
)

func silent(float64, string) {}

// machine is a node with its files, and what it backs up to.
type machine struct {
	t       *testing.T
	service *Service
	root    string
	store   agent.Store
	with    agent.Encryption
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir(), with: testEncryption, store: agent.Store{Kind: agent.FolderStore, Folder: t.TempDir(), Prefix: "org/cluster"}}
	m.restart()
	return m
}

// restart is what a new agent on the same machine has.
func (m *machine) restart() {
	var err error
	m.service, err = New(filepath.Join(m.root, "backups"), "node_1", Node{Snapshot: m.snapshot, Restores: filepath.Join(m.root, "restores")})
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) snapshot(tag string) ([]TableFolder, error) {
	paths, err := filepath.Glob(filepath.Join(m.root, "data", "*", "*", tag))
	var found []TableFolder
	for _, path := range paths {
		table := filepath.Base(filepath.Dir(path))
		keyspace := filepath.Base(filepath.Dir(filepath.Dir(path)))
		found = append(found, TableFolder{Keyspace: keyspace, Table: table, TableID: "id of " + table, Folder: path})
	}
	return found, err
}

// flush writes an SSTable, as the engine would have it in a snapshot; the metadata are a real one's.
func (m *machine) flush(tag, table, name string, data []byte) {
	m.t.Helper()
	folder := filepath.Join(m.root, "data", "shop", table, tag)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		m.t.Fatal(err)
	}
	real := filepath.Join("testdata", "nb")
	entries, err := os.ReadDir(real)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, entry := range entries {
		parts := fileForm.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		content, err := os.ReadFile(filepath.Join(real, entry.Name()))
		if err != nil {
			m.t.Fatal(err)
		}
		if parts[4] == "Data.db" {
			content = data
		}
		if err := os.WriteFile(filepath.Join(folder, name+"-"+parts[4]), content, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), []byte("{}"), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func uuidName(number int) string { return fmt.Sprintf("nb-3h5p_1gzu_%018d-big", number) }

func (m *machine) index(tag string) agent.Indexed {
	m.t.Helper()
	indexed, err := m.service.Index(m.t.Context(), agent.IndexSnapshotParameters{Tag: tag, Encryption: m.with}, silent)
	if err != nil {
		m.t.Fatal(err)
	}
	return indexed
}

func (m *machine) keys(tag string) []string {
	m.t.Helper()
	var keys []string
	for after := ""; ; {
		page, err := m.service.Bundles(tag, after, 7)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, one := range page.Items {
			keys = append(keys, one.Key)
		}
		if after = page.Next; after == "" {
			return keys
		}
	}
}

func (m *machine) uploading(tag string) agent.UploadBundlesParameters {
	return agent.UploadBundlesParameters{Tag: tag, Store: m.store, Encryption: m.with, Keys: m.keys(tag), Parallel: 3}
}

func (m *machine) upload(tag string) []agent.StoredObject {
	m.t.Helper()
	uploaded, err := m.service.Upload(m.t.Context(), m.uploading(tag), silent)
	if err != nil {
		m.t.Fatal(err)
	}
	return uploaded.Stored
}

func (m *machine) verify(stored []agent.StoredObject, mode agent.VerifyMode) []agent.BadObject {
	m.t.Helper()
	verified, err := m.service.Verify(m.t.Context(), agent.VerifyObjectsParameters{
		Store: m.store, Encryption: m.with, Objects: stored, Mode: mode, Parallel: 3,
	}, silent)
	if err != nil {
		m.t.Fatal(err)
	}
	return verified.Bad
}

func (m *machine) fetching(restore string, stored []agent.StoredObject) agent.FetchBundlesParameters {
	parameters := agent.FetchBundlesParameters{Restore: restore, Store: m.store, Encryption: m.with, Parallel: 3}
	for _, one := range stored {
		parameters.Bundles = append(parameters.Bundles, agent.BundleToFetch{StoredObject: one, Keyspace: "shop", Table: "orders"})
	}
	return parameters
}

func (m *machine) path(key string) string {
	return filepath.Join(m.store.Folder, m.store.Prefix, objectName(key))
}

// contents are the files of the fetched bundles of a restore, by the key and the name.
func (m *machine) contents(restore string) map[string]string {
	m.t.Helper()
	found := map[string]string{}
	root := filepath.Join(m.root, "restores", restore)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found[filepath.Base(filepath.Dir(path))+"/"+entry.Name()] = string(content)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return found
}

func codeOf(err error) string {
	var coded *agent.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return fmt.Sprint(err)
}

func TestBundlesComeBackFileByFile(t *testing.T) {
	m := newMachine(t)
	wanted := map[string]string{}
	for number := range 20 {
		m.flush("first", "orders", uuidName(number), randomBytes(1+rand.IntN(200_000)))
	}
	m.index("first")
	stored := m.upload("first")
	for _, one := range stored {
		if err := readLines(m.service.indexPath("first"), 0, func(line []byte) (bool, error) {
			var found indexed
			if err := json.Unmarshal(line, &found); err != nil || found.Key != one.Key {
				return true, err
			}
			for _, part := range found.Header.Components {
				content, err := os.ReadFile(filepath.Join(found.Folder, found.SSTable+"-"+part.Name))
				wanted[one.Key+"/nb-1-big-"+part.Name] = string(content)
				if err != nil {
					return false, err
				}
			}
			return false, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if bad := m.verify(stored, agent.VerifyContent); len(bad) > 0 {
		t.Errorf("%+v", bad)
	}
	fetched, err := m.service.Fetch(t.Context(), m.fetching("back", stored), silent)
	if err != nil || fetched.Bundles != 20 || fetched.FetchedBytes == 0 {
		t.Fatalf("%+v %v", fetched, err)
	}
	got := m.contents("back")
	for name, content := range got {
		if strings.HasSuffix(name, "TOC.txt") {
			if !strings.Contains(content, "Data.db\n") || !strings.Contains(content, "TOC.txt\n") || strings.Contains(content, "SAI") {
				t.Errorf("%s: %s", name, content)
			}
			delete(got, name)
		}
	}
	if !maps.Equal(got, wanted) || len(got) < 100 {
		t.Errorf("%d files came back, %d were stored", len(got), len(wanted))
	}
	again, err := m.service.Fetch(t.Context(), m.fetching("back", stored), silent)
	if err != nil || again.FetchedBytes != 0 || again.Bytes != fetched.Bytes {
		t.Errorf("%+v %v", again, err)
	}
	ready, err := m.service.Fetched("back", "shop", "orders")
	if err != nil || len(ready) != 20 {
		t.Fatalf("%d %v", len(ready), err)
	}
	for _, one := range ready[:5] {
		if err := one.Taken(); err != nil {
			t.Fatal(err)
		}
	}
	if ready, err = m.service.Fetched("back", "shop", "orders"); err != nil || len(ready) != 15 {
		t.Errorf("%d %v", len(ready), err)
	}
	if _, err := m.service.Drop(t.Context(), agent.DropRestoreParameters{Restore: "back"}, silent); err != nil || len(m.contents("back")) != 0 {
		t.Error(err)
	}
}

func TestWhatIsNotNewIsNotReadAgain(t *testing.T) {
	m := newMachine(t)
	m.flush("first", "orders", uuidName(1), randomBytes(5000))
	m.flush("first", "carts", uuidName(2), randomBytes(5000))
	m.flush("first", "carts", "nb-3-big", randomBytes(5000))
	first := m.index("first")
	if first.HashedBytes != first.Bytes || first.Bundles != 3 {
		t.Errorf("%+v", first)
	}
	link := func(tag, table, name string) {
		folder := filepath.Join(m.root, "data", "shop", table)
		if err := os.MkdirAll(filepath.Join(folder, tag), 0o700); err != nil {
			t.Fatal(err)
		}
		paths, _ := filepath.Glob(filepath.Join(folder, "first", name+"-*"))
		for _, path := range paths {
			if err := os.Link(path, filepath.Join(folder, tag, filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	link("second", "orders", uuidName(1))
	link("second", "carts", uuidName(2))
	link("second", "carts", "nb-3-big")
	m.restart()
	second := m.index("second")
	if second.HashedBytes == 0 || second.HashedBytes >= second.Bytes/2 {
		t.Errorf("the numbered one alone is to be read: %+v", second)
	}
	if before, after := m.keys("first"), m.keys("second"); !slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))) {
		t.Errorf("%v %v", before, after)
	}
	// A table that was not of the second snapshot is remembered too; and the same name with another content is not believed.
	link("third", "orders", uuidName(1))
	if third := m.index("third"); third.HashedBytes != 0 {
		t.Errorf("%+v", third)
	}
	link("fourth", "carts", uuidName(2))
	if fourth := m.index("fourth"); fourth.HashedBytes != 0 {
		t.Errorf("%+v", fourth)
	}
	m.flush("fifth", "orders", uuidName(1), randomBytes(5000))
	if fifth := m.index("fifth"); fifth.HashedBytes != fifth.Bytes || slices.Equal(m.keys("fifth"), m.keys("third")) {
		t.Errorf("%+v", fifth)
	}
}

// TestDamageIsFoundAndRefused damages objects in every way, one at a time.
func TestDamageIsFoundAndRefused(t *testing.T) {
	const trials = 1000
	m := newMachine(t)
	for number := range 8 {
		m.flush("first", "orders", uuidName(number), randomBytes(1+rand.IntN(20_000)))
	}
	m.flush("first", "orders", uuidName(9), randomBytes(chunkBytes+5000))
	m.index("first")
	stored := m.upload("first")
	counts := map[agent.BadReason]int{}
	for trial := range trials {
		one := stored[rand.IntN(len(stored))]
		whole, err := os.ReadFile(m.path(one.Key))
		if err != nil {
			t.Fatal(err)
		}
		wanted, damaged := agent.ObjectContent, slices.Clone(whole)
		switch place := rand.IntN(len(whole)); trial % 6 {
		case 0, 1, 2:
			damaged[place] ^= 1 << rand.IntN(8)
		case 3:
			wanted, damaged = agent.ObjectSize, damaged[:place]
		case 4:
			wanted, damaged = agent.ObjectMissing, nil
		case 5:
			// A hole, as a file system leaves it; it must not happen to be what was there.
			length := min(len(damaged)-place, 64)
			clear(damaged[place : place+length])
			if bytes.Equal(damaged, whole) {
				damaged[place] ^= 1
			}
		}
		if damaged == nil {
			err = os.Remove(m.path(one.Key))
		} else {
			err = os.WriteFile(m.path(one.Key), damaged, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		among := append([]agent.StoredObject{one}, slices.DeleteFunc(slices.Clone(stored[1:4]), func(other agent.StoredObject) bool { return other == one })...)
		bad := m.verify(among, agent.VerifyContent)
		if len(bad) != 1 || bad[0].Key != one.Key || bad[0].Reason != wanted {
			t.Fatalf("trial %d: %+v, not %s of %s", trial, bad, wanted, one.Key)
		}
		if wanted != agent.ObjectContent {
			if bad := m.verify(stored, agent.VerifySize); len(bad) != 1 || bad[0].Key != one.Key {
				t.Fatalf("trial %d: %+v", trial, bad)
			}
		}
		_, err = m.service.Fetch(t.Context(), m.fetching("back", []agent.StoredObject{one}), silent)
		if codeOf(err) != "object-damaged" || !strings.Contains(err.Error(), one.Key) {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if left := m.contents("back"); len(left) > 0 {
			t.Fatalf("trial %d left %d files", trial, len(left))
		}
		counts[wanted]++
		if err := os.WriteFile(m.path(one.Key), whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d trials, all found and refused with the object's name: %v", trials, counts)
}

func TestOneBadObjectDoesNotHideTheOthers(t *testing.T) {
	m := newMachine(t)
	for number := range 6 {
		m.flush("first", "orders", uuidName(number), randomBytes(3000))
	}
	m.index("first")
	stored := m.upload("first")
	for _, one := range stored[:2] {
		if err := os.Remove(m.path(one.Key)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := m.service.Fetch(t.Context(), m.fetching("back", stored), silent)
	if codeOf(err) != "object-damaged" || !strings.Contains(err.Error(), stored[0].Key) || !strings.Contains(err.Error(), stored[1].Key) {
		t.Error(err)
	}
	if ready, err := m.service.Fetched("back", "shop", "orders"); err != nil || len(ready) != 4 {
		t.Errorf("%d %v", len(ready), err)
	}
}

func TestAnotherKeyIsNotDamage(t *testing.T) {
	m := newMachine(t)
	m.flush("first", "orders", uuidName(1), randomBytes(3000))
	m.index("first")
	stored := m.upload("first")
	m.with = agent.Encryption{Key: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
	_, err := m.service.Fetch(t.Context(), m.fetching("back", stored), silent)
	if codeOf(err) != "wrong-key" || !strings.Contains(err.Error(), stored[0].Key) {
		t.Error(err)
	}
	_, err = m.service.Verify(t.Context(), agent.VerifyObjectsParameters{Store: m.store, Encryption: m.with, Objects: stored, Mode: agent.VerifyContent}, silent)
	if codeOf(err) != "wrong-key" {
		t.Error(err)
	}
	// But a flipped bit where the key's id stands is.
	content, err := os.ReadFile(m.path(stored[0].Key))
	if err != nil {
		t.Fatal(err)
	}
	content[len(magic)+3] ^= 1
	if err := os.WriteFile(m.path(stored[0].Key), content, 0o600); err != nil {
		t.Fatal(err)
	}
	m.with = testEncryption
	if bad := m.verify(stored, agent.VerifyContent); len(bad) != 1 || bad[0].Reason != agent.ObjectContent {
		t.Errorf("%+v", bad)
	}
}

// TestAnInterruptedJobGoesOn ends uploads and fetches at many points, as a kill does: nothing that is half is taken for whole, and the
// next run does the rest.
func TestAnInterruptedJobGoesOn(t *testing.T) {
	for trial := range 20 {
		m := newMachine(t)
		for number := range 6 {
			m.flush("first", "orders", uuidName(number), randomBytes(300_000))
		}
		m.index("first")
		at := rand.Float64()
		ctx, cancel := context.WithCancel(t.Context())
		_, err := m.service.Upload(ctx, m.uploading("first"), func(progress float64, _ string) {
			if progress >= at {
				cancel()
			}
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		// Killed, it would have left this behind.
		key := m.keys("first")[0]
		if _, err := os.Stat(m.path(key)); err != nil {
			_ = os.MkdirAll(filepath.Dir(m.path(key)), 0o700)
			if err := os.WriteFile(filepath.Join(filepath.Dir(m.path(key)), "."+key+".node_1.part"), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.restart()
		for _, one := range m.keys("first") {
			if info, err := os.Stat(m.path(one)); err == nil && info.Size() < 300_000 {
				t.Fatalf("%s has %d bytes", one, info.Size())
			}
		}
		stored := m.upload("first")
		if bad := m.verify(stored, agent.VerifyContent); len(bad) > 0 || len(stored) != 6 {
			t.Fatalf("trial %d: %+v", trial, bad)
		}
		ctx, cancel = context.WithCancel(t.Context())
		_, err = m.service.Fetch(ctx, m.fetching("back", stored), func(progress float64, _ string) {
			if progress >= at {
				cancel()
			}
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		whole := m.service.bundlePath("back", m.fetching("back", stored).Bundles[5])
		if _, err := os.Stat(whole); err != nil {
			_ = os.MkdirAll(whole+unfinished, 0o700)
			if err := os.WriteFile(filepath.Join(whole+unfinished, "nb-1-big-Data.db"), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.restart()
		before, err := m.service.Fetched("back", "shop", "orders")
		if err != nil {
			t.Fatal(err)
		}
		fetched, err := m.service.Fetch(t.Context(), m.fetching("back", stored), silent)
		if err != nil {
			t.Fatal(err)
		}
		if rest := int64(6-len(before)) * stored[0].Bytes; fetched.FetchedBytes > rest+6000 {
			t.Errorf("%d bytes were read again, of %d that were left", fetched.FetchedBytes, rest)
		}
		if ready, err := m.service.Fetched("back", "shop", "orders"); err != nil || len(ready) != 6 {
			t.Errorf("%d %v", len(ready), err)
		}
		if left, _ := filepath.Glob(filepath.Join(m.root, "restores", "back", "*", "*"+unfinished)); len(left) > 0 {
			t.Error(left)
		}
	}
}

func TestAStoredObjectIsNotReadAgainUnlessItIsGone(t *testing.T) {
	m := newMachine(t)
	for number := range 3 {
		m.flush("first", "orders", uuidName(number), randomBytes(3000))
	}
	m.index("first")
	stored := m.upload("first")
	if err := os.Remove(m.path(stored[1].Key)); err != nil {
		t.Fatal(err)
	}
	// What is there is not read again: its files are gone by now.
	for _, name := range []int{0, 1, 2} {
		path := filepath.Join(m.root, "data", "shop", "orders", "first", uuidName(name)+"-Data.db")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[0] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.restart()
	if _, err := m.service.Upload(t.Context(), m.uploading("first"), silent); codeOf(err) != "bundle-changed" {
		t.Error(err)
	}
	only := m.uploading("first")
	only.Keys = []string{stored[0].Key, stored[2].Key, stored[0].Key}
	again, err := m.service.Upload(t.Context(), only, silent)
	if err != nil || !slices.Equal(again.Stored, []agent.StoredObject{stored[0], stored[2]}) {
		t.Errorf("%+v %v", again, err)
	}
	if _, err := os.Stat(m.path(stored[1].Key)); err == nil {
		t.Error("changed files were stored")
	}
}

func TestWrongParametersAreRefusedBeforeAnything(t *testing.T) {
	m := newMachine(t)
	m.flush("first", "orders", uuidName(1), randomBytes(3000))
	m.index("first")
	stored := m.upload("first")
	for code, attempt := range map[string]func() error{
		"invalid-parameters tag": func() error {
			_, err := m.service.Index(t.Context(), agent.IndexSnapshotParameters{Tag: "../x", Encryption: m.with}, silent)
			return err
		},
		"invalid-parameters key": func() error {
			_, err := m.service.Index(t.Context(), agent.IndexSnapshotParameters{Tag: "first", Encryption: agent.Encryption{Key: "c2hvcnQ="}}, silent)
			return err
		},
		"snapshot-not-found": func() error {
			_, err := m.service.Index(t.Context(), agent.IndexSnapshotParameters{Tag: "none", Encryption: m.with}, silent)
			return err
		},
		"snapshot-not-indexed": func() error {
			_, err := m.service.Bundles("none", "", 10)
			return err
		},
		"invalid-page": func() error {
			_, err := m.service.Bundles("first", "5", 10)
			return err
		},
		"bundle-not-found": func() error {
			upload := m.uploading("first")
			upload.Keys = []string{strings.Repeat("0", 64)}
			_, err := m.service.Upload(t.Context(), upload, silent)
			return err
		},
		"store-unreachable": func() error {
			upload := m.uploading("first")
			upload.Store.Folder = filepath.Join(m.root, "not-mounted")
			_, err := m.service.Upload(t.Context(), upload, silent)
			return err
		},
		"invalid-parameters prefix": func() error {
			upload := m.uploading("first")
			upload.Store.Prefix = "../../etc"
			_, err := m.service.Upload(t.Context(), upload, silent)
			return err
		},
		"invalid-parameters object": func() error {
			fetch := m.fetching("back", stored)
			fetch.Bundles[0].Key = "../../etc/passwd"
			_, err := m.service.Fetch(t.Context(), fetch, silent)
			return err
		},
		"invalid-parameters table": func() error {
			fetch := m.fetching("back", stored)
			fetch.Bundles[0].Table = ".."
			_, err := m.service.Fetch(t.Context(), fetch, silent)
			return err
		},
		"no-space": func() error {
			fetch := m.fetching("back", stored)
			fetch.Bundles[0].Bytes = 1 << 60
			_, err := m.service.Fetch(t.Context(), fetch, silent)
			return err
		},
		"restore-not-found": func() error {
			_, err := m.service.Fetched("none", "shop", "orders")
			return err
		},
	} {
		wanted, _, _ := strings.Cut(code, " ")
		if got := codeOf(attempt()); got != wanted {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestAFullStoreIsSaid(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(t.Context(), &directFile{file: file, buffer: aligned(alignment)}, 5, strings.NewReader("hello")); codeOf(err) != "store-full" {
		t.Error(err)
	}
}

// TestFactsAreThoseOfTheEngine reads files that engines made; what is in them was asked of sstablemetadata.
func TestFactsAreThoseOfTheEngine(t *testing.T) {
	for folder, wanted := range map[string]sstableFacts{
		"nb": {MinToken: -9164626854465220159, MaxToken: 9157988430018501069, RepairedAt: 1795288239894},
		"oa": {MinToken: -9095160303783801391, MaxToken: 9141592714824021738, RepairedAt: 1795288239935},
		"da": {MinToken: -9095160303783801391, MaxToken: 9141592714824021738, RepairedAt: 1795288240012},
	} {
		found, err := findSSTables(TableFolder{Folder: filepath.Join("testdata", folder)})
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %+v %v", folder, found, err)
		}
		for _, file := range found[0].files {
			if file.Name == "TOC.txt" || strings.HasPrefix(file.Name, "SAI") {
				t.Errorf("%s is of the bundle", file.Name)
			}
		}
		facts, err := readFacts(filepath.Join("testdata", folder, found[0].name+"-"), found[0].version, found[0].format)
		if err != nil || facts != wanted {
			t.Errorf("%s: %+v %v", folder, facts, err)
		}
	}
}

func FuzzLevelAndRepair(f *testing.F) {
	for _, folder := range []string{"nb", "oa", "da"} {
		paths, _ := filepath.Glob(filepath.Join("testdata", folder, "*Statistics.db"))
		content, err := os.ReadFile(paths[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, folder)
	}
	f.Fuzz(func(_ *testing.T, content []byte, version string) {
		// Whatever it holds, it must come to an end without a panic.
		_, _, _ = levelAndRepair(content, version)
	})
}
