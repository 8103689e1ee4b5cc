//go:build engine

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
)

// backedUp is a node whose tables are backed up and restored.
type backedUp struct {
	*node
	conn       *cql.Conn
	store      agent.Store
	encryption agent.Encryption
	jobs       int
}

// TestATableIsBackedUpAndRestored goes with one engine through what the control plane asks for in a backup and in a restore.
// RINGMASTER_KEEP_SSTABLES names a folder to leave small SSTables of every format in, for the tests without an engine.
func TestATableIsBackedUpAndRestored(t *testing.T) {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	if cache == "" {
		t.Fatal("RINGMASTER_CACHE_DIR must name the folder that images/machine/cassandra/bake made the tree of Cassandra in")
	}
	plane := agenttest.NewControlPlane(t)
	nodes := newNodes(t, plane, cache)[:1]
	n := nodes[0]
	began := time.Now()
	n.startAgent()
	n.reachable()
	n.configure(nodes)
	n.succeed("start", agent.Start, nil)
	secured := secureParameters(t, 1)
	secured["replication"] = 1
	n.succeed("secure", agent.Secure, secured)
	n.succeed("allow-everybody", agent.Allowlist, map[string]any{"cidrs": []string{}})
	b := &backedUp{
		node: n, store: agent.Store{Kind: agent.FolderStore, Folder: t.TempDir(), Prefix: "org"},
		encryption: agent.Encryption{Key: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))},
	}
	b.connect(plane)
	b.say("CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 1}")
	b.say("CREATE TYPE shop.place (street text, town text)")
	b.say(`CREATE TABLE shop.orders (id int, line int, body text, at frozen<place>, gone text, "Big" map<text, int>, PRIMARY KEY (id, line)) ` +
		"WITH CLUSTERING ORDER BY (line DESC) AND comment = 'ID = 5 AND; more'")
	b.say("CREATE INDEX orders_body ON shop.orders (body)")
	b.say("CREATE INDEX orders_at ON shop.orders (at) USING 'sai'")
	b.say("ALTER TABLE shop.orders DROP gone")
	run := func(name string, do func()) {
		t.Run(name, func(inner *testing.T) {
			n.t = inner
			defer func() { n.t = t }()
			do()
		})
	}
	before := b.write("shop.orders", 0, 300)

	run("rows come back although they were dropped and others were written", func() {
		stored := b.backUp("first")
		b.write("shop.orders", 1000, 1100)
		b.job(agent.TruncateTables, map[string]any{"tables": []agent.TableName{{Keyspace: "shop", Table: "orders"}}}, nil)
		b.rows("shop.orders", nil)
		b.fetch("back", stored, "orders")
		b.rows("shop.orders", nil)
		b.bring(map[string]any{"restore": "back", "keyspace": "shop", "table": "orders", "check_tokens": true}, len(stored))
		b.rows("shop.orders", before)
		if found, err := b.conn.Query(b.t.Context(), cql.Quorum, "SELECT id FROM shop.orders WHERE body = 'body of 7'"); err != nil || len(found) != 3 {
			b.t.Errorf("the index finds %d rows: %v", len(found), err)
		}
		b.bring(map[string]any{"restore": "back", "keyspace": "shop", "table": "orders"}, 0)
		b.job(agent.DropRestore, map[string]any{"restore": "back"}, nil)
		b.refuse("import-nothing", agent.ImportBundles, map[string]any{"restore": "back", "keyspace": "shop", "table": "orders"}, "restore-not-found")
	})
	run("an unchanged table costs nothing", func() {
		b.snapshot("again")
		var indexed agent.Indexed
		b.job(agent.IndexSnapshot, map[string]any{"tag": "again", "encryption": b.encryption}, nil)
		b.snapshot("once-more")
		b.job(agent.IndexSnapshot, map[string]any{"tag": "once-more", "encryption": b.encryption}, &indexed)
		if indexed.HashedBytes != 0 || indexed.Bundles == 0 {
			b.t.Errorf("%+v", indexed)
		}
	})
	run("a table comes back beside the living one", func() {
		b.besides()
		stored := b.backUp("beside")
		b.fetch("beside", stored, "orders")
		b.bring(map[string]any{"restore": "beside", "keyspace": "shop", "table": "orders", "as_table": "orders_then"}, len(stored))
		b.rows("shop.orders_then", before)
		b.fetch("elsewhere", stored, "orders")
		b.bring(map[string]any{"restore": "elsewhere", "keyspace": "shop", "table": "orders", "as_keyspace": "copy", "cleanup": true}, len(stored))
		b.rows("copy.orders", before)
		b.digests()
	})
	run("a flipped object is refused and nothing is touched", func() { b.flipped() })
	run("a snapshot ends when it is told to", func() {
		b.job(agent.ClearSnapshot, map[string]any{"tag": "first"}, nil)
		if found, _ := filepath.Glob(filepath.Join(n.folder, "cassandra/data/*/*/snapshots/first")); len(found) > 0 {
			b.t.Error(found)
		}
		b.refuse("index-none", agent.IndexSnapshot, map[string]any{"tag": "first", "encryption": b.encryption}, "snapshot-not-found")
		b.refuse("snapshot-none", agent.Snapshot, map[string]any{
			"tag": "none", "ttl_seconds": 60, "tables": []agent.TableName{{Keyspace: "shop", Table: "nothing"}},
		}, "table-not-found")
	})
	run("files are placed while the engine is stopped, and named with numbers they are read every time", func() { b.placed(plane, nodes) })
	run("files of the newest format are understood", b.newest)
	run("nothing secret was said", func() {
		n.saidNothingSecret()
		content, err := os.ReadFile(n.folder + ".log")
		if err != nil || bytes.Contains(content, []byte(b.encryption.Key)) {
			b.t.Errorf("the log holds the backup key, or cannot be read: %v", err)
		}
		jobs, _ := filepath.Glob(filepath.Join(n.folder, "jobs", "*"))
		for _, path := range jobs {
			if content, _ := os.ReadFile(path); bytes.Contains(content, []byte(b.encryption.Key)) {
				b.t.Errorf("%s holds the backup key", path)
			}
		}
	})
	t.Logf("all of it took %.1f s", time.Since(began).Seconds())
}

