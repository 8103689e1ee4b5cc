//go:build engine

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
)

// Where a customer's programs are in the tests; both are loopback addresses of nobody else.
var (
	home      = netip.MustParseAddr("127.200.0.9")
	elsewhere = netip.MustParseAddr("127.201.0.9")
)

// customer is what a customer's program has of one node.
type customer struct {
	*node
	config *tls.Config
}

func (c customer) dial(from netip.Addr, username, password string) (*cql.Conn, error) {
	return cql.DialFrom(c.t.Context(), from, c.address+":9042", c.config, username, password)
}

// may runs a statement as a role from an address; the error is the engine's.
func (c customer) may(from netip.Addr, username, password, statement string) error {
	conn, err := c.dial(from, username, password)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Query(c.t.Context(), cql.LocalQuorum, statement)
	return err
}

// TestAccessSettingsAndCertificatesOfARunningNode is one engine through all that the control plane changes while it runs.
func TestAccessSettingsAndCertificatesOfARunningNode(t *testing.T) {
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
	c := customer{node: n, config: &tls.Config{RootCAs: plane.Cluster.Pool(), ServerName: identity.DNSName(n.id)}}
	began := time.Now()

	t.Run("roles are made, given rights and taken them", func(t *testing.T) { rolesAreManaged(t, c) })
	t.Run("keyspaces are replicated within what the ring has", func(t *testing.T) { keyspacesAreReplicated(t, c) })
	t.Run("statements of people are run", func(t *testing.T) { statementsAreRun(t, c) })
	t.Run("only listed addresses get in", func(t *testing.T) { addressesAreLimited(t, c) })
	t.Run("settings change while the engine runs", func(t *testing.T) { settingsAreApplied(t, c, nodes) })
	t.Run("a certificate changes under open connections", func(t *testing.T) { certificatesAreChanged(t, c, plane) })
	t.Run("a narrow control account is told from a broken one", func(t *testing.T) { weakControlIsNamed(t, c) })
	t.Run("nothing secret was said", func(t *testing.T) { n.saidNothingSecret() })
	t.Logf("all of it took %.1f s", time.Since(began).Seconds())
}

func rolesAreManaged(t *testing.T, c customer) {
	password := hash(t, "sesame")
	c.succeed("create", agent.ChangeRole, map[string]any{"action": "create", "name": "Ann-Marie", "password_hash": password, "can_login": true})
	c.succeed("create-again", agent.ChangeRole, map[string]any{"action": "create", "name": "Ann-Marie", "password_hash": password, "can_login": true})
	c.succeed("group", agent.ChangeRole, map[string]any{"action": "create", "name": `the "readers"`})
	for _, statement := range []string{
		"CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		`CREATE TABLE shop."Orders" (id int PRIMARY KEY)`,
	} {
		if err := c.may(home, "admin", "customer", statement); err != nil {
			t.Fatal(err)
		}
	}
	const look, write = `SELECT * FROM shop."Orders"`, `INSERT INTO shop."Orders" (id) VALUES (1)`
	if err := c.may(home, "Ann-Marie", "sesame", look); cql.Code(err) != cql.CodeUnauthorized {
		t.Errorf("before anything was granted: %v", err)
	}
	c.succeed("grant", agent.Grant, map[string]any{"role": `the "readers"`, "permissions": []string{"SELECT"}, "resource": "data/shop/Orders"})
	c.succeed("join", agent.Grant, map[string]any{"role": "Ann-Marie", "member_of": `the "readers"`})
	c.succeed("join-again", agent.Grant, map[string]any{"role": "Ann-Marie", "member_of": `the "readers"`})
	if err := c.may(home, "Ann-Marie", "sesame", look); err != nil {
		t.Errorf("after it was granted: %v", err)
	}
	if err := c.may(home, "Ann-Marie", "sesame", write); cql.Code(err) != cql.CodeUnauthorized {
		t.Errorf("what was not granted: %v", err)
	}
	var told cassandra.Roles
	c.result(c.succeed("roles", agent.Roles, nil), &told)
	if len(told.Roles) != 3 || told.Roles[0].Name != "Ann-Marie" || !told.Roles[0].CanLogin || !slices.Equal(told.Roles[0].MemberOf, []string{`the "readers"`}) ||
		told.Roles[1].Name != "admin" || !told.Roles[1].IsSuperuser {
		t.Errorf("%+v", told.Roles)
	}
	if !slices.Contains(told.Permissions, cassandra.Permission{Role: `the "readers"`, Resource: "data/shop/Orders", Permission: "SELECT"}) {
		t.Errorf("%+v", told.Permissions)
	}
	c.succeed("leave", agent.Revoke, map[string]any{"role": "Ann-Marie", "member_of": `the "readers"`})
	c.succeed("revoke", agent.Revoke, map[string]any{"role": `the "readers"`, "permissions": []string{"ALL"}, "resource": "data/shop/Orders"})
	if err := c.may(home, "Ann-Marie", "sesame", look); cql.Code(err) != cql.CodeUnauthorized {
		t.Errorf("after it was taken: %v", err)
	}
	c.succeed("all", agent.Grant, map[string]any{"role": "Ann-Marie", "permissions": []string{"ALL"}, "resource": "data/shop"})
	for name, refused := range map[string]struct {
		kind       agent.JobKind
		parameters map[string]any
		code       string
	}{
		"to-nobody":   {agent.Grant, map[string]any{"role": "nobody", "permissions": []string{"SELECT"}, "resource": "data/shop"}, "unknown-role"},
		"on-nothing":  {agent.Grant, map[string]any{"role": "Ann-Marie", "permissions": []string{"SELECT"}, "resource": "data/shop/nothing"}, "unknown-resource"},
		"no-such":     {agent.Grant, map[string]any{"role": "Ann-Marie", "permissions": []string{"EXECUTE"}, "resource": "data/shop"}, "permission-not-applicable"},
		"control":     {agent.ChangeRole, map[string]any{"action": "drop", "name": "ringmaster"}, "role-protected"},
		"over-it":     {agent.Grant, map[string]any{"role": "Ann-Marie", "permissions": []string{"ALTER"}, "resource": "roles/ringmaster"}, "role-protected"},
		"last":        {agent.ChangeRole, map[string]any{"action": "drop", "name": "admin"}, "role-protected"},
		"taken":       {agent.ChangeRole, map[string]any{"action": "create", "name": "Ann-Marie"}, "role-exists"},
		"injection":   {agent.ChangeRole, map[string]any{"action": "create", "name": "x' OR 'y"}, "invalid-parameters"},
		"circle-self": {agent.Grant, map[string]any{"role": "Ann-Marie", "member_of": "Ann-Marie"}, "membership-cycle"},
	} {
		c.refuse(name, refused.kind, refused.parameters, refused.code)
	}
	c.succeed("drop", agent.ChangeRole, map[string]any{"action": "drop", "name": `the "readers"`})
	c.succeed("drop-again", agent.ChangeRole, map[string]any{"action": "drop", "name": `the "readers"`})
}

