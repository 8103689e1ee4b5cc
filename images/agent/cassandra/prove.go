package cassandra

import (
	"context"
	"fmt"
	"time"

	"ringmaster/agent"
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
func (e *Engine) prove(ctx context.Context, parameters ProveParameters, report agent.Report) (agent.Proof, error) {
	if err := e.running(); err != nil {
		return agent.Proof{}, err
	}
	config, err := e.configured()
	if err != nil {
		return agent.Proof{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, proveWithin)
	defer cancel()
	report(0.1, "Waiting for ring and schema to agree")
	var missing string
	for {
		proof, difference, err := e.tryProof(ctx, config, parameters)
		switch {
		case err == nil && difference == "":
			return proof, nil
		case err == nil:
			missing = difference
		case cql.Passing(err) || cql.Code(err) == cql.CodeBadCredentials || cql.Code(err) == cql.CodeUnauthorized || cql.Code(err) == cql.CodeInvalid:
			// A node that just started may not have seen the roles and the table yet.
			missing = err.Error()
		case ctx.Err() == nil:
			return agent.Proof{}, err
		}
		if err := e.running(); err != nil {
			return agent.Proof{}, err
		}
		report(0.2, "Waiting until the node agrees: "+missing)
		if pause(ctx, retryPause) != nil {
			return agent.Proof{}, agent.Errorf("not-proved", "The node did not prove itself within %s: %s", proveWithin, missing)
		}
	}
}

// tryProof is one try; a difference is what is not yet as it should be.
func (e *Engine) tryProof(ctx context.Context, config Config, parameters ProveParameters) (agent.Proof, string, error) {
	conn, err := e.login(ctx, parameters.ControlUsername, parameters.ControlPassword)
	if err != nil {
		return agent.Proof{}, "", err
	}
	ring, err := e.readRing(ctx, conn)
	if err != nil {
		return agent.Proof{}, "", err
	}
	members := parameters.Members
	if len(members) == 0 {
		for _, peer := range ring.Peers {
			members = append(members, peer.Address)
		}
	}
	proof := agent.Proof{RingStatus: ring, Rows: []string{}}
	if difference := disagreement(ring, config.Address, members); difference != "" {
		return agent.Proof{}, difference, nil
	}
	if parameters.ExpectSchema != "" && parameters.ExpectSchema != ring.SchemaVersion {
		return agent.Proof{}, fmt.Sprintf("its schema is %s", ring.SchemaVersion), nil
	}
	if parameters.Write != nil && !*parameters.Write {
		return proof, "", nil
	}
	if _, err := conn.Query(ctx, cql.All, "INSERT INTO ringmaster.proof (key, node, written_at) VALUES (?, ?, ?)",
		parameters.Key, e.nodeID, time.Now()); err != nil {
		return agent.Proof{}, "", err
	}
	rows, err := conn.Query(ctx, cql.All, "SELECT node FROM ringmaster.proof WHERE key = ?", parameters.Key)
	if err != nil {
		return agent.Proof{}, "", err
	}
	found := false
	for _, row := range rows {
		proof.Rows = append(proof.Rows, row.Text("node"))
		found = found || row.Text("node") == e.nodeID
	}
	if !found {
		return agent.Proof{}, "the row it wrote was not read back", nil
	}
	return proof, "", nil
}
