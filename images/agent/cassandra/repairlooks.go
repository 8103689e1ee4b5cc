package cassandra

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/jolokia"
)

// answerWithin is how long a read may make its caller wait.
const answerWithin = 2 * time.Second

// repairRow is what the engine tells of a repair that it coordinates or has coordinated; nil when it has forgotten it.
func repairRow(ctx context.Context, conn *cql.Conn, command int) (cql.Row, error) {
	rows, err := conn.Query(ctx, cql.One, "SELECT id, command_id, failure_cause, sessions, table_names, options_column_families "+
		"FROM system_views.repairs WHERE command_id = "+strconv.Itoa(command)+" ALLOW FILTERING")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// sessionsOf are the parts of a repair, one for each table and set of replicas: those that are done, and all.
func sessionsOf(ctx context.Context, conn *cql.Conn, row cql.Row) (done, all int) {
	all = max(1, len(row.Texts("sessions"))) * max(1, len(row.Texts("options_column_families")))
	jobs, err := conn.Query(ctx, cql.One, "SELECT completed FROM system_views.repair_jobs WHERE repair_id = "+row.Text("id")+" AND completed = true ALLOW FILTERING")
	if err != nil {
		return 0, all
	}
	return min(len(jobs), all), all
}

func share(done, all int) float64 { return float64(done) / float64(max(1, all)) }

// runningRepairs are those that the node coordinates, and those that it takes part in, its own too.
func runningRepairs(ctx context.Context, conn *cql.Conn) (coordinated, partaken cql.Rows, err error) {
	coordinated, err = conn.Query(ctx, cql.One, "SELECT id, command_id, keyspace_name, table_names, options_column_families, sessions, status, "+
		"state_init_timestamp FROM system_views.repairs WHERE completed = false ALLOW FILTERING")
	if err != nil {
		return nil, nil, err
	}
	partaken, err = conn.Query(ctx, cql.One, "SELECT id, initiator, tables, state_init_timestamp FROM system_views.repair_participates WHERE completed = false ALLOW FILTERING")
	return coordinated, partaken, err
}

// Repairs implements agent.Engine.
func (e *Engine) Repairs(ctx context.Context) (agent.RepairActivity, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	told := agent.RepairActivity{Repairs: []agent.RunningRepair{}}
	conn, err := e.asked(ctx)
	if err != nil {
		return told, err
	}
	started, err := e.engineStartedAt(ctx)
	if err != nil {
		return told, reached(err)
	}
	told.EngineStartedAt = time.UnixMilli(started).UTC()
	config, err := e.configured()
	if err != nil {
		return told, err
	}
	coordinated, partaken, err := runningRepairs(ctx, conn)
	if err != nil {
		return told, err
	}
	begun, seen := e.begunRepairs(started), map[string]bool{}
	for _, row := range coordinated {
		command, _ := row["command_id"].(int32)
		done, all := sessionsOf(ctx, conn, row)
		tables := row.Texts("table_names")
		if len(tables) == 0 {
			tables = row.Texts("options_column_families")
		}
		slices.Sort(tables)
		seen[row.Text("id")] = true
		told.Repairs = append(told.Repairs, agent.RunningRepair{
			ID: row.Text("id"), Job: begun[int(command)].job, Command: int(command), Coordinator: config.Address, Keyspace: row.Text("keyspace_name"),
			Tables: tables, State: strings.ToUpper(row.Text("status")), Progress: share(done, all), Since: momentOf(row, "state_init_timestamp"),
		})
	}
	for _, row := range partaken {
		if seen[row.Text("id")] {
			continue
		}
		// Names of tables come with their keyspace's.
		one := agent.RunningRepair{ID: row.Text("id"), Tables: []string{}, State: "PARTICIPATING", Since: momentOf(row, "state_init_timestamp")}
		one.Coordinator = addressOf(row.Text("initiator"))
		for _, name := range row.Texts("tables") {
			keyspace, table, _ := strings.Cut(name, ".")
			one.Keyspace = keyspace
			one.Tables = append(one.Tables, table)
		}
		slices.Sort(one.Tables)
		told.Repairs = append(told.Repairs, one)
	}
	slices.SortFunc(told.Repairs, func(a, b agent.RunningRepair) int { return strings.Compare(a.ID, b.ID) })
	return told, nil
}

func momentOf(row cql.Row, column string) *time.Time {
	if at, known := row[column].(time.Time); known {
		return &at
	}
	return nil
}

// addressOf is the address in what the engine writes as /127.0.0.1:7000, with or without what is before the slash.
func addressOf(text string) string {
	text = text[strings.LastIndexByte(text, '/')+1:]
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return text
}

// asked is the session of a read. Error codes: engine-not-running, control-unknown.
func (e *Engine) asked(ctx context.Context) (*cql.Conn, error) {
	if err := e.running(); err != nil {
		return nil, err
	}
	conn, err := e.control.again(ctx)
	if err != nil && passes(err) {
		return nil, agent.Errorf("engine-not-running", "The engine does not take requests: %v", err)
	}
	return conn, err
}

// Load implements agent.Engine.
func (e *Engine) Load(ctx context.Context) (agent.Load, error) {
	machine := e.Machine(ctx)
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.Load{}, err
	}
	told := agent.Load{Disk: machine.Disk}
	var started int64
	var pending, reads, writes, received, sent, stream, compaction float64
	var dropped map[string]int64
	var plans []plan
	reading := []struct {
		call jolokia.Call
		into any
		// metric: made by the first use.
		metric bool
	}{
		{call: jolokia.Read(jvmRuntime, "StartTime"), into: &started},
		{call: jolokia.Read(messagingService, "DroppedMessages"), into: &dropped},
		{call: jolokia.Read(streamManager, "CurrentStreams"), into: &plans},
		{call: jolokia.Read(storageService, streamRate), into: &stream},
		{call: jolokia.Read(storageService, compactionRate), into: &compaction},
		{call: jolokia.Read(metric("Compaction", "PendingTasks"), "Value"), into: &pending, metric: true},
		{call: jolokia.Read(metric("ClientRequest", "Latency", "scope=Read"), "99thPercentile"), into: &reads, metric: true},
		{call: jolokia.Read(metric("ClientRequest", "Latency", "scope=Write"), "99thPercentile"), into: &writes, metric: true},
		{call: jolokia.Read(streamCounter(inward), "Count"), into: &received, metric: true},
		{call: jolokia.Read(streamCounter(outward), "Count"), into: &sent, metric: true},
	}
	calls := make([]jolokia.Call, len(reading))
	for index, one := range reading {
		calls[index] = one.call
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return agent.Load{}, reached(err)
	}
	for index, one := range reading {
		if err := answers[index].Into(one.into); err != nil && !(one.metric && jolokia.Missing(err)) {
			return agent.Load{}, err
		}
	}
	const microsecondsPerMS = 1000
	told.EngineStartedAt = time.UnixMilli(started).UTC()
	told.PendingCompactions, told.Streams = int(pending), len(plans)
	told.ReadP99MS, told.WriteP99MS = reads/microsecondsPerMS, writes/microsecondsPerMS
	told.StreamedInBytes, told.StreamedOutBytes = int64(received), int64(sent)
	told.Throughput = agent.Throughput{StreamMiBS: int(math.Ceil(stream)), CompactionMiBS: int(math.Ceil(compaction))}
	for _, count := range dropped {
		told.DroppedMessages += count
	}
	hints, err := conn.Query(ctx, cql.One, "SELECT files FROM system_views.pending_hints")
	if err != nil {
		return agent.Load{}, err
	}
	for _, row := range hints {
		files, _ := row["files"].(int32)
		told.HintFiles += int64(files)
	}
	tables, err := conn.Query(ctx, cql.One, "SELECT mebibytes FROM system_views.disk_usage")
	if err != nil {
		return agent.Load{}, err
	}
	for _, row := range tables {
		// Rounded up by the engine.
		size, _ := row["mebibytes"].(int64)
		told.LargestTableBytes = max(told.LargestTableBytes, size<<20)
	}
	return told, nil
}

