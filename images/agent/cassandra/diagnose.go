package cassandra

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
)

const (
	samplingOperation = "samplePartitions(java.lang.String,int,int,int,java.util.List)"
	collectorBeans    = "java.lang:type=GarbageCollector,*"
	memoryBean        = "java.lang:type=Memory"
	threadingBean     = "java.lang:type=Threading"
)

// diagnosticBeans are what may be asked about how the engine is.
func diagnosticBeans() []managed {
	return []managed{
		{Name: storageService, Attributes: readable("LoadMapWithPort", "OwnershipWithPort"), Operations: []string{samplingOperation}},
		{Name: collectorBeans, Attributes: readable("CollectionCount", "CollectionTime")},
		{Name: memoryBean, Attributes: readable("HeapMemoryUsage", "NonHeapMemoryUsage")},
		{Name: threadingBean, Attributes: readable("ThreadCount", "PeakThreadCount")},
	}
}

type asker func(*Engine, context.Context, agent.DiagnoseParameters, agent.Report) (agent.Answer, error)

// askers are the questions that Cassandra answers.
var askers = map[agent.Question]asker{
	agent.AskStatus:          (*Engine).askStatus,
	agent.AskRing:            (*Engine).askRing,
	agent.AskTableStatistics: (*Engine).askTableStatistics,
	agent.AskThreadPools:     (*Engine).askThreadPools,
	agent.AskCompactions:     (*Engine).askCompactions,
	agent.AskStreams:         (*Engine).askStreams,
	agent.AskClients:         (*Engine).askClients,
	agent.AskMemory:          (*Engine).askMemory,
	agent.AskLog:             (*Engine).askLog,
	agent.AskSlowQueries:     (*Engine).askSlowQueries,
	agent.AskHotPartitions:   (*Engine).askHotPartitions,
	agent.AskFlameGraph:      (*Engine).askFlameGraph,
}

// diagnose answers one question. Error codes: invalid-parameters, unknown-question, unknown-table, engine-not-running,
// control-unknown, management-unreachable, already-sampling, profiler-refused.
func (e *Engine) diagnose(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	if err := parameters.Check(); err != nil {
		return agent.Answer{}, err
	}
	ask, known := askers[parameters.Question]
	if !known {
		return agent.Answer{}, agent.Errorf("unknown-question", "Cassandra cannot be asked %q.", parameters.Question)
	}
	const beyondSampling = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, time.Duration(parameters.Seconds)*time.Second+beyondSampling)
	defer cancel()
	answer, err := ask(e, ctx, parameters, report)
	answer.TakenAt = time.Now().UTC()
	return answer, reached(err)
}

func column(title string, unit agent.Unit) agent.AnswerColumn {
	return agent.AnswerColumn{Title: title, Unit: unit}
}

func fact(label string, unit agent.Unit, value any) agent.AnswerFact {
	return agent.AnswerFact{Label: label, Unit: unit, Value: value}
}

