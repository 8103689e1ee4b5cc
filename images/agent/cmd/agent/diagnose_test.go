//go:build engine

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
)

// secured is one node alone that customers can use.
func secured(t *testing.T, settings map[string]any) *backedUp {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	if cache == "" {
		t.Fatal("RINGMASTER_CACHE_DIR must name the folder that images/machine/cassandra/bake made the tree of Cassandra in")
	}
	plane := agenttest.NewControlPlane(t)
	nodes := newNodes(t, plane, cache)[:1]
	n := nodes[0]
	n.startAgent()
	n.reachable()
	n.configureWith(nodes, settings)
	n.succeed("start", agent.Start, nil)
	secured := secureParameters(t, 1)
	secured["replication"] = 1
	n.succeed("secure", agent.Secure, secured)
	n.succeed("allow-everybody", agent.Allowlist, map[string]any{"cidrs": []string{}})
	b := &backedUp{node: n, encryption: agent.Encryption{Key: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))}}
	b.connect(plane)
	b.say("CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 1}")
	return b
}

// answered asks a question and finds the answer's facts and tables by their names.
func (b *backedUp) answered(parameters map[string]any) (facts map[string]any, tables map[string][]map[string]any, answer agent.Answer) {
	b.t.Helper()
	b.job(agent.Diagnose, parameters, &answer)
	facts, tables = map[string]any{}, map[string][]map[string]any{}
	for _, one := range answer.Facts {
		facts[one.Label] = one.Value
	}
	for _, table := range answer.Tables {
		tables[table.Title] = []map[string]any{}
		for _, row := range table.Rows {
			named := map[string]any{}
			for index, column := range table.Columns {
				named[column.Title] = row[index]
			}
			tables[table.Title] = append(tables[table.Title], named)
		}
	}
	return facts, tables, answer
}

// flushed has the engine write what it has in memory.
func (b *backedUp) flushed() {
	b.job(agent.Snapshot, map[string]any{"tag": "flush", "ttl_seconds": 60}, nil)
	b.job(agent.ClearSnapshot, map[string]any{"tag": "flush"}, nil)
}

