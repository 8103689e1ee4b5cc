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

func (e *Engine) inspect(ctx context.Context, _ Nothing, _ agent.Report) (agent.Inspection, error) {
	if err := e.running(); err != nil {
		return agent.Inspection{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := agent.Inspection{}
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
		return agent.Inspection{}, err
	}
	const microsecondsPerMS = 1000
	found.PendingCompactions = int(compactions)
	found.Client = agent.ClientRequests{
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

// localKeyspaces are each node's own.
var localKeyspaces = []string{"system", "system_schema"}

func (e *Engine) describeData(ctx context.Context, _ Nothing, _ agent.Report) (agent.DataDescription, error) {
	if err := e.running(); err != nil {
		return agent.DataDescription{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var tables []agent.TableData
	err := e.untilAnswered(ctx, func() (err error) {
		tables, err = e.tables(ctx)
		return err
	})
	return agent.DataDescription{Tables: tables}, err
}

func (e *Engine) tables(ctx context.Context) ([]agent.TableData, error) {
	found, err := e.schema(ctx)
	if err != nil {
		return nil, err
	}
	tables := make([]agent.TableData, len(found.Tables))
	for index, table := range found.Tables {
		tables[index] = agent.TableData{Keyspace: table.Keyspace, Table: table.Table, Bytes: table.Bytes, Partitions: table.Partitions}
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
