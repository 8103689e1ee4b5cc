package cassandra

import (
	"context"
	"maps"
	"slices"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
)

// Inspection is the result of the job inspect: what a careful operator looks at before touching a ring.
type Inspection struct {
	Mode        string   `json:"mode"`
	Unreachable []string `json:"unreachable"`
	Joining     []string `json:"joining"`
	Leaving     []string `json:"leaving"`
	Moving      []string `json:"moving"`
	// RepairsRunning counts those that this node coordinates.
	RepairsRunning     int            `json:"repairs_running"`
	PendingCompactions int            `json:"pending_compactions"`
	Client             ClientRequests `json:"client"`
}

// ClientRequests are counters since the engine started, of requests that this node coordinated. The latencies are the
// engine's own, which weigh the last minutes most.
type ClientRequests struct {
	Reads        int64   `json:"reads"`
	Writes       int64   `json:"writes"`
	Timeouts     int64   `json:"timeouts"`
	Unavailables int64   `json:"unavailables"`
	Failures     int64   `json:"failures"`
	ReadP99MS    float64 `json:"read_p99_ms"`
	WriteP99MS   float64 `json:"write_p99_ms"`
}

func (e *Engine) inspect(ctx context.Context, _ Nothing, _ agent.Report) (Inspection, error) {
	if err := e.running(); err != nil {
		return Inspection{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := Inspection{}
	type counter struct {
		bean, attribute string
		into            *float64
	}
	var reads, writes, timeouts, unavailables, failures, compactions, readP99, writeP99 float64
	var counters []counter
	scopes := map[string]*float64{
		"Read": &reads, "RangeSlice": &reads, "CASRead": &reads, "Write": &writes, "CASWrite": &writes,
	}
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		bean := func(name string) string { return metric("ClientRequest", name, "scope="+scope) }
		counters = append(counters, counter{bean("Latency"), "Count", scopes[scope]}, counter{bean("Timeouts"), "Count", &timeouts},
			counter{bean("Unavailables"), "Count", &unavailables}, counter{bean("Failures"), "Count", &failures})
	}
	counters = append(counters,
		counter{metric("Compaction", "PendingTasks"), "Value", &compactions},
		counter{metric("ClientRequest", "Latency", "scope=Read"), "99thPercentile", &readP99},
		counter{metric("ClientRequest", "Latency", "scope=Write"), "99thPercentile", &writeP99})
	lists := []struct {
		attribute string
		into      any
	}{
		{"OperationMode", &found.Mode}, {"UnreachableNodes", &found.Unreachable}, {"JoiningNodes", &found.Joining},
		{"LeavingNodes", &found.Leaving}, {"MovingNodes", &found.Moving},
	}
	// Not SchemaVersions: the engine asks every node for it and waits 10 s for one that has just died.
	var calls []jolokia.Call
	for _, list := range lists {
		calls = append(calls, jolokia.Read(storageService, list.attribute))
	}
	for _, one := range counters {
		calls = append(calls, jolokia.Read(one.bean, one.attribute))
	}
	err := e.untilAnswered(ctx, func() error {
		answers, err := e.management.Batch(ctx, calls)
		if err != nil {
			return err
		}
		for index, list := range lists {
			if err := answers[index].Into(list.into); err != nil {
				return err
			}
		}
		for index, one := range counters {
			var value float64
			// A kind of request that there was none of yet has no figures.
			if err := answers[len(lists)+index].Into(&value); err == nil {
				*one.into += value
			}
		}
		return nil
	})
	if err != nil {
		return Inspection{}, err
	}
	const microsecondsPerMS = 1000
	found.PendingCompactions = int(compactions)
	found.Client = ClientRequests{
		Reads: int64(reads), Writes: int64(writes), Timeouts: int64(timeouts), Unavailables: int64(unavailables), Failures: int64(failures),
		ReadP99MS: readP99 / microsecondsPerMS, WriteP99MS: writeP99 / microsecondsPerMS,
	}
	found.RepairsRunning = e.repairsRunning(ctx)
	return found, nil
}

// repairsRunning is 0 while the engine takes no CQL, as then it coordinates none.
func (e *Engine) repairsRunning(ctx context.Context) int {
	conn, err := e.control.again(ctx)
	if err != nil {
		return 0
	}
	rows, err := conn.Query(ctx, cql.One, "SELECT completed FROM system_views.repairs")
	if err != nil {
		return 0
	}
	running := 0
	for _, row := range rows {
		if !row.Bool("completed") {
			running++
		}
	}
	return running
}

// DataDescription is the result of the job describe-data.
type DataDescription struct {
	Tables []TableData `json:"tables"`
}

// TableData is this node's own share of a table.
type TableData struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	// Bytes on disk and in memory, as the engine counts them. Partitions are the engine's estimate.
	Bytes      int64 `json:"bytes"`
	Partitions int64 `json:"partitions"`
}

// localKeyspaces are each node's own.
var localKeyspaces = []string{"system", "system_schema"}

func (e *Engine) describeData(ctx context.Context, _ Nothing, _ agent.Report) (DataDescription, error) {
	if err := e.running(); err != nil {
		return DataDescription{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var tables []TableData
	err := e.untilAnswered(ctx, func() (err error) {
		tables, err = e.tables(ctx)
		return err
	})
	return DataDescription{Tables: tables}, err
}

func (e *Engine) tables(ctx context.Context) ([]TableData, error) {
	conn, err := e.control.again(ctx)
	if err != nil {
		return nil, err
	}
	// The schema is every account's to read; the tables are not.
	rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, table_name FROM system_schema.tables")
	if err != nil {
		return nil, err
	}
	tables := []TableData{}
	var calls []jolokia.Call
	for _, row := range rows {
		keyspace, table := row.Text("keyspace_name"), row.Text("table_name")
		if slices.Contains(localKeyspaces, keyspace) {
			continue
		}
		bean := func(name string) string { return metric("Table", name, "keyspace="+keyspace, "scope="+table) }
		tables = append(tables, TableData{Keyspace: keyspace, Table: table})
		calls = append(calls, jolokia.Read(bean("LiveDiskSpaceUsed"), "Count"), jolokia.Read(bean("AllMemtablesLiveDataSize"), "Value"),
			jolokia.Read(bean("EstimatedPartitionCount"), "Value"))
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return nil, err
	}
	for index := range tables {
		var onDisk, inMemory, partitions float64
		for offset, into := range []*float64{&onDisk, &inMemory, &partitions} {
			// A table that was just dropped has none.
			if err := answers[3*index+offset].Into(into); err != nil && !jolokia.Missing(err) {
				return nil, err
			}
		}
		tables[index].Bytes, tables[index].Partitions = int64(onDisk+inMemory), int64(partitions)
	}
	return tables, nil
}

// keyspaceSizes are bytes by keyspace, empty when they cannot be known: they only weigh progress.
func (e *Engine) keyspaceSizes(ctx context.Context) map[string]int64 {
	sizes := map[string]int64{}
	tables, err := e.tables(ctx)
	if err != nil {
		return sizes
	}
	for _, table := range tables {
		sizes[table.Keyspace] += table.Bytes
	}
	return sizes
}
