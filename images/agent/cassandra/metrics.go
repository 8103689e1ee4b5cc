package cassandra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent/metrics"
)

// Metrics adds what the engine tells of itself and of its tables. It implements the source "engine" of GET /metrics.
func (e *Engine) Metrics(ctx context.Context, page *metrics.Page) error {
	e.collector.asking.Do(func() { e.collector.asked = ask(page.Vocabulary()) })
	asked := e.collector.asked
	if err := e.collect(ctx, asked.text, newAnswer(page, asked).read); err != nil {
		return err
	}
	if bytes, err := folderBytes(filepath.Join(e.place.root, "hints")); err == nil {
		page.Family("ringmaster_node_hints_bytes").Add("", float64(bytes))
	}
	if bytes, err := folderBytes(filepath.Join(e.place.root, "cdc_raw")); err == nil {
		page.Family("ringmaster_node_cdc_bytes").Add("", float64(bytes))
	}
	e.traffic.Metrics(page)
	return nil
}

// DataFolder is where the engine's data are.
func (e *Engine) DataFolder() string { return e.place.data() }

// folderBytes adds up the files of a folder, which are few. A folder that is not there is empty.
func folderBytes(folder string) (int64, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	var sum int64
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum, err
}

// registered is what a metric of the engine's registry means to us.
type registered struct {
	metric, labels string
	// sum is the name of the counter with the sum of a histogram, in microseconds.
	sum string
}

const registryPrefix = "org.apache.cassandra.metrics."

// registry are the metrics of the registry, by the engine's name without its prefix.
func registry() map[string]registered {
	node := func(name string, labels ...string) registered {
		return registered{metric: "ringmaster_node_" + name, labels: metrics.Labels(labels...)}
	}
	all := map[string]registered{
		"Client.ConnectedNativeClients":          node("cql_connections"),
		"Client.RequestDispatched":               node("cql_requests_total"),
		"Client.RequestDiscarded":                node("cql_requests_discarded_total"),
		"Client.AuthFailure":                     node("cql_auth_failures_total"),
		"CQL.PreparedStatementsExecuted":         node("cql_statements_total", "kind", "prepared"),
		"CQL.RegularStatementsExecuted":          node("cql_statements_total", "kind", "regular"),
		"CQL.PreparedStatementsCount":            node("cql_prepared_statements"),
		"CQL.PreparedStatementsEvicted":          node("cql_prepared_evictions_total"),
		"ClientRequest.ConditionNotMet.CASWrite": node("cas_conditions_not_met_total"),
		"Storage.TotalHints":                     node("hints_stored_total"),
		"HintsService.HintsSucceeded":            node("hints_sent_total"),
		"HintsService.HintsFailed":               node("hints_failed_total"),
		"HintsService.HintsTimedOut":             node("hints_failed_total"),
		"Streaming.TotalIncomingBytes":           node("streaming_bytes_total", "direction", "in"),
		"Streaming.TotalOutgoingBytes":           node("streaming_bytes_total", "direction", "out"),
		"Compaction.TotalCompactionsCompleted":   node("compactions_total"),
		"Compaction.BytesCompacted":              node("compacted_bytes_total"),
		"Compaction.CompactionsAborted":          node("compactions_aborted_total"),
		"CommitLog.TotalCommitLogSize":           node("commit_log_bytes"),
		"CommitLog.PendingTasks":                 node("commit_log_pending"),
		"Storage.Load":                           node("load_bytes"),
		"Storage.Exceptions":                     node("exceptions_total"),
	}
	for kind, scope := range map[string]string{"read": "Read", "write": "Write", "range": "RangeSlice", "cas_read": "CASRead", "cas_write": "CASWrite"} {
		latency := node("client_request_latency_seconds", "kind", kind)
		latency.sum = "ClientRequest.TotalLatency." + scope
		all["ClientRequest.Latency."+scope] = latency
		// Only asked for, for its sum.
		all[latency.sum] = registered{}
		all["ClientRequest.Timeouts."+scope] = node("client_request_timeouts_total", "kind", kind)
		all["ClientRequest.Unavailables."+scope] = node("client_request_unavailables_total", "kind", kind)
		all["ClientRequest.Failures."+scope] = node("client_request_failures_total", "kind", kind)
		if strings.HasPrefix(kind, "cas_") {
			all["ClientRequest.ContentionHistogram."+scope] = node("cas_contention", "kind", kind)
			all["ClientRequest.UnfinishedCommit."+scope] = node("cas_unfinished_commits_total", "kind", kind)
		}
	}
	for cache, scope := range map[string]string{"key": "KeyCache", "row": "RowCache", "counter": "CounterCache", "chunk": "ChunkCache"} {
		all["Cache.Hits."+scope] = node("cache_hits_total", "cache", cache)
		all["Cache.Requests."+scope] = node("cache_requests_total", "cache", cache)
		all["Cache.Size."+scope] = node("cache_bytes", "cache", cache)
		all["Cache.Capacity."+scope] = node("cache_capacity_bytes", "cache", cache)
	}
	return all
}

