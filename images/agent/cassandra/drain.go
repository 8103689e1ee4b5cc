package cassandra

import (
	"context"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

// drain makes the engine flush and take no more requests, so that its next start has nothing to replay.
func (e *Engine) drain(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	report(0.1, "Flushing")
	e.lastTraffic(ctx)
	e.control.forget()
	within, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	// The engine takes a second one for done.
	if err := e.management.Do(within, jolokia.Exec(storageService, "drain"), nil); err != nil {
		if ctx.Err() != nil {
			return Nothing{}, ctx.Err()
		}
		return Nothing{}, agent.Errorf("drain-failed", "The engine could not be drained: %s", shortened(err.Error()))
	}
	return Nothing{}, nil
}