func (b *backedUp) connect(plane *agenttest.ControlPlane) {
	config := &tls.Config{RootCAs: plane.Cluster.Pool(), ServerName: identity.DNSName(b.id)}
	var err error
	if b.conn, err = cql.DialFrom(b.t.Context(), home, b.address+":9042", config, "admin", "customer"); err != nil {
		b.t.Fatal(err)
	}
}

func (b *backedUp) say(statement string, values ...any) {
	b.t.Helper()
	if _, err := b.conn.Query(b.t.Context(), cql.Quorum, statement, values...); err != nil {
		b.t.Fatalf("%s: %v", statement, err)
	}
}

// job succeeds, under a name of its own.
func (b *backedUp) job(kind agent.JobKind, parameters map[string]any, into any) {
	b.t.Helper()
	b.jobs++
	done := b.succeed(fmt.Sprintf("job-%d", b.jobs), kind, parameters)
	if into != nil && done.State == agent.Succeeded {
		b.result(done, into)
	}
	if b.t.Failed() {
		b.t.FailNow()
	}
}

func (b *backedUp) write(table string, from, to int) map[string]string {
	rows := map[string]string{}
	for id := from; id < to; id++ {
		body := fmt.Sprintf("body of %d", id%100)
		b.say("INSERT INTO " + table + ` (id, line, body, at, "Big") VALUES (` + fmt.Sprintf("%d, %d, '%s', {street: 's', town: 't'}, {'n': %d})", id, id%3, body, id))
		rows[fmt.Sprintf("%d/%d", id, id%3)] = body
	}
	return rows
}

func (b *backedUp) rows(table string, wanted map[string]string) {
	b.t.Helper()
	rows := b.held(table)
	if !maps.Equal(rows, wanted) {
		b.t.Errorf("%s has %d rows, not the %d that it should", table, len(rows), len(wanted))
	}
}

func (b *backedUp) snapshot(tag string) agent.SnapshotTaken {
	var taken agent.SnapshotTaken
	b.job(agent.Snapshot, map[string]any{"tag": tag, "ttl_seconds": 3600, "tables": []agent.TableName{{Keyspace: "shop", Table: "orders"}}}, &taken)
	if taken.Tables != 1 || taken.Files < 8 || taken.Bytes == 0 {
		b.t.Errorf("%+v", taken)
	}
	return taken
}

func (b *backedUp) bundles(tag string) []agent.Bundle {
	var page agent.BundlePage
	b.ask(http.MethodGet, "/v1/snapshots/"+tag+"/bundles?limit=500", nil, &page)
	return page.Items
}