// absentByRight are metrics of the registry that an engine may well not have, because what they count is switched off.
func absentByRight(name string) bool { return strings.HasPrefix(name, "Cache.") }

// laterNoted are counters that the engine notes when it first counts: until then they are at zero.
func laterNoted(name string) bool {
	return strings.HasPrefix(name, "Streaming.") || strings.HasPrefix(name, "HintsService.")
}

// stateMetrics are what the collector works out itself for each table, in its order.
func stateMetrics() []string {
	return []string{
		"ringmaster_table_partitions_estimated", "ringmaster_table_partition_mean_bytes", "ringmaster_table_partition_max_bytes",
		"ringmaster_table_repaired_bytes", "ringmaster_table_unrepaired_bytes", "ringmaster_table_pending_repair_bytes",
		"ringmaster_table_bloom_false_positives_total", "ringmaster_table_key_cache_hits_total", "ringmaster_table_key_cache_requests_total",
		"ringmaster_table_cdc_enabled",
	}
}

const tableField = "TableMetrics."

// questions are what the collector is asked, and what its answers mean.
type questions struct {
	text     string
	registry map[string]registered
	// columns are the metrics of tables, in the order asked.
	columns []*metrics.Metric
	fields  map[string]*metrics.Metric
	// scales are how the engine's buckets fall into the bounds of each histogram.
	scales map[*metrics.Metric]*scale
}

// ask makes the question for a vocabulary.
func ask(vocabulary *metrics.Vocabulary) *questions {
	made := &questions{registry: registry(), fields: map[string]*metrics.Metric{}, scales: map[*metrics.Metric]*scale{}}
	var text strings.Builder
	for _, metric := range vocabulary.Metrics {
		if metric.Type == "histogram" {
			made.scales[metric] = newScale(metric)
		}
		if field, is := strings.CutPrefix(metric.Cassandra, tableField); is {
			made.columns = append(made.columns, metric)
			made.fields[field] = metric
			text.WriteString("table " + field + "\n")
		}
	}
	for name := range made.registry {
		text.WriteString("metric " + registryPrefix + name + "\n")
	}
	made.text = text.String()
	return made
}

// answer is what is being read of the collector.
type answer struct {
	page  *metrics.Page
	asked *questions
	// families and states are those of the columns of tables.
	families, states []*metrics.Family
	scales           []*scale
	pending          *metrics.Family
	sums             map[string]float64
	histograms       map[string]string
	dropped          map[string]int64
	counts           []int64
	pauses           []int64
	pausedSeconds    float64
	// compactions are those that wait, of all tables.
	compactions int64
	whole       bool
}

func newAnswer(page *metrics.Page, asked *questions) *answer {
	made := &answer{page: page, asked: asked, sums: map[string]float64{}, histograms: map[string]string{}, dropped: map[string]int64{}}
	for _, metric := range asked.columns {
		made.families = append(made.families, page.Family(metric.Name))
		made.scales = append(made.scales, asked.scales[metric])
		if metric.Name == "ringmaster_table_pending_compactions" {
			made.pending = page.Family(metric.Name)
		}
	}
	for _, name := range stateMetrics() {
		made.states = append(made.states, page.Family(name))
	}
	return made
}

