package scylla

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/canary"
	"ringmaster/agent/cql"
)

const proveWithin = 2 * time.Minute

// ProveParameters are those of the job prove.
type ProveParameters struct {
	ControlUsername string `json:"control_username"`
	ControlPassword string `json:"control_password"`
	// Key names the proof; every node writes its row under it.
	Key string `json:"key"`
	// Members are the addresses of all nodes, this one too. Empty: whoever the node sees.
	Members []string `json:"members,omitempty"`
	// Write false only looks at ring and schema.
	Write *bool `json:"write,omitempty"`
	// ExpectSchema, when given, is the schema version that the node must have.
	ExpectSchema string `json:"expect_schema,omitempty"`
}

func (p ProveParameters) check() error {
	if p.Key == "" || len(p.Key) > 200 {
		return agent.Errorf("invalid-parameters", "key must be 1 to 200 characters")
	}
	return nil
}

// prove shows that this node serves: it sees all members up and of one schema, and a row is written and read through it at ALL.
// Error code: not-proved.
func (e *Engine) prove(ctx context.Context, parameters ProveParameters, report agent.Report) (agent.Proof, error) {
	if err := e.isRunning(); err != nil {
		return agent.Proof{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, proveWithin)
	defer cancel()
	report(0.1, "Waiting for ring and schema to agree")
	for {
		proof, missing, err := e.tryProof(ctx, parameters)
		if err == nil && missing == "" {
			return proof, nil
		}
		if err != nil {
			// A node that just started may not have seen roles and table yet, and its API may be silent.
			missing = err.Error()
		}
		if err := e.isRunning(); err != nil {
			return agent.Proof{}, err
		}
		report(0.2, "Waiting until the node agrees: "+missing)
		if pause(ctx, retryPause) != nil {
			return agent.Proof{}, agent.Errorf("not-proved", "The node did not prove itself within %s: %s", proveWithin, missing)
		}
	}
}

// tryProof is one try; missing is what is not yet as it should be.
func (e *Engine) tryProof(ctx context.Context, p ProveParameters) (proof agent.Proof, missing string, err error) {
	config, err := e.configured()
	if err != nil {
		return agent.Proof{}, "", err
	}
	conn, err := e.control(ctx, account{Username: p.ControlUsername, Password: p.ControlPassword})
	if err != nil {
		return agent.Proof{}, "", err
	}
	defer conn.Close()
	ring, err := e.readRing(ctx)
	if err != nil {
		return agent.Proof{}, "", err
	}
	members := p.Members
	if len(members) == 0 {
		for _, peer := range ring.Peers {
			members = append(members, peer.Address)
		}
	}
	proof = agent.Proof{RingStatus: ring, Rows: []string{}}
	if difference := disagreement(ring, config.Address, members); difference != "" {
		return agent.Proof{}, difference, nil
	}
	if p.ExpectSchema != "" && p.ExpectSchema != ring.SchemaVersion {
		return agent.Proof{}, fmt.Sprintf("its schema is %s", ring.SchemaVersion), nil
	}
	if p.Write != nil && !*p.Write {
		return proof, "", nil
	}
	if _, err := conn.Query(ctx, cql.All, "INSERT INTO ringmaster.proof (key, node, written_at) VALUES (?, ?, ?)", p.Key, e.nodeID, time.Now()); err != nil {
		return agent.Proof{}, "", err
	}
	rows, err := conn.Query(ctx, cql.All, "SELECT node FROM ringmaster.proof WHERE key = ?", p.Key)
	if err != nil {
		return agent.Proof{}, "", err
	}
	for _, row := range rows {
		proof.Rows = append(proof.Rows, row.Text("node"))
	}
	if !slices.Contains(proof.Rows, e.nodeID) {
		return agent.Proof{}, "the row it wrote was not read back", nil
	}
	return proof, "", nil
}

// createCanary makes the table of rows to look for. A read at ONE must be of the one replica that is asked.
const createCanary = "CREATE TABLE IF NOT EXISTS ringmaster.canary (id text PRIMARY KEY, planted_at timestamp)" +
	" WITH speculative_retry = 'NONE'"

func (e *Engine) plantCanary(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	return Nothing{}, e.asControl(ctx, func(ctx context.Context, conn session) error {
		if _, err := conn.Query(ctx, cql.Quorum, createCanary); err != nil {
			return agent.Errorf("canary-missing", "There is no table ringmaster.canary, and it cannot be made: %v", err)
		}
		for index, id := range canary.IDs() {
			report(float64(index)/canary.Rows, "Writing canary rows")
			if _, err := conn.Query(ctx, cql.Quorum, "INSERT INTO ringmaster.canary (id, planted_at) VALUES (?, ?)", id, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// readCanary looks for the rows that this node should hold, each by a read at ONE through the node itself.
func (e *Engine) readCanary(ctx context.Context, _ Nothing, report agent.Report) (agent.CanaryReading, error) {
	config, err := e.configured()
	if err != nil {
		return agent.CanaryReading{}, err
	}
	var mine []string
	if err := e.isRunning(); err != nil {
		return agent.CanaryReading{}, err
	}
	for index, id := range canary.IDs() {
		report(0.5*float64(index)/canary.Rows, "Asking who holds the canary rows")
		if err := e.untilAnswered(ctx, func() error {
			replicas, err := e.api.Replicas(ctx, "ringmaster", "canary", id)
			if err == nil && slices.Contains(replicas, config.Address) {
				mine = append(mine, id)
			}
			return err
		}); err != nil {
			return agent.CanaryReading{}, withCode("canary-missing", err)
		}
	}
	var reading agent.CanaryReading
	return reading, e.asControl(ctx, func(ctx context.Context, conn session) error {
		reading = agent.CanaryReading{Checked: len(mine)}
		for index, id := range mine {
			report(0.5+0.5*float64(index)/float64(len(mine)), "Reading canary rows")
			rows, err := conn.Query(ctx, cql.One, "SELECT id FROM ringmaster.canary WHERE id = ?", id)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				reading.Missing++
			}
		}
		return nil
	})
}