func keyspacesAreReplicated(t *testing.T, c customer) {
	replicate := func(factor int) map[string]any {
		return map[string]any{"keyspaces": []any{map[string]any{"name": "shop", "replication": map[string]int{"local-1": factor}}}}
	}
	c.refuse("too-many", agent.Replicate, replicate(2), "not-enough-nodes")
	c.succeed("replicate", agent.Replicate, replicate(1))
	joining := replicate(2)
	joining["joining"] = map[string]int{"local-1": 1}
	c.succeed("replicate-ahead", agent.Replicate, joining)
	c.succeed("replicate-back", agent.Replicate, replicate(1))
	var told cassandra.Keyspaces
	c.result(c.succeed("keyspaces", agent.Keyspaces, nil), &told)
	index := slices.IndexFunc(told.Keyspaces, func(keyspace cassandra.Keyspace) bool { return keyspace.Name == "shop" })
	if index < 0 || told.Keyspaces[index].Class != "NetworkTopologyStrategy" || told.Keyspaces[index].Replication["local-1"] != 1 || told.Keyspaces[index].System {
		t.Errorf("%+v", told.Keyspaces)
	}
}

func addressesAreLimited(t *testing.T, c customer) {
	const look = `SELECT * FROM shop."Orders"`
	in := func(from netip.Addr, username, password string) bool {
		return c.may(from, username, password, look) == nil
	}
	own := netip.MustParseAddr(c.address)
	open, err := c.dial(elsewhere, "Ann-Marie", "sesame")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	c.succeed("allow", agent.Allowlist, map[string]any{"cidrs": []string{"127.200.0.0/16"}})
	if !in(home, "Ann-Marie", "sesame") || in(elsewhere, "Ann-Marie", "sesame") || !in(home, "admin", "customer") || in(elsewhere, "admin", "customer") {
		t.Error("the list is not what is enforced")
	}
	console := agent.StatementRequest{Role: "Ann-Marie", Password: "sesame", Statement: look}
	if told := c.run("listed", console); told.State != agent.Succeeded {
		t.Errorf("the console is shut out by a list without the node: %+v", told.Error)
	}
	if _, err := open.Query(t.Context(), cql.LocalQuorum, look); cql.Code(err) != cql.CodeUnauthorized {
		t.Errorf("a statement over a connection from before: %v", err)
	}
	if in(home, "ringmaster", controlPassword) || !in(own, "ringmaster", controlPassword) {
		t.Error("the control account is not where it belongs")
	}
	c.succeed("create-listed", agent.ChangeRole, map[string]any{"action": "create", "name": "bob", "password_hash": hash(t, "sesame"), "can_login": true, "is_superuser": true})
	if in(elsewhere, "bob", "sesame") || !in(home, "bob", "sesame") {
		t.Error("a new role is not limited to the list")
	}
	var told cassandra.Roles
	c.result(c.succeed("roles-listed", agent.Roles, nil), &told)
	for _, role := range told.Roles {
		if !slices.Equal(role.CIDRs, []string{"127.200.0.0/16"}) {
			t.Errorf("%+v", role)
		}
	}
	// An engine that starts while the list is in force lets in the same, its own agent first of all.
	c.succeed("stop", agent.Stop, nil)
	c.succeed("start-listed", agent.Start, nil)
	c.succeed("roles-started", agent.Roles, nil)
	if !in(home, "Ann-Marie", "sesame") || in(elsewhere, "Ann-Marie", "sesame") {
		t.Error("the list is not what is enforced after a start")
	}
	c.succeed("allow-all-here", agent.Allowlist, map[string]any{"cidrs": []string{"127.0.0.0/8"}})
	if !in(elsewhere, "Ann-Marie", "sesame") || !in(own, "Ann-Marie", "sesame") {
		t.Error("a wider list lets in too few")
	}
	c.succeed("allow-nobody-here", agent.Allowlist, map[string]any{"cidrs": []string{"10.0.0.0/8", "2001:db8::/32"}})
	if in(home, "Ann-Marie", "sesame") || in(elsewhere, "Ann-Marie", "sesame") || !in(own, "Ann-Marie", "sesame") {
		t.Error("a list of other addresses lets in these, or not the node's own")
	}
	c.succeed("allow-everybody", agent.Allowlist, map[string]any{"cidrs": []string{}})
	if !in(elsewhere, "Ann-Marie", "sesame") || !in(own, "admin", "customer") || in(home, "ringmaster", controlPassword) {
		t.Error("an empty list does not let everybody in, or the control account too")
	}
	c.succeed("drop-bob", agent.ChangeRole, map[string]any{"action": "drop", "name": "bob"})
}