// TestATablesFilesAreAnalysed writes a table of which all is known, and compares what its files are said to hold.
func TestATablesFilesAreAnalysed(t *testing.T) {
	b := secured(t, nil)
	b.say("CREATE TYPE shop.place (street text, town text)")
	b.say(`CREATE TABLE shop.events (who text, "Day" int, line int, body text, gone text, at frozen<place>, tags set<text>, fixed text static, PRIMARY KEY ((who, "Day"), line)) ` +
		"WITH gc_grace_seconds = 864000 AND compaction = {'class': 'SizeTieredCompactionStrategy', 'enabled': 'false'}")
	b.say("ALTER TABLE shop.events DROP gone")
	insert := func(who string, from, to int) {
		for line := from; line < to; line++ {
			b.say(fmt.Sprintf(`INSERT INTO shop.events (who, "Day", line, body) VALUES ('%s', 1, %d, '%s')`, who, line, strings.Repeat("x", 100)))
		}
	}
	insert("large", 0, 600)
	for small := range 50 {
		insert(fmt.Sprintf("small-%d", small), 0, 1)
	}
	insert("dead", 0, 40)
	b.flushed()
	// The same rows once more, in another file: they count once.
	insert("large", 0, 100)
	// 30 rows deleted of 40: a tombstone each; a range; a partition that is no more; a cell; and a set that replaces what was.
	for line := range 30 {
		b.say(fmt.Sprintf(`DELETE FROM shop.events USING TIMESTAMP %d WHERE who = 'dead' AND "Day" = 1 AND line = %d`, time.Now().UnixMicro(), line))
	}
	b.say(`DELETE FROM shop.events WHERE who = 'range' AND "Day" = 1 AND line > 5 AND line < 9`)
	b.say(`DELETE FROM shop.events WHERE who = 'whole' AND "Day" = 1`)
	b.say(`DELETE body FROM shop.events WHERE who = 'small-1' AND "Day" = 1 AND line = 0`)
	b.say(`UPDATE shop.events SET tags = {'a', 'b'}, at = {street: 's', town: 't'} WHERE who = 'small-2' AND "Day" = 1 AND line = 0`)
	b.say(`INSERT INTO shop.events (who, "Day", line, body) VALUES ('kept', 1, 1, 'for an hour') USING TTL 3600`)
	b.say(`INSERT INTO shop.events (who, "Day", fixed) VALUES ('fixed', 1, 'static')`)

	facts, tables, answer := b.answered(map[string]any{"question": "sstables", "keyspace": "shop", "table": "events", "minutes": 1})
	// 600 + 50 + 40 + the one with a TTL, less the 30 deleted.
	wanted := map[string]any{
		"Partitions": 1 + 50 + 1 + 1 + 1 + 1 + 1.0, "Rows": 600 + 50 + 10 + 1.0, "Tombstones": 30 + 1 + 1 + 1 + 1.0, "Of them past gc_grace": 0.0,
		"Of them with a TTL": 1.0, "SSTables": 2.0, "gc_grace_seconds": 864000.0,
		// Each row's body but the deleted one, two of the set, the tuple, the static one.
		"Living cells": 600 + 50 - 1 + 10 + 2 + 1 + 1 + 1.0,
	}
	for name, value := range wanted {
		if facts[name] != value {
			t.Errorf("%s: %v, not %v", name, facts[name], value)
		}
	}
	if facts["Read, unpacked"] != facts["To read"] || len(answer.Notes) != 2 {
		t.Errorf("not all was read: %v, %v", facts, answer.Notes)
	}
	first := tables["Largest partitions"][0]
	if first["Partition key"] != "large:1" || first["Rows"] != 600.0 || first["SSTables"] != 2.0 || first["Size"].(float64) < 700*100 || first["Size"].(float64) > 700*140 {
		t.Errorf("the largest: %v", first)
	}
	var sum float64
	for _, bucket := range tables["Partitions by size"] {
		sum += bucket["Partitions"].(float64)
	}
	if most := tables["Partitions with the most tombstones"]; len(most) != 5 || most[0]["Partition key"] != "dead:1" || most[0]["Tombstones"] != 30.0 || sum != 56 {
		t.Errorf("%v; %v in buckets", most, sum)
	}
	if rows := fmt.Sprint(tables["Partitions by rows"]); !strings.Contains(rows, "Partitions:51 Share:0.91") || !strings.Contains(rows, "Up to:1024") {
		t.Errorf("%s", rows)
	}
	if files := fmt.Sprint(tables["SSTables"]); !strings.Contains(files, "Partitions:52 ") {
		t.Errorf("no file of 52 partitions: %s", files)
	}
	if left, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/data/shop/*/snapshots/analysis-*")); len(left) > 0 {
		t.Errorf("a snapshot is left: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/tmp/analysis-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}

	b.say("ALTER TABLE shop.events WITH gc_grace_seconds = 0")
	time.Sleep(2 * time.Second)
	asked := time.Now()
	facts, tables, _ = b.answered(map[string]any{"question": "sstables", "keyspace": "shop", "table": "events"})
	if facts["Of them past gc_grace"] != 34.0 {
		t.Errorf("without gc_grace: %v", facts)
	}
	b.asTheEnginesOwnTool(tables["SSTables"], asked)
	b.say("TRUNCATE shop.events")
	if facts, _, _ := b.answered(map[string]any{"question": "sstables", "keyspace": "shop", "table": "events"}); facts["Partitions"] != 0.0 || facts["SSTables"] != 0.0 {
		t.Errorf("of an empty table: %v", facts)
	}
	b.refuse("unknown", agent.Diagnose, map[string]any{"question": "sstables", "keyspace": "shop", "table": "nothing"}, "table-not-found")
	b.refuse("system", agent.Diagnose, map[string]any{"question": "sstables", "keyspace": "system_auth", "table": "roles"}, "invalid-parameters")
	b.refuse("whole", agent.Diagnose, map[string]any{"question": "sstables", "keyspace": "shop"}, "invalid-parameters")
}

// asTheEnginesOwnTool compares with what sstablemetadata says of each file, for which nothing is kept for a time of grace.
// What can be dropped it estimates by the minute: later ones may be more.
func (b *backedUp) asTheEnginesOwnTool(told []map[string]any, asked time.Time) {
	b.t.Helper()
	files, _ := filepath.Glob(filepath.Join(b.folder, "cassandra/data/shop/events-*/*-Data.db"))
	if len(files) != len(told) {
		b.t.Fatalf("%d files, %v", len(files), told)
	}
	quiet := filepath.Join(b.t.TempDir(), "quiet.xml")
	if err := os.WriteFile(quiet, []byte("<configuration/>"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	for _, path := range files {
		said, err := exec.Command("java", "@"+filepath.Join(b.cache, "cassandra-"+testVersion, "jvm.options"), "-Xmx256m", "-Dlogback.configurationFile="+quiet, "-Dcassandra.storagedir="+b.t.TempDir(), "-Dcassandra.config=file://"+filepath.Join(b.folder, "cassandra/conf/cassandra.yaml"),
			"-Dcassandra-rackdc.properties=file://"+filepath.Join(b.folder, "cassandra/conf/cassandra-rackdc.properties"),
			"-cp", filepath.Join(b.cache, "cassandra-"+testVersion, "lib", "*"), "org.apache.cassandra.tools.SSTableMetadataViewer", path).CombinedOutput()
		if err != nil {
			b.t.Fatalf("%v: %s", err, said)
		}
		figure := func(name string) string {
			found := regexp.MustCompile(`(?m)^` + name + `: *(?:.*\()?([-0-9.]+)`).FindSubmatch(said)
			if found == nil {
				b.t.Fatalf("no %s in %s", name, said)
			}
			return string(found[1])
		}
		var ours map[string]any
		for _, one := range told {
			if strings.HasPrefix(filepath.Base(path), fmt.Sprintf("%s-%s-", strings.TrimPrefix(fmt.Sprint(one["Format"]), "big-"), one["SSTable"])) {
				ours = one
			}
		}
		if ours == nil {
			b.t.Fatalf("%s is not among %v", path, told)
		}
		micros, _ := strconv.ParseInt(figure("Maximum timestamp"), 10, 64)
		level, _ := strconv.ParseFloat(figure("SSTable Level"), 64)
		rows, _ := strconv.ParseFloat(figure("totalRows"), 64)
		if ours["Rows"] != rows || ours["Level"] != level || ours["Newest write"] != time.UnixMicro(micros).UTC().Format(time.RFC3339) {
			b.t.Errorf("%v\n%s", ours, said)
		}
		droppable, _ := strconv.ParseFloat(figure("Estimated droppable tombstones"), 64)
		sameMinute := time.Now().Truncate(time.Minute).Equal(asked.Truncate(time.Minute))
		if more := droppable - ours["Droppable"].(float64); more < -0.01 || more > 0.01 && sameMinute {
			b.t.Errorf("droppable %v, not %v", ours["Droppable"], droppable)
		}
		var size int64
		components, _ := filepath.Glob(strings.TrimSuffix(path, "Data.db") + "*")
		for _, component := range components {
			if info, err := os.Stat(component); err == nil {
				size += info.Size()
			}
		}
		if ours["Size"] != float64(size) {
			b.t.Errorf("size %v of %s, not %d", ours["Size"], path, size)
		}
	}
}

// TestTrafficOfClientsIsCaptured runs known requests while the node is watched.
func TestTrafficOfClientsIsCaptured(t *testing.T) {
	b := secured(t, nil)
	b.say("CREATE TABLE shop.orders (id int PRIMARY KEY, body text)")
	parameters, _ := json.Marshal(map[string]any{"question": "cql-traffic", "seconds": 5})
	var job agent.Job
	b.ask(http.MethodPut, "/v1/jobs/watched", agent.JobRequest{Kind: agent.Diagnose, Parameters: parameters}, &job)
	b.eventually("capture", func() bool {
		b.ask(http.MethodGet, "/v1/jobs/watched", nil, &job)
		return strings.HasPrefix(job.Message, "Capturing")
	})
	time.Sleep(300 * time.Millisecond)
	for id := range 50 {
		b.say(fmt.Sprintf("INSERT INTO shop.orders (id, body) VALUES (%d, 'x')", id))
	}
	b.say("SELECT body FROM shop.orders WHERE id = 7")
	if job = b.ended("watched"); job.State != agent.Succeeded {
		t.Fatalf("%+v", job)
	}
	var answer agent.Answer
	b.result(job, &answer)
	told := func(title, name string) float64 {
		for _, table := range answer.Tables {
			for _, row := range table.Rows {
				if table.Title == title && row[0] == name {
					return row[1].(float64)
				}
			}
		}
		return 0
	}
	if writes, reads := told("Writes that this node coordinated", "shop.orders"), told("Reads that this node coordinated", "shop.orders"); writes != 50 || reads != 1 {
		t.Errorf("%v writes, %v reads: %+v", writes, reads, answer.Tables)
	}
	// The agent's own account looks at the ring meanwhile.
	if writes := told("Requests by kind", "Write"); writes != 50 {
		t.Errorf("%v writes: %+v", writes, answer.Tables)
	}
	flows := answer.Tables[0].Rows
	if len(flows) == 0 || flows[0][0] != fmt.Sprint(home) || flows[0][2].(float64) < 51 || flows[0][9] != 0.0 {
		t.Errorf("%v", flows)
	}
	if answer.File == nil || len(answer.File.Content) < 51*100 {
		t.Fatalf("%+v", answer.File)
	}
	for _, one := range [][2]string{{"Requests by client", b.address + ", ringmaster"}, {"Requests by client", fmt.Sprint(home) + ", admin"}} {
		if told(one[0], one[1]) == 0 {
			t.Errorf("no %s of %s: %+v", one[0], one[1], answer.Tables)
		}
	}
	_, _, between := b.answered(map[string]any{"question": "node-traffic", "seconds": 1})
	if between.File == nil || len(between.Tables) != 6 {
		t.Errorf("%+v", between)
	}
}