// askStatus is what `nodetool status` and `nodetool info` tell.
func (e *Engine) askStatus(ctx context.Context, _ agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	ring, err := e.readRing(ctx, conn)
	if err != nil {
		return agent.Answer{}, err
	}
	var mode string
	loads, owned := map[string]string{}, map[string]float64{}
	calls := []jolokia.Call{
		jolokia.Read(storageService, "OperationMode"), jolokia.Read(storageService, "LoadMapWithPort"), jolokia.Read(storageService, "OwnershipWithPort"),
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return agent.Answer{}, err
	}
	for index, into := range []any{&mode, &loads, &owned} {
		if err := answers[index].Into(into); err != nil {
			return agent.Answer{}, err
		}
	}
	own, err := e.ownAddress()
	if err != nil {
		return agent.Answer{}, err
	}
	status := e.Status(ctx)
	row := func(address string, up bool, word, datacenter, rack, hostID, schema string) []any {
		return []any{address, up, word, datacenter, rack, ofNode(loads, address), ofNode(owned, address), hostID, schema}
	}
	rows := [][]any{row(own.String(), true, mode, ring.Datacenter, ring.Rack, ring.HostID, ring.SchemaVersion)}
	for _, peer := range ring.Peers {
		rows = append(rows, row(peer.Address, peer.Up, peer.Status, peer.Datacenter, peer.Rack, peer.HostID, peer.SchemaVersion))
	}
	var started any
	if status.StartedAt != nil {
		started = status.StartedAt.UTC().Format(time.RFC3339)
	}
	facts := []agent.AnswerFact{
		fact("Mode", agent.Text, mode), fact("Version", agent.Text, status.Version), fact("Started", agent.Moment, started),
		fact("Tokens", agent.Count, len(ring.Tokens)), fact("Unexpected ends", agent.Count, status.Restarts),
		fact("Takes CQL", agent.Flag, status.CQLReady),
	}
	if disk := e.Machine(ctx).Disk; disk != nil {
		facts = append(facts, fact("Free on the disk", agent.Bytes, disk.FreeBytes), fact("Size of the disk", agent.Bytes, disk.TotalBytes))
	}
	columns := []agent.AnswerColumn{
		column("Address", agent.Text), column("Up", agent.Flag), column("State", agent.Text), column("Data centre", agent.Text), column("Rack", agent.Text),
		column("Load", agent.Text), column("Owns", agent.Ratio), column("Host id", agent.Text), column("Schema", agent.Text),
	}
	return agent.Answer{Facts: facts, Tables: []agent.AnswerTable{agent.Told("Ring as this node sees it", columns, rows, len(rows))}, Notes: []string{
		"Owns is the share of the ring's tokens, whatever the replication of a keyspace.",
	}}, nil
}

// ofNode is what a map by nodes, as the engine names them (/127.0.0.1:7000), tells of an address; nil: nothing.
func ofNode[V any](told map[string]V, address string) any {
	for name, value := range told {
		if addressOf(name) == address {
			return value
		}
	}
	return nil
}

// askRing is what `nodetool describering` tells.
func (e *Engine) askRing(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	ring, err := e.KeyspaceRing(ctx, parameters.Keyspace, "")
	if err != nil {
		return agent.Answer{}, err
	}
	var rows [][]any
	for _, one := range ring.Ranges {
		var replicas, racks []string
		for _, index := range one.Replicas {
			replicas, racks = append(replicas, ring.Nodes[index].Address), append(racks, ring.Nodes[index].Rack)
		}
		rows = append(rows, []any{one.Start, one.End, strings.Join(replicas, ", "), strings.Join(racks, ", ")})
	}
	columns := []agent.AnswerColumn{column("Above", agent.Text), column("Up to", agent.Text), column("Replicas", agent.Text), column("Racks", agent.Text)}
	return agent.Answer{Tables: []agent.AnswerTable{agent.Told("Ranges of "+parameters.Keyspace, columns, rows, parameters.Limit)}}, nil
}

// tableFigures are what the engine's virtual tables tell of each table.
var tableFigures = []struct {
	view, column, title string
	unit                agent.Unit
	// factor turns the engine's unit into ours.
	factor float64
}{
	{"max_partition_size", "mebibytes", "Largest partition", agent.Bytes, 1 << 20},
	{"local_read_latency", "count", "Reads", agent.Count, 1},
	{"local_read_latency", "p50th_ms", "Read p50", agent.Milliseconds, 1},
	{"local_read_latency", "p99th_ms", "Read p99", agent.Milliseconds, 1},
	{"local_write_latency", "count", "Writes", agent.Count, 1},
	{"local_write_latency", "p99th_ms", "Write p99", agent.Milliseconds, 1},
	{"tombstones_per_read", "p99th", "Tombstones per read p99", agent.Count, 1},
	{"rows_per_read", "p99th", "Rows per read p99", agent.Count, 1},
}

// tableGauges are what its beans tell of each table.
var tableGauges = []struct {
	metric, attribute, title string
	unit                     agent.Unit
}{
	{"LiveSSTableCount", "Value", "SSTables", agent.Count},
	{"PendingCompactions", "Value", "Pending compactions", agent.Count},
	{"CompressionRatio", "Value", "Compressed to", agent.Ratio},
	{"BloomFilterFalsePositives", "Value", "Bloom filter missed", agent.Count},
}

