//go:build engine

package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
)

const (
	testVersion     = "5.0.5"
	controlPassword = "b2V0YWxseS1yYW5kb20tMjU2LWJpdHM"
	tokensPerNode   = 16
)

// TestThreeNodesFormASecuredRingAndSurvive is the whole life of a ring with real engines; it prints how long its parts took.
func TestThreeNodesFormASecuredRingAndSurvive(t *testing.T) {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	if cache == "" {
		t.Fatal("RINGMASTER_CACHE_DIR must name the folder that images/machine/cassandra/bake made the tree of Cassandra in")
	}
	plane := agenttest.NewControlPlane(t)
	nodes := newNodes(t, plane, cache)
	first := nodes[0]

	all(nodes, func(n *node) { n.startAgent() })
	all(nodes, func(n *node) { n.reachable() })
	all(nodes, func(n *node) { n.configure(nodes) })
	began := time.Now()
	all(nodes, func(n *node) {
		n.succeed("install", agent.Install, map[string]any{"engine": "cassandra", "version": testVersion})
	})
	all(nodes, func(n *node) { n.succeed("start", agent.Start, nil) })
	accepting := time.Since(began)
	for _, n := range nodes {
		t.Logf("%s used %.1f s of CPU until CQL", n.id, n.cpuSeconds())
	}
	first.succeed("secure", agent.Secure, secureParameters(t, len(nodes)))
	secured := time.Since(began)
	all(nodes, func(n *node) { n.prove("first", nodes) })
	proved := time.Since(began)
	t.Logf("seconds from start to CQL on all %.2f, secured %.2f, proved %.2f", accepting.Seconds(), secured.Seconds(), proved.Seconds())
	for _, n := range nodes {
		t.Logf("%s used %.1f s of CPU until proved", n.id, n.cpuSeconds())
	}

	t.Run("securing again is securing once", func(t *testing.T) {
		first.succeed("secure-again", agent.Secure, secureParameters(t, len(nodes)))
	})
	t.Run("every node sees the whole ring", func(t *testing.T) {
		for _, n := range nodes {
			status := n.status()
			if status.Ring == nil || len(status.Ring.Peers) != 2 || len(status.Ring.Tokens) != tokensPerNode || status.Ring.Rack != n.rack {
				t.Fatalf("%s: %+v", n.id, status.Ring)
			}
		}
	})
	t.Run("metrics tell what was done", func(t *testing.T) { metricsTellWhatWasDone(t, plane, nodes) })
	t.Run("a password is changed", func(t *testing.T) {
		first.succeed("rotate", agent.RotatePassword, map[string]any{"username": "admin", "password_hash": hash(t, "another")})
	})
	t.Run("only the customer's and the control plane's accounts are left", func(t *testing.T) { onlyTwoAccounts(t, plane, nodes) })
	t.Run("an agent that is killed finds its engine again", func(t *testing.T) {
		before := first.status().Engine
		first.killAgent()
		first.startAgent()
		first.reachable()
		if after := first.status().Engine; after.PID != before.PID || after.Restarts != 0 {
			t.Fatalf("before %+v, after %+v", before, after)
		}
	})
	t.Run("an engine that is killed comes back", func(t *testing.T) {
		killed := nodes[1].status().Engine.PID
		if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		nodes[1].eventually("a new engine", func() bool {
			engine := nodes[1].status().Engine
			return engine.CQLReady && engine.PID != killed && engine.Restarts == 1
		})
		all(nodes, func(n *node) { n.prove("second", nodes) })
	})
	t.Run("an engine is drained and stopped", func(t *testing.T) {
		last := nodes[2]
		last.succeed("drain", agent.Drain, nil)
		last.succeed("stop", agent.Stop, nil)
		if engine := last.status().Engine; engine.State != agent.EngineStopped || engine.PID != 0 || last.engineOnDisk() != 0 {
			t.Fatalf("%+v", engine)
		}
	})
	t.Run("nothing secret was said", func(t *testing.T) {
		for _, n := range nodes {
			n.saidNothingSecret()
		}
	})
}

