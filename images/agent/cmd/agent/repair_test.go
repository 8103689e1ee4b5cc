//go:build engine

package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
	"ringmaster/agent/jolokia"
)

// Small rows are healed at once; big ones take seconds when streams are limited to 1 MiB/s.
const (
	staleRows     = 60
	bigRowBytes   = 64 << 10
	repairService = "org.apache.cassandra.db:type=StorageService"
)

// rowsOf are all that a table gets.
var rowsOf = map[string]int{
	"whole": 2 * staleRows, "marked": 2 * staleRows, "pulled": 2 * staleRows, "foreign": 80, "kept": 80, "dropped": 80, "lost": 240,
}

// TestANodeThatMissedWritesIsRepaired goes through repairs of one ring with real engines, and through all that can happen to them.
func TestANodeThatMissedWritesIsRepaired(t *testing.T) {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	if cache == "" {
		t.Fatal("RINGMASTER_CACHE_DIR must name the folder that images/machine/cassandra/bake made the tree of Cassandra in")
	}
	plane := agenttest.NewControlPlane(t)
	ring := newNodes(t, plane, cache)
	all(ring, func(n *node) { n.startAgent() })
	all(ring, func(n *node) { n.reachable() })
	// What a node lacks is seen by reading its own copy, never that of a node that it thinks is faster.
	settings := map[string]any{"max_hint_window": "1ms", "dynamic_snitch": false}
	all(ring, func(n *node) { n.configureWith(ring, settings) })
	all(ring, func(n *node) { n.succeed("start", agent.Start, nil) })
	ring[0].succeed("secure", agent.Secure, secureParameters(t, len(ring)))
	all(ring, func(n *node) { n.prove("first", ring) })
	first, second, stale := ring[0], ring[1], ring[2]

	shop := shop{t: t, plane: plane, sessions: map[*node]*cql.Conn{}}
	small, big := []string{"whole", "marked", "pulled"}, []string{"foreign", "kept", "dropped", "lost"}
	shop.make(first, append(slices.Clone(small), big...))
	all(ring, func(n *node) { n.prove("shop", ring) })
	shop.write(first, small, 0, staleRows, "before")
	first.succeed("mark", agent.Repair, map[string]any{"keyspace": "shop", "tables": []string{"marked"}, "mode": "incremental"})

	stale.succeed("stop", agent.Stop, nil)
	shop.write(first, small, staleRows, 2*staleRows, "missed")
	for _, table := range big {
		shop.write(first, []string{table}, 0, rowsOf[table], strings.Repeat("x", bigRowBytes))
	}
	stale.succeed("start-again", agent.Start, nil)
	all(ring, func(n *node) { n.prove("stale", ring) })
	for _, table := range small {
		if missing := shop.missing(stale, table); missing != staleRows {
			t.Fatalf("%s lacks %d rows of %s", stale.id, missing, table)
		}
	}

	t.Run("what cannot be repaired is refused", func(t *testing.T) {
		for name, refused := range map[string]struct {
			change map[string]any
			code   string
		}{
			"no-table":    {map[string]any{"tables": []string{"nothing"}}, "table-not-found"},
			"no-keyspace": {map[string]any{"keyspace": "nowhere"}, "unknown-keyspace"},
			"two-ranges":  {map[string]any{"ranges": []agent.TokenRange{{Start: "-9000000000000000000", End: "9000000000000000000"}}}, "not-a-replica"},
			"stranger":    {map[string]any{"hosts": []string{first.address, "127.0.0.9"}, "ranges": stale.ranges()[:1]}, "not-a-replica"},
			"lone-pull":   {map[string]any{"mode": "pull"}, "invalid-parameters"},
		} {
			parameters := map[string]any{"keyspace": "shop", "tables": []string{"whole"}, "mode": "full"}
			for field, value := range refused.change {
				parameters[field] = value
			}
			first.refuse(name, agent.Repair, parameters, refused.code)
		}
	})
	t.Run("a node tells its ranges, tables and load", func(t *testing.T) {
		var told agent.KeyspaceRing
		first.ask(http.MethodGet, "/v1/ring?keyspace=shop", nil, &told)
		if len(told.Nodes) != 3 || len(told.Ranges) != 3*tokensPerNode || len(told.Ranges[0].Replicas) != 3 {
			t.Errorf("%d nodes, %d ranges", len(told.Nodes), len(told.Ranges))
		}
		for index, one := range told.Ranges {
			if before := told.Ranges[(index+len(told.Ranges)-1)%len(told.Ranges)]; one.Start != before.End {
				t.Errorf("(%s, %s] does not follow (%s, %s]", one.Start, one.End, before.Start, before.End)
			}
		}
		if facts := stale.facts("marked"); facts.Compaction == "" || facts.GCGraceSeconds != 864000 || facts.Bytes == 0 || facts.ID == "" {
			t.Errorf("%+v", facts)
		}
		if load := stale.load(); load.Disk == nil || load.Throughput != (agent.Throughput{StreamMiBS: 24, CompactionMiBS: 64}) || load.EngineStartedAt.IsZero() {
			t.Errorf("%+v", load)
		}
	})
	t.Run("a node tells for whom it kept no hints", func(t *testing.T) {
		dropped := func(of *node, about *node) *time.Time {
			for _, peer := range of.status().Ring.Peers {
				if peer.Address == about.address {
					return peer.HintsDroppedAt
				}
			}
			return nil
		}
		first.eventually("that hints were dropped is told", func() bool { return dropped(first, stale) != nil })
		if dropped(first, stale) == nil {
			return
		}
		if at := dropped(first, second); at != nil {
			t.Errorf("dropped for %s at %s", second.id, at)
		}
		before := *dropped(first, stale)
		first.killAgent()
		first.startAgent()
		first.reachable()
		first.eventually("another agent tells it", func() bool {
			ring := first.status().Ring
			return ring != nil && dropped(first, stale) != nil
		})
		if after := *dropped(first, stale); !after.Equal(before) {
			t.Errorf("%s, and with another agent %s", before, after)
		}
	})
	t.Run("a full repair heals the node", func(t *testing.T) {
		done := stale.repaired("whole", map[string]any{"tables": []string{"whole"}, "mode": "full", "optimise_streams": true})
		if missing := shop.missing(stale, "whole"); missing != 0 || done.BytesReceived == 0 || done.Outcome != agent.RepairCompleted || done.Command == 0 {
			t.Errorf("%d rows missing: %+v", missing, done)
		}
	})
	t.Run("an incremental repair heals the node and marks what it has", func(t *testing.T) {
		first.repaired("marked", map[string]any{"tables": []string{"marked"}, "mode": "incremental"})
		if missing, facts := shop.missing(stale, "marked"), stale.facts("marked"); missing != 0 || facts.PercentRepaired < 99 {
			t.Errorf("%d rows missing, %v %% repaired", missing, facts.PercentRepaired)
		}
	})
	t.Run("a pull heals the node, and no other is sent anything", func(t *testing.T) {
		ranges := stale.ranges()
		for index, peer := range []*node{first, second} {
			done := stale.repaired(fmt.Sprintf("pulled-%d", index), map[string]any{
				"tables": []string{"pulled"}, "mode": "pull", "hosts": []string{stale.address, peer.address},
				"ranges": ranges[index*len(ranges)/2 : (index+1)*len(ranges)/2],
			})
			if done.BytesReceived == 0 || done.BytesSent != 0 {
				t.Errorf("%+v", done)
			}
		}
		if missing := shop.missing(stale, "pulled"); missing != 0 {
			t.Errorf("%d rows missing", missing)
		}
	})

	slowly := func(name string, mibs any) {
		all(ring, func(n *node) {
			n.succeed(name, agent.SetThroughput, map[string]any{"stream_mib_s": mibs, "compaction_mib_s": nil})
		})
	}
	slowly("slow", 1)
	if load := first.load(); load.Throughput.StreamMiBS != 1 {
		t.Errorf("%+v", load.Throughput)
	}
	t.Run("a foreign repair is seen, and goes on when ours beside it is deleted", func(t *testing.T) {
		management := first.management()
		var foreign int
		options := map[string]string{"columnFamilies": "foreign", "incremental": "false", "jobThreads": "1"}
		if err := management.Do(t.Context(), jolokia.Exec(repairService, "repairAsync(java.lang.String,java.util.Map)", "shop", options), &foreign); err != nil {
			t.Fatal(err)
		}
		first.begin("beside", "kept")
		first.eventually("both repairs", func() bool { return len(first.repairs().Repairs) == 2 })
		for _, one := range first.repairs().Repairs {
			if ours := one.Tables[0] == "kept"; (one.Job == "beside") != ours || one.Coordinator != first.address || one.Keyspace != "shop" || one.Since == nil {
				t.Errorf("%+v", one)
			}
		}
		var seen []agent.RunningRepair
		stale.eventually("both repairs", func() bool { seen = stale.repairs().Repairs; return len(seen) == 2 })
		if len(seen) != 2 || seen[0].Job+seen[1].Job != "" || seen[0].Command != 0 || seen[0].Coordinator != first.address {
			t.Errorf("%+v", seen)
		}
		first.ask(http.MethodDelete, "/v1/jobs/beside", nil, nil)
		if left := first.repairs().Repairs; len(left) != 2 {
			t.Errorf("%+v", left)
		}
		slowly("fast", 0)
		var status []string
		first.eventually("end of the foreign repair", func() bool {
			err := management.Do(t.Context(), jolokia.Exec(repairService, "getParentRepairStatus(int)", foreign), &status)
			return err == nil && status[0] != "IN_PROGRESS"
		})
		if status[0] != "COMPLETED" || shop.missing(stale, "foreign") != 0 {
			t.Errorf("%v", status)
		}
		first.eventually("end of ours", func() bool { return len(first.repairs().Repairs) == 0 })
		slowly("slow-again", 1)
	})
	t.Run("an agent that is killed before it knows the command finds it, and a deleted repair that is alone is ended", func(t *testing.T) {
		stale.ask(http.MethodPut, "/v1/jobs/kept", agent.JobRequest{Kind: agent.Repair, Parameters: asJSON(t, agent.RepairParameters{
			Keyspace: "shop", Tables: []string{"lost"}, Mode: agent.RepairFull, Ranges: stale.ranges(), Hosts: []string{stale.address, first.address},
		})}, nil)
		var before agent.RepairActivity
		stale.eventually("repair", func() bool {
			before = stale.repairs()
			return len(before.Repairs) == 1 && before.Repairs[0].Job == "kept"
		})
		stale.killAgent()
		stale.forgetCommand(t, "kept")
		stale.startAgent()
		stale.reachable()
		var after agent.RepairActivity
		stale.eventually("repair of ours", func() bool { after = stale.repairs(); return len(after.Repairs) == 1 && after.Repairs[0].Job == "kept" })
		if len(after.Repairs) != 1 || after.Repairs[0].ID != before.Repairs[0].ID || after.Repairs[0].Job != "kept" || after.Repairs[0].Command != before.Repairs[0].Command {
			t.Fatalf("%+v, then %+v", before, after)
		}
		stale.ask(http.MethodDelete, "/v1/jobs/kept", nil, nil)
		stale.eventually("end", func() bool { return len(stale.repairs().Repairs) == 0 })
	})
	t.Run("a repair whose replica dies fails, and one whose own engine dies is lost", func(t *testing.T) {
		first.begin("failed", "lost")
		stale.begin("lost", "lost")
		var before agent.RepairActivity
		stale.eventually("both repairs", func() bool { before = stale.repairs(); return len(before.Repairs) == 2 })
		_ = syscall.Kill(stale.engineOnDisk(), syscall.SIGKILL)
		stale.ends("lost", "repair-lost")
		first.ends("failed", "repair-failed")
		stale.eventually("a new engine", func() bool { return stale.status().Engine.CQLReady })
		all(ring, func(n *node) { n.prove("back", ring) })
		slowly("fast-at-last", 0)
		done := stale.repaired("again", map[string]any{"tables": []string{"lost"}, "mode": "full"})
		if done.Command != 1 || !done.EngineStartedAt.After(before.EngineStartedAt) || shop.missing(stale, "lost") != 0 {
			t.Errorf("%+v after %+v", done, before)
		}
	})
	// The last: an engine that is killed soon after a table was dropped may not start again.
	t.Run("a table that is dropped while it is repaired is no failure of the repair", func(t *testing.T) {
		slowly("slow-at-last", 1)
		first.begin("dropped", "dropped")
		first.eventually("repair", func() bool { return len(first.repairs().Repairs) == 1 })
		shop.run(first, "DROP TABLE shop.dropped")
		// The engine may be through with it by then.
		if job := first.ended("dropped"); job.State == agent.Failed && job.Error.Code != "table-not-found" {
			t.Errorf("%+v", job.Error)
		}
		first.refuse("dropped-again", agent.Repair, map[string]any{"keyspace": "shop", "tables": []string{"dropped"}, "mode": "full"}, "table-not-found")
	})
}