// heldRange is a range with the addresses of those that hold it.
type heldRange struct {
	agent.TokenRange
	addresses []string
}

// replicaRanges are those of a keyspace, in the order of their ends. Error code: unknown-keyspace.
func (e *Engine) replicaRanges(ctx context.Context, keyspace string) ([]heldRange, error) {
	var told map[string][]string
	err := e.management.Do(ctx, jolokia.Exec(storageService, rangesOperation, keyspace), &told)
	if refusal := jolokia.Refusal(err); refusal != nil {
		return nil, agent.Errorf("unknown-keyspace", "The engine has no ranges of %s: %s", keyspace, shortened(refusal.Message))
	}
	if err != nil {
		return nil, err
	}
	return parseRanges(told)
}

// parseRanges reads ranges that are written "[start, end]", and replicas with their ports.
func parseRanges(told map[string][]string) ([]heldRange, error) {
	ranges := make([]heldRange, 0, len(told))
	ends := make(map[string]int64, len(told))
	for text, replicas := range told {
		start, end, found := strings.Cut(strings.Trim(text, "[]"), ", ")
		number, err := strconv.ParseInt(end, 10, 64)
		if !found || err != nil {
			return nil, fmt.Errorf("unreadable range %q", text)
		}
		one := heldRange{TokenRange: agent.TokenRange{Start: start, End: end}, addresses: make([]string, len(replicas))}
		for index, replica := range replicas {
			one.addresses[index] = addressOf(replica)
		}
		ranges = append(ranges, one)
		ends[end] = number
	}
	slices.SortFunc(ranges, func(a, b heldRange) int { return cmp.Compare(ends[a.End], ends[b.End]) })
	return ranges, nil
}