// longestAnswer is of ten thousand tables whose histograms all have something in every bucket.
const longestAnswer = 64 << 20

// read takes the whole answer in. It fails when the end is missing.
func (a *answer) read(from io.Reader) error {
	said, err := io.ReadAll(io.LimitReader(from, longestAnswer))
	if err != nil {
		return fmt.Errorf("the collector did not answer to the end: %w", err)
	}
	for !a.whole {
		line, after, is := bytes.Cut(said, []byte("\n"))
		if !is {
			return errors.New("the collector did not answer to the end")
		}
		said = after
		kind, rest, _ := bytes.Cut(line, []byte(" "))
		if string(kind) == "table" {
			err = a.table(rest)
		} else {
			err = a.node(string(kind), strings.Fields(string(rest)))
		}
		if err != nil {
			return fmt.Errorf("the collector's answer cannot be read: %w: %.80q", err, line)
		}
	}
	return a.finish()
}

// wordsOf is how many words follow each kind of line.
func wordsOf(kind string) int {
	return map[string]int{"missing": 2, "metric": 2, "pool": 5, "dropped": 2, "gc": 3, "pause": 2, "paused": 1, "value": 2}[kind]
}

func (a *answer) node(kind string, words []string) error {
	if len(words) != wordsOf(kind) {
		return errors.New("another number of words")
	}
	numbers := make([]int64, len(words))
	if kind != "missing" && kind != "metric" {
		for index := range words {
			// The first may be a name.
			number, err := strconv.ParseInt(words[index], 10, 64)
			if err != nil && (index > 0 || kind == "pause" || kind == "paused") {
				return err
			}
			numbers[index] = number
		}
	}
	node := func(name string) *metrics.Family { return a.page.Family("ringmaster_node_" + name) }
	switch kind {
	case "missing":
		a.missing(words[0])
	case "metric":
		return a.registered(strings.TrimPrefix(words[0], registryPrefix), words[1])
	case "pool":
		labels := metrics.Labels("pool", words[0])
		for index, name := range []string{"thread_pool_active", "thread_pool_pending", "thread_pool_blocked", "thread_pool_completed_total"} {
			node(name).Add(labels, float64(numbers[index+1]))
		}
	case "dropped":
		a.dropped[words[0]] = numbers[1]
	case "gc":
		labels := metrics.Labels("collector", strings.ReplaceAll(words[0], "_", " "))
		node("gc_total").Add(labels, float64(numbers[1]))
		node("gc_seconds_total").Add(labels, float64(numbers[2])/1000)
	case "pause":
		a.pauses = append(a.pauses, numbers[0])
	case "paused":
		a.pausedSeconds = float64(numbers[0]) / 1000
	case "value":
		return a.value(words[0], float64(numbers[1]))
	case "end":
		a.whole = true
	}
	return nil
}

func (a *answer) missing(name string) {
	name = strings.TrimPrefix(name, registryPrefix)
	if metric := a.asked.fields[name]; metric != nil {
		a.page.Lacking(metric.Name)
	} else if laterNoted(name) {
		a.sums[name] = 0
	} else if known, is := a.asked.registry[name]; is && known.metric != "" && !absentByRight(name) {
		a.page.Lacking(known.metric)
	}
}

func (a *answer) registered(name, value string) error {
	known, is := a.asked.registry[name]
	switch {
	case !is:
		return errors.New("nobody asked for it")
	case strings.Contains(value, ";") || value == "0" && a.asked.scaleOf(a.page, known) != nil:
		a.histograms[name] = value
		return nil
	case value == "-":
		return nil
	}
	number, err := strconv.ParseFloat(value, 64)
	// Two names may mean one metric: they are added up.
	a.sums[name] += number
	return err
}

