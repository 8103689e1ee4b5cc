package scylla

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent/metrics"
)

// metricsPort is where the engine serves its own metrics, on its own address.
const metricsPort = 9180

// DataFolder is where the engine's data are.
func (e *Engine) DataFolder() string { return e.place.data() }

// Metrics translates what the engine serves to Prometheus into the vocabulary. It implements the source "engine" of GET /metrics.
func (e *Engine) Metrics(ctx context.Context, page *metrics.Page) error {
	if condition := e.supervisor.Condition(); !condition.Alive || !condition.Ready {
		return errors.New("the engine does not run")
	}
	config, err := e.configured()
	if err != nil {
		return err
	}
	where := "http://" + net.JoinHostPort(config.Address, strconv.Itoa(metricsPort)) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", where, answer.Status)
	}
	if err := translate(answer.Body, page); err != nil {
		return err
	}
	if bytes, err := folderBytes(filepath.Join(e.place.work, "hints")); err == nil {
		page.Family("ringmaster_node_hints_bytes").Add("", float64(bytes))
	}
	return nil
}

// folderBytes adds up a folder of hints: a folder for each shard, in them one for each node. One that is not there is empty.
func folderBytes(folder string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

// rule is what a metric of the engine is to us.
type rule struct {
	to string
	// labels are ours, fixed; keep are those of the engine's that stay, as ours. All series that become the same are added up: shards and
	// scheduling groups.
	labels []string
	keep   map[string]string
	// times is what a value is multiplied with.
	times float64
	// mean: the series are shares, of which the mean is told.
	mean bool
}

const (
	microsecond = 1e-6
	percent     = 0.01
)

// rules are by the engine's name.
func rules() map[string][]rule {
	all := map[string][]rule{}
	add := func(from string, one rule) {
		if one.times == 0 {
			one.times = 1
		}
		all["scylla_"+from] = append(all["scylla_"+from], one)
	}
	table := map[string]string{"ks": "keyspace", "cf": "table"}
	for from, to := range map[string]string{
		"live_disk_space": "live_bytes", "total_disk_space": "total_bytes", "total_disk_space_before_compression": "uncompressed_bytes",
		"live_sstable": "sstables", "pending_compaction": "pending_compactions", "memtable_switch": "memtable_flushes_total",
		"pending_tasks": "pending_flushes",
	} {
		add("column_family_"+from, rule{to: "ringmaster_table_" + to, keep: table})
	}
	add("column_family_cache_hit_rate", rule{to: "ringmaster_table_cache_hit_ratio", keep: table, mean: true})
	for _, from := range []string{"read", "write", "cas_prepare", "cas_propose", "cas_commit"} {
		add("column_family_"+from+"_latency", rule{to: "ringmaster_table_" + from + "_latency_seconds", keep: table, times: microsecond})
	}
	for _, kind := range []string{"read", "write", "range", "cas_read", "cas_write"} {
		labels := []string{"kind", kind}
		from := "storage_proxy_coordinator_" + kind
		if kind != "range" {
			add(from+"_latency", rule{to: "ringmaster_node_client_request_latency_seconds", labels: labels, times: microsecond})
		}
		add(from+"_timeouts", rule{to: "ringmaster_node_client_request_timeouts_total", labels: labels})
		add(from+"_unavailable", rule{to: "ringmaster_node_client_request_unavailables_total", labels: labels})
		if strings.HasPrefix(kind, "cas_") {
			add(from+"_contention", rule{to: "ringmaster_node_cas_contention", labels: labels})
			add(from+"_unfinished_commit", rule{to: "ringmaster_node_cas_unfinished_commits_total", labels: labels})
		}
	}
	for from, to := range map[string]string{
		"storage_proxy_coordinator_cas_write_condition_not_met": "cas_conditions_not_met_total",
		"transport_current_connections":                         "cql_connections",
		"transport_requests_served":                             "cql_requests_total",
		"transport_requests_shed":                               "cql_requests_discarded_total",
		"cql_prepared_cache_size":                               "cql_prepared_statements",
		"cql_prepared_cache_evictions":                          "cql_prepared_evictions_total",
		"hints_manager_written":                                 "hints_stored_total",
		"hints_manager_sent_total":                              "hints_sent_total",
		"hints_manager_sent":                                    "hints_sent_total",
		"hints_manager_send_errors":                             "hints_failed_total",
		"compaction_manager_pending_compactions":                "compactions_pending",
		"compaction_manager_compactions":                        "compactions_active",
		"compaction_manager_completed_compactions":              "compactions_total",
		"compaction_manager_failed_compactions":                 "compactions_aborted_total",
		"commitlog_disk_total_bytes":                            "commit_log_bytes",
		"commitlog_pending_flushes":                             "commit_log_pending",
		"column_family_live_disk_space":                         "load_bytes",
		"reactor_cpp_exceptions":                                "exceptions_total",
		"memory_allocated_memory":                               "heap_used_bytes",
		"memory_total_memory":                                   "heap_max_bytes",
	} {
		add(from, rule{to: "ringmaster_node_" + to})
	}
	add("streaming_total_incoming_bytes", rule{to: "ringmaster_node_streaming_bytes_total", labels: []string{"direction", "in"}})
	add("streaming_total_outgoing_bytes", rule{to: "ringmaster_node_streaming_bytes_total", labels: []string{"direction", "out"}})
	add("gossip_live", rule{to: "ringmaster_node_peers", labels: []string{"state", "up"}})
	add("gossip_unreachable", rule{to: "ringmaster_node_peers", labels: []string{"state", "down"}})
	row := []string{"cache", "row"}
	add("cache_row_hits", rule{to: "ringmaster_node_cache_hits_total", labels: row})
	add("cache_row_hits", rule{to: "ringmaster_node_cache_requests_total", labels: row})
	add("cache_row_misses", rule{to: "ringmaster_node_cache_requests_total", labels: row})
	add("cache_bytes_used", rule{to: "ringmaster_node_cache_bytes", labels: row})
	shard := map[string]string{"shard": "shard"}
	add("stall_detector_reported", rule{to: "ringmaster_node_reactor_stalls_total", keep: shard})
	add("reactor_utilization", rule{to: "ringmaster_node_reactor_utilization_ratio", keep: shard, times: percent})
	return all
}

// ofOneShard: gossip is of the whole node, and every shard tells the same.
func ofOneShard(name string) bool { return strings.HasPrefix(name, "scylla_gossip_") }

// series is one of ours while it is added up.
type series struct {
	value float64
	count int
	mean  bool
	// buckets are how many were at most so large; only of histograms.
	buckets map[float64]float64
	sum     float64
}

type seriesKey struct{ metric, labels string }

// translate reads a page of the engine's. Lines that nobody needs cost a look at their name.
func translate(from io.Reader, page *metrics.Page) error {
	known := rules()
	found := map[seriesKey]*series{}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 16<<10), 1<<20)
	any := false
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		any = true
		end := strings.IndexAny(line, "{ ")
		if end < 0 {
			return fmt.Errorf("the engine's metrics cannot be read: %.80q", line)
		}
		name, suffix := line[:end], ""
		meant := known[name]
		for _, one := range []string{"_bucket", "_sum", "_count"} {
			if base, is := strings.CutSuffix(name, one); is && meant == nil {
				name, suffix, meant = base, one, known[base]
			}
		}
		if meant == nil {
			continue
		}
		labels, number, err := sample(line[end:])
		if err != nil {
			return fmt.Errorf("the engine's metrics cannot be read: %w: %.80q", err, line)
		}
		if ofOneShard(name) && labels["shard"] != "0" && labels["shard"] != "" {
			continue
		}
		for _, rule := range meant {
			rule.take(found, suffix, labels, number)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !any {
		return errors.New("the engine serves no metrics")
	}
	addTo(page, found)
	return nil
}

