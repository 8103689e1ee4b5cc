package scylla

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/statefile"
)

// Tables of the pretended engine, by their ids.
var tableIDs = map[string]string{
	"shop.orders": "0a1b2c3d-0000-11f0-8000-000000000001", "shop.copy": "0a1b2c3d-0000-11f0-8000-000000000002",
	"shop.orders_scylla_cdc_log": "0a1b2c3d-0000-11f0-8000-000000000003", "store.lines": "0a1b2c3d-0000-11f0-8000-000000000004",
}

// disk is an engine that keeps its files as ScyllaDB does: KEYSPACE/TABLE-ID/me-ID-big-*, with the folders upload and snapshots.
type disk struct {
	node
	t     *testing.T
	loads int
	// refuse is what the engine says to the next load.
	refuse error
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{node: newNode(t, "first").run(t).inRing().knowsControl(t), t: t}
	d.said.answer = func(statement string, values []any) (cql.Rows, error) {
		var rows cql.Rows
		for name, id := range tableIDs {
			keyspace, table, _ := strings.Cut(name, ".")
			if strings.Contains(statement, "system_schema.tables") && (len(values) < 2 || values[0] == keyspace && values[1] == table) {
				rows = append(rows, cql.Row{"keyspace_name": keyspace, "table_name": table, "id": id})
			}
		}
		return rows, nil
	}
	d.api.AnswerBy("POST /storage_service/snapshots", func(p map[string]string) (any, error) {
		for table := range strings.SplitSeq(p["cf"], ",") {
			folder := d.folder(p["kn"], table)
			into := filepath.Join(folder, "snapshots", p["tag"])
			if err := os.MkdirAll(filepath.Dir(into), 0o755); err != nil {
				return nil, err
			}
			if err := os.Mkdir(into, 0o755); err != nil {
				return nil, fmt.Errorf("snapshot %s already exists", p["tag"])
			}
			for _, path := range d.files(folder) {
				if err := os.Link(path, filepath.Join(into, filepath.Base(path))); err != nil {
					return nil, err
				}
			}
			d.write(filepath.Join(into, "manifest.json"), []byte(`{"files": []}`))
			d.write(filepath.Join(into, "schema.cql"), []byte("CREATE TABLE …"))
		}
		return nil, nil
	})
	d.api.AnswerBy("DELETE /storage_service/snapshots", func(p map[string]string) (any, error) {
		folders, _ := filepath.Glob(filepath.Join(d.place.data(), p["kn"], "*", "snapshots", p["tag"]))
		for _, folder := range folders {
			if err := os.RemoveAll(folder); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	d.api.AnswerBy("POST /storage_service/sstables/{keyspace}", func(p map[string]string) (any, error) {
		d.loads++
		if p["load_and_stream"] != "true" || p["primary_replica_only"] != "" {
			t.Errorf("it is not sent to all replicas: %v", p)
		}
		if err := d.refuse; err != nil {
			d.refuse = nil
			return nil, err
		}
		return nil, d.take(p["keyspace"], p["cf"])
	})
	return d
}

// take moves the files of upload into the table. As ScyllaDB does, it goes by the lists of contents.
func (d *disk) take(keyspace, table string) error {
	folder := d.folder(keyspace, table)
	lists, _ := filepath.Glob(filepath.Join(folder, "upload", "*-TOC.txt"))
	for number, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		for component := range strings.FieldsSeq(string(content)) {
			from := strings.TrimSuffix(list, "TOC.txt") + component
			to := filepath.Join(folder, fmt.Sprintf("me-%s-big-%s", identifier(100*d.loads+number), component))
			if err := os.Rename(from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *disk) folder(keyspace, table string) string {
	return filepath.Join(d.place.data(), keyspace, table+"-"+strings.ReplaceAll(tableIDs[keyspace+"."+table], "-", ""))
}

// files are those of SSTables in a folder.
func (d *disk) files(folder string) []string {
	found, err := filepath.Glob(filepath.Join(folder, "me-*"))
	if err != nil {
		d.t.Fatal(err)
	}
	return found
}

func (d *disk) write(path string, content []byte) {
	d.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
		d.t.Fatal(err)
	}
}

// identifier is of an SSTable, as ScyllaDB writes a UUID.
func identifier(number int) string { return fmt.Sprintf("3gqe_%04d_2dy4w2gqj6hoso4mw1", number) }

// flush writes an SSTable of a table. Metadata are a real one's of Cassandra, in the older form that ScyllaDB writes: no checksums
// in Statistics.db.
func (d *disk) flush(keyspace, table string, number int, data string) {
	d.t.Helper()
	path := filepath.Join(d.folder(keyspace, table), "me-"+identifier(number)+"-big-")
	sources, err := filepath.Glob("../backup/testdata/nb/nb-*")
	if err != nil || len(sources) == 0 {
		d.t.Fatal(err)
	}
	list := "TOC.txt\nScylla.db\n"
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			d.t.Fatal(err)
		}
		component := strings.SplitN(filepath.Base(source), "-", 4)[3]
		switch component {
		case "TOC.txt", "SAI+aa+GroupMeta.db":
			continue
		case "Data.db":
			content = []byte(data)
		case "Statistics.db":
			content = withoutChecksum(content)
		}
		d.write(path+component, content)
		list += component + "\n"
	}
	d.write(path+"Scylla.db", []byte("features of "+data))
	d.write(path+"TOC.txt", []byte(list))
}

// withoutChecksum takes the head's checksum out of Statistics.db, so that all parts stand four bytes earlier.
func withoutChecksum(content []byte) []byte {
	parts := int(binary.BigEndian.Uint32(content))
	older := slices.Concat(content[:4], content[8:])
	for part := range parts {
		at := 4 + 8*part + 4
		binary.BigEndian.PutUint32(older[at:], binary.BigEndian.Uint32(older[at:])-4)
	}
	return older
}

func result[T any](d *disk, kind agent.JobKind, parameters any) T {
	d.t.Helper()
	document, err := json.Marshal(parameters)
	if err != nil {
		d.t.Fatal(err)
	}
	told, err := d.do(d.t, kind, string(document))
	if err != nil {
		d.t.Fatalf("%s: %v", kind, err)
	}
	found, right := told.(T)
	if !right {
		d.t.Fatalf("%s: %T", kind, told)
	}
	return found
}

// contents are the files of a table by their component and content: names of SSTables change.
func (d *disk) contents(keyspace, table string) []string {
	var found []string
	for _, path := range d.files(d.folder(keyspace, table)) {
		content, err := os.ReadFile(path)
		if err != nil {
			d.t.Fatal(err)
		}
		component := strings.SplitN(filepath.Base(path), "-", 4)[3]
		if component == "TOC.txt" {
			lines := strings.Fields(string(content))
			slices.Sort(lines)
			content = []byte(strings.Join(lines, " "))
		}
		found = append(found, component+": "+string(content))
	}
	slices.Sort(found)
	return found
}

var anyKey = agent.Encryption{Key: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}

// stored backs up a snapshot and tells its objects.
func (d *disk) stored(tag string, store agent.Store) []agent.BundleToFetch {
	d.t.Helper()
	result[agent.Indexed](d, agent.IndexSnapshot, agent.IndexSnapshotParameters{Tag: tag, Encryption: anyKey})
	page, err := d.Bundles(tag, "", 100)
	if err != nil {
		d.t.Fatal(err)
	}
	var keys []string
	tables := map[string]agent.Bundle{}
	for _, one := range page.Items {
		keys = append(keys, one.Key)
		tables[one.Key] = one
		if one.MinToken == 0 || one.MinToken > one.MaxToken || !strings.HasPrefix(one.SSTable, "me-3gqe_") {
			d.t.Errorf("%+v", one)
		}
	}
	up := result[agent.Uploaded](d, agent.UploadBundles, agent.UploadBundlesParameters{Tag: tag, Store: store, Encryption: anyKey, Keys: keys})
	var objects []agent.BundleToFetch
	for _, one := range up.Stored {
		objects = append(objects, agent.BundleToFetch{StoredObject: one, Keyspace: tables[one.Key].Keyspace, Table: tables[one.Key].Table})
	}
	return objects
}

func TestWhatWasBackedUpComesBackFileByFile(t *testing.T) {
	d := newDisk(t)
	store := agent.Store{Kind: agent.FolderStore, Folder: t.TempDir()}
	for number := range 40 {
		d.flush("shop", "orders", number, fmt.Sprintf("rows of %d", number))
	}
	d.flush("shop", "orders_scylla_cdc_log", 41, "changes")
	taken := result[agent.SnapshotTaken](d, agent.Snapshot, agent.SnapshotParameters{Tag: "bk-1", TTLSeconds: 3600})
	if taken.Tables != 3 || taken.Bytes == 0 {
		t.Errorf("%+v", taken)
	}
	wanted := d.contents("shop", "orders")
	again := result[agent.SnapshotTaken](d, agent.Snapshot, agent.SnapshotParameters{Tag: "bk-1", TTLSeconds: 3600})
	if again != taken {
		t.Errorf("it was taken twice: %+v", again)
	}
	objects := d.stored("bk-1", store)
	if len(objects) != 40 {
		t.Errorf("%d objects", len(objects))
	}
	result[Nothing](d, agent.ClearSnapshot, agent.ClearSnapshotParameters{Tag: "bk-1"})
	if left, _ := filepath.Glob(filepath.Join(d.place.data(), "*", "*", "snapshots", "bk-1")); len(left) > 0 {
		t.Errorf("%v", left)
	}
	if left, _ := filepath.Glob(d.snapshotPath("*")); len(left) > 0 {
		t.Errorf("%v", left)
	}
	fetch := agent.FetchBundlesParameters{Restore: "rst-1", Store: store, Encryption: anyKey, Bundles: objects}
	result[agent.Fetched](d, agent.FetchBundles, fetch)
	done := result[agent.Imported](d, agent.ImportBundles, agent.ImportBundlesParameters{
		Restore: "rst-1", Keyspace: "shop", Table: "orders", AsTable: "copy", CheckTokens: true, Cleanup: true,
	})
	if done.Bundles != 40 || d.loads != 2 {
		t.Errorf("%+v in %d loads", done, d.loads)
	}
	if found := d.contents("shop", "copy"); !slices.Equal(found, wanted) {
		t.Errorf("%d files instead of %d, or others", len(found), len(wanted))
	}
	result[struct{}](d, agent.DropRestore, agent.DropRestoreParameters{Restore: "rst-1"})
}

func TestASnapshotThatNobodyClearsEndsByItself(t *testing.T) {
	d := newDisk(t)
	d.flush("store", "lines", 1, "rows")
	result[agent.SnapshotTaken](d, agent.Snapshot, agent.SnapshotParameters{Tag: "bk-2", TTLSeconds: 60, Tables: []agent.TableName{{Keyspace: "store"}}})
	d.endSnapshots(t.Context())
	if folders, _ := d.place.snapshotFolders("bk-2"); len(folders) != 1 {
		t.Fatalf("%v", folders)
	}
	var noted keptSnapshot
	if err := statefile.ReadJSON(d.snapshotPath("bk-2"), &noted); err != nil {
		t.Fatal(err)
	}
	noted.Until = time.Now().Add(-time.Second)
	if err := statefile.WriteJSON(d.snapshotPath("bk-2"), noted); err != nil {
		t.Fatal(err)
	}
	d.endSnapshots(t.Context())
	if folders, _ := d.place.snapshotFolders("bk-2"); len(folders) > 0 {
		t.Errorf("%v", folders)
	}
	// One that an earlier agent did not see to its end is taken anew.
	noted = keptSnapshot{Until: time.Now().Add(time.Hour)}
	if err := statefile.WriteJSON(d.snapshotPath("bk-3"), noted); err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Join(d.folder("store", "lines"), "snapshots", "bk-3", "manifest.json"), []byte("{}"))
	if taken := result[agent.SnapshotTaken](d, agent.Snapshot, agent.SnapshotParameters{Tag: "bk-3", TTLSeconds: 60}); taken.Tables != 3 {
		t.Errorf("%+v", taken)
	}
}

func TestSnapshotsOfWhatIsNotThereAreRefused(t *testing.T) {
	d := newDisk(t)
	for parameters, wanted := range map[string]string{
		`{"tag": "a/b", "ttl_seconds": 60}`: "invalid-parameters",
		`{"tag": "a", "ttl_seconds": 59}`:   "invalid-parameters",
		`{"tag": "a", "ttl_seconds": 60, "tables": [{"keyspace": "shop", "table": "nothing"}]}`:                      "table-not-found",
		`{"tag": "a", "ttl_seconds": 60, "tables": [{"keyspace": "shop", "table": "orders_scylla_cdc_log"}]}`:        "table-not-found",
		`{"tag": "a", "ttl_seconds": 60, "tables": [{"keyspace": "shop\"; DROP", "table": "orders_scylla_cdc_lo"}]}`: "invalid-parameters",
	} {
		if _, err := d.do(t, agent.Snapshot, parameters); code(err) != wanted {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	if _, err := d.do(t, agent.ClearSnapshot, `{"tag": ""}`); code(err) != "invalid-parameters" {
		t.Errorf("without a tag: %v", err)
	}
	d.api.AnswerBy("POST /storage_service/snapshots", func(map[string]string) (any, error) { return nil, errors.New("no space left") })
	if _, err := d.do(t, agent.Snapshot, `{"tag": "a", "ttl_seconds": 60}`); code(err) != "snapshot-failed" || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if slices.Contains(d.api.Called(), "DELETE /storage_service/snapshots") {
		t.Error("something was deleted")
	}
}

// fetched is a disk that has three SSTables of shop.orders fetched.
func fetched(t *testing.T) *disk {
	t.Helper()
	d := newDisk(t)
	store := agent.Store{Kind: agent.FolderStore, Folder: t.TempDir()}
	for number := range 3 {
		d.flush("shop", "orders", number, fmt.Sprintf("rows of %d", number))
	}
	result[agent.SnapshotTaken](d, agent.Snapshot, agent.SnapshotParameters{Tag: "bk", TTLSeconds: 3600})
	fetch := agent.FetchBundlesParameters{Restore: "rst", Store: store, Encryption: anyKey, Bundles: d.stored("bk", store)}
	result[agent.Fetched](d, agent.FetchBundles, fetch)
	return d
}

const intoCopy = `{"restore": "rst", "keyspace": "shop", "table": "orders", "as_table": "copy"}`

func TestALoadThatFailsLeavesNothingBehindAndCanBeRepeated(t *testing.T) {
	d := fetched(t)
	d.refuse = errors.New("not enough disk")
	if _, err := d.do(t, agent.ImportBundles, intoCopy); code(err) != "import-failed" || !strings.Contains(err.Error(), "not enough disk") {
		t.Errorf("%v", err)
	}
	upload := filepath.Join(d.folder("shop", "copy"), "upload")
	if left, _ := os.ReadDir(upload); len(left) > 0 {
		t.Errorf("%v", left)
	}
	// Files of somebody else are neither loaded nor removed.
	d.write(filepath.Join(upload, "me-7-big-Data.db"), []byte("others"))
	if _, err := d.do(t, agent.ImportBundles, intoCopy); code(err) != "import-failed" || !strings.Contains(err.Error(), "me-7-big-Data.db") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(upload, "me-7-big-Data.db")); err != nil {
		t.Fatal(err)
	}
	d.refuse = errors.New("Already loading SSTables. Try again later")
	if _, err := d.do(t, agent.ImportBundles, intoCopy); err != nil || !slices.Equal(d.contents("shop", "copy"), d.contents("shop", "orders")) {
		t.Errorf("%v", err)
	}
	for parameters, wanted := range map[string]string{
		`{"restore": "rst", "keyspace": "shop", "table": "orders", "as_table": "nothing"}`: "table-not-found",
		`{"restore": "no", "keyspace": "shop", "table": "orders"}`:                         "restore-not-found",
		`{"restore": "rst", "keyspace": "shop", "table": "orders", "place": true}`:         "not-supported",
		`{"restore": "rst", "keyspace": "system", "table": "local"}`:                       "invalid-parameters",
		`{"restore": "rst", "keyspace": "shop", "table": "../orders"}`:                     "invalid-parameters",
	} {
		if _, err := d.do(t, agent.ImportBundles, parameters); code(err) != wanted {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

func TestALoadThatAnEarlierAgentBeganIsFinished(t *testing.T) {
	d := fetched(t)
	ready, err := d.backups.Fetched("rst", "shop", "orders")
	upload := filepath.Join(d.folder("shop", "copy"), "upload")
	if err := errors.Join(err, os.MkdirAll(upload, 0o755), ready[0].LinkInto(upload, 1)); err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Join(d.place.restores(), "rst", "loading-shop.copy"), []byte("{}"))
	if _, err := d.do(t, agent.ImportBundles, intoCopy); err != nil {
		t.Fatal(err)
	}
	if found := len(d.contents("shop", "copy")); d.loads != 2 || found != len(d.contents("shop", "orders"))/3*4 {
		t.Errorf("%d files after %d loads", found, d.loads)
	}
}

func TestTabletsStandStillAndAreLetGoWhateverHappens(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().knowsControl(t)
	balanced, on := []string{}, true
	n.said.answer = func(statement string, _ []any) (cql.Rows, error) {
		return cql.Rows{{"tablet_balancing_enabled": on}}, nil
	}
	n.api.AnswerBy("POST /storage_service/tablets/balancing", func(p map[string]string) (any, error) {
		balanced = append(balanced, p["enabled"])
		return nil, nil
	})
	hold := func(name string) {
		t.Helper()
		if told, err := n.do(t, agent.HoldTablets, `{"name": "`+name+`", "seconds": 600}`); err != nil || told.(agent.TabletsHeld).Until.Before(time.Now()) {
			t.Fatalf("%v %v", told, err)
		}
	}
	release := func(parameters string) {
		t.Helper()
		if _, err := n.do(t, agent.ReleaseTablets, parameters); err != nil {
			t.Fatal(err)
		}
	}
	is := func(wanted ...string) {
		t.Helper()
		if !slices.Equal(balanced, wanted) {
			t.Errorf("%v", balanced)
		}
		balanced = nil
	}
	hold("one")
	hold("two")
	is("false", "false")
	if !slices.Contains(n.api.Called(), "POST /storage_service/quiesce_topology") {
		t.Error("nobody waited for tablets that moved")
	}
	release(`{"name": "one"}`)
	is()
	release(`{"name": "two"}`)
	is("true")
	// Unknown here: the agent that held them may be gone, or nothing was held.
	release(`{"name": "two"}`)
	is()
	release(`{"name": "two", "anyway": true}`)
	is("true")
	// Nobody comes back: an agent ends it when the time is over, also another process of it.
	hold("lost")
	held, err := n.readHolds()
	if err != nil {
		t.Fatal(err)
	}
	n.endHolds(t.Context())
	is("false")
	held.Until["lost"] = time.Now().Add(-time.Second)
	if err := statefile.WriteJSON(n.holdsPath(), held); err != nil {
		t.Fatal(err)
	}
	n.endHolds(t.Context())
	is("true")
	// The engine does not say that it heard: it is noted, so that it is put on again.
	n.api.AnswerBy("POST /storage_service/quiesce_topology", func(map[string]string) (any, error) { return nil, errors.New("no quorum") })
	if _, err := n.do(t, agent.HoldTablets, `{"name": "one", "seconds": 60}`); code(err) != "hold-failed" {
		t.Errorf("%v", err)
	}
	release(`{"name": "one"}`)
	is("false", "true")
	n.api.Answer("POST /storage_service/quiesce_topology", nil)
	// Somebody had put it off before: so it stays.
	on = false
	hold("one")
	release(`{"name": "one"}`)
	is("false")
	if _, err := n.do(t, agent.HoldTablets, `{"name": "one", "seconds": 0}`); code(err) != "invalid-parameters" {
		t.Errorf("%v", err)
	}
}

func TestASchemaIsToldInTheWordsOfAllEnginesAndMadeAnew(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().knowsControl(t)
	keyspace := "CREATE KEYSPACE shop WITH replication = {'class': 'org.apache.cassandra.locator.NetworkTopologyStrategy', 'dc1': '3'}" +
		" AND durable_writes = true AND tablets = {'enabled': false};"
	n.said.answer = func(statement string, values []any) (cql.Rows, error) {
		switch {
		case strings.HasPrefix(statement, "DESCRIBE KEYSPACE"):
			return cql.Rows{
				{"type": "keyspace", "name": "shop", "create_statement": keyspace},
				{"type": "table", "name": "orders", "create_statement": "CREATE TABLE shop.orders (id int PRIMARY KEY) WITH ID = 0a1b2c3d-0000-11f0-8000-000000000001 AND gc_grace_seconds = 10;"},
				{"type": "table", "name": "orders_scylla_cdc_log", "create_statement": "ALTER TABLE …"},
				{"type": "view", "name": "by_day", "create_statement": "CREATE MATERIALIZED VIEW shop.by_day AS SELECT …"},
			}, nil
		case strings.Contains(statement, "replication FROM system_schema.keyspaces"):
			return cql.Rows{{"replication": map[string]any{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc1": "3"}}}, nil
		case strings.Contains(statement, "id FROM system_schema.tables"):
			return cql.Rows{{"table_name": "orders", "id": "t-1"}, {"table_name": "orders_scylla_cdc_log", "id": "t-2"}}, nil
		}
		return nil, nil
	}
	told, err := n.do(t, agent.DescribeSchema, `{"keyspaces": ["shop"]}`)
	if err != nil {
		t.Fatal(err)
	}
	found := told.(agent.SchemaDescription).Keyspaces[0]
	var types []string
	for _, one := range found.Statements {
		types = append(types, one.Type)
	}
	if !slices.Equal(types, []string{"keyspace", "table", "materialized_view"}) || len(found.Tables) != 1 || found.Replication["dc1"] != 3 {
		t.Errorf("%+v", found)
	}
	n.said.answer = nil
	document, _ := json.Marshal(agent.CreateSchemaParameters{Keyspaces: []agent.KeyspaceToCreate{{
		Name: "shop", Statements: found.Statements[:2], Replication: map[string]int{"dc2": 1}, RenamedTables: map[string]string{"orders": "copy"},
	}}})
	if made, err := n.do(t, agent.CreateSchema, string(document)); err != nil || made != (agent.SchemaCreated{Created: 2}) {
		t.Errorf("%v %v", made, err)
	}
	for _, wanted := range []string{
		`CREATE KEYSPACE IF NOT EXISTS "shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'dc2': 1} AND durable_writes = true AND tablets = {'enabled': false}`,
		`CREATE TABLE IF NOT EXISTS "shop"."copy" (id int PRIMARY KEY) WITH gc_grace_seconds = 10`,
	} {
		if !slices.Contains(n.said.said(), wanted) {
			t.Errorf("it was not said: %s\n%s", wanted, strings.Join(n.said.said(), "\n"))
		}
	}
}

func TestTablesAreEmptiedOverCQLAndReadPageByPage(t *testing.T) {
	d := newDisk(t)
	if _, err := d.do(t, agent.TruncateTables, `{"tables": [{"keyspace": "shop", "table": "orders"}]}`); err != nil {
		t.Error(err)
	}
	if !slices.Contains(d.said.said(), `TRUNCATE TABLE "shop"."orders"`) {
		t.Errorf("%v", d.said.said())
	}
	for parameters, wanted := range map[string]string{
		`{"tables": []}`: "invalid-parameters", `{"tables": [{"keyspace": "system", "table": "local"}]}`: "invalid-parameters",
		`{"tables": [{"keyspace": "shop", "table": "nothing"}]}`: "table-not-found",
	} {
		if _, err := d.do(t, agent.TruncateTables, parameters); code(err) != wanted {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	d.said.answer = func(statement string, _ []any) (cql.Rows, error) {
		switch {
		case strings.Contains(statement, "system_schema.tables"):
			return cql.Rows{{"table_name": "orders", "id": "t-1"}}, nil
		case strings.Contains(statement, "system_schema.columns"):
			return cql.Rows{{"table_name": "orders", "column_name": "id", "kind": "partition_key", "position": int32(0), "type": "int"}}, nil
		}
		return nil, nil
	}
	d.said.pages = [][][][]byte{{{{0, 0, 0, 1}}, {{0, 0, 0, 2}}}, {{{0, 0, 0, 3}}}}
	told, err := d.do(t, agent.DigestTable, `{"keyspace": "shop", "table": "orders", "slices": 2}`)
	digest, _ := told.(agent.TableDigest)
	if err != nil || digest.Rows != 6 || len(digest.Slices) != 2 || digest.Slices[0].SHA256 == "" {
		t.Errorf("%+v %v", told, err)
	}
}
