//go:build engine

package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// files are the names of a table's SSTables.
func (b *backedUp) files(table string) []string {
	found, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/data/shop", table+"-*", "*-Data.db"))
	var names []string
	for _, path := range found {
		names = append(names, strings.Split(filepath.Base(path), "-")[1])
	}
	slices.Sort(names)
	return names
}

func (b *backedUp) command(parameters map[string]any) agent.CommandDone {
	b.t.Helper()
	var done agent.CommandDone
	parameters["keyspace"] = "shop"
	b.job(agent.RunCommand, parameters, &done)
	return done
}

// TestCommandsDoWhatTheySayToATablesFiles gives each of them to a real engine.
func TestCommandsDoWhatTheySayToATablesFiles(t *testing.T) {
	// 16 MiB take as many seconds.
	b := secured(t, map[string]any{"compaction_throughput": "1MiB/s"})
	b.say("CREATE TABLE shop.orders (id int PRIMARY KEY, body text) WITH compaction = {'class': 'SizeTieredCompactionStrategy', 'enabled': 'false'}")
	row := 0
	insert := func(rows int) {
		for range rows {
			row++
			b.say(fmt.Sprintf("INSERT INTO shop.orders (id, body) VALUES (%d, 'x')", row))
		}
	}
	for range 4 {
		insert(10)
		before := b.files("orders")
		if done := b.command(map[string]any{"command": "flush", "table": "orders"}); done.SSTablesBefore != len(before) || done.SSTablesAfter != len(before)+1 {
			t.Fatalf("flush: %+v, %v before", done, before)
		}
	}
	all := b.files("orders")
	done := b.command(map[string]any{"command": "compact", "table": "orders", "sstables": all[:2]})
	b.eventually("files without those two", func() bool { return len(b.files("orders")) == 3 })
	if left := b.files("orders"); slices.Contains(left, all[0]) || slices.Contains(left, all[1]) || !slices.Contains(left, all[3]) || done.SSTablesAfter != 3 {
		t.Errorf("compaction of two: %v of %v, %+v", left, all, done)
	}
	b.refuse("gone", agent.RunCommand, map[string]any{"command": "compact", "keyspace": "shop", "table": "orders", "sstables": all[:1]}, "sstable-not-found")
	if done := b.command(map[string]any{"command": "compact", "table": "orders"}); done.SSTablesBefore != 3 || done.SSTablesAfter != 1 || done.BytesAfter == 0 {
		t.Errorf("compaction: %+v", done)
	}
	// The engine removes old files in its own time.
	b.eventually("single file", func() bool { return len(b.files("orders")) == 1 })
	before := b.files("orders")
	if done := b.command(map[string]any{"command": "rewrite", "table": "orders"}); done.SSTablesAfter != 1 || slices.Equal(b.files("orders"), before) {
		t.Errorf("rewriting: %+v, %v", done, before)
	}
	b.command(map[string]any{"command": "cleanup", "table": "orders"})
	b.placedByHand()

	for name, parameters := range map[string]map[string]any{
		"a-drop":   {"command": "drop", "keyspace": "shop", "table": "orders"},
		"no-table": {"command": "flush", "keyspace": "shop"},
		"system":   {"command": "flush", "keyspace": "system_auth", "table": "roles"},
		"a-path":   {"command": "compact", "keyspace": "shop", "table": "orders", "sstables": []string{"../../x"}},
		"of-flush": {"command": "flush", "keyspace": "shop", "table": "orders", "sstables": []string{"1"}},
	} {
		b.refuse(name, agent.RunCommand, parameters, "invalid-parameters")
	}
	b.refuse("unknown", agent.RunCommand, map[string]any{"command": "flush", "keyspace": "shop", "table": "nothing"}, "table-not-found")
	t.Run("a long compaction outlives the agent, and ends when its job is deleted", func(*testing.T) { b.longCompaction() })
}

// placedByHand empties the table and brings its files back, as somebody with a shell on the machine may.
func (b *backedUp) placedByHand() {
	b.job(agent.Snapshot, map[string]any{"tag": "kept", "ttl_seconds": 600, "tables": []agent.TableName{{Keyspace: "shop", Table: "orders"}}}, nil)
	kept, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/data/shop/orders-*/snapshots/kept/*.*"))
	b.say("TRUNCATE shop.orders")
	for _, path := range kept {
		if strings.HasPrefix(filepath.Base(path), "nb-") {
			if err := os.Link(path, filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), filepath.Base(path))); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	done := b.command(map[string]any{"command": "refresh", "table": "orders"})
	found, err := b.conn.Query(b.t.Context(), cql.Quorum, "SELECT id FROM shop.orders")
	if err != nil || len(found) != 40 || done.SSTablesBefore != 0 || done.SSTablesAfter != 1 {
		b.t.Errorf("%d rows came back (%v): %+v", len(found), err, done)
	}
}

// longCompaction compacts slowly: once with a death of the agent in the middle, once until the job is deleted.
func (b *backedUp) longCompaction() {
	b.say("CREATE TABLE shop.large (id int PRIMARY KEY, body text) WITH compression = {'enabled': 'false'} AND " +
		"compaction = {'class': 'SizeTieredCompactionStrategy', 'enabled': 'false'}")
	body := make([]byte, 10<<10)
	write := func() {
		for id := range 400 {
			_, _ = rand.Read(body)
			b.say(fmt.Sprintf("INSERT INTO shop.large (id, body) VALUES (%d, '%s')", id, hex.EncodeToString(body)))
		}
		b.command(map[string]any{"command": "flush", "table": "large"})
	}
	write()
	write()
	parameters, _ := json.Marshal(map[string]any{"command": "compact", "keyspace": "shop", "table": "large"})
	begin := func(name string) (job agent.Job) {
		b.ask(http.MethodPut, "/v1/jobs/"+name, agent.JobRequest{Kind: agent.RunCommand, Parameters: parameters}, &job)
		b.eventually("progress", func() bool {
			b.ask(http.MethodGet, "/v1/jobs/"+name, nil, &job)
			return job.State != agent.Running || job.Progress > 0.05
		})
		return job
	}
	if job := begin("long"); job.State != agent.Running {
		b.t.Fatalf("it is too short to be disturbed: %+v", job)
	}
	b.killAgent()
	b.startAgent()
	b.reachable()
	if job := b.ended("long"); job.State != agent.Succeeded {
		b.t.Errorf("%+v", job)
	}
	b.eventually("single file", func() bool { return len(b.files("large")) == 1 })
	compacted, err := b.conn.Query(b.t.Context(), cql.One, "SELECT columnfamily_name FROM system.compaction_history")
	if err != nil {
		b.t.Fatal(err)
	}
	if compacted = slices.DeleteFunc(compacted, func(row cql.Row) bool { return row.Text("columnfamily_name") != "large" }); len(compacted) != 1 {
		b.t.Errorf("it was compacted %d times", len(compacted))
	}
	write()
	if job := begin("stopped"); job.State != agent.Running {
		b.t.Fatalf("it is too short to be stopped: %+v", job)
	}
	b.ask(http.MethodDelete, "/v1/jobs/stopped", nil, nil)
	if left := b.files("large"); len(left) != 2 {
		b.t.Errorf("%d files are left of 2", len(left))
	}
	_, tables, _ := b.answered(map[string]any{"question": "compactions"})
	if running := tables["Running"]; len(running) > 0 {
		b.t.Errorf("%v", running)
	}
}