func (r rule) take(found map[seriesKey]*series, suffix string, labels map[string]string, number float64) {
	pairs := slices.Clone(r.labels)
	kept := slices.SortedFunc(maps.Keys(r.keep), func(a, b string) int { return strings.Compare(r.keep[a], r.keep[b]) })
	for _, name := range kept {
		pairs = append(pairs, r.keep[name], labels[name])
	}
	key := seriesKey{r.to, metrics.Labels(pairs...)}
	one := found[key]
	if one == nil {
		one = &series{mean: r.mean}
		found[key] = one
	}
	switch suffix {
	case "_bucket":
		bound, err := strconv.ParseFloat(labels["le"], 64)
		if err != nil {
			return
		}
		if one.buckets == nil {
			one.buckets = map[float64]float64{}
		}
		one.buckets[bound*r.times] += number
	case "_sum":
		one.sum += number * r.times
	case "_count":
		// It is that of the last bucket.
	default:
		one.value += number * r.times
		one.count++
	}
}

// addTo adds the series to the page, those of one metric in a fixed order.
func addTo(page *metrics.Page, found map[seriesKey]*series) {
	keys := slices.SortedFunc(maps.Keys(found), func(a, b seriesKey) int {
		return strings.Compare(a.metric+"\x00"+a.labels, b.metric+"\x00"+b.labels)
	})
	for _, key := range keys {
		one, family := found[key], page.Family(key.metric)
		switch {
		case one.buckets != nil:
			var buckets []metrics.Bucket
			for _, bound := range slices.Sorted(maps.Keys(one.buckets)) {
				buckets = append(buckets, metrics.Bucket{LE: bound, Count: int64(one.buckets[bound])})
			}
			// Shards that have counted nothing so large may leave the bucket out; what was below is below here too.
			for index := 1; index < len(buckets); index++ {
				buckets[index].Count = max(buckets[index].Count, buckets[index-1].Count)
			}
			if last := buckets[len(buckets)-1]; !math.IsInf(last.LE, 1) {
				buckets = append(buckets, metrics.Bucket{LE: math.Inf(1), Count: last.Count})
			}
			if buckets[len(buckets)-1].Count > 0 {
				family.OwnHistogram(key.labels, buckets, one.sum)
			}
		case one.mean:
			family.Add(key.labels, one.value/float64(max(1, one.count)))
		default:
			family.Add(key.labels, one.value)
		}
	}
}

// sample reads what follows a name: {label="value",…} NUMBER, perhaps with a time after it.
func sample(rest string) (map[string]string, float64, error) {
	labels := map[string]string{}
	if strings.HasPrefix(rest, "{") {
		rest = rest[1:]
		for !strings.HasPrefix(rest, "}") {
			name, after, is := strings.Cut(rest, "=")
			if !is {
				return nil, 0, errors.New("labels without an end")
			}
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return nil, 0, err
			}
			if labels[strings.TrimSpace(name)], err = strconv.Unquote(quoted); err != nil {
				return nil, 0, err
			}
			rest = strings.TrimPrefix(strings.TrimSpace(after[len(quoted):]), ",")
		}
		rest = rest[1:]
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return nil, 0, errors.New("no number")
	}
	number, err := strconv.ParseFloat(words[0], 64)
	return labels, number, err
}
