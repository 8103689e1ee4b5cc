//go:build engine

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
)

const (
	testVersion     = "5.0.5"
	controlPassword = "b2V0YWxseS1yYW5kb20tMjU2LWJpdHM"
	tokensPerNode   = 16
)

// node is one machine of the test: a folder, a loopback address, an agent's process.
type node struct {
	t        *testing.T
	id       string
	address  string
	rack     string
	folder   string
	userData string
	binary   string
	process  *exec.Cmd
	client   *http.Client
}

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
		if err != nil || !maps.Equal(roles, map[string]bool{"admin": true, "ringmaster": false}) {
			t.Errorf("roles on %s: %v %v", n.id, roles, err)
		}
		left, err := admin.Query(t.Context(), cql.All, "SELECT role FROM system_auth.role_permissions WHERE role = 'cassandra'")
		if err != nil || len(left) != 0 {
			t.Errorf("permissions on %s: %v %v", n.id, left, err)
		}
		admin.Close()
		control, err := cql.Dial(t.Context(), n.address+":9042", config, "ringmaster", controlPassword)
		if err != nil {
			t.Fatal(err)
		}
		for _, forbidden := range []string{
			"SELECT * FROM system_auth.roles", "ALTER ROLE ringmaster WITH SUPERUSER = true", "DROP KEYSPACE ringmaster",
			"CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		} {
			if _, err := control.Query(t.Context(), cql.Quorum, forbidden); cql.Code(err) != cql.CodeUnauthorized {
				t.Errorf("%s: %v", forbidden, err)
			}
		}
		control.Close()
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
		n := &node{
			t: t, id: fmt.Sprintf("node_%d", index), rack: rack, binary: binary, address: freeAddress(t),
			folder: filepath.Join(root, rack),
		}
		n.userData = filepath.Join(root, rack+".json")
		content, err := json.Marshal(agent.UserData{
			NodeID: n.id, ClusterID: "cluster", EnrolURL: plane.URL, CAPEM: plane.Agents.PEM, Token: plane.Token,
			Listen: n.address + ":7443", Address: n.address, EngineCache: cache,
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
		nodes = append(nodes, n)
	}
	return nodes
}

// freeAddress is a loopback address with nothing on the ports of agent and engine.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.%d.%d.%d", 150+rand.IntN(40), rand.IntN(256), 1+rand.IntN(254))
		free := true
		for _, port := range []string{"7443", "7000", "9042"} {
			listener, err := net.Listen("tcp", net.JoinHostPort(address, port))
			if err != nil {
				free = false
				break
			}
			_ = listener.Close()
		}
		if free {
			return address
		}
	}
	t.Fatal("no free loopback address")
	return ""
}

// all does something on every node side by side.
func all(nodes []*node, do func(*node)) {
	var working sync.WaitGroup
	for _, n := range nodes {
		working.Go(func() { do(n) })
	}
	working.Wait()
}

func (n *node) startAgent() {
	output, err := os.OpenFile(n.folder+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Error(err)
		return
	}
	defer output.Close()
	n.process = exec.Command(n.binary, "run", "--state-dir", n.folder, "--user-data", n.userData)
	n.process.Stdout, n.process.Stderr = output, output
	if err := n.process.Start(); err != nil {
		n.t.Error(err)
	}
}

func (n *node) killAgent() {
	_ = n.process.Process.Kill()
	_ = n.process.Wait()
}

// end leaves no process behind, whatever the test came to.
func (n *node) end() {
	if pid := n.engineOnDisk(); pid > 0 {
		n.killAgent()
		_ = syscall.Kill(pid, syscall.SIGKILL)
	} else if n.process != nil {
		n.killAgent()
	}
	if n.t.Failed() {
		for _, path := range []string{n.folder + ".log", filepath.Join(n.folder, "cassandra/logs/jvm.log")} {
			content, _ := os.ReadFile(path)
			n.t.Logf("%s:\n%s", path, content[max(0, len(content)-3000):])
		}
	}
}

// engineOnDisk is the engine's process as the agent noted it, if it is alive.
func (n *node) engineOnDisk() int {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, entry := range entries {
		content, _ := os.ReadFile(entry)
		if bytes.Contains(content, []byte("-Dringmaster.machine="+n.folder+"/")) {
			var pid int
			if _, err := fmt.Sscanf(entry, "/proc/%d/", &pid); err == nil {
				return pid
			}
		}
	}
	return 0
}