// shop is the customer's data.
type shop struct {
	t        *testing.T
	plane    *agenttest.ControlPlane
	sessions map[*node]*cql.Conn
}

// session is made anew when the engine was.
func (s shop) session(n *node) *cql.Conn {
	s.t.Helper()
	if conn := s.sessions[n]; conn != nil {
		if _, err := conn.Query(s.t.Context(), cql.One, "SELECT key FROM system.local"); err == nil {
			return conn
		}
		conn.Close()
	}
	config := &tls.Config{RootCAs: s.plane.Cluster.Pool(), ServerName: identity.DNSName(n.id)}
	conn, err := cql.Dial(s.t.Context(), n.address+":9042", config, "admin", "customer")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(conn.Close)
	s.sessions[n] = conn
	return conn
}

func (s shop) run(through *node, statement string) {
	s.t.Helper()
	if _, err := s.session(through).Query(s.t.Context(), cql.Quorum, statement); err != nil {
		s.t.Fatal(err)
	}
}

// make makes tables of which a read at ONE is answered by the node that is asked, and repairs nothing.
func (s shop) make(through *node, tables []string) {
	s.t.Helper()
	s.run(through, "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 3}")
	for _, table := range tables {
		s.run(through, "CREATE TABLE shop."+table+" (id text PRIMARY KEY, body text) WITH compression = {'enabled': 'false'}"+
			" AND speculative_retry = 'NEVER' AND read_repair = 'NONE'")
	}
}

