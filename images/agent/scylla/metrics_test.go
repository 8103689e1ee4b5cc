package scylla

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"ringmaster/agent/metrics"
)

// translated is what GET /metrics answers of a page of the engine's.
func translated(t *testing.T, page string) (string, error) {
	t.Helper()
	vocabulary, err := metrics.ReadVocabulary()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	service := metrics.Service{Vocabulary: vocabulary, Within: time.Minute, Log: slog.New(slog.DiscardHandler), Sources: []metrics.Source{
		{Name: "engine", Collect: func(_ context.Context, into *metrics.Page) error {
			failed = translate(strings.NewReader(page), into)
			if len(into.Unknown()) > 0 {
				t.Errorf("not in the vocabulary: %v", into.Unknown())
			}
			return failed
		}},
	}}
	recorder := httptest.NewRecorder()
	service.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return recorder.Body.String(), failed
}

// The page is made of the names, labels and units in the engine's sources, for two shards; no engine was there to record one from.
func TestTheEnginesOwnMetricsAreTranslated(t *testing.T) {
	content, err := os.ReadFile("testdata/metrics/page.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, err := translated(t, string(content))
	if err != nil {
		t.Fatal(err)
	}
	for what, lines := range map[string][]string{
		"shards and scheduling groups are added up, microseconds become seconds": {
			`ringmaster_node_client_request_latency_seconds_bucket{kind="read",le="0.000512"} 40`,
			`ringmaster_node_client_request_latency_seconds_bucket{kind="read",le="0.002048"} 160`,
			`ringmaster_node_client_request_latency_seconds_bucket{kind="read",le="+Inf"} 160`,
			`ringmaster_node_client_request_latency_seconds_sum{kind="read"} 0.128`,
			`ringmaster_node_client_request_latency_seconds_count{kind="read"} 160`,
			`ringmaster_node_client_request_timeouts_total{kind="read"} 4`,
			`ringmaster_node_cas_conditions_not_met_total 6`,
			`ringmaster_node_cql_connections 8`,
		},
		"tables keep their names": {
			`ringmaster_table_read_latency_seconds_bucket{keyspace="shop",table="orders",le="0.001024"} 4`,
			`ringmaster_table_live_bytes{keyspace="shop",table="orders"} 4096`,
			`ringmaster_table_live_bytes{keyspace="shop",table="visits"} 1024`,
			`ringmaster_table_sstables{keyspace="shop",table="orders"} 3`,
			`ringmaster_table_cache_hit_ratio{keyspace="shop",table="orders"} 0.6`,
			`ringmaster_node_load_bytes 5120`,
		},
		"what is of a shard stays so": {
			`ringmaster_node_reactor_utilization_ratio{shard="1"} 0.755`,
			`ringmaster_node_reactor_stalls_total{shard="1"} 1`,
		},
		"what every shard tells of the node is told once": {
			`ringmaster_node_peers{state="down"} 1`, `ringmaster_node_peers{state="up"} 2`,
		},
		"one may be two of ours": {
			`ringmaster_node_cache_hits_total{cache="row"} 160`, `ringmaster_node_cache_requests_total{cache="row"} 200`,
		},
	} {
		for _, line := range lines {
			if !strings.Contains(page, line+"\n") {
				t.Errorf("%s: %s is not in\n%s", what, line, page)
			}
		}
	}
}

func TestWhatIsNoPageOfMetricsIsRefused(t *testing.T) {
	for _, page := range []string{
		"", "# only a comment\n", "scylla_transport_current_connections{shard=\"0\" 4\n", "scylla_transport_current_connections{shard=\"0\"} many\n",
		"<html></html>\n",
	} {
		if said, err := translated(t, page); err == nil {
			t.Errorf("%q was taken: %s", page, said)
		}
	}
}

// Every name that the vocabulary gives as ScyllaDB's is translated from something.
func TestTheVocabularyPromisesNothingOfScyllaThatNoRuleMakes(t *testing.T) {
	vocabulary, err := metrics.ReadVocabulary()
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, all := range rules() {
		for _, rule := range all {
			made[rule.to] = true
			if metric := vocabulary.Named(rule.to); metric == nil || metric.Scylla == "" {
				t.Errorf("%s is not ScyllaDB's in the vocabulary", rule.to)
			}
		}
	}
	for _, metric := range vocabulary.Metrics {
		if strings.Contains(metric.Scylla, "scylla_") && !made[metric.Name] {
			t.Errorf("no rule makes %s", metric.Name)
		}
	}
}
