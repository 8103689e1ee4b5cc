package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
)

const networkTopology = "NetworkTopologyStrategy"

// Keyspace is one as the job keyspaces tells it.
type Keyspace struct {
	Name string `json:"name"`
	// Class is how replicas are placed: "NetworkTopologyStrategy", "SimpleStrategy", "LocalStrategy"…
	Class string `json:"class"`
	// Replication is the number of replicas per data centre. Of SimpleStrategy, which knows no data centres, it is one
	// entry "replication_factor".
	Replication map[string]int `json:"replication"`
	// System: of the engine's or the control plane's own.
	System bool `json:"system"`
}

// Keyspaces is the result of the job keyspaces.
type Keyspaces struct {
	Keyspaces []Keyspace `json:"keyspaces"`
}

// ReplicateParameters are those of the job replicate.
type ReplicateParameters struct {
	Keyspaces []KeyspaceReplication `json:"keyspaces"`
	// Joining are nodes per data centre that are joining or about to, and count as if they were there.
	Joining map[string]int `json:"joining,omitempty"`
}

// KeyspaceReplication is the number of replicas that a keyspace shall have per data centre.
type KeyspaceReplication struct {
	Name string `json:"name"`
	// Replication leaves out data centres that shall hold nothing; 0 says the same.
	Replication map[string]int `json:"replication"`
}

func (p ReplicateParameters) check() error {
	if len(p.Keyspaces) == 0 {
		return agent.Errorf("invalid-parameters", "keyspaces is empty")
	}
	for _, keyspace := range p.Keyspaces {
		if !keyspaceForm.MatchString(keyspace.Name) {
			return agent.Errorf("invalid-parameters", "%q is not the name of a keyspace", keyspace.Name)
		}
		replicas := 0
		for datacenter, factor := range keyspace.Replication {
			if !nameForm.MatchString(datacenter) || factor < 0 {
				return agent.Errorf("invalid-parameters", "replication of %s must be numbers by the names of data centres", keyspace.Name)
			}
			replicas += factor
		}
		if replicas == 0 {
			return agent.Errorf("invalid-parameters", "%s must have replicas somewhere", keyspace.Name)
		}
	}
	return nil
}

// nodesByDatacenter counts the nodes of the ring, this one too; those that are joining only if asked for.
func nodesByDatacenter(ring agent.RingStatus, joining bool) map[string]int {
	nodes := map[string]int{ring.Datacenter: 1}
	for _, peer := range ring.Peers {
		if joining || peer.Status != "JOINING" {
			nodes[peer.Datacenter]++
		}
	}
	return nodes
}

func (e *Engine) keyspaces(ctx context.Context, _ Nothing, _ agent.Report) (Keyspaces, error) {
	told := Keyspaces{Keyspaces: []Keyspace{}}
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, replication FROM system_schema.keyspaces")
		if err != nil {
			return err
		}
		told.Keyspaces = make([]Keyspace, 0, len(rows))
		for _, row := range rows {
			name, found := row.Text("keyspace_name"), cqlschema.ParseReplication(row)
			told.Keyspaces = append(told.Keyspaces, Keyspace{Name: name, Class: found.Class, Replication: found.Factors, System: cqlschema.IsSystem(name)})
		}
		slices.SortFunc(told.Keyspaces, func(a, b Keyspace) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
	return told, err
}

// replicate changes the replication of keyspaces. Data that a new replica lacks is not moved: a rebuild or a repair does.
// Error codes, besides those of access: unknown-keyspace, keyspace-protected, unknown-datacenter, not-enough-nodes,
// schema-disagreement.
func (e *Engine) replicate(ctx context.Context, parameters ReplicateParameters, report agent.Report) (Nothing, error) {
	return Nothing{}, e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		ring, err := e.readRing(ctx, conn)
		if err != nil {
			return err
		}
		nodes := nodesByDatacenter(ring, false)
		for datacenter, joining := range parameters.Joining {
			nodes[datacenter] += joining
		}
		// All are looked at before the first is changed.
		var statements []string
		for _, wanted := range parameters.Keyspaces {
			found, err := cqlschema.ReadReplication(ctx, conn, wanted.Name)
			if err != nil {
				return err
			}
			maps.DeleteFunc(wanted.Replication, func(_ string, factor int) bool { return factor == 0 })
			if err := wanted.possible(found, nodes); err != nil {
				return err
			}
			if found.Class != networkTopology || !maps.Equal(found.Factors, wanted.Replication) {
				statements = append(statements, alterReplication(wanted))
			}
		}
		for index, statement := range statements {
			report(float64(index)/float64(len(statements)+1), "Changing replication")
			if _, err := conn.Query(ctx, cql.Quorum, statement); err != nil {
				return err
			}
		}
		report(0.9, "Waiting until all nodes have the schema")
		return e.schemaAgreed(ctx, conn)
	})
}

func (k KeyspaceReplication) possible(found cqlschema.Replication, nodes map[string]int) error {
	if found.Class != networkTopology && found.Class != "SimpleStrategy" {
		return agent.Errorf("keyspace-protected", "%s is the engine's own and is on every node by itself.", k.Name)
	}
	for _, datacenter := range slices.Sorted(maps.Keys(k.Replication)) {
		there, known := nodes[datacenter]
		if !known {
			return agent.Errorf("unknown-datacenter", "There is no data centre %s in this ring; there are: %s.",
				datacenter, strings.Join(slices.Sorted(maps.Keys(nodes)), ", "))
		}
		if factor := k.Replication[datacenter]; factor > there {
			return agent.Errorf("not-enough-nodes", "%s cannot have %d replicas in %s, which has %d nodes.", k.Name, factor, datacenter, there)
		}
	}
	return nil
}

func alterReplication(wanted KeyspaceReplication) string {
	options := []string{"'class': '" + networkTopology + "'"}
	for _, datacenter := range slices.Sorted(maps.Keys(wanted.Replication)) {
		options = append(options, fmt.Sprintf("%s: %d", quotedText(datacenter), wanted.Replication[datacenter]))
	}
	return "ALTER KEYSPACE " + quotedName(wanted.Name) + " WITH replication = {" + strings.Join(options, ", ") + "}"
}

// schemaAgreed waits until all living nodes have this node's schema. Error code: schema-disagreement.
func (e *Engine) schemaAgreed(ctx context.Context, conn *cql.Conn) error {
	for {
		ring, err := e.readRing(ctx, conn)
		if err != nil {
			return err
		}
		err = ring.SchemaDisagreement()
		if err == nil || pause(ctx, retryPause) != nil {
			return err
		}
	}
}
