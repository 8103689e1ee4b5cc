package cassandra

import (
	"context"
	"net"
	"strconv"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/canary"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
)

// createCanary makes their table. A read at ONE must be of the one replica that is asked, so no other is asked for being faster.
const createCanary = "CREATE TABLE IF NOT EXISTS ringmaster.canary (id text PRIMARY KEY, planted_at timestamp)" +
	" WITH speculative_retry = 'NEVER' AND read_repair = 'NONE'"

// plantCanary writes the rows. Error code: canary-missing.
func (e *Engine) plantCanary(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for index, id := range canary.IDs() {
		report(float64(index)/canary.Rows, "Writing canary rows")
		if err := untilPassed(ctx, func() error {
			conn, err := e.control.again(ctx)
			if err != nil {
				return err
			}
			_, err = conn.Query(ctx, cql.Quorum, "INSERT INTO ringmaster.canary (id, planted_at) VALUES (?, ?)", id, time.Now())
			if cql.Code(err) == cql.CodeInvalid {
				// A ring that was secured before there were canaries.
				if _, err = conn.Query(ctx, cql.Quorum, createCanary); err != nil {
					return agent.Errorf("canary-missing", "There is no table ringmaster.canary, and it cannot be made: %v", err)
				}
				_, err = conn.Query(ctx, cql.Quorum, "INSERT INTO ringmaster.canary (id, planted_at) VALUES (?, ?)", id, time.Now())
			}
			return err
		}); err != nil {
			return Nothing{}, err
		}
	}
	return Nothing{}, nil
}

// readCanary looks for the rows that this node should hold, each by a read at ONE through the node itself.
func (e *Engine) readCanary(ctx context.Context, _ Nothing, report agent.Report) (agent.CanaryReading, error) {
	if err := e.running(); err != nil {
		return agent.CanaryReading{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var mine []string
	if err := e.untilAnswered(ctx, func() (err error) {
		mine, err = e.canariesHere(ctx)
		return err
	}); err != nil {
		return agent.CanaryReading{}, err
	}
	reading := agent.CanaryReading{}
	for _, id := range mine {
		report(float64(reading.Checked)/float64(len(mine)), "Reading canary rows")
		if err := untilPassed(ctx, func() error {
			conn, err := e.control.again(ctx)
			if err != nil {
				return err
			}
			rows, err := conn.Query(ctx, cql.One, "SELECT id FROM ringmaster.canary WHERE id = ?", id)
			if err == nil && len(rows) == 0 {
				reading.Missing++
			}
			return err
		}); err != nil {
			return agent.CanaryReading{}, err
		}
		reading.Checked++
	}
	return reading, nil
}

// canariesHere are the ids of the rows that this node is a replica of; the engine itself says which.
func (e *Engine) canariesHere(ctx context.Context) ([]string, error) {
	config, err := e.configured()
	if err != nil {
		return nil, err
	}
	own := net.JoinHostPort(config.Address, strconv.Itoa(internodePort))
	ids := canary.IDs()
	calls := make([]jolokia.Call, len(ids))
	for index, id := range ids {
		calls[index] = jolokia.Exec(storageService, replicasOperation,
			"ringmaster", "canary", id)
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return nil, err
	}
	var mine []string
	for index, answer := range answers {
		var replicas []string
		if err := answer.Into(&replicas); err != nil {
			return nil, withCode("canary-missing", err)
		}
		for _, replica := range replicas {
			if replica == own {
				mine = append(mine, ids[index])
			}
		}
	}
	return mine, nil
}
