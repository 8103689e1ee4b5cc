package scylla

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/canary"
	"ringmaster/agent/cql"
	"ringmaster/agent/enginetls"
	"ringmaster/agent/scyllaapi/scyllatest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// documents are what the control plane writes; its own tests hold it to the same files.
const documents = "../../../provisioner/engines/tests/golden/scylla"

func document(t *testing.T, name string) json.RawMessage {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(documents, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// The node of the documents, and the two others.
const own, second, third = "10.2.0.1", "10.1.0.1", "10.3.0.1"

// fakeSessions is what the engine says over CQL: it notes statements, and answers with what a test wants.
type fakeSessions struct {
	mu         sync.Mutex
	statements []string
	values     [][]any
	accounts   []string
	pages      [][][][]byte
	answer     func(statement string, values []any) (cql.Rows, error)
	login      func(username, password string) error
}

func (f *fakeSessions) dial(_ context.Context, username, password string) (session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.login != nil {
		if err := f.login(username, password); err != nil {
			return nil, err
		}
	}
	f.accounts = append(f.accounts, username)
	return fakeSession{f}, nil
}

func (f *fakeSessions) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.statements)
}

type fakeSession struct{ all *fakeSessions }

// QueryPage gives the rows of page after page, a row in each.
func (s fakeSession) QueryPage(_ context.Context, _ cql.Consistency, statement string, _ int32, state []byte) ([][][]byte, []byte, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.statements = append(s.all.statements, statement)
	if len(s.all.pages) == 0 {
		return nil, nil, nil
	}
	at := len(state)
	if at == len(s.all.pages)-1 {
		return s.all.pages[at], nil, nil
	}
	return s.all.pages[at], make([]byte, at+1), nil
}

func (s fakeSession) Close() {}

func (s fakeSession) Query(_ context.Context, _ cql.Consistency, statement string, values ...any) (cql.Rows, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.statements = append(s.all.statements, statement)
	s.all.values = append(s.all.values, values)
	if s.all.answer == nil {
		return nil, nil
	}
	return s.all.answer(statement, values)
}

// node is an engine whose program sleeps, beside an API made of ScyllaDB's own description.
type node struct {
	*Engine
	api  *scyllatest.Server
	said *fakeSessions
}

func newNode(t *testing.T, configuration string) node {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "program")
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 2026.1.8-0.20260705.be3e0d31004f; exit; fi\nexec sleep 60\n"
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	server := scyllatest.New(t)
	at := Installation{Binary: binary, Options: filepath.Join(folder, "scylla.d"), Data: filepath.Join(folder, "data"), API: server.Address()}
	engine, err := New(folder, at, "nod_1", enginetls.Identity{KeyAndCertificate: "/id/key.pem", Authority: "/id/ca.pem"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	said := &fakeSessions{}
	engine.dial = said.dial
	if err := engine.Configure(document(t, configuration)); err != nil {
		t.Fatal(err)
	}
	return node{Engine: engine, api: server, said: said}
}

// run starts the program; it is never ready, but it lives.
func (n node) run(t *testing.T) node {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.supervisor.Run(ctx)
	}()
	go func() { _ = n.supervisor.Start(ctx) }()
	t.Cleanup(func() {
		_ = n.supervisor.Stop(context.Background(), time.Second)
		cancel()
		<-ended
	})
	for deadline := time.Now().Add(10 * time.Second); !n.supervisor.Condition().Alive; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the program did not start")
		}
	}
	return n
}

// inRing makes the API tell of a ring of three that agrees.
func (n node) inRing() node {
	hosts, owners := []map[string]string{}, []map[string]string{}
	for index, address := range []string{own, second, third} {
		hosts = append(hosts, map[string]string{"key": address, "value": "h" + address})
		owners = append(owners, map[string]string{"key": string(rune('1' + index)), "value": address})
	}
	n.api.Answer("GET /storage_service/host_id", hosts)
	n.api.Answer("GET /storage_service/hostid/local", "h"+own)
	n.api.Answer("GET /storage_service/schema_version", "s1")
	n.api.Answer("GET /storage_service/tokens_endpoint", owners)
	n.api.Answer("GET /failure_detector/endpoints/", gossip(own, second, third))
	n.api.Answer("GET /storage_service/operation_mode", "NORMAL")
	return n
}