// cpuSeconds is what the engine has used so far. Unlike the time, it says the same on a busy machine.
func (n *node) cpuSeconds() float64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.engineOnDisk()))
	if err != nil {
		n.t.Error(err)
		return 0
	}
	var user, system float64
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		n.t.Error(err)
	}
	const ticksPerSecond = 100
	return (user + system) / ticksPerSecond
}

func (n *node) reachable() {
	n.eventually("an answer", func() bool {
		answer, err := n.client.Get("https://" + n.address + ":7443/v1/status")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

func (n *node) eventually(what string, holds func() bool) {
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	n.t.Errorf("%s: no %s within a minute", n.id, what)
}

func (n *node) ask(method, path string, body, into any) {
	content, err := json.Marshal(body)
	if err != nil {
		n.t.Error(err)
		return
	}
	request, err := http.NewRequest(method, "https://"+n.address+":7443"+path, bytes.NewReader(content))
	if err != nil {
		n.t.Error(err)
		return
	}
	answer, err := n.client.Do(request)
	if err != nil {
		n.t.Errorf("%s %s: %v", method, path, err)
		return
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		n.t.Errorf("%s: %s %s: %d %s %v", n.id, method, path, answer.StatusCode, said, err)
		return
	}
	if into != nil {
		if err := json.Unmarshal(said, into); err != nil {
			n.t.Error(err)
		}
	}
}

func (n *node) status() agent.Status {
	var status agent.Status
	n.ask(http.MethodGet, "/v1/status", nil, &status)
	return status
}

func (n *node) configure(nodes []*node) {
	off, fast, none := false, 500, 0
	config := cassandra.Config{
		Engine: "cassandra", Version: testVersion, ClusterName: "test", Datacenter: "local-1", Rack: n.rack, Address: n.address,
		HeapMiB: 512, SystemAuthReplication: len(nodes), JVM: cassandra.JVM{Profile: "small"},
		FirstBoot: cassandra.FirstBoot{AutoBootstrap: &off, RingDelayMS: &fast, GossipSettlePolls: &none, SuperuserSetupDelayMS: &none},
	}
	// Evenly spread over the ring, the nodes taking turns.
	step := (uint64(1) << 63) / (tokensPerNode * uint64(len(nodes))) * 2
	for index, other := range nodes {
		config.Seeds = append(config.Seeds, other.address)
		for turn := range tokensPerNode {
			if other == n {
				config.InitialTokens = append(config.InitialTokens, int64(uint64(1)<<63+step*uint64(turn*len(nodes)+index)))
			}
		}
	}
	n.ask(http.MethodPut, "/v1/config", config, nil)
}

func (n *node) succeed(name string, kind agent.JobKind, parameters map[string]any) agent.Job {
	content, err := json.Marshal(parameters)
	if err != nil || parameters == nil {
		content = []byte("{}")
	}
	var job agent.Job
	n.ask(http.MethodPut, "/v1/jobs/"+name+"?wait=2", agent.JobRequest{Kind: kind, Parameters: content}, &job)
	for deadline := time.Now().Add(90 * time.Second); job.State == agent.Running && time.Now().Before(deadline); {
		n.ask(http.MethodGet, "/v1/jobs/"+name+"?wait=2", nil, &job)
	}
	if job.State != agent.Succeeded {
		n.t.Errorf("%s: job %s: %s %s %+v", n.id, name, job.State, job.Message, job.Error)
	}
	return job
}

func (n *node) prove(key string, nodes []*node) {
	members := make([]string, len(nodes))
	for index, other := range nodes {
		members[index] = other.address
	}
	n.succeed("prove-"+key, agent.Prove, map[string]any{
		"control_username": "ringmaster", "control_password": controlPassword, "key": key, "members": members,
	})
}

func (n *node) saidNothingSecret() {
	for _, path := range []string{n.folder + ".log", n.folder + "/cassandra/logs/jvm.log", n.folder + "/cassandra/logs/system.log"} {
		content, err := os.ReadFile(path)
		if err != nil {
			n.t.Error(err)
		}
		for _, secret := range []string{controlPassword, "$2a$", "PRIVATE KEY", "one-time"} {
			if strings.Contains(string(content), secret) {
				n.t.Errorf("%s holds %q", path, secret)
			}
		}
	}
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