// backUp stores the table orders, and tells the objects.
func (b *backedUp) backUp(tag string) []agent.StoredObject {
	b.t.Helper()
	b.snapshot(tag)
	var indexed agent.Indexed
	b.job(agent.IndexSnapshot, map[string]any{"tag": tag, "encryption": b.encryption}, &indexed)
	bundles := b.bundles(tag)
	if len(bundles) == 0 || len(bundles) != indexed.Bundles {
		b.t.Fatalf("%+v %+v", indexed, bundles)
	}
	var keys []string
	for _, one := range bundles {
		keys = append(keys, one.Key)
	}
	var uploaded agent.Uploaded
	b.job(agent.UploadBundles, map[string]any{"tag": tag, "store": b.store, "encryption": b.encryption, "keys": keys}, &uploaded)
	var verified agent.Verified
	b.job(agent.VerifyObjects, map[string]any{"store": b.store, "encryption": b.encryption, "objects": uploaded.Stored, "mode": "content"}, &verified)
	if verified.Checked != len(keys) || len(verified.Bad) != 0 {
		b.t.Errorf("%+v", verified)
	}
	return uploaded.Stored
}

func (b *backedUp) toFetch(restore string, stored []agent.StoredObject, table string) map[string]any {
	var bundles []agent.BundleToFetch
	for _, one := range stored {
		bundles = append(bundles, agent.BundleToFetch{StoredObject: one, Keyspace: "shop", Table: table})
	}
	return map[string]any{"restore": restore, "store": b.store, "encryption": b.encryption, "bundles": bundles}
}

func (b *backedUp) fetch(restore string, stored []agent.StoredObject, table string) {
	b.t.Helper()
	var fetched agent.Fetched
	b.job(agent.FetchBundles, b.toFetch(restore, stored, table), &fetched)
	if fetched.Bundles != len(stored) || fetched.FetchedBytes == 0 {
		b.t.Errorf("%+v", fetched)
	}
}

func (b *backedUp) bring(parameters map[string]any, bundles int) {
	b.t.Helper()
	var imported agent.Imported
	b.job(agent.ImportBundles, parameters, &imported)
	if imported.Bundles != bundles {
		b.t.Errorf("%+v, not %d", imported, bundles)
	}
}

// besides makes the table again: under another name, and in another keyspace.
func (b *backedUp) besides() {
	var described agent.SchemaDescription
	b.job(agent.DescribeSchema, nil, &described)
	if len(described.Keyspaces) != 1 || described.Keyspaces[0].Name != "shop" {
		b.t.Fatalf("%+v", described)
	}
	shop := described.Keyspaces[0]
	table := shop.Tables[slices.IndexFunc(shop.Tables, func(one agent.TableSchema) bool { return one.Name == "orders" })]
	if len(table.Dropped) != 1 || table.Dropped[0].Name != "gone" || len(table.Indexes) != 2 || len(table.Columns) != 5 {
		b.t.Errorf("%+v", table)
	}
	var made agent.SchemaCreated
	renamed := agent.KeyspaceToCreate{Name: "shop", Statements: shop.Statements, RenamedTables: map[string]string{"orders": "orders_then"}}
	b.job(agent.CreateSchema, map[string]any{"keyspaces": []agent.KeyspaceToCreate{renamed}}, &made)
	if made.Created != 3 || made.Existing != 2 {
		b.t.Errorf("%+v", made)
	}
	copied := agent.KeyspaceToCreate{Name: "shop", As: "copy", Statements: shop.Statements, Replication: map[string]int{"local-1": 1}, Tables: shop.Tables}
	b.job(agent.CreateSchema, map[string]any{"keyspaces": []agent.KeyspaceToCreate{copied}}, &made)
	if made.Created != 5 || made.Existing != 0 {
		b.t.Errorf("%+v", made)
	}
	b.job(agent.CreateSchema, map[string]any{"keyspaces": []agent.KeyspaceToCreate{copied}}, &made)
	if made.Created != 0 || made.Existing != 5 {
		b.t.Errorf("%+v", made)
	}
	b.say("ALTER TABLE copy.orders ADD more int")
	b.refuse("other-columns", agent.CreateSchema, map[string]any{"keyspaces": []agent.KeyspaceToCreate{copied}}, "schema-differs")
}

// digests are the same of the same rows wherever they are, and differ where one was written since.
func (b *backedUp) digests() {
	b.t.Helper()
	read := func(keyspace, table string) agent.TableDigest {
		var digest agent.TableDigest
		b.job(agent.DigestTable, map[string]any{"keyspace": keyspace, "table": table, "slices": 8}, &digest)
		return digest
	}
	live, copied := read("shop", "orders"), read("copy", "orders")
	if live.Rows == 0 || !reflect.DeepEqual(live, copied) || !reflect.DeepEqual(live, read("shop", "orders_then")) {
		b.t.Errorf("%+v\n%+v", live, copied)
	}
	// Engines stamp writes with whole milliseconds.
	since := time.Now().UnixMilli() * 1000
	b.say("INSERT INTO copy.orders (id, line, body) VALUES (-1, 0, 'since')")
	changed := 0
	for index, part := range read("copy", "orders").Slices {
		if part != live.Slices[index] {
			changed++
			if part.Rows != live.Slices[index].Rows+1 || part.NewestWrite < since {
				b.t.Errorf("%+v", part)
			}
		}
	}
	if changed != 1 {
		b.t.Errorf("%d parts changed", changed)
	}
	b.refuse("digest-nothing", agent.DigestTable, map[string]any{"keyspace": "shop", "table": "nothing", "slices": 8}, "table-not-found")
}

