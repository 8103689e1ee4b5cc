package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/enrol"
	"ringmaster/agent/httpapi"
	"ringmaster/agent/identity"
	"ringmaster/agent/jobs"
)

// idle is an engine that does nothing, well.
type idle struct{}

func (idle) Configure(document json.RawMessage) error {
	if string(document) == `{"engine":"other"}` {
		return agent.Errorf("invalid-config", "engine must be \"cassandra\"")
	}
	return nil
}

func (idle) Do(context.Context, agent.JobKind, json.RawMessage, agent.Report) (any, error) {
	return struct{}{}, nil
}
func (idle) Machine(context.Context) agent.MachineStatus { return agent.MachineStatus{} }

func (idle) Status(context.Context) agent.EngineStatus {
	return agent.EngineStatus{Name: "cassandra", State: agent.EngineAbsent}
}
func (idle) Ring(context.Context) *agent.RingStatus { return nil }
func (idle) Repairs(context.Context) (agent.RepairActivity, error) {
	return agent.RepairActivity{Repairs: []agent.RunningRepair{}}, nil
}
func (idle) Load(context.Context) (agent.Load, error) {
	return agent.Load{}, agent.Errorf("engine-not-running", "it does not run")
}
func (idle) KeyspaceRing(_ context.Context, keyspace, _ string) (agent.KeyspaceRing, error) {
	return agent.KeyspaceRing{Keyspace: keyspace, Nodes: []agent.RingNode{}, Ranges: []agent.ReplicaRange{}}, nil
}
func (idle) Tables(context.Context) (agent.Schema, error) {
	return agent.Schema{Keyspaces: []agent.KeyspaceFacts{}, Tables: []agent.TableFacts{}}, nil
}
func (idle) Run(context.Context) error { return nil }

type served struct {
	t     *testing.T
	url   string
	plane *agenttest.ControlPlane
	self  *identity.Identity
}

// serve enrols an agent and serves its API as the agent does.
func serve(t *testing.T) *served {
	t.Helper()
	plane := agenttest.NewControlPlane(t)
	log := slog.New(slog.DiscardHandler)
	self, err := identity.Open(t.TempDir(), "node_1", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	data := agent.UserData{NodeID: "node_1", EnrolURL: plane.URL, CAPEM: plane.Agents.PEM, Token: plane.Token}
	if err := enrol.Until(t.Context(), data, self, log); err != nil {
		t.Fatal(err)
	}
	store, err := jobs.Open(t.Context(), t.TempDir(), idle{}.Do, log)
	if err != nil {
		t.Fatal(err)
	}
	security, err := self.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	api := &httpapi.API{NodeID: "node_1", Engine: idle{}, Jobs: store, Certificates: self, Machine: tuned{}, Log: log, Metrics: page{}}
	server := &http.Server{Handler: identity.Guard(api.Handler()), TLSConfig: security, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return &served{t: t, url: "https://" + listener.Addr().String(), plane: plane, self: self}
}

// caller is what somebody shows who calls.
func (s *served) caller(certificates ...tls.Certificate) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: s.plane.Agents.Pool(), ServerName: identity.DNSName("node_1"), Certificates: certificates,
	}}}
}

func (s *served) controlPlane() *http.Client {
	return s.caller(s.plane.Agents.Pair(identity.ControlPlane))
}

func (s *served) ask(method, path, body string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.controlPlane().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(said)
}

func TestOnlyTheControlPlaneIsServed(t *testing.T) {
	s := serve(t)
	if answer, err := s.controlPlane().Get(s.url + "/v1/status"); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	old := s.controlPlane()
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS12
	for name, client := range map[string]*http.Client{
		"another agent":           s.caller(s.plane.Agents.Pair("node_2")),
		"nobody":                  s.caller(),
		"another authority":       s.caller(agenttest.NewAuthority(t, "agents").Pair(identity.ControlPlane)),
		"the cluster's authority": s.caller(s.plane.Cluster.Pair(identity.ControlPlane)),
		"an old TLS":              old,
	} {
		if answer, err := client.Get(s.url + "/v1/status"); err == nil {
			t.Errorf("%s is served: %d", name, answer.StatusCode)
		}
	}
}

// page is what is gathered, of nothing.
type page struct{}

func (page) ServeHTTP(response http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(response, "up 1\n")
}

