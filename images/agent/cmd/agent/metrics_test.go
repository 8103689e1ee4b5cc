//go:build engine

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
	"ringmaster/agent/metrics"
)

// scraped is a page of metrics as Prometheus reads it.
type scraped map[string]*dto.MetricFamily

// scrape asks as Prometheus does.
func (n *node) scrape(t *testing.T, plane *agenttest.ControlPlane) scraped {
	t.Helper()
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: plane.Agents.Pool(), ServerName: identity.DNSName(n.id), MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{plane.Agents.Pair(identity.Prometheus)},
	}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("https://" + n.address + ":7443/metrics?node=" + n.id)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	if _, after, failed := strings.Cut(string(page), "# missing: "); failed {
		t.Fatal(after)
	}
	return families
}

// of is the one series with these labels, names and values in turn.
func (s scraped) of(t *testing.T, name string, labels ...string) *dto.Metric {
	t.Helper()
	for _, metric := range s[name].GetMetric() {
		fits := 0
		for _, label := range metric.GetLabel() {
			for index := 0; index < len(labels); index += 2 {
				if label.GetName() == labels[index] && label.GetValue() == labels[index+1] {
					fits += 2
				}
			}
		}
		if fits == len(labels) {
			return metric
		}
	}
	t.Errorf("no %s of %v", name, labels)
	return &dto.Metric{}
}

// quantile is worked out as Prometheus does it.
func quantile(share float64, of *dto.Histogram) float64 {
	rank, below, lower := share*float64(of.GetSampleCount()), 0.0, 0.0
	for _, bucket := range of.GetBucket() {
		if count := float64(bucket.GetCumulativeCount()); count >= rank {
			return lower + (bucket.GetUpperBound()-lower)*(rank-below)/(count-below)
		}
		below, lower = float64(bucket.GetCumulativeCount()), bucket.GetUpperBound()
	}
	return lower
}

// metricsTellWhatWasDone does a known number of things and looks for them.
func metricsTellWhatWasDone(t *testing.T, plane *agenttest.ControlPlane, nodes []*node) {
	first := nodes[0]
	first.succeed("allow-for-metrics", agent.Allowlist, map[string]any{"cidrs": []string{}})
	work := shop{t: t, plane: plane, sessions: map[*node]*cql.Conn{}}
	work.run(first, "CREATE KEYSPACE counted WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 3}")
	work.run(first, "CREATE TABLE counted.orders (id int PRIMARY KEY, body text) WITH speculative_retry = 'NEVER' AND additional_write_policy = 'NEVER'")
	work.run(first, "CREATE TABLE counted.queue (id int, at int, PRIMARY KEY (id, at)) WITH speculative_retry = 'NEVER'")
	work.run(first, "CREATE TABLE counted.idle (id int PRIMARY KEY)")
	work.run(first, "CREATE TABLE counted.lock (id int PRIMARY KEY, owner int)")
	const writes, reads, deleted, agreed = 300, 200, 60, 15
	session := work.session(first)
	run := func(statement string) {
		if _, err := session.Query(t.Context(), cql.Quorum, statement); err != nil {
			t.Fatal(err)
		}
	}
	for id := range writes {
		run(fmt.Sprintf("INSERT INTO counted.orders (id, body) VALUES (%d, 'x')", id))
	}
	var took []float64
	for id := range reads {
		began := time.Now()
		run(fmt.Sprintf("SELECT * FROM counted.orders WHERE id = %d", id))
		took = append(took, time.Since(began).Seconds())
	}
	for at := range deleted {
		run(fmt.Sprintf("DELETE FROM counted.queue WHERE id = 1 AND at = %d", at))
	}
	for range 10 {
		run("SELECT * FROM counted.queue WHERE id = 1")
	}
	for range 2 {
		for id := range agreed {
			run(fmt.Sprintf("INSERT INTO counted.lock (id, owner) VALUES (%d, 1) IF NOT EXISTS", id))
		}
	}
	contend(t, plane, nodes)
	first.nodeFlush(t, &work)

	page := first.scrape(t, plane)
	orders, queue := []string{"keyspace", "counted", "table", "orders"}, []string{"keyspace", "counted", "table", "queue"}
	for name, wanted := range map[string]uint64{
		"ringmaster_table_coordinator_write_latency_seconds": writes, "ringmaster_table_write_latency_seconds": writes,
		"ringmaster_table_coordinator_read_latency_seconds": reads,
	} {
		if count := page.of(t, name, orders...).GetHistogram().GetSampleCount(); count != wanted {
			t.Errorf("%s counts %d of %d", name, count, wanted)
		}
	}
	slices.Sort(took)
	inside := page.of(t, "ringmaster_table_coordinator_read_latency_seconds", orders...).GetHistogram()
	for _, share := range []float64{0.5, 0.95} {
		// What a client felt is that, the way there and back, and its own time.
		felt, told := took[int(share*reads)], quantile(share, inside)
		if told <= 0 || told > felt*1.2 {
			t.Errorf("of the reads %g took %g s at most, and %g s with the client", share, told, felt)
		}
	}
	// The bounds double from one to the next.
	if scanned := quantile(0.5, page.of(t, "ringmaster_table_tombstones_per_read", queue...).GetHistogram()); scanned < deleted/2 || scanned > deleted*2 {
		t.Errorf("%g tombstones of %d are seen", scanned, deleted)
	}
	if notMet := page.of(t, "ringmaster_node_cas_conditions_not_met_total").GetCounter().GetValue(); notMet < agreed {
		t.Errorf("%g conditions were not met, of at least %d", notMet, agreed)
	}
	contended := 0.0
	for _, n := range nodes {
		contended += n.scrape(t, plane).of(t, "ringmaster_node_cas_contention", "kind", "cas_write").GetHistogram().GetSampleSum()
	}
	if contended == 0 {
		t.Error("no contention is seen")
	}
	if promised := page.of(t, "ringmaster_table_cas_propose_latency_seconds", "keyspace", "counted", "table", "lock").GetHistogram().GetSampleCount(); promised < agreed {
		t.Errorf("%d proposals", promised)
	}
	if of := page.of(t, "ringmaster_table_partitions_estimated", orders...).GetGauge().GetValue(); of != writes {
		t.Errorf("%g partitions of %d", of, writes)
	}
	if live := page.of(t, "ringmaster_table_live_bytes", orders...).GetGauge().GetValue(); live <= 0 {
		t.Errorf("%g bytes on disk", live)
	}
	for _, metric := range page["ringmaster_table_read_latency_seconds"].GetMetric() {
		if metric.GetLabel()[1].GetValue() == "idle" {
			t.Error("a table without any call has a histogram")
		}
	}
	everythingIsTold(t, page)
	trafficIsTold(t, plane, nodes)
}

