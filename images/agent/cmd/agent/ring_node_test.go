//go:build engine

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

	"ringmaster/agent"
	"ringmaster/agent/cassandra"
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
	cache    string
	process  *exec.Cmd
	client   *http.Client
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

func (n *node) configure(nodes []*node) { n.configureWith(nodes, nil) }

func (n *node) configureWith(nodes []*node, settings map[string]any) {
	n.ask(http.MethodPut, "/v1/config", n.firstConfig(nodes, settings), nil)
}

// firstConfig is for a node of a new ring.
func (n *node) firstConfig(nodes []*node, settings map[string]any) cassandra.Config {
	off, fast, none := false, 500, 0
	config := cassandra.Config{
		Engine: "cassandra", Version: testVersion, ClusterName: "test", Datacenter: "local-1", Rack: n.rack, Address: n.address,
		HeapMiB: 512, SystemAuthReplication: len(nodes), JVM: cassandra.JVM{Profile: "small"}, Settings: settings,
		Revision:  fmt.Sprintf("r%d", rand.IntN(1_000_000_000)),
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
	return config
}

func (n *node) succeed(name string, kind agent.JobKind, parameters map[string]any) agent.Job {
	content, err := json.Marshal(parameters)
	if err != nil || parameters == nil {
		content = []byte("{}")
	}
	var job agent.Job
	n.ask(http.MethodPut, "/v1/jobs/"+name+"?wait=2", agent.JobRequest{Kind: kind, Parameters: content}, &job)
	for deadline := time.Now().Add(3 * time.Minute); job.State == agent.Running && time.Now().Before(deadline); {
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
