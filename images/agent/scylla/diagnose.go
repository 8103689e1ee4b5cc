package scylla

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/scyllaapi"
)

type asker func(*Engine, context.Context, agent.DiagnoseParameters) (agent.Answer, error)

// askers are the questions that ScyllaDB's REST API has an answer to.
var askers = map[agent.Question]asker{
	agent.AskStatus:          (*Engine).askStatus,
	agent.AskRing:            (*Engine).askRing,
	agent.AskTableStatistics: (*Engine).askTableStatistics,
	agent.AskCompactions:     (*Engine).askCompactions,
	agent.AskStreams:         (*Engine).askStreams,
}

// diagnose answers one question. Error codes: invalid-parameters, not-supported, engine-not-running, management-unreachable, unknown-table.
func (e *Engine) diagnose(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	if err := parameters.Check(); err != nil {
		return agent.Answer{}, err
	}
	ask, known := askers[parameters.Question]
	if !known {
		return agent.Answer{}, agent.Errorf("not-supported", "ScyllaDB cannot be asked %q from here; use its own tools on the node.", parameters.Question)
	}
	if err := e.isRunning(); err != nil {
		return agent.Answer{}, err
	}
	const longest = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	answer, err := ask(e, ctx, parameters)
	answer.TakenAt = time.Now().UTC()
	return answer, err
}

func column(title string, unit agent.Unit) agent.AnswerColumn {
	return agent.AnswerColumn{Title: title, Unit: unit}
}

func fact(label string, unit agent.Unit, value any) agent.AnswerFact {
	return agent.AnswerFact{Label: label, Unit: unit, Value: value}
}

// askStatus is the ring as this node sees it.
func (e *Engine) askStatus(ctx context.Context, _ agent.DiagnoseParameters) (agent.Answer, error) {
	ring, err := e.readRing(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	mode, err := e.api.Mode(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	config, err := e.configured()
	if err != nil {
		return agent.Answer{}, err
	}
	rows := [][]any{{config.Address, true, mode, ring.Datacenter, ring.Rack, ring.HostID, ring.SchemaVersion}}
	for _, peer := range ring.Peers {
		rows = append(rows, []any{peer.Address, peer.Up, peer.Status, peer.Datacenter, peer.Rack, peer.HostID, peer.SchemaVersion})
	}
	columns := []agent.AnswerColumn{
		column("Address", agent.Text), column("Up", agent.Flag), column("State", agent.Text), column("Data centre", agent.Text),
		column("Rack", agent.Text), column("Host id", agent.Text), column("Schema", agent.Text),
	}
	facts := []agent.AnswerFact{fact("Mode", agent.Text, mode), fact("Tokens", agent.Count, len(ring.Tokens))}
	if disk := e.Machine(ctx).Disk; disk != nil {
		facts = append(facts, fact("Free on the disk", agent.Bytes, disk.FreeBytes), fact("Size of the disk", agent.Bytes, disk.TotalBytes))
	}
	return agent.Answer{Facts: facts, Tables: []agent.AnswerTable{agent.Told("Ring as this node sees it", columns, rows, len(rows))}}, nil
}

// askRing tells who holds which range.
func (e *Engine) askRing(ctx context.Context, parameters agent.DiagnoseParameters) (agent.Answer, error) {
	ring, err := e.KeyspaceRing(ctx, parameters.Keyspace, "")
	if err != nil {
		return agent.Answer{}, err
	}
	var rows [][]any
	for _, one := range ring.Ranges {
		var replicas []string
		for _, index := range one.Replicas {
			replicas = append(replicas, ring.Nodes[index].Address)
		}
		rows = append(rows, []any{one.Start, one.End, strings.Join(replicas, ", ")})
	}
	columns := []agent.AnswerColumn{column("Above", agent.Text), column("Up to", agent.Text), column("Replicas", agent.Text)}
	return agent.Answer{Tables: []agent.AnswerTable{agent.Told("Ranges of "+parameters.Keyspace, columns, rows, parameters.Limit)}}, nil
}

// askTableStatistics tells of tables, the largest first. Each costs some calls, so no more are asked about than are wanted.
func (e *Engine) askTableStatistics(ctx context.Context, parameters agent.DiagnoseParameters) (agent.Answer, error) {
	tables, err := e.api.Tables(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	tables = slices.DeleteFunc(tables, func(table scyllaapi.Table) bool {
		return parameters.Keyspace == "" && cqlschema.IsSystem(table.Keyspace) || parameters.Keyspace != "" && table.Keyspace != parameters.Keyspace ||
			parameters.Table != "" && table.Name != parameters.Table
	})
	if len(tables) == 0 && parameters.Keyspace != "" {
		return agent.Answer{}, agent.Errorf("unknown-table", "There is no such keyspace or table.")
	}
	left := max(0, len(tables)-parameters.Limit)
	type line struct {
		bytes int64
		row   []any
	}
	var lines []line
	for _, table := range tables[:len(tables)-left] {
		found, err := e.api.MetricsOf(ctx, table)
		if scyllaapi.Refusal(err) != nil {
			// One that was just dropped.
			continue
		}
		if err != nil {
			return agent.Answer{}, err
		}
		lines = append(lines, line{found.Bytes, []any{
			table.Keyspace, table.Name, found.Bytes, found.Partitions, found.Files, found.PendingCompactions, found.Reads, found.Writes,
		}})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.bytes, a.bytes) })
	var rows [][]any
	for _, one := range lines {
		rows = append(rows, one.row)
	}
	told := agent.Told("Tables", []agent.AnswerColumn{
		column("Keyspace", agent.Text), column("Table", agent.Text), column("Size", agent.Bytes), column("Partitions", agent.Count),
		column("SSTables", agent.Count), column("Pending compactions", agent.Count), column("Reads", agent.Count), column("Writes", agent.Count),
	}, rows, len(rows))
	told.Left = left
	return agent.Answer{Tables: []agent.AnswerTable{told}, Notes: []string{
		"Figures are this node's own. Counts are since the engine started, the number of partitions is an estimate, and size includes what is in memory.",
	}}, nil
}

// askCompactions tells what runs and waits.
func (e *Engine) askCompactions(ctx context.Context, parameters agent.DiagnoseParameters) (agent.Answer, error) {
	running, err := e.api.Compactions(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	pending, err := e.api.PendingCompactions(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	var rows [][]any
	for _, one := range running {
		var done any
		if one.Total > 0 {
			done = float64(one.Completed) / float64(one.Total)
		}
		rows = append(rows, []any{one.Keyspace, one.Table, one.Type, done, one.Completed, one.Total, one.Unit})
	}
	return agent.Answer{
		Facts: []agent.AnswerFact{fact("Pending", agent.Count, pending)},
		Tables: []agent.AnswerTable{agent.Told("Running", []agent.AnswerColumn{
			column("Keyspace", agent.Text), column("Table", agent.Text), column("Kind", agent.Text), column("Done", agent.Ratio),
			column("So far", agent.Count), column("Of", agent.Count), column("Unit", agent.Text),
		}, rows, parameters.Limit)},
	}, nil
}

// askStreams tells what moves between nodes.
func (e *Engine) askStreams(ctx context.Context, _ agent.DiagnoseParameters) (agent.Answer, error) {
	found, err := e.api.Streaming(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	return agent.Answer{Facts: []agent.AnswerFact{
		fact("Running", agent.Count, found.Running), fact("Received since the start", agent.Bytes, found.Received),
		fact("Sent since the start", agent.Bytes, found.Sent),
	}}, nil
}
