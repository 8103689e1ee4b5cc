package cassandra

import (
	"cmp"
	"context"
	"slices"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
)

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
