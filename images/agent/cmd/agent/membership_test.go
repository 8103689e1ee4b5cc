//go:build engine

package main

import (
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
)

// TestNodesComeAndGoInARingWithData goes once through every change of membership. RINGMASTER_TEST_MIB is how much data the ring
// holds; the figures in docs/engine-start.md are from 490.
func TestNodesComeAndGoInARingWithData(t *testing.T) {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	if cache == "" {
		t.Fatal("RINGMASTER_CACHE_DIR must name the folder that images/machine/cassandra/bake made the tree of Cassandra in")
	}
	mebibytes := 24
	if given, err := strconv.Atoi(os.Getenv("RINGMASTER_TEST_MIB")); err == nil {
		mebibytes = given
	}
	plane := agenttest.NewControlPlane(t)
	ring := newNodes(t, plane, cache)
	formRing(t, ring)
	load(t, plane, ring, mebibytes)
	ring[0].succeed("plant", agent.PlantCanary, nil)
	for _, n := range ring {
		n.succeed("unlimited", agent.StreamLimit, map[string]any{"mib_per_second": 0})
	}

	fourth := newNode(t, plane, madeOf{id: "node_3", rack: "a", folder: ring[0].folder + "-fourth", binary: ring[0].binary, cache: ring[0].cache})
	t.Run("a node does not join a ring other than the one it was told of", func(t *testing.T) {
		fourth.startAgent()
		fourth.reachable()
		fourth.ask(http.MethodPut, "/v1/config", fourth.joining(ring, ring[:2]), nil)
		job := fourth.do("start-wrong", agent.Start, nil)
		if job.State != agent.Failed || job.Error.Code != "join-refused" || !strings.Contains(job.Error.Message, ring[2].address) {
			t.Errorf("%s %+v", job.State, job.Error)
		}
		if status := fourth.status(); status.Engine.State != agent.EngineStopped || fourth.engineOnDisk() != 0 {
			t.Errorf("%+v", status.Engine)
		}
	})
	t.Run("a fourth node joins with its data", func(t *testing.T) {
		began := time.Now()
		fourth.ask(http.MethodPut, "/v1/config", fourth.joining(ring, ring), nil)
		started := fourth.started("start")
		t.Logf("joined with %.1f MiB in %.1f s", float64(started.BytesStreamed)/(1<<20), time.Since(began).Seconds())
		ring = append(ring, fourth)
		all(ring, func(n *node) { n.prove("joined", ring) })
		t.Logf("proved after %.1f s", time.Since(began).Seconds())
		fourth.holdsItsShare(started.BytesStreamed)
		inspection := fourth.inspection()
		if inspection.Mode != "NORMAL" || len(inspection.Unreachable)+len(inspection.Joining)+len(inspection.Leaving) != 0 {
			t.Errorf("%+v", inspection)
		}
		digests := map[string]string{}
		for _, n := range ring {
			status := n.status()
			if status.Ring == nil || status.Engine.Mode != "NORMAL" || status.Disk == nil || status.EngineCertificateExpiresAt == nil {
				t.Fatalf("%s: %+v", n.id, status)
			}
			digests[n.address] = status.Ring.TokensDigest
		}
		for _, n := range ring {
			for _, peer := range n.status().Ring.Peers {
				if peer.TokensDigest != digests[peer.Address] || peer.Status != "NORMAL" {
					t.Errorf("%s sees %+v, not %s", n.id, peer, digests[peer.Address])
				}
			}
		}
	})
	t.Run("the others drop what they hold no longer", func(t *testing.T) {
		before := ring[0].dataBytes()
		all(ring[:3], func(n *node) { n.succeed("cleanup", agent.Cleanup, nil) })
		if after := ring[0].dataBytes(); after >= before*9/10 {
			t.Errorf("%d bytes before, %d after", before, after)
		}
		if reading := ring[0].canaries(); reading.Missing != 0 || reading.Checked == 0 {
			t.Errorf("%+v", reading)
		}
	})
	dead, outer := ring[2], t
	t.Run("a dead node is replaced", func(t *testing.T) {
		dead.killAgent()
		_ = syscall.Kill(dead.engineOnDisk(), syscall.SIGKILL)
		began := time.Now()
		instead := newNode(outer, plane, madeOf{id: "node_4", rack: dead.rack, folder: dead.folder + "-instead", binary: dead.binary, cache: dead.cache})
		instead.startAgent()
		instead.reachable()
		living := slices.DeleteFunc(slices.Clone(ring), func(n *node) bool { return n == dead })
		config := instead.joining(living, living)
		config.FirstBoot.ReplaceAddress = dead.address
		config.FirstBoot.BroadcastIntervalMS = new(3000)
		config.InitialTokens = dead.firstConfig(ring[:3], nil).InitialTokens
		instead.ask(http.MethodPut, "/v1/config", config, nil)
		started := instead.started("start")
		t.Logf("replaced with %.1f MiB in %.1f s", float64(started.BytesStreamed)/(1<<20), time.Since(began).Seconds())
		ring = append(living, instead)
		all(ring, func(n *node) { n.prove("replaced", ring) })
		t.Logf("proved after %.1f s", time.Since(began).Seconds())
		instead.holdsItsShare(started.BytesStreamed)
	})
	t.Run("a node that was replaced is not told to drivers", func(t *testing.T) {
		conn := dialAsAdmin(t, plane, ring[0])
		defer conn.Close()
		ask := func(statement string) cql.Rows {
			rows, err := conn.Query(t.Context(), cql.One, statement)
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		// What the engine writes when it hears of a replaced node that gossip has not forgotten, and never takes back.
		write := func(address, tokens string) {
			ask("INSERT INTO system.peers_v2 (peer, peer_port, host_id, tokens) VALUES ('" + address + "', 7000, 6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47, {" + tokens + "})")
			ask("INSERT INTO system.peers (peer, host_id, tokens) VALUES ('" + address + "', 6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47, {" + tokens + "})")
		}
		tokens := ring[0].status().Ring.Tokens
		nobodys := "127.9.9.9"
		write(nobodys, "'"+strconv.FormatInt(tokens[0]+1, 10)+"'")
		write(dead.address, "'"+strconv.FormatInt(tokens[0], 10)+"', '"+strconv.FormatInt(tokens[1], 10)+"'")
		ring[0].prove("replaced-and-forgotten", ring)
		for _, table := range []string{"peers_v2", "peers"} {
			listed := []string{}
			for _, row := range ask("SELECT peer FROM system." + table) {
				listed = append(listed, row.Text("peer"))
			}
			if slices.Contains(listed, dead.address) || len(listed) != len(ring) || !slices.Contains(listed, nobodys) {
				t.Errorf("%s: %v", table, listed)
			}
		}
	})
	t.Run("a node hands its data over and leaves, whatever becomes of its agent", func(t *testing.T) {
		began := time.Now()
		fourth.ask(http.MethodPut, "/v1/jobs/leave", agent.JobRequest{Kind: agent.Decommission}, nil)
		time.Sleep(time.Second)
		fourth.killAgent()
		fourth.startAgent()
		fourth.reachable()
		var streamed agent.Streamed
		fourth.result(fourth.succeed("leave", agent.Decommission, nil), &streamed)
		t.Logf("left with %.1f MiB in %.1f s", float64(streamed.BytesStreamed)/(1<<20), time.Since(began).Seconds())
		if streamed.BytesStreamed < 1<<20 {
			t.Errorf("it handed over %d bytes", streamed.BytesStreamed)
		}
		ring = slices.DeleteFunc(ring, func(n *node) bool { return n == fourth })
		all(ring, func(n *node) { n.prove("left", ring) })
		for _, n := range ring {
			if reading := n.canaries(); reading.Missing != 0 || reading.Checked == 0 {
				t.Errorf("%s: %+v", n.id, reading)
			}
		}
		fourth.succeed("leave-again", agent.Decommission, nil)
		if status := fourth.status(); status.Engine.Mode != "DECOMMISSIONED" || status.Engine.State != agent.EngineStopped {
			t.Errorf("%+v", status.Engine)
		}
		fourth.refuse("start-again", agent.Start, nil, "node-left")
	})
	t.Run("a node whose data is gone is not started", func(t *testing.T) {
		last := ring[0]
		last.succeed("stop", agent.Stop, nil)
		if err := os.RemoveAll(filepath.Join(last.folder, "cassandra/data")); err != nil {
			t.Fatal(err)
		}
		if !last.status().LocalDataLost {
			t.Errorf("%+v", last.status())
		}
		last.refuse("start-empty", agent.Start, nil, "local-data-lost")
	})
}

func formRing(t *testing.T, nodes []*node) {
	t.Helper()
	all(nodes, func(n *node) { n.startAgent() })
	all(nodes, func(n *node) { n.reachable() })
	all(nodes, func(n *node) { n.configure(nodes) })
	all(nodes, func(n *node) { n.succeed("start", agent.Start, nil) })
	nodes[0].succeed("secure", agent.Secure, secureParameters(t, len(nodes)))
	nodes[0].succeed("allow-everybody", agent.Allowlist, map[string]any{"cidrs": []string{}})
	all(nodes, func(n *node) { n.prove("formed", nodes) })
	if t.Failed() {
		t.FailNow()
	}
}

func dialAsAdmin(t *testing.T, plane *agenttest.ControlPlane, n *node) *cql.Conn {
	t.Helper()
	config := &tls.Config{RootCAs: plane.Cluster.Pool(), ServerName: identity.DNSName(n.id)}
	conn, err := cql.Dial(t.Context(), n.address+":9042", config, "admin", "customer")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// load writes rows that do not compress, as the customer does.
func load(t *testing.T, plane *agenttest.ControlPlane, nodes []*node, mebibytes int) {
	t.Helper()
	dial := func(n *node) *cql.Conn { return dialAsAdmin(t, plane, n) }
	first := dial(nodes[0])
	for _, statement := range []string{
		"CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 3}",
		"CREATE TABLE shop.orders (id text PRIMARY KEY, body text) WITH compression = {'enabled': 'false'}",
	} {
		if _, err := first.Query(t.Context(), cql.Quorum, statement); err != nil {
			t.Fatal(err)
		}
	}
	first.Close()
	all(nodes, func(n *node) { n.prove("shop", nodes) })
	const rowBytes = 64 << 10
	letters := make([]byte, rowBytes)
	for index := range letters {
		letters[index] = byte('a' + rand.IntN(26))
	}
	body := string(letters)
	var working sync.WaitGroup
	began := time.Now()
	for index, n := range nodes {
		working.Go(func() {
			conn := dial(n)
			defer conn.Close()
			for row := index; row < mebibytes<<20/rowBytes; row += len(nodes) {
				if _, err := conn.Query(t.Context(), cql.Quorum, "INSERT INTO shop.orders (id, body) VALUES (?, ?)", strconv.Itoa(row), body); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
	t.Logf("wrote %d MiB in %.1f s", mebibytes, time.Since(began).Seconds())
}

// joining is the configuration of a new node: its tokens are between those that a ring of three was made with.
func (n *node) joining(seeds, members []*node) cassandra.Config {
	config := n.firstConfig([]*node{n, n, n}, nil)
	config.Seeds, config.InitialTokens = nil, nil
	step := (uint64(1) << 63) / tokensPerNode * 2
	for turn := range tokensPerNode {
		config.InitialTokens = append(config.InitialTokens, int64(uint64(1)<<63+step*uint64(turn)+step/6))
	}
	for _, seed := range seeds {
		config.Seeds = append(config.Seeds, seed.address)
	}
	addresses := []string{}
	for _, member := range members {
		addresses = append(addresses, member.address)
	}
	config.FirstBoot = cassandra.FirstBoot{RingDelayMS: new(2000), GossipSettlePolls: new(0), Join: &cassandra.Join{Members: addresses}}
	return config
}

func (n *node) started(name string) agent.Started {
	var started agent.Started
	n.result(n.succeed(name, agent.Start, nil), &started)
	return started
}

// holdsItsShare compares what came with what the node holds, and looks for the canaries.
func (n *node) holdsItsShare(streamed int64) {
	held := n.dataBytes()
	if streamed < held*8/10 || held < 1<<20 {
		n.t.Errorf("%s holds %d bytes and was sent %d", n.id, held, streamed)
	}
	if reading := n.canaries(); reading.Missing != 0 || reading.Checked == 0 {
		n.t.Errorf("%s: %+v", n.id, reading)
	}
}

// dataBytes are the node's bytes of the customer's table.
func (n *node) dataBytes() int64 {
	var data agent.DataDescription
	n.result(n.succeed(fmt.Sprintf("data-%d", rand.Int()), agent.DescribeData, nil), &data)
	for _, table := range data.Tables {
		if table.Keyspace == "shop" {
			return table.Bytes
		}
	}
	return 0
}

func (n *node) canaries() agent.CanaryReading {
	var reading agent.CanaryReading
	n.result(n.succeed(fmt.Sprintf("canary-%d", rand.Int()), agent.ReadCanary, nil), &reading)
	return reading
}

func (n *node) inspection() agent.Inspection {
	var inspection agent.Inspection
	n.result(n.succeed(fmt.Sprintf("inspect-%d", rand.Int()), agent.Inspect, nil), &inspection)
	return inspection
}
