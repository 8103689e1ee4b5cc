package cassandra

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent/metrics"
)

func vocabulary(t *testing.T) *metrics.Vocabulary {
	t.Helper()
	read, err := metrics.ReadVocabulary()
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// served is the page made of an answer of the collector's.
func served(t *testing.T, said string) (string, error) {
	t.Helper()
	words := vocabulary(t)
	asked := ask(words)
	var failed error
	service := metrics.Service{Vocabulary: words, Within: time.Minute, Log: slog.New(slog.DiscardHandler), Sources: []metrics.Source{
		{Name: "engine", Collect: func(_ context.Context, page *metrics.Page) error {
			failed = newAnswer(page, asked).read(strings.NewReader(said))
			if len(page.Unknown()) > 0 {
				t.Errorf("not in the vocabulary: %v", page.Unknown())
			}
			return failed
		}},
	}}
	recorder := httptest.NewRecorder()
	service.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return recorder.Body.String(), failed
}

// tableLine is of a table where only some columns have a value.
func tableLine(t *testing.T, name, states string, values map[string]string) string {
	t.Helper()
	words := []string{"table", "shop", name, states}
	for _, metric := range ask(vocabulary(t)).columns {
		value, is := values[metric.Name]
		switch {
		case is:
		case metric.Type == "histogram":
			value = "0"
		default:
			value = "-"
		}
		delete(values, metric.Name)
		words = append(words, value)
	}
	if len(values) > 0 {
		t.Fatalf("no columns: %v", values)
	}
	return strings.Join(words, " ") + "\n"
}

// The engine's buckets, as org.apache.cassandra.utils.EstimatedHistogram makes them: whoever interpolates does it once.
func TestBoundsAreEndsOfTheEnginesBuckets(t *testing.T) {
	offsets := bucketOffsets(127, false)
	if begin := []int64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 72, 86, 103, 124, 149, 179, 215}; !slices.Equal(offsets[:26], begin) || len(offsets) != 127 {
		t.Fatalf("%v", offsets)
	}
	for _, metric := range ask(vocabulary(t)).columns {
		unit := 1.0
		if strings.HasSuffix(metric.Name, "_seconds") {
			unit = 1e-6
		}
		for _, bound := range metric.Bounds {
			if bound != 0 && !slices.Contains(offsets, int64(math.Round(bound/unit))) {
				t.Errorf("%s: %g is no end of a bucket", metric.Name, bound)
			}
		}
	}
}

