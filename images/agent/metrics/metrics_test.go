package metrics_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

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

func service(t *testing.T, sources ...metrics.Source) *metrics.Service {
	return &metrics.Service{
		NodeID: "nod_1", Vocabulary: vocabulary(t), Sources: sources, Within: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}
}

func scrape(t *testing.T, service *metrics.Service, query string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	service.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics"+query, nil))
	return recorder.Code, recorder.Body.String()
}

// parsed fails when Prometheus could not read the page.
func parsed(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%v\n%s", err, page)
	}
	return families
}

func TestPrometheusReadsWhatSourcesTell(t *testing.T) {
	one := metrics.Source{Name: "engine", Collect: func(_ context.Context, page *metrics.Page) error {
		table := metrics.Labels("keyspace", "shop", "table", "a\"b\\c\nd")
		page.Family("ringmaster_table_live_bytes").Add(table, 12)
		reads := page.Family("ringmaster_table_read_latency_seconds")
		counts := make([]int64, len(reads.Bounds())+1)
		for index := range counts {
			counts[index] = int64(index)
		}
		reads.Histogram(table, counts, 1.5)
		page.Lacking("ringmaster_table_sstables")
		return nil
	}}
	other := metrics.Source{Name: "machine", Collect: func(_ context.Context, page *metrics.Page) error {
		page.Family("ringmaster_node_load1").Add("", 0.5)
		page.Family("ringmaster_node_disk_reads_total").Add(metrics.Labels("device", "sda"), 7)
		return nil
	}}
	_, page := scrape(t, service(t, one, other), "")
	families := parsed(t, page)
	bytes := families["ringmaster_table_live_bytes"].GetMetric()[0]
	if bytes.GetGauge().GetValue() != 12 || bytes.GetLabel()[1].GetValue() != "a\"b\\c\nd" {
		t.Errorf("%v", bytes)
	}
	reads := families["ringmaster_table_read_latency_seconds"].GetMetric()[0].GetHistogram()
	bounds := vocabulary(t).Named("ringmaster_table_read_latency_seconds").Bounds
	if reads.GetSampleCount() != uint64(len(bounds)) || reads.GetSampleSum() != 1.5 || reads.GetBucket()[3].GetUpperBound() != bounds[3] {
		t.Errorf("%v", reads)
	}
	if value := families["ringmaster_node_disk_reads_total"].GetMetric()[0].GetCounter().GetValue(); value != 7 {
		t.Errorf("%g", value)
	}
	if missing := families["ringmaster_agent_scrape_missing"].GetMetric(); len(missing) != 1 || missing[0].GetLabel()[1].GetValue() != "ringmaster_table_sstables" {
		t.Errorf("%v", missing)
	}
}

func TestAPageTellsWhichSourceFailed(t *testing.T) {
	half := func(page *metrics.Page) { page.Family("ringmaster_table_live_bytes").Add("", 1) }
	for name, collect := range map[string]func(context.Context, *metrics.Page) error{
		"an error":       func(_ context.Context, page *metrics.Page) error { half(page); return errors.New("it\nbroke") },
		"a panic":        func(_ context.Context, page *metrics.Page) error { half(page); panic("broke") },
		"no answer":      func(context.Context, *metrics.Page) error { select {} },
		"too late a one": func(ctx context.Context, page *metrics.Page) error { half(page); <-ctx.Done(); return ctx.Err() },
	} {
		well := metrics.Source{Name: "machine", Collect: func(_ context.Context, page *metrics.Page) error {
			page.Family("ringmaster_node_load1").Add("", 1)
			return nil
		}}
		status, page := scrape(t, service(t, metrics.Source{Name: "engine", Collect: collect}, well), "")
		families := parsed(t, page)
		success := map[string]float64{}
		for _, one := range families["ringmaster_agent_scrape_success"].GetMetric() {
			success[one.GetLabel()[0].GetValue()] = one.GetGauge().GetValue()
		}
		if status != http.StatusOK || success["engine"] != 0 || success["machine"] != 1 || families["ringmaster_node_load1"] == nil {
			t.Errorf("%s: %d %v", name, status, success)
		}
		// Half of the tables would make wrong sums.
		if families["ringmaster_table_live_bytes"] != nil || !strings.Contains(page, "# missing: engine: ") {
			t.Errorf("%s:\n%s", name, page)
		}
	}
}

func TestScrapesAtOnceAskTheSourcesOnce(t *testing.T) {
	var asked atomic.Int32
	begun, go_on := make(chan struct{}), make(chan struct{})
	shared := service(t, metrics.Source{Name: "engine", Collect: func(_ context.Context, page *metrics.Page) error {
		if asked.Add(1) == 1 {
			close(begun)
		}
		<-go_on
		page.Family("ringmaster_node_load1").Add("", float64(asked.Load()))
		return nil
	}})
	shared.Within = 10 * time.Second
	var working sync.WaitGroup
	pages := make([]string, 8)
	working.Go(func() { _, pages[0] = scrape(t, shared, "") })
	<-begun
	for index := range pages[1:] {
		working.Go(func() { _, pages[index+1] = scrape(t, shared, "") })
	}
	// They have joined when none of them has asked; a moment is enough for one that would.
	time.Sleep(20 * time.Millisecond)
	close(go_on)
	working.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	for _, page := range pages {
		if page != pages[0] || !strings.Contains(page, "ringmaster_node_load1 1\n") {
			t.Errorf("%s", page)
		}
	}
}

func TestAnotherNodeIsNotMeant(t *testing.T) {
	one := service(t)
	if status, page := scrape(t, one, "?node=nod_2"); status != http.StatusMisdirectedRequest || strings.Contains(page, "ringmaster_") {
		t.Errorf("%d %s", status, page)
	}
	if status, _ := scrape(t, one, "?node=nod_1"); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}

func TestAPageIsPackedForWhoTakesThat(t *testing.T) {
	one := service(t, metrics.Source{Name: "machine", Collect: func(_ context.Context, page *metrics.Page) error {
		page.Family("ringmaster_node_load1").Add("", 1)
		return nil
	}})
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept-Encoding", "gzip")
	recorder := httptest.NewRecorder()
	one.ServeHTTP(recorder, request)
	unpacked, err := gzip.NewReader(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unpacked)
	if err != nil || recorder.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(string(content), "ringmaster_node_load1 1\n") {
		t.Errorf("%v %s", err, content)
	}
}

func TestNothingBeyondTheVocabularyIsServed(t *testing.T) {
	_, page := scrape(t, service(t, metrics.Source{Name: "engine", Collect: func(_ context.Context, page *metrics.Page) error {
		page.Family("ringmaster_surprise").Add("", 1)
		if unknown := page.Unknown(); len(unknown) != 1 {
			return errors.New("it was not noted")
		}
		return nil
	}}), "")
	if strings.Contains(page, "surprise") || !strings.Contains(page, `ringmaster_agent_scrape_success{source="engine"} 1`) {
		t.Errorf("%s", page)
	}
}
