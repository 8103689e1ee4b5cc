//go:build engine

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
)

// TestTablesAreDescribedAndAltered asks a real engine how its tables are set, and sets one; then the workloads of test drives run on it.
func TestTablesAreDescribedAndAltered(t *testing.T) {
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
	b := &backedUp{node: n}
	b.connect(plane)
	b.say("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	b.say(`CREATE TABLE shop."Orders" (id int, line timeuuid, paid boolean, body text, PRIMARY KEY (id, line)) WITH compression = ` +
		"{'class': 'LZ4Compressor', 'chunk_length_in_kb': 64} AND default_time_to_live = 86400 AND comment = 'it''s one'")
	b.say(`CREATE INDEX by_paid ON shop."Orders" (paid)`)
	b.say(`CREATE INDEX by_body ON shop."Orders" (body) USING 'sai'`)
	b.say(`CREATE TABLE shop.people (id int PRIMARY KEY, town text)`)
	b.say("CREATE INDEX by_town ON shop.people (town)")
	for id := range 200 {
		b.say(fmt.Sprintf("INSERT INTO shop.people (id, town) VALUES (%d, 'town %d')", id, id%20))
	}

	var told agent.TablesDescribed
	b.job(agent.DescribeTables, nil, &told)
	if len(told.Keyspaces) != 1 || told.Keyspaces[0].Class != "SimpleStrategy" || told.Keyspaces[0].Replication["replication_factor"] != 1 {
		t.Errorf("%+v", told.Keyspaces)
	}
	orders := told.Tables[slices.IndexFunc(told.Tables, func(one agent.DescribedTable) bool { return one.Table == "Orders" })]
	compression, _ := orders.Options["compression"].(map[string]any)
	if compression["chunk_length_in_kb"] != "64" || orders.Options["default_time_to_live"] != float64(86400) || orders.Options["comment"] != "it's one" {
		t.Errorf("%+v", orders.Options)
	}
	var names []string
	for _, column := range orders.Columns {
		names = append(names, column.Name)
	}
	if strings.Join(names, " ") != "id line body paid" {
		t.Errorf("%v", names)
	}
	for _, index := range orders.Indexes {
		if index.Name == "by_paid" && (index.Kind != "COMPOSITES" || index.Target != "paid" || index.Values == nil) {
			t.Errorf("%+v", index)
		}
		if index.Name == "by_body" && (index.Kind != "CUSTOM" || index.Values != nil) {
			t.Errorf("%+v", index)
		}
	}
	if len(orders.Indexes) != 2 || !strings.HasPrefix(orders.Statement, `CREATE TABLE shop."Orders"`) || strings.Count(orders.Statement, "INDEX") != 2 {
		t.Errorf("%+v\n%s", orders.Indexes, orders.Statement)
	}

	people := told.Tables[slices.IndexFunc(told.Tables, func(one agent.DescribedTable) bool { return one.Table == "people" })]
	if len(people.Indexes) != 1 || people.Indexes[0].Values == nil {
		t.Fatalf("%+v", people.Indexes)
	}
	// An estimate: the engine was seen to be one behind.
	if values := *people.Indexes[0].Values; values < 15 || values > 25 {
		t.Errorf("%d values", values)
	}

	short := map[string]any{"class": compression["class"], "chunk_length_in_kb": "4"}
	change := map[string]any{
		"keyspace": "shop", "table": "Orders",
		"before":  map[string]any{"compression": compression, "compaction": orders.Options["compaction"], "gc_grace_seconds": 864000},
		"options": map[string]any{"compression": short, "compaction": map[string]any{"class": "LeveledCompactionStrategy"}, "gc_grace_seconds": 432000},
	}
	for _, changed := range []bool{true, false} {
		var altered agent.TableAltered
		b.job(agent.AlterTable, change, &altered)
		if altered.Changed != changed || altered.Options["gc_grace_seconds"] != float64(432000) {
			t.Errorf("%+v", altered)
		}
	}
	change["options"] = map[string]any{"compression": compression}
	b.refuse("somebody-else", agent.AlterTable, change, "options-differ")
	change["options"] = map[string]any{"default_time_to_live": 1}
	b.refuse("not-settable", agent.AlterTable, change, "invalid-parameters")
	b.refuse("refused", agent.AlterTable, map[string]any{
		"keyspace": "shop", "table": "Orders", "before": map[string]any{"compression": short},
		"options": map[string]any{"compression": map[string]any{"class": "NoSuchCompressor"}},
	}, "options-refused")
	b.refuse("no-table", agent.AlterTable, map[string]any{
		"keyspace": "shop", "table": "nothing", "before": map[string]any{}, "options": map[string]any{"gc_grace_seconds": 1},
	}, "unknown-table")
	b.refuse("of-the-engine", agent.RewriteTable, map[string]any{"keyspace": "system_auth", "table": "roles"}, "invalid-parameters")
	b.job(agent.RewriteTable, map[string]any{"keyspace": "shop", "table": "Orders"}, nil)
	workloadsRun(t, b)
}
