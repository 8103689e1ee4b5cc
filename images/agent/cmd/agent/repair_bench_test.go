//go:build engine && bench

package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
)

const benchRowBytes = 16 << 10

// measured is one repair of one table: wall seconds and what all nodes received meanwhile.
type measured struct {
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
}

// repairFigures are what e2e/bench/repair.py reads.
type repairFigures struct {
	TableMiB    int        `json:"table_mib"`
	Stale       int        `json:"stale_percent"`
	Nodetool    measured   `json:"nodetool_full"`
	Pull        measured   `json:"pull"`
	Incremental measured   `json:"incremental"`
	CleanOurs   []measured `json:"clean_ours"`
	CleanTheirs []measured `json:"clean_nodetool"`
}

// TestRepairsAreMeasuredAgainstNodetool is the inside of e2e/bench/repair.py, which says where the figures go and how large a
// table is. Both sides repair equal tables of one ring that were damaged together.
func TestRepairsAreMeasuredAgainstNodetool(t *testing.T) {
	path, cache := os.Getenv("RINGMASTER_REPAIR_FIGURES"), os.Getenv("RINGMASTER_CACHE_DIR")
	if path == "" {
		t.Fatal("RINGMASTER_REPAIR_FIGURES must name where the figures go: make bench B=repair")
	}
	mebibytes, err := strconv.Atoi(os.Getenv("RINGMASTER_TEST_MIB"))
	if err != nil {
		t.Fatal(err)
	}
	plane := agenttest.NewControlPlane(t)
	ring := newNodes(t, plane, cache)
	for _, n := range ring {
		// Where nodetool finds the engine once its management is opened; see openManagement.
		t.Setenv("JAVA_TOOL_OPTIONS", "-Djava.rmi.server.hostname="+n.address)
		n.startAgent()
	}
	all(ring, func(n *node) { n.reachable() })
	all(ring, func(n *node) { n.configureWith(ring, map[string]any{"hinted_handoff_enabled": false}) })
	all(ring, func(n *node) { n.succeed("start", agent.Start, nil) })
	ring[0].succeed("secure", agent.Secure, secureParameters(t, len(ring)))
	all(ring, func(n *node) { n.prove("first", ring) })
	first, second, stale := ring[0], ring[1], ring[2]

	shop := shop{t: t, plane: plane, sessions: map[*node]*cql.Conn{}}
	damaged := []string{"by_nodetool", "by_pull", "by_increment"}
	tables := append([]string{"clean"}, damaged...)
	shop.run(first, "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 3}")
	for _, table := range tables {
		shop.run(first, "CREATE TABLE shop."+table+" (id text PRIMARY KEY, body blob) WITH compression = {'enabled': 'false'}"+
			" AND speculative_retry = 'NEVER' AND read_repair = 'NONE'")
	}
	all(ring, func(n *node) { n.prove("shop", ring) })
	const stalePercent = 10
	rows := mebibytes << 20 / benchRowBytes
	shop.fill(ring, tables, rows, 1, cql.All)
	first.succeed("mark", agent.Repair, map[string]any{"keyspace": "shop", "tables": []string{"by_increment"}, "mode": "incremental"})
	stale.succeed("stop", agent.Stop, nil)
	shop.fill(ring[:2], damaged, rows, 100/stalePercent, cql.Quorum)
	stale.succeed("start-again", agent.Start, nil)
	all(ring, func(n *node) { n.prove("stale", ring) })
	for _, n := range ring {
		n.openManagement(t)
		n.nodetool(t, "flush", "shop")
	}
	calm := func() {
		for _, n := range ring {
			n.eventually("end of compactions", func() bool { return n.load().PendingCompactions == 0 })
		}
	}
	measure := func(what string, do func()) measured {
		calm()
		before := received(ring)
		began := time.Now()
		do()
		found := measured{Seconds: time.Since(began).Seconds(), Bytes: received(ring) - before}
		t.Logf("%s: %.2f s, %.1f MiB", what, found.Seconds, float64(found.Bytes)/(1<<20))
		return found
	}
	figures := repairFigures{TableMiB: mebibytes, Stale: stalePercent}
	figures.Nodetool = measure("nodetool repair -full", func() { stale.nodetool(t, "repair", "-full", "shop", "by_nodetool") })
	figures.Pull = measure("pull", func() {
		ranges := stale.ranges()
		for index, peer := range []*node{first, second} {
			stale.repaired(fmt.Sprintf("pull-%d", index), map[string]any{
				"tables": []string{"by_pull"}, "mode": "pull", "hosts": []string{stale.address, peer.address},
				"ranges": ranges[index*len(ranges)/2 : (index+1)*len(ranges)/2],
			})
		}
	})
	figures.Incremental = measure("incremental", func() {
		stale.repaired("increment", map[string]any{"tables": []string{"by_increment"}, "mode": "incremental", "optimise_streams": true})
	})
	for round := range 4 {
		// Who goes first changes; the first round warms up both and is not counted.
		sides := []func(){
			func() {
				found := measure("clean, ours", func() {
					stale.repaired(fmt.Sprintf("clean-%d", round), map[string]any{"tables": []string{"clean"}, "mode": "full"})
				})
				figures.CleanOurs = append(figures.CleanOurs, found)
			},
			func() {
				found := measure("clean, nodetool", func() { stale.nodetool(t, "repair", "-full", "-j", "1", "shop", "clean") })
				figures.CleanTheirs = append(figures.CleanTheirs, found)
			},
		}
		sides[round%2]()
		sides[1-round%2]()
	}
	figures.CleanOurs, figures.CleanTheirs = figures.CleanOurs[1:], figures.CleanTheirs[1:]
	for _, table := range damaged {
		if left := shop.stillOld(stale, table, rows, 100/stalePercent); left != 0 {
			t.Errorf("%d rows of %s are not healed", left, table)
		}
	}
	content, err := json.Marshal(figures)
	if err != nil || t.Failed() {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fill writes every so many-th row anew, through all the nodes. Rows begin with the step they were last written with.
func (s shop) fill(through []*node, tables []string, rows, step int, consistency cql.Consistency) {
	s.t.Helper()
	began := time.Now()
	const writers = 12
	var working sync.WaitGroup
	for writer := range writers {
		n := through[writer%len(through)]
		conn := (&shop{t: s.t, plane: s.plane, sessions: map[*node]*cql.Conn{}}).session(n)
		working.Go(func() {
			body := make([]byte, benchRowBytes)
			for row := writer * step; row < rows; row += writers * step {
				for _, table := range tables {
					_, _ = rand.Read(body)
					body[0] = byte(step)
					if _, err := conn.Query(s.t.Context(), consistency, "INSERT INTO shop."+table+" (id, body) VALUES (?, ?)", strconv.Itoa(row), string(body)); err != nil {
						s.t.Error(err)
						return
					}
				}
			}
		})
	}
	working.Wait()
	s.t.Logf("wrote every %d. of %d rows into %d tables in %.1f s", step, rows, len(tables), time.Since(began).Seconds())
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// stillOld counts the rows that were written anew and that a node itself has as they were.
func (s shop) stillOld(n *node, table string, rows, step int) int {
	s.t.Helper()
	old, conn := 0, s.session(n)
	for row := 0; row < rows; row += step {
		found, err := conn.Query(s.t.Context(), cql.One, "SELECT body FROM shop."+table+" WHERE id = ?", strconv.Itoa(row))
		if err != nil {
			s.t.Fatal(err)
		}
		if body, _ := found[0]["body"].([]byte); body[0] != byte(step) {
			old++
		}
	}
	return old
}

// received are the bytes that all nodes were streamed since they started.
func received(ring []*node) (bytes int64) {
	for _, n := range ring {
		bytes += n.load().StreamedInBytes
	}
	return bytes
}

// openManagement gives the engine what nodetool needs, and no agent ever opens.
func (n *node) openManagement(t *testing.T) {
	t.Helper()
	said, err := exec.Command("jcmd", strconv.Itoa(n.engineOnDisk()), "ManagementAgent.start", "jmxremote.port=7199", "jmxremote.host="+n.address,
		"jmxremote.rmi.port=7199", "jmxremote.authenticate=false", "jmxremote.ssl=false").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "successfully") {
		t.Fatalf("%v: %s", err, said)
	}
}

// nodetool is the engine's own.
func (n *node) nodetool(t *testing.T, words ...string) {
	t.Helper()
	quiet := filepath.Join(filepath.Dir(n.folder), "nodetool.xml")
	if err := os.WriteFile(quiet, []byte("<configuration/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(n.cache, "cassandra-"+testVersion, "lib", "*")
	command := []string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", library, "-Dlogback.configurationFile=" + quiet, "-Djava.rmi.server.hostname=" + n.address,
		"--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED", "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
		"--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"org.apache.cassandra.tools.NodeTool", "-h", n.address, "-p", "7199"}
	said, err := exec.Command("java", append(command, words...)...).CombinedOutput()
	if err != nil || strings.Contains(string(said), "failed") {
		t.Fatalf("nodetool %s: %v: %s", strings.Join(words, " "), err, said)
	}
}
