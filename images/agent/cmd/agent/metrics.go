package main

import (
	"context"
	"log/slog"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cmd/agent/machine"
	"ringmaster/agent/machinemetrics"
	"ringmaster/agent/metrics"
)

// scrapeWithin is less than what Prometheus waits by default, so that it learns what is missing.
const scrapeWithin = 8 * time.Second

// metricsOf joins what GET /metrics tells.
func metricsOf(chosen options, joined parts, node *machine.Machine, log *slog.Logger) (*metrics.Service, error) {
	vocabulary, err := metrics.ReadVocabulary()
	if err != nil {
		return nil, err
	}
	own := &machinemetrics.Source{
		Root: "/", Data: joined.engine.DataFolder(), Tuning: node.Tuning,
		EnginePID: func(ctx context.Context) int { return joined.engine.Status(ctx).PID },
	}
	return &metrics.Service{
		NodeID: chosen.data.NodeID, Vocabulary: vocabulary, Within: scrapeWithin, Log: log,
		Sources: []metrics.Source{
			{Name: "engine", Collect: joined.engine.Metrics},
			{Name: "machine", Collect: own.Collect},
			{Name: "agent", Collect: joined.tellMetrics},
		},
	}, nil
}

// tellMetrics adds what the agent knows by itself.
func (p parts) tellMetrics(ctx context.Context, page *metrics.Page) error {
	status := p.engine.Status(ctx)
	up := 0.0
	if status.State == agent.EngineRunning && status.CQLReady {
		up = 1
	}
	page.Family("ringmaster_node_engine_up").Add("", up)
	page.Family("ringmaster_node_engine_restarts").Add("", float64(status.Restarts))
	if status.StartedAt != nil {
		page.Family("ringmaster_node_engine_start_time_seconds").Add("", float64(status.StartedAt.UnixMilli())/1000)
	}
	page.Family("ringmaster_agent_info").Add(metrics.Labels("version", version, "engine", status.Name, "engine_version", status.Version), 1)
	for name, of := range map[string]func() (agent.Certificate, error){
		"agent": p.identity.Certificate, "engine": p.identity.Engine().Certificate,
	} {
		if served, err := of(); err == nil {
			page.Family("ringmaster_agent_certificate_expiry_timestamp_seconds").Add(metrics.Labels("certificate", name), float64(served.NotAfter.Unix()))
		}
	}
	return machinemetrics.Process(page)
}