func TestTheCollectorsAnswerBecomesAPage(t *testing.T) {
	page, err := served(t, strings.Join([]string{
		"metric org.apache.cassandra.metrics.ClientRequest.Latency.Read 6;;128;25:2,26:3,127:1",
		"metric org.apache.cassandra.metrics.ClientRequest.TotalLatency.Read 1500000",
		"metric org.apache.cassandra.metrics.HintsService.HintsFailed 3",
		"missing org.apache.cassandra.metrics.HintsService.HintsTimedOut no_such_metric",
		"missing org.apache.cassandra.metrics.Cache.Hits.RowCache no_such_metric",
		"missing org.apache.cassandra.metrics.Storage.Exceptions no_such_metric",
		"missing unleveledSSTables no_such_field",
		"pool ReadStage 1 2 3 4",
		"dropped MUTATION_REQ 5", "dropped READ_REQ 0", "dropped PING_REQ 0",
		"gc G1_Young_Generation 7 1500",
		"value heap_used 100", "value peers_down 1", "value compactions_active 2",
		tableLine(t, "orders", "500,1000,1131752,10,20,30,4,50,60,1", map[string]string{
			// 3 up to 20 µs, 4 up to 24, 1 up to 29: 29 is the next bound of ours.
			"ringmaster_table_read_latency_seconds": "8;160;128;12:3,13:4,14:1",
			"ringmaster_table_sstables_per_read":    "5;;166;0:1,1:2,4:2",
			"ringmaster_table_tombstones_per_read":  "3;;165;0:2,12:1",
			"ringmaster_table_live_bytes":           "4096",
			"ringmaster_table_pending_compactions":  "6",
			"ringmaster_table_compression_ratio":    "-1.0",
		}),
		"end", "",
	}, "\n"))
	page = strings.ReplaceAll(page, "\n\n", "\n")
	if err != nil {
		t.Fatal(err)
	}
	table := `{keyspace="shop",table="orders"`
	for _, line := range []string{
		`ringmaster_table_read_latency_seconds_bucket` + table + `,le="1.4e-05"} 0`,
		`ringmaster_table_read_latency_seconds_bucket` + table + `,le="2e-05"} 3`,
		`ringmaster_table_read_latency_seconds_bucket` + table + `,le="2.9e-05"} 8`,
		`ringmaster_table_read_latency_seconds_sum` + table + `} 0.00016`,
		`ringmaster_table_read_latency_seconds_count` + table + `} 8`,
		// One of none, two of one, two of four.
		`ringmaster_table_sstables_per_read_bucket` + table + `,le="0"} 1`,
		`ringmaster_table_sstables_per_read_bucket` + table + `,le="1"} 3`,
		`ringmaster_table_sstables_per_read_bucket` + table + `,le="3"} 3`,
		`ringmaster_table_sstables_per_read_sum` + table + `} 10`,
		// 18 to 20: 19 in the middle.
		`ringmaster_table_tombstones_per_read_sum` + table + `} 19`,
		`ringmaster_table_live_bytes` + table + `} 4096`,
		`ringmaster_table_partitions_estimated` + table + `} 500`,
		`ringmaster_table_partition_max_bytes` + table + `} 1131752`,
		`ringmaster_table_bloom_false_positives_total` + table + `} 4`,
		`ringmaster_table_cdc_enabled` + table + `} 1`,
		`ringmaster_node_client_request_latency_seconds_bucket{kind="read",le="0.000215"} 2`,
		`ringmaster_node_client_request_latency_seconds_bucket{kind="read",le="0.000258"} 5`,
		`ringmaster_node_client_request_latency_seconds_bucket{kind="read",le="+Inf"} 6`,
		`ringmaster_node_client_request_latency_seconds_sum{kind="read"} 1.5`,
		`ringmaster_node_hints_failed_total 3`,
		`ringmaster_node_thread_pool_blocked{pool="ReadStage"} 3`,
		`ringmaster_node_dropped_messages_total{message="mutation_req"} 5`,
		`ringmaster_node_dropped_messages_total{message="read_req"} 0`,
		`ringmaster_node_gc_seconds_total{collector="G1 Young Generation"} 1.5`,
		`ringmaster_node_peers{state="down"} 1`,
		`ringmaster_node_compactions_pending 8`,
		`ringmaster_agent_scrape_missing{source="engine",metric="ringmaster_node_exceptions_total"} 1`,
		`ringmaster_agent_scrape_missing{source="engine",metric="ringmaster_table_unleveled_sstables"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("%s is not in\n%s", line, page)
		}
	}
	for _, absent := range []string{"ping_req", "ringmaster_table_compression_ratio", "ringmaster_table_write_latency_seconds", `metric="ringmaster_node_cache`, `metric="ringmaster_node_hints`} {
		if strings.Contains(page, absent) {
			t.Errorf("%s is in\n%s", absent, page)
		}
	}
}

func TestAnAnswerThatIsNotWholeIsNotServed(t *testing.T) {
	for _, said := range []string{
		"", "value heap_used 100\n", "value heap_used\nend\n", "value heap_used much\nend\n", "metric nobody.asked 1\nend\n",
		"table shop orders 1,2\nend\n", "table shop orders 1,2,3,4,5,6,7,8,9,10 0 0\nend\n",
		"metric org.apache.cassandra.metrics.ClientRequest.Latency.Read 6;;90;25:2\nend\n",
		"metric org.apache.cassandra.metrics.ClientRequest.Latency.Read 6;;128;200:2\nend\n",
		"end",
	} {
		if page, err := served(t, said); err == nil || !strings.Contains(page, `ringmaster_agent_scrape_success{source="engine"} 0`) {
			t.Errorf("%.80q was taken:\n%s", said, page)
		}
	}
}

// What the vocabulary gives as the engine's comes from the collector, one way or another.
func TestTheVocabularyPromisesNothingOfCassandraThatIsNotAsked(t *testing.T) {
	words := vocabulary(t)
	asked := ask(words)
	made := stateMetrics()
	for _, metric := range asked.columns {
		made = append(made, metric.Name)
	}
	for _, known := range asked.registry {
		made = append(made, known.metric)
	}
	// Of lines of their own, and of folders; the engine's test sees that they are there.
	for _, name := range []string{
		"thread_pool_active", "thread_pool_pending", "thread_pool_blocked", "thread_pool_completed_total", "dropped_messages_total", "gc_total",
		"gc_seconds_total", "gc_pause_seconds", "heap_used_bytes", "heap_max_bytes", "direct_memory_bytes", "peers", "compactions_active",
		"compactions_pending", "cdc_limit_bytes", "cdc_bytes", "hints_bytes",
	} {
		made = append(made, "ringmaster_node_"+name)
	}
	for _, metric := range words.Metrics {
		ours := strings.HasPrefix(metric.Cassandra, "agent") || metric.Cassandra == "control plane" || metric.Cassandra == ""
		if !ours && !slices.Contains(made, metric.Name) {
			t.Errorf("nothing makes %s of %s", metric.Name, metric.Cassandra)
		}
	}
	for _, name := range stateMetrics() {
		if slices.ContainsFunc(asked.columns, func(column *metrics.Metric) bool { return column.Name == name }) {
			t.Errorf("%s is asked for twice", name)
		}
	}
}