func (q *questions) scaleOf(page *metrics.Page, of registered) *scale {
	return q.scales[page.Vocabulary().Named(of.metric)]
}

func (a *answer) value(name string, number float64) error {
	node := func(name, labels string) { a.page.Family("ringmaster_node_"+name).Add(labels, number) }
	switch name {
	case "heap_used", "heap_max", "direct_memory":
		node(name+"_bytes", "")
	case "peers_up", "peers_down":
		node("peers", metrics.Labels("state", strings.TrimPrefix(name, "peers_")))
	case "compactions_active":
		a.compactions += int64(number)
		node(name, "")
	case "cdc_limit":
		node("cdc_limit_bytes", "")
	}
	return nil
}

// table reads KEYSPACE NAME STATE VALUE….
func (a *answer) table(rest []byte) error {
	word := func() []byte {
		found, after, _ := bytes.Cut(rest, []byte(" "))
		rest = after
		return found
	}
	labels := metrics.Labels("keyspace", string(word()), "table", string(word()))
	states := bytes.Split(word(), []byte(","))
	if len(states) != len(a.states) {
		return errors.New("another number of states")
	}
	for index, state := range states {
		a.states[index].Keep(labels, state, nil)
	}
	for index, family := range a.families {
		value := word()
		switch {
		case len(value) == 0:
			return errors.New("too few values")
		case value[0] == '-':
			// There is none, as of a ratio of compression where nothing is compressed: the engine says -1.
		case a.scales[index] == nil:
			family.Keep(labels, value, nil)
			if family == a.pending {
				waiting, err := strconv.ParseInt(string(value), 10, 64)
				if err != nil {
					return err
				}
				a.compactions += waiting
			}
		case len(value) == 1:
			// A table without any call: its histogram would be a hundred lines of nothing.
		default:
			if _, err := a.scales[index].read(value, &a.counts); err != nil {
				return err
			}
			family.Keep(labels, value, a.scales[index].render)
		}
	}
	return nil
}

// alwaysTold are the messages that matter; others are told once one was dropped.
func alwaysTold() []string {
	return []string{"MUTATION_REQ", "READ_REQ", "RANGE_REQ", "HINT_REQ", "READ_REPAIR_REQ", "COUNTER_MUTATION_REQ", "BATCH_STORE_REQ"}
}

// finish adds what is known only when everything was read.
func (a *answer) finish() error {
	byMetric := map[registered]float64{}
	for name, number := range a.sums {
		if known := a.asked.registry[name]; known.metric != "" {
			byMetric[known] += number
		}
	}
	for known, number := range byMetric {
		a.page.Family(known.metric).Add(known.labels, number)
	}
	for name, value := range a.histograms {
		known := a.asked.registry[name]
		scale := a.asked.scaleOf(a.page, known)
		sum, err := scale.read([]byte(value), &a.counts)
		if err != nil {
			return err
		}
		if known.sum != "" {
			sum = a.sums[known.sum] / scale.per
		}
		a.page.Family(known.metric).Histogram(known.labels, a.counts, sum)
	}
	for message, count := range a.dropped {
		if count > 0 || slices.Contains(alwaysTold(), message) {
			a.page.Family("ringmaster_node_dropped_messages_total").Add(metrics.Labels("message", strings.ToLower(message)), float64(count))
		}
	}
	if pauses := a.page.Family("ringmaster_node_gc_pause_seconds"); len(a.pauses) == len(pauses.Bounds())+1 {
		for index := 1; index < len(a.pauses); index++ {
			a.pauses[index] += a.pauses[index-1]
		}
		pauses.Histogram("", a.pauses, a.pausedSeconds)
	}
	a.page.Family("ringmaster_node_compactions_pending").Add("", float64(a.compactions))
	return nil
}

// scale is how the buckets of the engine's histograms fall into the bounds of a metric.
type scale struct {
	// per is how many of the engine's units are one of ours: microseconds in a second, else 1.
	per float64
	// offsets are the upper ends of the engine's buckets; within is the number of the bound that each is below.
	offsets []int64
	within  []int
	bounds  int
	zero    int
	// first is what counts for a value in the first bucket, which may be zero too where zeroes have none of their own.
	first float64
}