// KeyspaceRing implements agent.Engine. All tables of a keyspace are spread alike.
func (e *Engine) KeyspaceRing(ctx context.Context, keyspace, _ string) (agent.KeyspaceRing, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	told := agent.KeyspaceRing{Keyspace: keyspace, Nodes: []agent.RingNode{}, Ranges: []agent.ReplicaRange{}}
	conn, err := e.asked(ctx)
	if err != nil {
		return told, err
	}
	if _, err := cqlschema.ReadReplication(ctx, conn, keyspace); err != nil {
		return told, err
	}
	config, err := e.configured()
	if err != nil {
		return told, err
	}
	ring, err := e.readRing(ctx, conn)
	if err != nil {
		return told, err
	}
	told.Nodes = append(told.Nodes, agent.RingNode{HostID: ring.HostID, Address: config.Address, Datacenter: ring.Datacenter, Rack: ring.Rack})
	for _, peer := range ring.Peers {
		if peer.Status != "JOINING" {
			told.Nodes = append(told.Nodes, agent.RingNode{HostID: peer.HostID, Address: peer.Address, Datacenter: peer.Datacenter, Rack: peer.Rack})
		}
	}
	ranges, err := e.replicaRanges(ctx, keyspace)
	if err != nil {
		return told, reached(err)
	}
	told.Ranges, err = agent.WithReplicas(told.Nodes, ranges, func(one heldRange) (agent.TokenRange, []string) { return one.TokenRange, one.addresses })
	return told, err
}

// Tables implements agent.Engine.
func (e *Engine) Tables(ctx context.Context) (agent.Schema, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if _, err := e.asked(ctx); err != nil {
		return agent.Schema{}, err
	}
	found, err := e.schema(ctx)
	return found, reached(err)
}

