//go:build engine

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
)

// TestATableIsRestoredToASecond archives the log of one node, kills it, and brings a table back as it was between two writes.
func TestATableIsRestoredToASecond(t *testing.T) {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	if cache == "" {
		t.Fatal("RINGMASTER_CACHE_DIR must name the folder that images/machine/cassandra/bake made the tree of Cassandra in")
	}
	plane := agenttest.NewControlPlane(t)
	nodes := newNodes(t, plane, cache)[:1]
	n := nodes[0]
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
	b.say(`CREATE TABLE shop.orders (id int, line int, body text, at frozen<place>, gone text, "Big" map<text, int>, PRIMARY KEY (id, line))`)
	b.say("ALTER TABLE shop.orders DROP gone")
	b.say("CREATE TABLE shop.visits (id int PRIMARY KEY, seen counter)")
	b.say("CREATE TABLE shop.emptied (id int PRIMARY KEY, body text)")
	b.say("CREATE TABLE shop.noise (id int PRIMARY KEY)")
	var set agent.ArchiveSet
	b.job(agent.SetArchive, map[string]any{"on": true, "store": b.store, "encryption": b.encryption, "interval_seconds": 1}, &set)
	if report := b.archived(0); report.Stream == "" || report.Stream != set.Stream || len(report.Entries) != 0 {
		t.Fatalf("%+v %+v", set, report)
	}

	b.write("shop.orders", 0, 300)
	visit := func(times int) {
		for range times {
			b.say("UPDATE shop.visits SET seen = seen + 1 WHERE id = 1")
		}
	}
	visit(3)
	since := time.Now()
	stored := b.backUp("base")
	b.write("shop.orders", 300, 400)
	visit(4)
	// What is written at one time with two times of writing is parted.
	b.say("BEGIN UNLOGGED BATCH INSERT INTO shop.orders (id, line, body) VALUES (7, 700, 'early'); " +
		"INSERT INTO shop.orders (id, line, body) VALUES (7, 701, 'late') USING TIMESTAMP 4000000000000000; APPLY BATCH")
	b.say("DELETE FROM shop.orders WHERE id = 20 AND line = 2")
	b.say("INSERT INTO shop.emptied (id, body) VALUES (1, 'before')")
	time.Sleep(20 * time.Millisecond)
	until := time.Now()
	wanted := b.held("shop.orders")
	delete(wanted, "7/701")
	time.Sleep(20 * time.Millisecond)
	b.write("shop.orders", 5000, 5200)
	b.say("DELETE FROM shop.orders WHERE id = 10")
	b.say(`UPDATE shop.orders SET body = 'changed later' WHERE id = 40 AND line = 1`)
	visit(5)
	b.say("TRUNCATE shop.emptied")

	b.archivedPast(until.Add(time.Second))
	b.conn.Close()
	began := time.Now()
	killed := n.engineOnDisk()
	n.killAgent()
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.startAgent()
	n.reachable()
	n.eventually("the engine", func() bool { return n.status().Engine.CQLReady })
	t.Logf("back after %.1f s", time.Since(began).Seconds())
	b.connect(plane)
	b.write("shop.orders", 6000, 6010)
	restarted := time.Now()
	b.archivedPast(restarted)
	report := b.archived(0)
	pieces, bytesStored := []agent.StoredObject{}, int64(0)
	for _, one := range report.Entries {
		if one.Kind != agent.ArchivePiece {
			t.Errorf("a gap although nothing was missed: %+v", one)
			continue
		}
		pieces = append(pieces, agent.StoredObject{Key: one.Key, Bytes: one.StoredBytes, SHA256: one.SHA256})
		bytesStored += one.StoredBytes
	}
	t.Logf("%d pieces, %d bytes; complete until %.1f s ago", len(pieces), bytesStored, time.Since(*report.Until).Seconds())

	b.say("TRUNCATE shop.orders")
	b.say("TRUNCATE shop.visits")
	b.fetch("then", stored, "orders")
	b.fetchPieces("then", pieces)
	var described agent.SchemaDescription
	b.job(agent.DescribeSchema, nil, &described)
	replay := map[string]any{
		"restore": "then", "since": since, "until": until, "keyspaces": replayed(described),
		"tables": []agent.TableName{{Keyspace: "shop", Table: "orders"}, {Keyspace: "shop", Table: "visits"}},
	}
	var made agent.Replayed
	began = time.Now()
	b.job(agent.ReplayArchive, replay, &made)
	t.Logf("replayed in %.1f s: %+v", time.Since(began).Seconds(), made)
	if made.SSTables == 0 || made.Later == 0 || made.Pieces != len(pieces) {
		t.Errorf("%+v", made)
	}
	var imported agent.Imported
	b.job(agent.ImportBundles, map[string]any{"restore": "then", "keyspace": "shop", "table": "orders", "check_tokens": true}, &imported)
	b.job(agent.ImportBundles, map[string]any{"restore": "then", "keyspace": "shop", "table": "visits"}, nil)
	b.rows("shop.orders", wanted)
	counted, err := b.conn.Query(t.Context(), cql.Quorum, "SELECT seen FROM shop.visits WHERE id = 1")
	if err != nil || len(counted) != 1 || counted[0]["seen"] != int64(7) {
		t.Errorf("%v %v, not 7", counted, err)
	}

	replay["tables"] = []agent.TableName{{Keyspace: "shop", Table: "emptied"}}
	b.job(agent.ReplayArchive, replay, nil)
	replay["until"] = restarted
	b.refuse("emptied", agent.ReplayArchive, replay, "table-emptied")
	altered := time.Now()
	b.say("ALTER TABLE shop.orders ADD added text")
	b.say("INSERT INTO shop.orders (id, line, added) VALUES (1, 1, 'x')")
	added := time.Now()
	b.archivedPast(added)
	last := b.archived(report.Entries[len(report.Entries)-1].Sequence)
	pieces = pieces[:0]
	for _, one := range last.Entries {
		pieces = append(pieces, agent.StoredObject{Key: one.Key, Bytes: one.StoredBytes, SHA256: one.SHA256})
	}
	b.fetchPieces("altered", pieces)
	replay["restore"], replay["since"], replay["until"], replay["tables"] = "altered", altered, added, []agent.TableName{{Keyspace: "shop", Table: "orders"}}
	b.refuse("altered", agent.ReplayArchive, replay, "archive-unreadable")

	b.job(agent.SetArchive, map[string]any{"on": false}, nil)
	if report := b.archived(0); report.Stream != "" || len(report.Entries) != 0 {
		t.Errorf("%+v", report)
	}
	left, _ := os.ReadDir(n.folder + "/cassandra/archive/links")
	if len(left) != 0 {
		t.Errorf("%d links are left", len(left))
	}
	n.saidNothingSecret()
}