// engineBuckets are the numbers of buckets that the engine's histograms have, without the one for all that is larger.
func engineBuckets() []int { return []int{127, 164} }

// tombstones are far more often none than one.
const tombstones = "ringmaster_table_tombstones_per_read"

// newScale relies on bounds that are upper ends of buckets. One with a bound 0 is of a histogram with a bucket for zeroes.
func newScale(metric *metrics.Metric) *scale {
	made := &scale{per: 1, bounds: len(metric.Bounds)}
	if strings.HasSuffix(metric.Name, "_seconds") {
		made.per = 1e6
	}
	switch {
	case len(metric.Bounds) > 0 && metric.Bounds[0] == 0:
		made.zero = 1
	case metric.Name != tombstones:
		made.first = 1
	}
	made.offsets = bucketOffsets(slices.Max(engineBuckets()), made.zero == 1)
	for _, offset := range made.offsets {
		at, _ := slices.BinarySearchFunc(metric.Bounds, float64(offset), func(bound, offset float64) int {
			return int(math.Round(bound*made.per) - offset)
		})
		made.within = append(made.within, at)
	}
	return made
}

// bucketOffsets are those of org.apache.cassandra.utils.EstimatedHistogram: each is a fifth more than the one before.
func bucketOffsets(count int, withZero bool) []int64 {
	var offsets []int64
	if withZero {
		offsets = append(offsets, 0)
		count++
	}
	offsets = append(offsets, 1)
	for last := int64(1); len(offsets) < count; {
		next := int64(math.Floor(float64(last)*1.2 + 0.5))
		if next == last {
			next++
		}
		offsets = append(offsets, next)
		last = next
	}
	return offsets
}

// read reads COUNT;SUM;LENGTH;INDEX:COUNT,… into how many were at most so large, by bound. The sum is worked out from the buckets where
// the engine does not know it: right to within a tenth.
func (s *scale) read(text []byte, into *[]int64) (float64, error) {
	counts := append((*into)[:0], make([]int64, s.bounds+1)...)
	*into = counts
	if string(text) == "0" {
		return 0, nil
	}
	parts := bytes.SplitN(text, []byte(";"), 4)
	if len(parts) != 4 {
		return 0, errors.New("no histogram")
	}
	length, err := strconv.Atoi(string(parts[2]))
	if err != nil || !slices.Contains(engineBuckets(), length-1-s.zero) {
		return 0, fmt.Errorf("a histogram with %s buckets", parts[2])
	}
	sum := 0.0
	for rest := parts[3]; len(rest) > 0; {
		var pair []byte
		pair, rest, _ = bytes.Cut(rest, []byte(","))
		before, after, _ := bytes.Cut(pair, []byte(":"))
		index, err := strconv.Atoi(string(before))
		if err != nil || index < 0 || index >= length {
			return 0, errors.New("no bucket")
		}
		count, err := strconv.ParseInt(string(after), 10, 64)
		if err != nil {
			return 0, err
		}
		at := s.bounds
		if index < length-1 {
			at = s.within[index]
		}
		counts[at] += count
		sum += s.middle(min(index, length-2)) * float64(count)
	}
	for index := 1; index < len(counts); index++ {
		counts[index] += counts[index-1]
	}
	if len(parts[1]) > 0 {
		if sum, err = strconv.ParseFloat(string(parts[1]), 64); err != nil {
			return 0, err
		}
	}
	return sum / s.per, nil
}

// render makes the lines of a histogram that read has taken before.
func (s *scale) render(into *metrics.Family, labels string, token []byte) {
	var counts []int64
	if sum, err := s.read(token, &counts); err == nil {
		into.Histogram(labels, counts, sum)
	}
}

// middle of a bucket, in the engine's unit.
func (s *scale) middle(index int) float64 {
	if index == 0 {
		return s.first
	}
	return float64(s.offsets[index-1]+1+s.offsets[index]) / 2
}
