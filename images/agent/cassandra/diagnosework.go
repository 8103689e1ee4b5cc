package cassandra

import (
	"context"
	"maps"
	"slices"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

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