func (b *backedUp) flipped() {
	stored := b.backUp("flipped")
	name := filepath.Join(b.store.Folder, b.store.Prefix, "objects", stored[0].Key[:2], stored[0].Key)
	content, err := os.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	content[len(content)/2] ^= 4
	if err := os.WriteFile(name, content, 0o600); err != nil {
		b.t.Fatal(err)
	}
	job := b.do("fetch-flipped", agent.FetchBundles, b.toFetch("flipped", stored, "orders"))
	if job.State != agent.Failed || job.Error.Code != "object-damaged" || !strings.Contains(job.Error.Message, stored[0].Key) {
		b.t.Errorf("%+v", job)
	}
	if found, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/restores/flipped/shop.orders/"+stored[0].Key+"*")); len(found) > 0 {
		b.t.Error(found)
	}
}

// placed restores without the engine, which then starts with other settings.
func (b *backedUp) placed(plane *agenttest.ControlPlane, nodes []*node) {
	b.say("TRUNCATE shop.orders")
	wanted := b.write("shop.orders", 2000, 2100)
	stored := b.backUp("placed")
	b.keep("placed")
	b.say("TRUNCATE shop.orders")
	b.fetch("placed", stored, "orders")
	place := map[string]any{"restore": "placed", "keyspace": "shop", "table": "orders", "place": true}
	b.refuse("place-running", agent.ImportBundles, place, "engine-running")
	b.conn.Close()
	b.configureWith(nodes, map[string]any{"storage_compatibility_mode": "NONE", "sstable": map[string]any{"selected_format": "bti"}})
	b.job(agent.Stop, nil, nil)
	b.bring(place, len(stored))
	b.job(agent.Start, nil, nil)
	b.connect(plane)
	b.rows("shop.orders", wanted)
	again := b.backUp("numbered")
	if !slices.Equal(again, stored) {
		b.t.Errorf("%+v, not %+v: the same content is another object", again, stored)
	}
	if found := b.bundles("numbered"); len(found) != 1 || found[0].SSTable != "nb-1-big" {
		b.t.Errorf("%+v", found)
	}
	var indexed agent.Indexed
	b.job(agent.IndexSnapshot, map[string]any{"tag": "numbered", "encryption": b.encryption}, &indexed)
	if indexed.HashedBytes == 0 || indexed.HashedBytes != indexed.Bytes {
		b.t.Errorf("%+v", indexed)
	}
}

func (b *backedUp) newest() {
	b.say("TRUNCATE shop.orders")
	wanted := b.write("shop.orders", 3000, 3100)
	stored := b.backUp("newest")
	lowest, highest := int64(1<<63-1), int64(-1<<63)
	rows, err := b.conn.Query(b.t.Context(), cql.Quorum, "SELECT token(id) AS place FROM shop.orders")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, row := range rows {
		lowest, highest = min(lowest, row["place"].(int64)), max(highest, row["place"].(int64))
	}
	found := b.bundles("newest")
	if len(found) != 1 || !strings.HasPrefix(found[0].SSTable, "da-") || !strings.HasSuffix(found[0].SSTable, "-bti") ||
		found[0].MinToken != lowest || found[0].MaxToken != highest || found[0].Level != 0 || found[0].RepairedAt != 0 {
		b.t.Errorf("%+v, not %d to %d", found, lowest, highest)
	}
	b.say("TRUNCATE shop.orders")
	b.fetch("newest", stored, "orders")
	b.bring(map[string]any{"restore": "newest", "keyspace": "shop", "table": "orders"}, 1)
	b.rows("shop.orders", wanted)
}

// keep leaves the files of a snapshot for other tests.
func (b *backedUp) keep(tag string) {
	to := os.Getenv("RINGMASTER_KEEP_SSTABLES")
	if to == "" {
		return
	}
	found, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/data/shop/orders-*/snapshots", tag))
	for _, folder := range found {
		if err := os.CopyFS(filepath.Join(to, tag), os.DirFS(folder)); err != nil {
			b.t.Error(err)
		}
	}
}