// askTableStatistics is what `nodetool tablestats` tells.
func (e *Engine) askTableStatistics(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	schema, err := e.schema(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	views := map[string]map[string]cql.Row{}
	for _, figure := range tableFigures {
		if views[figure.view] != nil {
			continue
		}
		found, err := conn.Query(ctx, cql.One, "SELECT * FROM system_views."+figure.view)
		if err != nil {
			return agent.Answer{}, err
		}
		views[figure.view] = map[string]cql.Row{}
		for _, row := range found {
			views[figure.view][row.Text("keyspace_name")+"."+row.Text("table_name")] = row
		}
	}
	tables := slices.DeleteFunc(schema.Tables, func(table agent.TableFacts) bool {
		return parameters.Keyspace != "" && table.Keyspace != parameters.Keyspace || parameters.Table != "" && table.Table != parameters.Table
	})
	if len(tables) == 0 && parameters.Keyspace != "" {
		return agent.Answer{}, agent.Errorf("unknown-table", "There is no such keyspace or table.")
	}
	// The largest first, so that what is left out is the least.
	slices.SortStableFunc(tables, func(a, b agent.TableFacts) int { return cmp.Compare(b.Bytes, a.Bytes) })
	left := max(0, len(tables)-parameters.Limit)
	tables = tables[:len(tables)-left]
	var calls []jolokia.Call
	for _, table := range tables {
		for _, gauge := range tableGauges {
			calls = append(calls, jolokia.Read(metric("Table", gauge.metric, "keyspace="+table.Keyspace, "scope="+table.Table), gauge.attribute))
		}
	}
	var answers []jolokia.Answer
	if len(calls) > 0 {
		if answers, err = e.management.Batch(ctx, calls); err != nil {
			return agent.Answer{}, err
		}
	}
	var rows [][]any
	for index, table := range tables {
		row := []any{table.Keyspace, table.Table, table.Bytes, table.Partitions}
		for offset := range tableGauges {
			var value *float64
			// One that was just dropped has none, and a ratio of nothing is none.
			if answers[index*len(tableGauges)+offset].Into(&value) != nil || value == nil || *value < 0 {
				row = append(row, nil)
			} else {
				row = append(row, *value)
			}
		}
		for _, figure := range tableFigures {
			value, known := number(views[figure.view][table.Keyspace+"."+table.Table][figure.column])
			if known {
				row = append(row, value*figure.factor)
			} else {
				row = append(row, nil)
			}
		}
		rows = append(rows, append(row, table.PercentRepaired/100, table.Compaction))
	}
	columns := []agent.AnswerColumn{
		column("Keyspace", agent.Text), column("Table", agent.Text), column("Size", agent.Bytes), column("Partitions", agent.Count),
	}
	for _, gauge := range tableGauges {
		columns = append(columns, column(gauge.title, gauge.unit))
	}
	for _, figure := range tableFigures {
		columns = append(columns, column(figure.title, figure.unit))
	}
	columns = append(columns, column("Repaired", agent.Ratio), column("Compaction", agent.Text))
	told := agent.Told("Tables", columns, rows, len(rows))
	told.Left = left
	return agent.Answer{Tables: []agent.AnswerTable{told}, Notes: []string{
		"Figures are this node's own. Counts are since the engine started, latencies weigh the last minutes most, and the number of partitions is an estimate.",
	}}, nil
}

// askThreadPools is what `nodetool tpstats` tells.
func (e *Engine) askThreadPools(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	pools, err := e.view(ctx, "Thread pools", "SELECT * FROM system_views.thread_pools", parameters.Limit,
		viewColumn{"name", "Pool", agent.Text}, viewColumn{"active_tasks", "Active", agent.Count}, viewColumn{"active_tasks_limit", "At most", agent.Count},
		viewColumn{"pending_tasks", "Pending", agent.Count}, viewColumn{"blocked_tasks", "Blocked", agent.Count},
		viewColumn{"blocked_tasks_all_time", "Blocked ever", agent.Count}, viewColumn{"completed_tasks", "Completed", agent.Count})
	if err != nil {
		return agent.Answer{}, err
	}
	dropped := map[string]int64{}
	if err := e.management.Do(ctx, jolokia.Read(messagingService, "DroppedMessages"), &dropped); err != nil {
		return agent.Answer{}, err
	}
	var rows [][]any
	for _, name := range slices.Sorted(maps.Keys(dropped)) {
		rows = append(rows, []any{name, dropped[name]})
	}
	messages := agent.Told("Dropped messages", []agent.AnswerColumn{column("Message", agent.Text), column("Dropped", agent.Count)}, rows, len(rows))
	return agent.Answer{Tables: []agent.AnswerTable{pools, messages}, Notes: []string{"All counts are since the engine started."}}, nil
}

// askCompactions is what `nodetool compactionstats` tells.
func (e *Engine) askCompactions(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	tasks, err := e.view(ctx, "Running", "SELECT * FROM system_views.sstable_tasks", parameters.Limit,
		viewColumn{"keyspace_name", "Keyspace", agent.Text}, viewColumn{"table_name", "Table", agent.Text}, viewColumn{"kind", "Kind", agent.Text},
		viewColumn{"completion_ratio", "Done", agent.Ratio}, viewColumn{"progress", "So far", agent.Count}, viewColumn{"total", "Of", agent.Count},
		viewColumn{"unit", "Unit", agent.Text}, viewColumn{"sstables", "SSTables", agent.Count})
	if err != nil {
		return agent.Answer{}, err
	}
	var pending, completed float64
	var rate float64
	calls := []jolokia.Call{
		jolokia.Read(metric("Compaction", "PendingTasks"), "Value"), jolokia.Read(metric("Compaction", "CompletedTasks"), "Value"),
		jolokia.Read(storageService, compactionRate),
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return agent.Answer{}, err
	}
	for index, into := range []*float64{&pending, &completed, &rate} {
		if err := answers[index].Into(into); err != nil {
			return agent.Answer{}, err
		}
	}
	return agent.Answer{
		Facts: []agent.AnswerFact{
			fact("Pending", agent.Count, pending), fact("Completed since the start", agent.Count, completed),
			fact("Limit per second", agent.Bytes, rate*(1<<20)),
		},
		Tables: []agent.AnswerTable{tasks},
	}, nil
}

// askStreams is what `nodetool netstats` tells.
func (e *Engine) askStreams(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	streams, err := e.view(ctx, "Streams", "SELECT * FROM system_views.streaming", parameters.Limit,
		viewColumn{"operation", "For", agent.Text}, viewColumn{"peers", "With", agent.Text}, viewColumn{"status", "State", agent.Text},
		viewColumn{"progress_percentage", "Percent", agent.Count}, viewColumn{"bytes_received", "Received", agent.Bytes},
		viewColumn{"bytes_to_receive", "To receive", agent.Bytes}, viewColumn{"bytes_sent", "Sent", agent.Bytes},
		viewColumn{"bytes_to_send", "To send", agent.Bytes}, viewColumn{"failure_cause", "Failed because", agent.Text})
	if err != nil {
		return agent.Answer{}, err
	}
	outbound, err := e.view(ctx, "Messages to other nodes", "SELECT * FROM system_views.internode_outbound", parameters.Limit,
		viewColumn{"address", "Node", agent.Text}, viewColumn{"dc", "Data centre", agent.Text}, viewColumn{"sent_count", "Sent", agent.Count},
		viewColumn{"sent_bytes", "Sent bytes", agent.Bytes}, viewColumn{"pending_count", "Pending", agent.Count},
		viewColumn{"expired_count", "Expired", agent.Count}, viewColumn{"error_count", "Failed", agent.Count},
		viewColumn{"overload_count", "Refused when full", agent.Count}, viewColumn{"successful_connection_attempts", "Connections made", agent.Count})
	if err != nil {
		return agent.Answer{}, err
	}
	hints, err := e.view(ctx, "Hints that wait", "SELECT * FROM system_views.pending_hints", parameters.Limit,
		viewColumn{"address", "For", agent.Text}, viewColumn{"files", "Files", agent.Count}, viewColumn{"oldest", "Oldest", agent.Moment},
		viewColumn{"newest", "Newest", agent.Moment})
	return agent.Answer{Tables: []agent.AnswerTable{streams, outbound, hints}, Notes: []string{
		"Streams that have ended are remembered for a while. Counts of messages are since the engine started.",
	}}, err
}

// askClients is what `nodetool clientstats --all` tells.
func (e *Engine) askClients(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	clients, err := e.view(ctx, "CQL connections", "SELECT * FROM system_views.clients", parameters.Limit,
		viewColumn{"address", "From", agent.Text}, viewColumn{"port", "Port", agent.Text}, viewColumn{"username", "Role", agent.Text},
		viewColumn{"driver_name", "Driver", agent.Text}, viewColumn{"driver_version", "Version", agent.Text},
		viewColumn{"protocol_version", "Protocol", agent.Count}, viewColumn{"keyspace_name", "Keyspace", agent.Text},
		viewColumn{"request_count", "Requests", agent.Count}, viewColumn{"ssl_protocol", "TLS", agent.Text},
		viewColumn{"ssl_cipher_suite", "Cipher", agent.Text})
	return agent.Answer{
		Facts:  []agent.AnswerFact{fact("Connections", agent.Count, len(clients.Rows)+clients.Left)},
		Tables: []agent.AnswerTable{clients},
		Notes:  []string{"The role ringmaster is the control plane's own agent on the node."},
	}, err
}

// askMemory tells of the heap and of the collectors, and which pauses the engine logged.
func (e *Engine) askMemory(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	type usage struct{ Used, Committed, Max float64 }
	var heap, other usage
	var threads, peak, started float64
	collectors := map[string]map[string]float64{}
	reading := []struct {
		call jolokia.Call
		into any
	}{
		{jolokia.Read(memoryBean, "HeapMemoryUsage"), &heap}, {jolokia.Read(memoryBean, "NonHeapMemoryUsage"), &other},
		{jolokia.Read(threadingBean, "ThreadCount"), &threads}, {jolokia.Read(threadingBean, "PeakThreadCount"), &peak},
		{jolokia.Read(jvmRuntime, "StartTime"), &started},
	}
	var calls []jolokia.Call
	for _, one := range reading {
		calls = append(calls, one.call)
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return agent.Answer{}, err
	}
	for index, one := range reading {
		if err := answers[index].Into(one.into); err != nil {
			return agent.Answer{}, err
		}
	}
	for _, attribute := range []string{"CollectionCount", "CollectionTime"} {
		found := map[string]map[string]float64{}
		if err := e.management.Do(ctx, jolokia.Read(collectorBeans, attribute), &found); err != nil {
			return agent.Answer{}, err
		}
		for bean, values := range found {
			if collectors[bean] == nil {
				collectors[bean] = map[string]float64{}
			}
			maps.Copy(collectors[bean], values)
		}
	}
	up := time.Since(time.UnixMilli(int64(started))).Seconds()
	var rows [][]any
	for _, bean := range slices.Sorted(maps.Keys(collectors)) {
		spent := collectors[bean]["CollectionTime"] / 1000
		rows = append(rows, []any{beanName(bean), collectors[bean]["CollectionCount"], spent, spent / max(up, 1)})
	}
	pauses, err := loggedPauses(e.place.systemLog(), parameters.Limit)
	if err != nil {
		return agent.Answer{}, err
	}
	return agent.Answer{
		Facts: []agent.AnswerFact{
			fact("Heap in use", agent.Bytes, heap.Used), fact("Heap at most", agent.Bytes, heap.Max), fact("Other JVM memory", agent.Bytes, other.Used),
			fact("Threads", agent.Count, threads), fact("Threads at most so far", agent.Count, peak), fact("Running for", agent.Seconds, up),
		},
		Tables: []agent.AnswerTable{
			agent.Told("Collectors since the start", []agent.AnswerColumn{
				column("Collector", agent.Text), column("Collections", agent.Count), column("Time", agent.Seconds), column("Share of the time", agent.Ratio),
			}, rows, len(rows)),
			pauses,
		},
		Notes: []string{"The engine logs pauses of 200 ms and more; shorter ones are in the totals only."},
	}, nil
}

// beanName is the name of a bean such as java.lang:name=Copy,type=GarbageCollector.
func beanName(bean string) string {
	for part := range strings.SplitSeq(bean[strings.IndexByte(bean, ':')+1:], ",") {
		if name, found := strings.CutPrefix(part, "name="); found {
			return name
		}
	}
	return bean
}

// samplers are what the engine can watch in passing, with what they count.
var samplers = []struct {
	name, title, counts string
	unit                agent.Unit
}{
	{"READS", "Most read", "Reads", agent.Count},
	{"WRITES", "Most written", "Writes", agent.Count},
	{"READ_TOMBSTONE_COUNT", "Most tombstones read", "Tombstones", agent.Count},
	{"READ_SSTABLE_COUNT", "Most SSTables read", "SSTables", agent.Count},
	{"CAS_CONTENTIONS", "Most contended for by LWT", "Contentions", agent.Count},
	{"LOCAL_READ_TIME", "Slowest local reads", "Time", agent.Milliseconds},
	{"WRITE_SIZE", "Largest writes", "Size", agent.Bytes},
}

// askHotPartitions is what `nodetool profileload` tells: it watches what passes for some seconds.
func (e *Engine) askHotPartitions(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	const capacity, wanted = 256, 20
	names := make([]string, len(samplers))
	for index, sampler := range samplers {
		names[index] = sampler.name
	}
	var keyspace any
	if parameters.Keyspace != "" {
		keyspace = parameters.Keyspace
	}
	report(0, "Watching which partitions are asked for")
	var found map[string][]map[string]any
	err := e.exec(ctx, &found, storageService, samplingOperation, keyspace, parameters.Seconds*1000, capacity, wanted, names)
	if err != nil {
		if refusal := jolokia.Refusal(err); refusal != nil && strings.Contains(refusal.Message, "already running") {
			return agent.Answer{}, agent.Errorf("already-sampling", "Somebody else samples this node's partitions right now. Ask again when that is over.")
		}
		return agent.Answer{}, err
	}
	answer := agent.Answer{
		Facts: []agent.AnswerFact{fact("Watched for", agent.Seconds, parameters.Seconds)},
		Notes: []string{"Sampled on this node alone: a partition is asked for on each of its replicas. Counts of reads and writes are estimates."},
	}
	for _, sampler := range samplers {
		var rows [][]any
		for _, one := range found[sampler.name] {
			table, _ := one["table"].(string)
			if parameters.Table != "" && table != parameters.Table && !strings.HasSuffix(table, "."+parameters.Table) {
				continue
			}
			value, _ := number(one["count"])
			if sampler.unit == agent.Milliseconds {
				value /= 1000
			}
			rows = append(rows, []any{table, one["value"], value, one["error"]})
		}
		if len(rows) > 0 {
			answer.Tables = append(answer.Tables, agent.Told(sampler.title, []agent.AnswerColumn{
				column("Table", agent.Text), column("What", agent.Text), column(sampler.counts, sampler.unit), column("± at most", agent.Count),
			}, rows, wanted))
		}
	}
	if len(answer.Tables) == 0 {
		answer.Notes = append(answer.Notes, "Nothing was read or written here meanwhile.")
	}
	return answer, nil
}

// viewColumn is a column of a virtual table, and what we call it.
type viewColumn struct {
	name, title string
	unit        agent.Unit
}

// view tells what a statement gives.
func (e *Engine) view(ctx context.Context, title, statement string, limit int, wanted ...viewColumn) (agent.AnswerTable, error) {
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.AnswerTable{}, err
	}
	found, err := conn.Query(ctx, cql.One, statement)
	if err != nil {
		return agent.AnswerTable{}, err
	}
	columns := make([]agent.AnswerColumn, len(wanted))
	for index, one := range wanted {
		columns[index] = column(one.title, one.unit)
	}
	var rows [][]any
	for _, row := range found {
		values := make([]any, len(wanted))
		for index, one := range wanted {
			values[index] = plainValue(row, one)
		}
		rows = append(rows, values)
	}
	return agent.Told(title, columns, rows, limit), nil
}

// plainValue is a column as its unit says; nil when it is null.
func plainValue(row cql.Row, wanted viewColumn) any {
	switch value := row[wanted.name].(type) {
	case nil, bool:
		return value
	case time.Time:
		return value.Format(time.RFC3339)
	default:
		if wanted.unit != agent.Text {
			if figure, known := number(value); known {
				return figure
			}
			return nil
		}
		if figure, known := number(value); known {
			return plainNumber(figure)
		}
		if texts := row.Texts(wanted.name); len(texts) > 0 {
			return strings.Join(texts, ", ")
		}
		return row.Text(wanted.name)
	}
}

// number is a figure of CQL or JSON.
func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case int32:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

func plainNumber(figure float64) string { return strconv.FormatFloat(figure, 'f', -1, 64) }