func settingsAreApplied(t *testing.T, c customer, nodes []*node) {
	effective := func(job string) map[string]string {
		var told cassandra.Settings
		c.result(c.succeed(job, agent.Settings, nil), &told)
		return told.Settings
	}
	before := effective("settings-before")
	wanted := map[string]any{
		"compaction_throughput": "7MiB/s", "read_request_timeout": "6s", "hinted_handoff_enabled": false, "max_hint_window": "2h",
		"concurrent_compactors": 2, "stream_throughput_outbound": "11MiB/s", "entire_sstable_stream_throughput_outbound": "12MiB/s",
		"tombstone_warn_threshold": 1234, "batch_size_warn_threshold": "9KiB", "cdc_block_writes": false, "group_by_enabled": false,
		"native_transport_max_concurrent_connections": 500, "snapshot_links_per_second": 100, "request_timeout": "11s", "write_request_timeout": "3s",
		"slow_query_log_timeout": "900ms",
	}
	c.configureWith(nodes, wanted)
	var applied agent.AppliedSettings
	c.result(c.succeed("apply", agent.ApplySettings, nil), &applied)
	if len(applied.Applied) != len(wanted)-2 || !slices.Equal(applied.NeedsRestart, []string{"slow_query_log_timeout", "cdc_block_writes"}) || applied.Refused["cdc_block_writes"] == "" {
		t.Errorf("%+v", applied)
	}
	after := effective("settings-after")
	for name, value := range map[string]string{"read_request_timeout": "6s", "max_hint_window": "2h", "hinted_handoff_enabled": "false", "tombstone_warn_threshold": "1234"} {
		if after[name] != value && after[name] != map[string]string{"read_request_timeout": "6000ms", "max_hint_window": "7200000ms"}[name] {
			t.Errorf("%s is %q", name, after[name])
		}
	}
	for name := range after {
		if name == "client_encryption_options" {
			t.Errorf("%s is told", name)
		}
	}
	c.configureWith(nodes, nil)
	if engine := c.status().Engine; engine.RunningRevision == engine.ConfigRevision {
		t.Errorf("%+v", engine)
	}
	var undone agent.AppliedSettings
	c.result(c.succeed("apply-none", agent.ApplySettings, nil), &undone)
	if len(undone.Applied) != len(applied.Applied) || len(undone.NeedsRestart) != 0 {
		t.Errorf("%+v", undone)
	}
	if engine := c.status().Engine; engine.RunningRevision != engine.ConfigRevision {
		t.Errorf("%+v", engine)
	}
	if back := effective("settings-back"); back["tombstone_warn_threshold"] != before["tombstone_warn_threshold"] ||
		back["max_hint_window"] != before["max_hint_window"] && back["max_hint_window"] != "10800000ms" {
		t.Errorf("%s %s", back["tombstone_warn_threshold"], back["max_hint_window"])
	}
}