// onlyTwoAccounts looks as a customer would, with the password that was just set, and as an intruder.
func onlyTwoAccounts(t *testing.T, plane *agenttest.ControlPlane, nodes []*node) {
	config := &tls.Config{RootCAs: plane.Cluster.Pool()}
	all(nodes, func(n *node) { n.succeed("allow-everybody", agent.Allowlist, map[string]any{"cidrs": []string{}}) })
	for _, n := range nodes {
		config := config.Clone()
		config.ServerName = identity.DNSName(n.id)
		n.eventually("refusal of the default superuser", func() bool {
			conn, err := cql.Dial(t.Context(), n.address+":9042", config, "cassandra", "cassandra")
			if err == nil {
				conn.Close()
			}
			return cql.Code(err) == cql.CodeBadCredentials
		})
		var admin *cql.Conn
		n.eventually("login with the new password", func() bool {
			var err error
			admin, err = cql.Dial(t.Context(), n.address+":9042", config, "admin", "another")
			return err == nil
		})
		if admin == nil {
			return
		}
		rows, err := admin.Query(t.Context(), cql.All, "SELECT role, is_superuser FROM system_auth.roles")
		roles := map[string]bool{}
		for _, row := range rows {
			roles[row.Text("role")] = row.Bool("is_superuser")
		}
		if err != nil || !maps.Equal(roles, map[string]bool{"admin": true, "ringmaster": true}) {
			t.Errorf("roles on %s: %v %v", n.id, roles, err)
		}
		left, err := admin.Query(t.Context(), cql.All, "SELECT role FROM system_auth.role_permissions WHERE role = 'cassandra'")
		if err != nil || len(left) != 0 {
			t.Errorf("permissions on %s: %v %v", n.id, left, err)
		}
		admin.Close()
		// Its password alone is of no use: it may be used from the nodes' own addresses only.
		for from, wanted := range map[netip.Addr]int32{netip.MustParseAddr("127.0.0.1"): cql.CodeUnauthorized, netip.MustParseAddr(n.address): 0} {
			control, err := cql.DialFrom(t.Context(), from, n.address+":9042", config, "ringmaster", controlPassword)
			if err != nil {
				t.Fatal(err)
			}
			_, err = control.Query(t.Context(), cql.Quorum, "SELECT * FROM system_auth.roles")
			// The agents let a node in by themselves, some seconds after it has come.
			for until := time.Now().Add(30 * time.Second); cql.Code(err) != wanted && time.Now().Before(until); {
				time.Sleep(500 * time.Millisecond)
				_, err = control.Query(t.Context(), cql.Quorum, "SELECT * FROM system_auth.roles")
			}
			if cql.Code(err) != wanted {
				t.Errorf("%s, from %s: %v", n.id, from, err)
			}
			control.Close()
		}
		if _, err := net.Dial("tcp", n.address+":7199"); err == nil {
			t.Errorf("%s has a management port", n.id)
		}
	}
}

func newNodes(t *testing.T, plane *agenttest.ControlPlane, cache string) []*node {
	t.Helper()
	root := t.TempDir()
	binary := filepath.Join(root, "agent")
	if said, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*node
	for index, rack := range []string{"a", "b", "c"} {
		nodes = append(nodes, newNode(t, plane, madeOf{
			id: fmt.Sprintf("node_%d", index), rack: rack, folder: filepath.Join(root, rack), binary: binary, cache: cache,
		}))
	}
	return nodes
}

// madeOf is what a node of the test is made of.
type madeOf struct{ id, rack, folder, binary, cache string }

func newNode(t *testing.T, plane *agenttest.ControlPlane, on madeOf) *node {
	t.Helper()
	n := &node{
		t: t, id: on.id, rack: on.rack, binary: on.binary, address: freeAddress(t), folder: on.folder,
		userData: on.folder + ".json", cache: on.cache,
	}
	content, err := json.Marshal(agent.UserData{
		NodeID: n.id, ClusterID: "cluster", EnrolURL: plane.URL, CAPEM: plane.Agents.PEM, Token: plane.Token,
		Listen: n.address + ":7443", Address: n.address, EngineCache: on.cache,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.userData, content, 0o600); err != nil {
		t.Fatal(err)
	}
	n.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: plane.Agents.Pool(), ServerName: identity.DNSName(n.id), MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{plane.Agents.Pair(identity.ControlPlane)},
	}}}
	t.Cleanup(n.end)
	return n
}

func secureParameters(t *testing.T, nodes int) map[string]any {
	return map[string]any{
		"admin_username": "admin", "admin_password_hash": hash(t, "customer"), "control_username": "ringmaster",
		"control_password": controlPassword, "control_password_hash": hash(t, controlPassword), "datacenter": "local-1",
		"system_auth_replication": nodes, "replication": 3,
	}
}

func hash(t *testing.T, password string) string {
	t.Helper()
	content, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