// gossip is of nodes that are up, with one schema.
func gossip(up ...string) []map[string]any {
	var all []map[string]any
	for _, address := range up {
		var states []any
		for number, value := range map[int]string{2: "s1", 3: "test-region-1", 4: "rack-of-" + address, 12: "g" + address} {
			states = append(states, map[string]any{"application_state": number, "value": value, "version": 1})
		}
		all = append(all, map[string]any{"addrs": address, "is_alive": true, "application_state": states})
	}
	return all
}

// knowsControl makes the agent know the control account.
func (n node) knowsControl(t *testing.T) node {
	t.Helper()
	if _, err := n.control(t.Context(), account{Username: "ringmaster", Password: "secret"}); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n node) do(t *testing.T, kind agent.JobKind, parameters string) (any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return n.Do(ctx, kind, json.RawMessage(parameters), func(float64, string) {})
}

func code(err error) string {
	var coded *agent.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

func TestWhatTheControlPlaneWritesIsTaken(t *testing.T) {
	for _, name := range []string{"first", "join", "replace", "member", "alternator"} {
		if _, err := parseConfig(document(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigurationsThatCannotBeAreRefused(t *testing.T) {
	for change, wanted := range map[string]string{
		`{"engine": "cassandra"}`:    "invalid-config",
		`{"version": "5.0.5"}`:       "invalid-config",
		`{"address": "here"}`:        "invalid-config",
		`{"seeds": []}`:              "invalid-config",
		`{"initial_tokens": [1, 1]}`: "invalid-config",
		`{"unknown": 1}`:             "invalid-config",
		`{"alternator": {"port": 9042, "write_isolation": "always"}}`:                 "invalid-config",
		`{"alternator": {"port": 8043, "write_isolation": "never"}}`:                  "invalid-config",
		`{"first_boot": {"replace_host_id": "7c7f3b8c-0000-4000-8000-000000000001"}}`: "invalid-config",
		`{"first_boot": {"join": {"members": ["10.1.0.1"]}}}`:                         "invalid-config", // its own address is a seed
		`{"first_boot": {"join": {"members": ["10.2.0.1"]}}, "seeds": ["10.1.0.1"]}`:  "invalid-config",
		`{"settings": {"authenticator": "AllowAllAuthenticator"}}`:                    "setting-not-allowed",
		`{"settings": {"alternator_enforce_authorization": false}}`:                   "setting-not-allowed",
		`{"settings": {"Read Timeout": 1}}`:                                           "invalid-config",
	} {
		var all map[string]any
		// Tokens must keep all their digits.
		if err := errors.Join(strictly(document(t, "first"), &all), strictly([]byte(change), &all)); err != nil {
			t.Fatal(err)
		}
		changed, _ := json.Marshal(all)
		if _, err := parseConfig(changed); code(err) != wanted {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestEveryFileIsAsItWas(t *testing.T) {
	for _, c := range []struct {
		document  string
		firstBoot bool
	}{{"first", true}, {"replace", true}, {"member", false}, {"alternator", false}} {
		config, err := parseConfig(document(t, c.document))
		if err != nil {
			t.Fatal(err)
		}
		place := folders{root: t.TempDir(), work: "/var/lib/scylla"}
		place.work = filepath.Join(place.root, "work")
		if err := writeFiles(config, place, enginetls.Identity{KeyAndCertificate: "/id/key.pem", Authority: "/id/ca.pem"}, c.firstBoot); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"scylla.yaml", "cassandra-rackdc.properties"} {
			content, err := os.ReadFile(filepath.Join(place.conf(), name))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(content), place.work, "/var/lib/scylla")
			golden := filepath.Join("testdata", c.document, name)
			if *update {
				if err := errors.Join(os.MkdirAll(filepath.Dir(golden), 0o755), os.WriteFile(golden, []byte(got), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if wanted, err := os.ReadFile(golden); err != nil || string(wanted) != got {
				t.Errorf("%s differs (%v):\n%s", golden, err, got)
			}
		}
	}
}

func TestItIsStartedWithWhatTheFirstBootFoundOut(t *testing.T) {
	n := newNode(t, "first")
	write := func(name, content string) {
		if err := errors.Join(os.MkdirAll(n.at.Options, 0o755), os.WriteFile(filepath.Join(n.at.Options, name), []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	// As package tuning writes them.
	write("cpuset.conf", "# Made by the agent; changes are lost.\nCPUSET=\"--cpuset 1-15,17-31 \"\n")
	write("io.conf", "# Made by the agent; changes are lost.\nSEASTAR_IO=\"--io-properties-file=/etc/scylla.d/io_properties.yaml\"\n")
	spec, err := program{n.Engine}.Command(true)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{
		"--options-file=" + n.place.yaml(), "--log-to-syslog=0", "--log-to-stdout=1", "--default-log-level=info", "--network-stack=posix",
		"--cpuset", "1-15,17-31", "--io-properties-file=/etc/scylla.d/io_properties.yaml",
	}
	if spec.Program != n.at.Binary || !slices.Equal(spec.Arguments, wanted) || spec.Folder != n.place.root {
		t.Errorf("%+v", spec)
	}
	if !slices.Contains(spec.Arguments, program{n.Engine}.Mark()) {
		t.Error("it could not be found again")
	}
	n.at.OwnScope = true
	if spec, err = (program{n.Engine}).Command(true); err != nil || spec.Program != "systemd-run" || !slices.Contains(spec.Arguments, n.at.Binary) {
		t.Errorf("%+v, %v", spec, err)
	}
}

func TestTheVersionInstalledIsTheOneAskedFor(t *testing.T) {
	n := newNode(t, "first")
	if result, err := n.do(t, agent.Install, `{"engine": "scylla", "version": "2026.1.8"}`); err != nil || result != (agent.Installed{Version: "2026.1.8"}) {
		t.Errorf("%v, %v", result, err)
	}
	if _, err := n.do(t, agent.Install, `{"version": "2026.1.9"}`); code(err) != "engine-not-found" || !strings.Contains(err.Error(), "has ScyllaDB 2026.1.8") {
		t.Errorf("%v", err)
	}
	if _, err := n.do(t, agent.Install, `{"version": "5.0.5"}`); code(err) != "invalid-parameters" {
		t.Errorf("%v", err)
	}
}

func TestEveryKindOfJobIsDoneOrSaysThatItIsNot(t *testing.T) {
	n := newNode(t, "first")
	missing := append([]agent.JobKind{
		agent.FetchFiles, agent.SetArchive, agent.ReplayArchive, agent.Roles, agent.ChangeRole, agent.Grant, agent.Revoke, agent.RunCommand,
	}, agent.TableJobKinds()...)
	for _, kind := range agent.JobKinds() {
		if kind == agent.MeasureIO {
			continue // the machine's, not the engine's
		}
		_, done := n.jobs()[kind]
		if done == slices.Contains(missing, kind) {
			t.Errorf("%s: %v", kind, done)
		}
	}
	if _, err := n.do(t, agent.Roles, `{}`); code(err) != "not-supported" {
		t.Errorf("%v", err)
	}
	if _, err := n.do(t, agent.Allowlist, `{"cidrs": ["10.0.0.0/8"]}`); code(err) != "not-supported" {
		t.Errorf("%v", err)
	}
	if _, err := n.do(t, agent.Allowlist, `{"cidrs": []}`); err != nil {
		t.Errorf("%v", err)
	}
}

func TestAnEngineThatDoesNotRunIsNotAsked(t *testing.T) {
	n := newNode(t, "first")
	for _, kind := range []agent.JobKind{agent.Drain, agent.DescribeRing, agent.Decommission, agent.Cleanup, agent.DescribeData, agent.Inspect, agent.Keyspaces} {
		if _, err := n.do(t, kind, `{}`); code(err) != "engine-not-running" {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if called := n.api.Called(); len(called) > 0 {
		t.Errorf("%v", called)
	}
}

func TestTheRingIsReadFromTheAPI(t *testing.T) {
	n := newNode(t, "first").run(t).inRing()
	n.api.Answer("GET /failure_detector/endpoints/", append(gossip(own, second, "10.1.0.2", "10.9.9.9"), map[string]any{"addrs": third}))
	n.api.Answer("GET /storage_service/nodes/joining", []string{"10.1.0.2"})
	n.api.Answer("GET /storage_service/nodes/leaving", []string{second})
	result, err := n.do(t, agent.DescribeRing, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	peer := func(address, host, status string, tokens ...int64) agent.Peer {
		return agent.Peer{Address: address, HostID: host, Datacenter: "test-region-1", Rack: "rack-of-" + address, SchemaVersion: "s1",
			Status: status, TokensDigest: agent.TokensDigest(tokens)}
	}
	down := agent.Peer{Address: third, HostID: "h" + third, Status: "NORMAL", TokensDigest: agent.TokensDigest([]int64{3})}
	wanted := agent.RingStatus{
		HostID: "h" + own, Datacenter: "test-region-1", Rack: "zone-1b", SchemaVersion: "s1", Tokens: []int64{1}, TokensDigest: agent.TokensDigest([]int64{1}),
		Peers: []agent.Peer{peer(second, "h"+second, "LEAVING", 2), peer("10.1.0.2", "g10.1.0.2", "JOINING"), down},
	}
	if !reflect.DeepEqual(result, wanted) {
		t.Errorf("%+v", result)
	}
}

func TestANodeThatLeavesIsStoppedForGood(t *testing.T) {
	n := newNode(t, "first").run(t)
	mode := "NORMAL"
	n.api.AnswerBy("GET /storage_service/operation_mode", func(map[string]string) (any, error) { return mode, nil })
	n.api.AnswerBy("POST /storage_service/decommission", func(map[string]string) (any, error) {
		mode = "DECOMMISSIONED"
		n.api.Answer("GET /stream_manager/metrics/outgoing", 5<<20)
		return nil, nil
	})
	if result, err := n.do(t, agent.Decommission, `{}`); err != nil || result != (agent.Streamed{BytesStreamed: 5 << 20}) {
		t.Fatalf("%v, %v", result, err)
	}
	if n.supervisor.Condition().Alive || n.Status(t.Context()).Mode != "DECOMMISSIONED" {
		t.Error("it still runs")
	}
	if _, err := n.do(t, agent.Start, `{}`); code(err) != "node-left" {
		t.Errorf("%v", err)
	}
	if _, err := n.do(t, agent.Decommission, `{}`); err != nil {
		t.Errorf("asked twice: %v", err)
	}
}

func TestWhatTheEngineRefusesIsSaid(t *testing.T) {
	n := newNode(t, "first").run(t).inRing()
	refusal := func(map[string]string) (any, error) { return nil, errors.New("removenode rejected: node is alive") }
	for _, operation := range []string{"POST /storage_service/decommission", "POST /storage_service/remove_node", "POST /storage_service/rebuild",
		"POST /storage_service/keyspace_cleanup/{keyspace}", "GET /storage_service/keyspace_upgrade_sstables/{keyspace}", "POST /storage_service/drain"} {
		n.api.AnswerBy(operation, refusal)
	}
	n.api.Answer("GET /storage_service/keyspaces", []string{"shop"})
	for _, c := range []struct {
		kind             agent.JobKind
		parameters, code string
	}{
		{agent.Decommission, `{}`, "decommission-failed"},
		{agent.RemoveNode, `{"host_id": "7c7f3b8c-0000-4000-8000-000000000001"}`, "remove-failed"},
		{agent.Rebuild, `{"datacenter": "dc1"}`, "rebuild-failed"},
		{agent.Cleanup, `{}`, "cleanup-failed"},
		{agent.UpgradeSSTables, `{}`, "upgrade-sstables-failed"},
		{agent.Drain, `{}`, "drain-failed"},
	} {
		if c.kind == agent.RemoveNode {
			n.api.Answer("GET /storage_service/host_id", []map[string]string{{"key": third, "value": "7c7f3b8c-0000-4000-8000-000000000001"}})
		}
		if _, err := n.do(t, c.kind, c.parameters); code(err) != c.code || !strings.Contains(err.Error(), "node is alive") {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
}

func TestADeadNodeIsForgotten(t *testing.T) {
	n := newNode(t, "first").run(t).inRing()
	dead := "7c7f3b8c-0000-4000-8000-000000000001"
	n.api.Answer("GET /storage_service/host_id", []map[string]string{{"key": third, "value": dead}})
	n.api.AnswerBy("POST /storage_service/remove_node", func(p map[string]string) (any, error) {
		if p["host_id"] != dead {
			t.Errorf("%v", p)
		}
		n.api.Answer("GET /storage_service/host_id", []map[string]string{})
		return nil, nil
	})
	for range 2 {
		if _, err := n.do(t, agent.RemoveNode, `{"host_id": "`+dead+`"}`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.do(t, agent.RemoveNode, `{"host_id": "10.0.0.1"}`); code(err) != "invalid-parameters" {
		t.Errorf("%v", err)
	}
}

func TestOnlyKeyspacesSpreadByTokensAreCleaned(t *testing.T) {
	n := newNode(t, "first").run(t).inRing()
	n.api.AnswerBy("GET /storage_service/keyspaces", func(p map[string]string) (any, error) {
		if p["replication"] == "vnodes" {
			return []string{"old_shop", "ringmaster"}, nil
		}
		return []string{"old_shop", "ringmaster", "shop"}, nil
	})
	var cleaned, upgraded []string
	n.api.AnswerBy("POST /storage_service/keyspace_cleanup/{keyspace}", func(p map[string]string) (any, error) {
		cleaned = append(cleaned, p["keyspace"])
		return 0, nil
	})
	n.api.AnswerBy("GET /storage_service/keyspace_upgrade_sstables/{keyspace}", func(p map[string]string) (any, error) {
		upgraded = append(upgraded, p["keyspace"]+" "+p["exclude_current_version"])
		return 0, nil
	})
	for _, kind := range []agent.JobKind{agent.Cleanup, agent.UpgradeSSTables} {
		if _, err := n.do(t, kind, `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(cleaned, []string{"old_shop", "ringmaster"}) || !slices.Equal(upgraded, []string{"old_shop true", "ringmaster true", "shop true"}) {
		t.Errorf("%v, %v", cleaned, upgraded)
	}
}

func TestDataAndConditionAreTold(t *testing.T) {
	n := newNode(t, "first").run(t).inRing()
	n.api.Answer("GET /storage_service/keyspaces", []string{"shop"})
	n.api.Answer("GET /column_family/", []map[string]string{{"ks": "shop", "cf": "orders"}, {"ks": "system", "cf": "local"}})
	n.api.AnswerBy("GET /column_family/metrics/live_disk_space_used/{name}", func(p map[string]string) (any, error) {
		if p["name"] != "shop:orders" {
			t.Errorf("%v", p)
		}
		return 4096, nil
	})
	n.api.Answer("GET /column_family/metrics/estimated_row_count/{name}", []int{12})
	result, err := n.do(t, agent.DescribeData, `{}`)
	if wanted := (agent.DataDescription{Tables: []agent.TableData{{Keyspace: "shop", Table: "orders", Bytes: 4096, Partitions: 12}}}); err != nil || !reflect.DeepEqual(result, wanted) {
		t.Errorf("%+v, %v", result, err)
	}
	n.api.Answer("GET /gossiper/endpoint/down/", []string{third})
	n.api.Answer("GET /storage_service/active_repair/", []int{1, 2})
	n.api.Answer("GET /compaction_manager/metrics/pending_tasks", 4)
	n.api.Answer("GET /storage_proxy/metrics/read/histogram", map[string]any{"count": 100, "sample": []int{1500}})
	n.api.Answer("GET /storage_proxy/metrics/range/histogram", map[string]any{"count": 10})
	n.api.Answer("GET /storage_proxy/metrics/write/timeouts", 3)
	told, err := n.do(t, agent.Inspect, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	found := told.(agent.Inspection)
	if found.Mode != "NORMAL" || !slices.Equal(found.Unreachable, []string{third}) || found.RepairsRunning != 2 || found.PendingCompactions != 4 ||
		found.Client != (agent.ClientRequests{Reads: 110, Timeouts: 3, ReadP99MS: 1.5}) {
		t.Errorf("%+v", found)
	}
}

const hash = "$2a$04$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzABCDE"

const secureParameters = `{"admin_username": "admin", "admin_password_hash": "` + hash + `", "control_username": "ringmaster",
	"control_password": "secret", "control_password_hash": "` + hash + `", "datacenter": "dc1", "system_auth_replication": 3, "replication": 3}`

func TestTheRoleThatEveryRingIsBornWithEndsLast(t *testing.T) {
	n := newNode(t, "first").run(t)
	for range 2 {
		if _, err := n.do(t, agent.Secure, secureParameters); err != nil {
			t.Fatal(err)
		}
	}
	said := n.said.said()
	half := said[:len(said)/2]
	if !slices.Equal(half, said[len(said)/2:]) {
		t.Errorf("the second time it says something else: %q", said)
	}
	superuser := " WITH HASHED PASSWORD = '" + hash + "' AND SUPERUSER = true AND LOGIN = true"
	wanted := []string{"CREATE ROLE IF NOT EXISTS admin" + superuser, "CREATE ROLE IF NOT EXISTS ringmaster" + superuser}
	if !slices.Equal(half[1:3], wanted) || half[len(half)-1] != "DROP ROLE IF EXISTS cassandra" {
		t.Errorf("%q", half)
	}
	if !strings.Contains(half[3], "'dc1': 3} AND tablets = {'enabled': false}") {
		t.Errorf("%q", half[3])
	}
	if !slices.Equal(n.said.accounts[:2], []string{"cassandra", "ringmaster"}) {
		t.Errorf("%q", n.said.accounts)
	}
}

func TestSecuringGoesOnWhenTheFirstRoleIsGoneAlready(t *testing.T) {
	n := newNode(t, "first").run(t)
	n.said.login = func(username, _ string) error {
		if username == "cassandra" {
			return &cql.Error{Code: cql.CodeBadCredentials, Message: "no"}
		}
		return nil
	}
	if _, err := n.do(t, agent.Secure, secureParameters); err != nil {
		t.Fatal(err)
	}
	if said := n.said.said(); strings.HasPrefix(said[0], "CREATE ROLE") || said[len(said)-1] != "DROP ROLE IF EXISTS cassandra" {
		t.Errorf("%q", said)
	}
}

func TestAStrangersSuperuserIsNoticed(t *testing.T) {
	n := newNode(t, "first").run(t)
	n.said.answer = func(statement string, _ []any) (cql.Rows, error) {
		if strings.Contains(statement, "FROM system.roles") {
			return cql.Rows{{"role": "mallory", "is_superuser": true}}, nil
		}
		return nil, nil
	}
	if _, err := n.do(t, agent.Secure, secureParameters); code(err) != "unexpected-superuser" {
		t.Errorf("%v", err)
	}
}

func TestANewPasswordKeepsWhoIsAMember(t *testing.T) {
	n := newNode(t, "first").run(t).knowsControl(t)
	rotate := `{"username": "admin", "password_hash": "` + hash + `"}`
	fail := true
	n.said.answer = func(statement string, _ []any) (cql.Rows, error) {
		switch {
		case strings.Contains(statement, "FROM system.roles"):
			if fail {
				return cql.Rows{{"is_superuser": true}}, nil
			}
			return nil, nil
		case strings.Contains(statement, "role_members"):
			return cql.Rows{{"member": "Ann"}}, nil
		case strings.HasPrefix(statement, "CREATE") && fail:
			return nil, &cql.Error{Code: 0x2200, Message: "the node was killed here"}
		}
		return nil, nil
	}
	if _, err := n.do(t, agent.RotatePassword, rotate); code(err) != "engine-refused" {
		t.Fatalf("%v", err)
	}
	// The role is away now; the next try makes it, and its member.
	fail = false
	if _, err := n.do(t, agent.RotatePassword, rotate); err != nil {
		t.Fatal(err)
	}
	said := n.said.said()
	last := said[len(said)-3:]
	if last[0] != "DROP ROLE IF EXISTS admin" || !strings.HasPrefix(last[1], "CREATE ROLE IF NOT EXISTS admin WITH HASHED PASSWORD") || last[2] != `GRANT admin TO "Ann"` {
		t.Errorf("%q", last)
	}
	if _, err := n.do(t, agent.RotatePassword, `{"username": "other", "password_hash": "`+hash+`"}`); code(err) != "unknown-role" {
		t.Errorf("%v", err)
	}
}

func TestANodeProvesItself(t *testing.T) {
	n := newNode(t, "first").run(t).inRing()
	n.said.answer = func(statement string, _ []any) (cql.Rows, error) {
		if strings.HasPrefix(statement, "SELECT node") {
			return cql.Rows{{"node": "nod_1"}, {"node": "nod_2"}}, nil
		}
		return nil, nil
	}
	members := `["` + own + `", "` + second + `", "` + third + `"]`
	parameters := `{"control_username": "ringmaster", "control_password": "secret", "key": "op_1", "members": ` + members + `}`
	// At first one is not seen up.
	live := 0
	n.api.AnswerBy("GET /failure_detector/endpoints/", func(map[string]string) (any, error) {
		live++
		return gossip([]string{own, second, third}[:min(3, 1+live)]...), nil
	})
	result, err := n.do(t, agent.Prove, parameters)
	if err != nil {
		t.Fatal(err)
	}
	if proof := result.(agent.Proof); proof.HostID != "h"+own || !slices.Equal(proof.Rows, []string{"nod_1", "nod_2"}) || len(proof.Peers) != 2 {
		t.Errorf("%+v", proof)
	}
	if live != 2 {
		t.Errorf("it looked %d times", live)
	}
}

func TestCanariesAreLookedForWhereTheEngineSaysTheyAre(t *testing.T) {
	n := newNode(t, "first").run(t).knowsControl(t)
	mine := canary.IDs()[:10]
	n.api.AnswerBy("GET /storage_service/natural_endpoints/{keyspace}", func(p map[string]string) (any, error) {
		if p["keyspace"] != "ringmaster" || p["cf"] != "canary" {
			t.Errorf("%v", p)
		}
		if slices.Contains(mine, p["key"]) {
			return []string{own, second}, nil
		}
		return []string{second}, nil
	})
	n.said.answer = func(statement string, values []any) (cql.Rows, error) {
		if strings.HasPrefix(statement, "SELECT id") && values[0] != mine[3] {
			return cql.Rows{{"id": values[0]}}, nil
		}
		return nil, nil
	}
	if result, err := n.do(t, agent.ReadCanary, `{}`); err != nil || result != (agent.CanaryReading{Checked: 10, Missing: 1}) {
		t.Errorf("%v, %v", result, err)
	}
	if _, err := n.do(t, agent.PlantCanary, `{}`); err != nil {
		t.Error(err)
	}
	planted := slices.DeleteFunc(n.said.said(), func(statement string) bool { return !strings.HasPrefix(statement, "INSERT INTO ringmaster.canary") })
	if len(planted) != canary.Rows {
		t.Errorf("%d were planted", len(planted))
	}
}

// keyspaceRows are as the engine's schema has them.
func keyspaceRows(statement string, _ []any) (cql.Rows, error) {
	if !strings.Contains(statement, "system_schema.keyspaces") {
		return nil, nil
	}
	return cql.Rows{
		{"keyspace_name": "shop", "replication": map[string]any{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "test-region-1": "1"}},
		{"keyspace_name": "old_shop", "replication": map[string]any{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "2"}},
		{"keyspace_name": "system", "replication": map[string]any{"class": "org.apache.cassandra.locator.LocalStrategy"}},
	}, nil
}

func TestReplicationOfTabletsChangesByOneReplicaAtATime(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().knowsControl(t)
	n.said.answer = keyspaceRows
	n.api.AnswerBy("GET /storage_service/keyspaces", func(p map[string]string) (any, error) {
		if p["replication"] != "tablets" {
			t.Errorf("%v", p)
		}
		return []string{"shop"}, nil
	})
	result, err := n.do(t, agent.Keyspaces, `{}`)
	wanted := Keyspaces{Keyspaces: []Keyspace{
		{Name: "old_shop", Class: "SimpleStrategy", Replication: map[string]int{"replication_factor": 2}},
		{Name: "shop", Class: networkTopology, Replication: map[string]int{"test-region-1": 1}, Tablets: true},
		{Name: "system", Class: "LocalStrategy", Replication: map[string]int{}, System: true},
	}}
	if err != nil || !reflect.DeepEqual(result, wanted) {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := n.do(t, agent.Replicate, `{"keyspaces": [{"name": "shop", "replication": {"test-region-1": 3}}, {"name": "old_shop", "replication": {"test-region-1": 3}}]}`); err != nil {
		t.Fatal(err)
	}
	altered := slices.DeleteFunc(n.said.said(), func(statement string) bool { return !strings.HasPrefix(statement, "ALTER") })
	to := func(keyspace, replicas string) string {
		return `ALTER KEYSPACE "` + keyspace + `" WITH replication = {'class': 'NetworkTopologyStrategy', 'test-region-1': ` + replicas + `}`
	}
	if !slices.Equal(altered, []string{to("shop", "2"), to("shop", "3"), to("old_shop", "3")}) {
		t.Errorf("%q", altered)
	}
	for parameters, wanted := range map[string]string{
		`{"keyspaces": [{"name": "none", "replication": {"test-region-1": 1}}]}`:   "unknown-keyspace",
		`{"keyspaces": [{"name": "system", "replication": {"test-region-1": 1}}]}`: "keyspace-protected",
		`{"keyspaces": [{"name": "shop", "replication": {"dc9": 1}}]}`:             "unknown-datacenter",
		`{"keyspaces": [{"name": "shop", "replication": {"test-region-1": 9}}]}`:   "not-enough-nodes",
		`{"keyspaces": [{"name": "shop", "replication": {"test-region-1": 0}}]}`:   "invalid-parameters",
	} {
		if _, err := n.do(t, agent.Replicate, parameters); code(err) != wanted {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

func TestSettingsAreToldToTheRunningEngine(t *testing.T) {
	n := newNode(t, "first").run(t).knowsControl(t)
	if err := n.Configure(document(t, "member")); err != nil {
		t.Fatal(err)
	}
	n.said.answer = func(statement string, values []any) (cql.Rows, error) {
		if strings.HasPrefix(statement, "SELECT name, value FROM system.config") {
			return cql.Rows{
				{"name": "read_request_timeout_in_ms", "value": "5000"}, {"name": "auto_snapshot", "value": "false"},
				{"name": "tablets_mode_for_new_keyspaces", "value": `"enabled"`}, {"name": "auth_superuser_name", "value": "x"},
				{"name": "client_encryption_options", "value": "{}"},
			}, nil
		}
		if values[1] == "tablets_mode_for_new_keyspaces" {
			return nil, &cql.Error{Code: 0x2200, Message: "option is not live-updateable"}
		}
		return nil, nil
	}
	told, err := n.do(t, agent.Settings, `{}`)
	if wanted := (Settings{Settings: map[string]string{
		"read_request_timeout_in_ms": "5000", "auto_snapshot": "false", "tablets_mode_for_new_keyspaces": "enabled",
	}}); err != nil || !reflect.DeepEqual(told, wanted) {
		t.Errorf("%+v, %v", told, err)
	}
	result, err := n.do(t, agent.ApplySettings, `{}`)
	applied, _ := result.(agent.AppliedSettings)
	if err != nil || !slices.Equal(applied.Applied, []string{"read_request_timeout_in_ms"}) || !slices.Equal(applied.NeedsRestart, []string{"tablets_mode_for_new_keyspaces"}) {
		t.Errorf("%+v, %v", result, err)
	}
	if status := n.Status(t.Context()); status.RunningRevision == status.ConfigRevision {
		t.Error("a restart is due, but the revision says otherwise")
	}
	if _, err := n.do(t, agent.StreamLimit, `{"mib_per_second": 64}`); err != nil {
		t.Error(err)
	}
	if last := n.said.values[len(n.said.values)-1]; !reflect.DeepEqual(last, []any{"64", streamLimit}) {
		t.Errorf("%v", last)
	}
}

func TestIdentityStaysOnceItHasStarted(t *testing.T) {
	n := newNode(t, "first").run(t)
	moved := []byte(strings.ReplaceAll(string(document(t, "first")), `"zone-1b"`, `"zone-1c"`))
	if err := n.Configure(moved); code(err) != "identity-fixed" {
		t.Errorf("%v", err)
	}
}