func certificatesAreChanged(t *testing.T, c customer, plane *agenttest.ControlPlane) {
	shown := func() string {
		serial := ""
		config := &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
			serial = state.PeerCertificates[0].SerialNumber.Text(16)
			return nil
		}}
		socket, err := tls.Dial("tcp", c.address+":9042", config)
		if err != nil {
			t.Error(err)
			return ""
		}
		_ = socket.Close()
		return serial
	}
	open, err := c.dial(home, "admin", "customer")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	before := shown()
	var asked agent.CertificateRequest
	c.ask(http.MethodPost, "/v1/engine-certificate/request", nil, &asked)
	next := agenttest.NewAuthority(t, "cluster, second")
	signed := next.Sign(asked.CSR, c.id, time.Hour)
	c.ask(http.MethodPut, "/v1/engine-certificate", agent.NewEngineCertificate{Certificate: signed, CA: plane.Cluster.PEM + next.PEM}, nil)
	if during := shown(); during != before {
		t.Errorf("the engine shows %s before it was told", during)
	}
	// The agent still finds the engine, which shows its former key.
	c.succeed("roles-during", agent.Roles, nil)
	var reloaded agent.TLSReloaded
	c.result(c.succeed("reload-tls", agent.ReloadTLS, nil), &reloaded)
	if after := shown(); after == before || after != reloaded.Serial {
		t.Errorf("the engine shows %s; before it was %s, and the job says %s", after, before, reloaded.Serial)
	}
	if _, err := open.Query(t.Context(), cql.One, "SELECT key FROM system.local"); err != nil {
		t.Errorf("a connection from before: %v", err)
	}
	c.config.RootCAs = x509.NewCertPool()
	c.config.RootCAs.AppendCertsFromPEM([]byte(next.PEM))
	if err := c.may(home, "admin", "customer", "SELECT key FROM system.local"); err != nil {
		t.Errorf("a new connection that trusts the new authority only: %v", err)
	}
	var served agent.Certificate
	c.ask(http.MethodGet, "/v1/engine-certificate", nil, &served)
	if served.Certificate != signed {
		t.Error("the agent tells another certificate")
	}
	c.succeed("roles-after", agent.Roles, nil)
}

func weakControlIsNamed(t *testing.T, c customer) {
	if err := c.may(home, "admin", "customer", "ALTER ROLE ringmaster WITH SUPERUSER = false"); err != nil {
		t.Fatal(err)
	}
	c.eventually("refusal", func() bool {
		return c.may(netip.MustParseAddr(c.address), "ringmaster", controlPassword, "SELECT * FROM system_auth.roles") != nil
	})
	c.refuse("too-weak", agent.Roles, nil, "control-too-weak")
	if err := c.may(home, "admin", "customer", "ALTER ROLE ringmaster WITH SUPERUSER = true"); err != nil {
		t.Fatal(err)
	}
	c.eventually("a job that succeeds", func() bool {
		c.ask(http.MethodDelete, "/v1/jobs/strong", nil, nil)
		return c.do("strong", agent.Roles, nil).State == agent.Succeeded
	})
}

// do runs a job to its end, whatever that is.
func (n *node) do(name string, kind agent.JobKind, parameters map[string]any) agent.Job {
	content, err := json.Marshal(parameters)
	if err != nil || parameters == nil {
		content = []byte("{}")
	}
	var job agent.Job
	n.ask(http.MethodPut, "/v1/jobs/"+name+"?wait=2", agent.JobRequest{Kind: kind, Parameters: content}, &job)
	for deadline := time.Now().Add(90 * time.Second); job.State == agent.Running && time.Now().Before(deadline); {
		n.ask(http.MethodGet, "/v1/jobs/"+name+"?wait=2", nil, &job)
	}
	return job
}

func (n *node) refuse(name string, kind agent.JobKind, parameters map[string]any, code string) {
	if job := n.do(name, kind, parameters); job.State != agent.Failed || job.Error.Code != code {
		n.t.Errorf("job %s: %s %+v, not %s", name, job.State, job.Error, code)
	}
}

func (n *node) result(job agent.Job, into any) {
	if err := json.Unmarshal(job.Result, into); err != nil {
		n.t.Errorf("result of %s: %v", job.Name, err)
	}
}