// schema is all that other nodes have too, with this node's share. It is every account's to read.
func (e *Engine) schema(ctx context.Context) (agent.Schema, error) {
	conn, err := e.control.again(ctx)
	if err != nil {
		return agent.Schema{}, err
	}
	told := agent.Schema{Keyspaces: []agent.KeyspaceFacts{}, Tables: []agent.TableFacts{}}
	keyspaces, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, replication FROM system_schema.keyspaces")
	if err != nil {
		return agent.Schema{}, err
	}
	for _, row := range keyspaces {
		name, found := row.Text("keyspace_name"), cqlschema.ParseReplication(row)
		if !slices.Contains(localKeyspaces, name) {
			told.Keyspaces = append(told.Keyspaces, agent.KeyspaceFacts{Name: name, Class: found.Class, Replication: found.Factors, System: cqlschema.IsSystem(name)})
		}
	}
	views := map[string][]string{}
	for _, about := range []struct{ columns, table string }{
		{"view_name AS table_name, base_table_name", "views"}, {"table_name", "tables"},
	} {
		rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, id, compaction, default_time_to_live, gc_grace_seconds, cdc, "+about.columns+
			" FROM system_schema."+about.table)
		if err != nil {
			return agent.Schema{}, err
		}
		for _, row := range rows {
			facts := tableFacts(row)
			if facts.ViewOf != "" {
				base := facts.Keyspace + "." + facts.ViewOf
				views[base] = append(views[base], facts.Table)
			}
			facts.Views = append(facts.Views, views[facts.Keyspace+"."+facts.Table]...)
			if !slices.Contains(localKeyspaces, facts.Keyspace) {
				told.Tables = append(told.Tables, facts)
			}
		}
	}
	slices.SortFunc(told.Tables, func(a, b agent.TableFacts) int {
		return cmp.Or(strings.Compare(a.Keyspace, b.Keyspace), strings.Compare(a.Table, b.Table))
	})
	return told, e.measure(ctx, told.Tables)
}

// tableFacts reads a row of the schema.
func tableFacts(row cql.Row) agent.TableFacts {
	compaction, _ := row["compaction"].(map[string]any)
	class, _ := compaction["class"].(string)
	ttl, _ := row["default_time_to_live"].(int32)
	grace, _ := row["gc_grace_seconds"].(int32)
	return agent.TableFacts{
		Keyspace: row.Text("keyspace_name"), Table: row.Text("table_name"), ID: row.Text("id"), Compaction: class[strings.LastIndexByte(class, '.')+1:],
		DefaultTTLSeconds: int64(ttl), GCGraceSeconds: int64(grace), ViewOf: row.Text("base_table_name"), Views: []string{}, CDC: row.Bool("cdc"),
	}
}

// measure puts in what this node has of the tables.
func (e *Engine) measure(ctx context.Context, tables []agent.TableFacts) error {
	figures := []struct{ metric, attribute string }{
		{"LiveDiskSpaceUsed", "Count"}, {"AllMemtablesLiveDataSize", "Value"}, {"EstimatedPartitionCount", "Value"}, {"BytesUnrepaired", "Value"},
		{"PercentRepaired", "Value"},
	}
	var calls []jolokia.Call
	for _, table := range tables {
		for _, figure := range figures {
			calls = append(calls, jolokia.Read(metric("Table", figure.metric, "keyspace="+table.Keyspace, "scope="+table.Table), figure.attribute))
		}
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return err
	}
	for index := range tables {
		var onDisk, inMemory, partitions, unrepaired, percent float64
		for offset, into := range []*float64{&onDisk, &inMemory, &partitions, &unrepaired, &percent} {
			var value json.Number
			// A table that was just dropped has none.
			if err := answers[len(figures)*index+offset].Into(&value); err != nil && !jolokia.Missing(err) {
				return err
			}
			*into, _ = value.Float64()
		}
		one := &tables[index]
		one.Bytes, one.Partitions, one.UnrepairedBytes, one.PercentRepaired = int64(onDisk+inMemory), int64(partitions), int64(unrepaired), percent
	}
	return nil
}