func (s shop) write(through *node, tables []string, from, to int, body string) {
	s.t.Helper()
	conn := s.session(through)
	for _, table := range tables {
		for row := from; row < to; row++ {
			if _, err := conn.Query(s.t.Context(), cql.Quorum, "INSERT INTO shop."+table+" (id, body) VALUES (?, ?)", strconv.Itoa(row), body); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// missing counts the rows that a node itself does not have.
func (s shop) missing(n *node, table string) int {
	s.t.Helper()
	missing, conn := 0, s.session(n)
	for row := range rowsOf[table] {
		found, err := conn.Query(s.t.Context(), cql.One, "SELECT id FROM shop."+table+" WHERE id = ?", strconv.Itoa(row))
		if err != nil {
			s.t.Fatal(err)
		}
		if len(found) == 0 {
			missing++
		}
	}
	return missing
}

// begin starts a full repair of a table and does not wait for its end.
func (n *node) begin(name, table string) {
	content := fmt.Sprintf(`{"keyspace": "shop", "tables": [%q], "mode": "full"}`, table)
	n.ask(http.MethodPut, "/v1/jobs/"+name, agent.JobRequest{Kind: agent.Repair, Parameters: []byte(content)}, nil)
}

// forgetCommand makes the note of a repair what it was before the engine had answered.
func (n *node) forgetCommand(t *testing.T, job string) {
	t.Helper()
	path := n.folder + "/cassandra/repairs/" + job + ".json"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(content, &kept); err != nil || kept["command"] == 0.0 {
		t.Fatal(string(content), err)
	}
	kept["command"] = 0
	if err := os.WriteFile(path, asJSON(t, kept), 0o600); err != nil {
		t.Fatal(err)
	}
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// ends waits until the job has failed with a code.
func (n *node) ends(name, code string) {
	n.t.Helper()
	if job := n.ended(name); job.State != agent.Failed || job.Error.Code != code {
		n.t.Errorf("%s: %s %+v, not %s", name, job.State, job.Error, code)
	}
}

func (n *node) ended(name string) agent.Job {
	var job agent.Job
	n.eventually("end of "+name, func() bool {
		n.ask(http.MethodGet, "/v1/jobs/"+name+"?wait=2", nil, &job)
		return job.State != agent.Running
	})
	return job
}

func (n *node) repaired(name string, parameters map[string]any) agent.Repaired {
	n.t.Helper()
	parameters["keyspace"] = "shop"
	var done agent.Repaired
	n.result(n.succeed(name, agent.Repair, parameters), &done)
	n.t.Logf("%s: %.1f s, %d bytes in, %d out", name, done.Seconds, done.BytesReceived, done.BytesSent)
	return done
}

func (n *node) repairs() agent.RepairActivity {
	var told agent.RepairActivity
	n.eventually("answer about repairs", func() bool {
		answer, err := n.client.Get("https://" + n.address + ":7443/v1/repairs")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		// An agent that has just started has to log in first, which may take longer than a read may.
		return answer.StatusCode == http.StatusOK && json.NewDecoder(answer.Body).Decode(&told) == nil
	})
	return told
}

func (n *node) load() agent.Load {
	var told agent.Load
	n.ask(http.MethodGet, "/v1/load", nil, &told)
	return told
}

// facts are those of one of the customer's tables.
func (n *node) facts(table string) agent.TableFacts {
	var told agent.Schema
	n.ask(http.MethodGet, "/v1/tables", nil, &told)
	index := slices.IndexFunc(told.Tables, func(one agent.TableFacts) bool { return one.Keyspace == "shop" && one.Table == table })
	if index < 0 {
		n.t.Errorf("%s does not tell of %s", n.id, table)
		return agent.TableFacts{}
	}
	return told.Tables[index]
}

// ranges are all of the customer's keyspace: with three nodes and three copies every node holds every one.
func (n *node) ranges() []agent.TokenRange {
	var told agent.KeyspaceRing
	n.ask(http.MethodGet, "/v1/ring?keyspace=shop", nil, &told)
	ranges := make([]agent.TokenRange, len(told.Ranges))
	for index, one := range told.Ranges {
		ranges[index] = one.TokenRange
	}
	return ranges
}

// management is a way past the agent, as somebody on the machine has it.
func (n *node) management() *jolokia.Client {
	return jolokia.New(func() (jolokia.Login, error) {
		content, err := os.ReadFile(n.folder + "/cassandra/conf/jolokia.properties")
		login := jolokia.Login{Address: n.address + ":8778", Username: "agent"}
		for line := range strings.Lines(string(content)) {
			if password, found := strings.CutPrefix(strings.TrimSpace(line), "password="); found {
				login.Password = password
			}
		}
		return login, err
	})
}