// trafficIsTold: what a client sends is counted once as the client's, and once for each of the other nodes that it goes to.
func trafficIsTold(t *testing.T, plane *agenttest.ControlPlane, nodes []*node) {
	first := nodes[0]
	traffic := func() (told agent.TrafficStatus) {
		if of := first.status().Traffic; of != nil {
			told = *of
		}
		return told
	}
	first.eventually("its traffic is read", func() bool { return traffic().Epoch != "" })
	before := traffic()
	const rows, size = 100, 20_000
	body := strings.Repeat("x", size)
	session := shop{t: t, plane: plane, sessions: map[*node]*cql.Conn{}}.session(first)
	for id := range rows {
		if _, err := session.Query(t.Context(), cql.All, fmt.Sprintf("INSERT INTO counted.orders (id, body) VALUES (%d, '%s')", id, body)); err != nil {
			t.Fatal(err)
		}
	}
	first.eventually("what was written meanwhile is told", func() bool { return traffic().FromClients > before.FromClients+rows*size/2 })
	after := traffic()
	if after.Epoch != before.Epoch || len(after.ToNodes) != len(nodes)-1 {
		t.Fatalf("%+v, then %+v", before, after)
	}
	// Statements and mutations have some bytes beside the body.
	const least, most = rows * size, rows * size * 11 / 10
	if more := after.FromClients - before.FromClients; more < least || more > most {
		t.Errorf("%d bytes from clients, who sent %d", more, least)
	}
	for index, to := range after.ToNodes {
		if to.Datacenter != "local-1" || to.Zone == "" || to.Zone != before.ToNodes[index].Zone {
			t.Errorf("%+v, then %+v", before.ToNodes[index], to)
		}
		if more := to.Bytes - before.ToNodes[index].Bytes; more < least || more > most {
			t.Errorf("%d bytes to %s, which got %d", more, to.Zone, least)
		}
		if served := first.scrape(t, plane).of(t, "ringmaster_node_internode_sent_bytes_total", "to_datacenter", to.Datacenter, "to_zone", to.Zone); served.GetCounter().GetValue() < float64(to.Bytes) {
			t.Errorf("%v is served, %d was told", served, to.Bytes)
		}
	}
}

// contend has all nodes change one row at once.
func contend(t *testing.T, plane *agenttest.ControlPlane, nodes []*node) {
	var working sync.WaitGroup
	for index, n := range nodes {
		session := shop{t: t, plane: plane, sessions: map[*node]*cql.Conn{}}.session(n)
		working.Go(func() {
			for turn := range 40 {
				// One that lost too often times out, which is what is looked for.
				_, _ = session.Query(t.Context(), cql.Quorum, fmt.Sprintf("UPDATE counted.lock SET owner = %d WHERE id = 1 IF owner > 0", 1+index+turn))
			}
		})
	}
	working.Wait()
}

// nodeFlush has the engine write its memtables, as it does before a table is described by its files.
func (n *node) nodeFlush(t *testing.T, work *shop) {
	t.Helper()
	n.succeed("flush-by-snapshot", agent.Snapshot, map[string]any{"tag": "metrics", "ttl_seconds": 600})
	n.succeed("clear-snapshot", agent.ClearSnapshot, map[string]any{"tag": "metrics"})
}

// everythingIsTold: of this engine the vocabulary promises nothing that is not there.
func everythingIsTold(t *testing.T, page scraped) {
	vocabulary, err := metrics.ReadVocabulary()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range vocabulary.Metrics {
		if metric.Cassandra == "" || metric.Cassandra == "control plane" {
			continue
		}
		if page[metric.Name] == nil && (metric.Optional == "" || metric.Optional == "no call yet" && !strings.Contains(metric.Name, "range_read")) {
			t.Errorf("%s is not told", metric.Name)
		}
	}
	for _, missing := range page["ringmaster_agent_scrape_missing"].GetMetric() {
		t.Errorf("missing: %v", missing.GetLabel())
	}
}