// held are the rows of a table, as write gives them.
func (b *backedUp) held(table string) map[string]string {
	found, err := b.conn.Query(b.t.Context(), cql.Quorum, "SELECT id, line, body FROM "+table)
	if err != nil {
		b.t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range found {
		rows[fmt.Sprintf("%d/%d", row["id"], row["line"])] = row.Text("body")
	}
	return rows
}

func (b *backedUp) archived(after int64) agent.ArchiveReport {
	var report agent.ArchiveReport
	b.ask(http.MethodGet, fmt.Sprintf("/v1/archive?after=%d", after), nil, &report)
	return report
}

// archivedPast waits until the archive has everything until then. An archive of a log in which nothing is written is a little behind.
func (b *backedUp) archivedPast(moment time.Time) {
	b.eventually("archive until "+moment.String(), func() bool {
		b.say("INSERT INTO shop.noise (id) VALUES (1)")
		return b.archived(0).Until.After(moment)
	})
}

func (b *backedUp) fetchPieces(restore string, pieces []agent.StoredObject) {
	var bundles []agent.BundleToFetch
	for _, one := range pieces {
		bundles = append(bundles, agent.BundleToFetch{StoredObject: one, Keyspace: agent.ArchiveKeyspace, Table: agent.ArchiveTable})
	}
	b.job(agent.FetchBundles, map[string]any{"restore": restore, "store": b.store, "encryption": b.encryption, "bundles": bundles}, nil)
}

// replayed is what a replay needs of a schema.
func replayed(described agent.SchemaDescription) []agent.ReplayedKeyspace {
	var all []agent.ReplayedKeyspace
	for _, keyspace := range described.Keyspaces {
		one := agent.ReplayedKeyspace{Name: keyspace.Name}
		for _, statement := range keyspace.Statements {
			if statement.Type == "type" || statement.Type == "table" {
				one.Statements = append(one.Statements, statement)
			}
		}
		all = append(all, one)
	}
	return all
}
