package scylla

import (
	"context"

	"ringmaster/agent"
)

// errNoRepairs is the answer to what is about repairs.
var errNoRepairs = agent.Errorf("not-supported", "The agent does not repair ScyllaDB yet.")

// Repairs implements agent.Engine.
func (e *Engine) Repairs(context.Context) (agent.RepairActivity, error) {
	return agent.RepairActivity{}, errNoRepairs
}

// Load implements agent.Engine.
func (e *Engine) Load(context.Context) (agent.Load, error) { return agent.Load{}, errNoRepairs }

// KeyspaceRing implements agent.Engine.
func (e *Engine) KeyspaceRing(context.Context, string) (agent.KeyspaceRing, error) {
	return agent.KeyspaceRing{}, errNoRepairs
}

// Tables implements agent.Engine.
func (e *Engine) Tables(context.Context) (agent.Schema, error) { return agent.Schema{}, errNoRepairs }