func TestWhoGathersMetricsGetsThemAlone(t *testing.T) {
	s := serve(t)
	prometheus := s.caller(s.plane.Agents.Pair(identity.Prometheus))
	for _, asked := range []struct {
		client       *http.Client
		method, path string
		status       int
	}{
		{prometheus, "GET", "/metrics", 200}, {prometheus, "GET", "/metrics?node=node_1", 200}, {s.controlPlane(), "GET", "/metrics", 200},
		{prometheus, "GET", "/v1/status", 403}, {prometheus, "PUT", "/v1/jobs/a", 403}, {prometheus, "POST", "/metrics", 403},
		{prometheus, "GET", "/metrics/../v1/jobs", 403}, {prometheus, "GET", "/", 403},
	} {
		request, err := http.NewRequest(asked.method, s.url+asked.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := asked.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != asked.status || (asked.status == 403) != strings.Contains(string(said), `"forbidden"`) {
			t.Errorf("%s %s: %d %s", asked.method, asked.path, answer.StatusCode, said)
		}
	}
}

func TestEveryRefusalHasTheOneForm(t *testing.T) {
	s := serve(t)
	for _, refused := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/", "", 404, "not-found"},
		{"GET", "/v1/jobs/none", "", 404, "job-not-found"},
		{"GET", "/v1/load", "", 503, "engine-not-running"},
		{"PATCH", "/v1/status", "", 405, "method-not-allowed"},
		{"PUT", "/v1/jobs/a", `{"kind":"format-disks"}`, 400, "unknown-kind"},
		{"PUT", "/v1/jobs/a", `{"kind":"start","surprise":1}`, 400, "invalid-body"},
		{"PUT", "/v1/jobs/a", `{"kind":"start"} {}`, 400, "invalid-body"},
		{"PUT", "/v1/jobs/a", `[`, 400, "invalid-body"},
		{"PUT", "/v1/jobs/..%2F..%2Fetc", `{"kind":"start"}`, 400, "invalid-name"},
		{"PUT", "/v1/jobs/a?wait=99", `{"kind":"start"}`, 400, "invalid-wait"},
		{"GET", "/v1/jobs/a?wait=NaN", "", 400, "invalid-wait"},
		{"PUT", "/v1/config", `{"engine":"other"}`, 400, "invalid-config"},
		{"PUT", "/v1/config", `"` + strings.Repeat("a", 300_000) + `"`, 413, "body-too-large"},
		{"PUT", "/v1/certificate", `{"certificate":"x"}`, 409, "no-renewal"},
	} {
		status, said := s.ask(refused.method, refused.path, refused.body)
		var body agent.ErrorBody
		err := json.Unmarshal([]byte(said), &body)
		if err != nil || status != refused.status || body.Error == nil || body.Error.Code != refused.code || body.Error.Message == "" {
			t.Errorf("%s %s: %d %s", refused.method, refused.path, status, said)
		}
	}
}

func TestAJobIsPutFollowedAndDeleted(t *testing.T) {
	s := serve(t)
	status, said := s.ask("PUT", "/v1/jobs/op-1-start?wait=5", `{"kind":"start","parameters":{}}`)
	var job agent.Job
	if err := json.Unmarshal([]byte(said), &job); err != nil || status != 200 || job.State != agent.Succeeded || job.FinishedAt == nil {
		t.Fatal(status, said)
	}
	if status, again := s.ask("GET", "/v1/jobs/op-1-start?wait=1.5", ""); status != 200 || again != said {
		t.Fatal(status, again)
	}
	var list agent.JobList
	if _, said := s.ask("GET", "/v1/jobs", ""); json.Unmarshal([]byte(said), &list) != nil || len(list.Items) != 1 {
		t.Fatal(said)
	}
	for range 2 {
		if status, said := s.ask("DELETE", "/v1/jobs/op-1-start", ""); status != 204 || said != "" {
			t.Fatal(status, said)
		}
	}
}

func TestTheCertificateIsRenewedWithoutAPause(t *testing.T) {
	s := serve(t)
	var before, after agent.Certificate
	var asked, again agent.CertificateRequest
	read := func(into any, method, path, body string) {
		t.Helper()
		if status, said := s.ask(method, path, body); status != 200 || json.Unmarshal([]byte(said), into) != nil {
			t.Fatal(status, said)
		}
	}
	read(&before, "GET", "/v1/certificate", "")
	read(&asked, "POST", "/v1/certificate/request", "")
	read(&again, "POST", "/v1/certificate/request", "")
	if asked != again {
		t.Fatal("asking twice made two keys")
	}
	put := func(certificate string) int {
		body, err := json.Marshal(agent.NewCertificate{Certificate: certificate})
		if err != nil {
			t.Fatal(err)
		}
		status, _ := s.ask("PUT", "/v1/certificate", string(body))
		return status
	}
	if status := put(s.plane.Cluster.Sign(asked.CSR, "node_1", time.Hour)); status != 400 {
		t.Fatal("a certificate of another authority:", status)
	}
	if status := put(s.plane.Agents.Sign(asked.CSR, "node_1", 48*time.Hour)); status != 204 {
		t.Fatal(status)
	}
	read(&after, "GET", "/v1/certificate", "")
	if !after.NotAfter.After(before.NotAfter) || bytes.Equal([]byte(after.Certificate), []byte(before.Certificate)) {
		t.Fatal("the old one is still served")
	}
}

// tuned is a machine that is like none.
type tuned struct{}

func (tuned) Tuning(context.Context) (agent.TuningReport, error) {
	return agent.TuningReport{Environment: agent.SharedMachine, Checks: []agent.TuningCheck{{Name: "swap", Status: agent.Pass}}}, nil
}

func TestWhatRepairsGoByIsServed(t *testing.T) {
	s := serve(t)
	for path, wanted := range map[string]string{
		"/v1/repairs": `"repairs":[]`, "/v1/ring?keyspace=shop%20one": `"keyspace":"shop one"`, "/v1/tables": `"tables":[]`,
	} {
		if status, said := s.ask("GET", path, ""); status != 200 || !strings.Contains(said, wanted) {
			t.Errorf("%s: %d %s", path, status, said)
		}
	}
}

func TestTheTuningReportIsServed(t *testing.T) {
	s := serve(t)
	var report agent.TuningReport
	status, said := s.ask("GET", "/v1/tuning", "")
	if err := json.Unmarshal([]byte(said), &report); err != nil || status != 200 || report.Checks[0].Name != "swap" || report.Environment != agent.SharedMachine {
		t.Errorf("%d %s %v", status, said, err)
	}
	if status, said := s.ask("PUT", "/v1/tuning", "{}"); status != 405 {
		t.Errorf("%d %s", status, said)
	}
}
