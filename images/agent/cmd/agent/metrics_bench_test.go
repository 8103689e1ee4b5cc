//go:build engine && bench

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/agenttest"
	"ringmaster/agent/cql"
	"ringmaster/agent/identity"
)

// scrapeCost is what one scrape costs: wall seconds, CPU seconds of the engine and the agent, bytes that were sent.
type scrapeCost struct {
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"`
	AgentCPU float64 `json:"agent_cpu_seconds"`
	Bytes    int     `json:"bytes"`
	Packed   int     `json:"packed_bytes"`
	Series   int     `json:"series"`
}

// atRest is what the agent takes over a time.
type atRest struct {
	Tables  int     `json:"tables"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
	// RSS is the largest that was seen, in bytes.
	RSS int64 `json:"rss_bytes"`
}

// metricsFigures are what e2e/bench/metrics_scrape.py and agent_footprint.py read; by number of tables.
type metricsFigures struct {
	Ours     map[string]scrapeCost `json:"ours"`
	Exporter map[string]scrapeCost `json:"exporter"`
	Views    map[string]scrapeCost `json:"virtual_tables"`
	Jolokia  map[string]scrapeCost `json:"jolokia"`
	Idle     []atRest              `json:"idle"`
	Scraped  []atRest              `json:"scraped"`
}

// metricsBench is one node alone with a growing number of tables, each written to and read.
type metricsBench struct {
	t      *testing.T
	plane  *agenttest.ControlPlane
	node   *node
	work   shop
	client *http.Client
	tables int
}

func newMetricsBench(t *testing.T) *metricsBench {
	cache := os.Getenv("RINGMASTER_CACHE_DIR")
	plane := agenttest.NewControlPlane(t)
	alone := newNodes(t, plane, cache)[0]
	alone.startAgent()
	alone.reachable()
	config := alone.firstConfig([]*node{alone}, nil)
	// Half of that and the exporter has the engine collecting garbage for minutes, with a thousand tables.
	config.HeapMiB = 4096
	alone.ask(http.MethodPut, "/v1/config", config, nil)
	alone.succeed("start", agent.Start, nil)
	alone.succeed("secure", agent.Secure, secureParameters(t, 1))
	b := &metricsBench{t: t, plane: plane, node: alone, work: shop{t: t, plane: plane, sessions: map[*node]*cql.Conn{}}}
	b.work.run(alone, "CREATE KEYSPACE bench WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 1}")
	// The exporter takes minutes on a busy machine.
	b.client = &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{DisableCompression: true, TLSClientConfig: &tls.Config{
		RootCAs: plane.Agents.Pool(), ServerName: identity.DNSName(alone.id), MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{plane.Agents.Pair(identity.Prometheus)},
	}}}
	return b
}

func (b *metricsBench) grow(to int) {
	session := b.work.session(b.node)
	run := func(statement string) {
		if _, err := session.Query(b.t.Context(), cql.One, statement); err != nil {
			b.t.Fatal(err)
		}
	}
	for ; b.tables < to; b.tables++ {
		name := fmt.Sprintf("bench.table_%04d", b.tables)
		run("CREATE TABLE " + name + " (id int PRIMARY KEY, body text)")
		for id := range 5 {
			run(fmt.Sprintf("INSERT INTO %s (id, body) VALUES (%d, 'x')", name, id))
			run(fmt.Sprintf("SELECT * FROM %s WHERE id = %d", name, id))
		}
	}
}

// get takes a page as Prometheus does, packed or not.
func (b *metricsBench) get(url string, packed bool) []byte {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if packed {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	answer, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.t.Fatal(answer.Status, err)
	}
	return page
}

func (b *metricsBench) agentCPU() float64 { return cpuOf(b.t, b.node.process.Process.Pid) }

// cpuOf is what a process has used so far.
func cpuOf(t *testing.T, pid int) float64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	var user, system float64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	const ticksPerSecond = 100
	return (user + system) / ticksPerSecond
}

// measure repeats something that returns how many bytes it got; the first times, which warm up, do not count.
func (b *metricsBench) measure(warm, times int, do func() int) scrapeCost {
	for range warm {
		do()
	}
	b.quiet()
	engine, own, began := b.node.cpuSeconds(), b.agentCPU(), time.Now()
	var cost scrapeCost
	for range times {
		cost.Bytes = do()
	}
	cost.Seconds = time.Since(began).Seconds() / float64(times)
	cost.AgentCPU = (b.agentCPU() - own) / float64(times)
	cost.CPU = (b.node.cpuSeconds()-engine)/float64(times) + cost.AgentCPU
	return cost
}

// quiet waits until the engine has done what it had to.
func (b *metricsBench) quiet() {
	for range 20 {
		before := b.node.cpuSeconds()
		time.Sleep(time.Second)
		if b.node.cpuSeconds()-before < 0.05 {
			return
		}
	}
}

func (b *metricsBench) page() string { return "https://" + b.node.address + ":7443/metrics" }

// series counts the samples of a page.
func series(page []byte) int {
	count := 0
	for line := range bytes.Lines(page) {
		if len(line) > 1 && line[0] != '#' {
			count++
		}
	}
	return count
}

// exporterOf loads Prometheus' JMX exporter into the same engine, with rules as broad as its own examples for Cassandra: all of the engine's
// metrics but those that it publishes a second time under an older name.
func (b *metricsBench) exporterOf(jar string) string {
	port := strconv.Itoa(freePort(b.t))
	config := filepath.Join(b.t.TempDir(), "exporter.yaml")
	content := "lowercaseOutputName: true\nincludeObjectNames: [\"org.apache.cassandra.metrics:*\"]\n" +
		"excludeObjectNames: [\"org.apache.cassandra.metrics:type=ColumnFamily,*\"]\nrules:\n- pattern: \".*\"\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	said, err := exec.Command("jcmd", strconv.Itoa(b.node.engineOnDisk()), "JVMTI.agent_load", jar, "127.0.0.1:"+port+":"+config).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "return code: 0") {
		b.t.Fatalf("%v: %s", err, said)
	}
	return "http://127.0.0.1:" + port + "/metrics"
}

// views are the engine's own tables about its tables.
var views = []string{
	"coordinator_read_latency", "coordinator_scan_latency", "coordinator_write_latency", "local_read_latency", "local_scan_latency",
	"local_write_latency", "live_scanned", "tombstones_scanned", "rows_per_read", "tombstones_per_read", "disk_usage", "max_partition_size", "max_sstable_size",
}

func (b *metricsBench) readViews() int {
	rows := 0
	for _, view := range views {
		found, err := b.work.session(b.node).Query(b.t.Context(), cql.One, "SELECT * FROM system_views."+view)
		if err != nil {
			continue
		}
		rows += len(found)
	}
	return rows
}

// askJolokia reads fifteen metrics of every table in one question each.
func (b *metricsBench) askJolokia() int {
	content, err := os.ReadFile(filepath.Join(b.node.folder, "cassandra/conf/jolokia.properties"))
	if err != nil {
		b.t.Fatal(err)
	}
	login := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		login[name] = value
	}
	var calls []map[string]any
	for _, name := range []string{
		"ReadLatency", "WriteLatency", "RangeLatency", "CoordinatorReadLatency", "CoordinatorWriteLatency", "LiveDiskSpaceUsed", "TotalDiskSpaceUsed",
		"LiveSSTableCount", "SSTablesPerReadHistogram", "TombstoneScannedHistogram", "LiveScannedHistogram", "MeanPartitionSize", "MaxPartitionSize",
		"PendingCompactions", "CompressionRatio",
	} {
		calls = append(calls, map[string]any{
			"type": "read", "mbean": "org.apache.cassandra.metrics:type=Table,keyspace=bench,scope=*,name=" + name, "attribute": []string{"Count", "Value", "99thPercentile"},
		})
	}
	body, err := json.Marshal(calls)
	if err != nil {
		b.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, "http://"+login["host"]+":"+login["port"]+"/jolokia/?ignoreErrors=true&maxObjects=0&maxCollectionSize=0", bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	request.SetBasicAuth(login["user"], login["password"])
	answer, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || !bytes.Contains(said, []byte("table_0001")) {
		b.t.Fatalf("%v %.300s", err, said)
	}
	return len(said)
}

func tablesWanted(t *testing.T) []int {
	var wanted []int
	for word := range strings.SplitSeq(os.Getenv("RINGMASTER_TEST_TABLES"), ",") {
		count, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, count)
	}
	slices.Sort(wanted)
	return wanted
}

func writeFigures(t *testing.T, figures metricsFigures) {
	content, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("RINGMASTER_METRICS_FIGURES"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestScrapesAreMeasuredAgainstTheExporter is the inside of e2e/bench/metrics_scrape.py, which says where the figures go.
func TestScrapesAreMeasuredAgainstTheExporter(t *testing.T) {
	jar := os.Getenv("RINGMASTER_EXPORTER_JAR")
	if jar == "" {
		t.Fatal("RINGMASTER_EXPORTER_JAR must name the exporter: make bench B=metrics_scrape")
	}
	b := newMetricsBench(t)
	figures := metricsFigures{
		Ours: map[string]scrapeCost{}, Exporter: map[string]scrapeCost{}, Views: map[string]scrapeCost{}, Jolokia: map[string]scrapeCost{},
	}
	exporter := ""
	for _, tables := range tablesWanted(t) {
		b.grow(tables)
		if exporter == "" {
			b.get(b.page(), true)
			exporter = b.exporterOf(jar)
		}
		key := strconv.Itoa(tables)
		ours := b.measure(5, 20, func() int { return len(b.get(b.page(), true)) })
		page := b.get(b.page(), false)
		if !strings.Contains(string(page), `ringmaster_agent_scrape_success{source="engine"} 1`) {
			t.Fatal("the engine was not told")
		}
		ours.Packed, ours.Bytes, ours.Series = ours.Bytes, len(page), series(page)
		figures.Ours[key] = ours
		t.Logf("%s tables: ours %+v", key, ours)
		theirs := b.measure(1, 2, func() int { return len(b.get(exporter, true)) })
		page = b.get(exporter, false)
		theirs.Packed, theirs.Bytes, theirs.Series = theirs.Bytes, len(page), series(page)
		figures.Exporter[key] = theirs
		figures.Views[key] = b.measure(1, 3, b.readViews)
		figures.Jolokia[key] = b.measure(1, 2, b.askJolokia)
		t.Logf("%s tables: exporter %+v, virtual tables %+v, jolokia %+v", key, theirs, figures.Views[key], figures.Jolokia[key])
	}
	writeFigures(t, figures)
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var port int
	if _, err := fmt.Sscanf(listener.Addr().String(), "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	return port
}

// TestTheAgentIsMeasured is the inside of e2e/bench/agent_footprint.py, which says where the figures go.
func TestTheAgentIsMeasured(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("RINGMASTER_TEST_SECONDS"))
	if err != nil {
		t.Fatal(err)
	}
	b := newMetricsBench(t)
	var figures metricsFigures
	for _, tables := range tablesWanted(t) {
		b.grow(tables)
		b.get(b.page(), true)
		b.quiet()
		figures.Idle = append(figures.Idle, b.watch(tables, seconds, 0))
		figures.Scraped = append(figures.Scraped, b.watch(tables, seconds, 15*time.Second))
		t.Logf("%d tables: idle %+v, scraped %+v", tables, figures.Idle[len(figures.Idle)-1], figures.Scraped[len(figures.Scraped)-1])
	}
	writeFigures(t, figures)
}

// watch looks at the agent for a while, and scrapes it now and then meanwhile; never, when every is 0.
func (b *metricsBench) watch(tables, seconds int, every time.Duration) atRest {
	seen := atRest{Tables: tables}
	before, began, next := b.agentCPU(), time.Now(), time.Now()
	for time.Since(began) < time.Duration(seconds)*time.Second {
		if every > 0 && time.Now().After(next) {
			b.get(b.page(), true)
			next = next.Add(every)
		}
		seen.RSS = max(seen.RSS, rssOf(b.t, b.node.process.Process.Pid))
		time.Sleep(200 * time.Millisecond)
	}
	seen.Seconds, seen.CPU = time.Since(began).Seconds(), b.agentCPU()-before
	return seen
}

func rssOf(t *testing.T, pid int) int64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(content), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}
