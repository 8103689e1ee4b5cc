package cassandra

import (
	"context"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
)

// describeSchema tells keyspaces in the engine's own statements, and in parts. Error codes, besides those of access:
// invalid-parameters, unknown-keyspace.
func (e *Engine) describeSchema(ctx context.Context, parameters agent.DescribeSchemaParameters, _ agent.Report) (agent.SchemaDescription, error) {
	var told agent.SchemaDescription
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		told = agent.SchemaDescription{Keyspaces: []agent.KeyspaceSchema{}}
		names, err := cqlschema.Keyspaces(ctx, conn, parameters.Keyspaces)
		if err != nil {
			return err
		}
		for _, name := range names {
			keyspace, err := cqlschema.Describe(ctx, conn, name)
			if err != nil {
				return err
			}
			told.Keyspaces = append(told.Keyspaces, keyspace)
		}
		return nil
	})
	return told, err
}

// createSchema makes what was described, here or elsewhere, under the same or other names. What is there is left as it is. Error
// codes, besides those of access: invalid-parameters, schema-differs, schema-refused, schema-disagreement.
func (e *Engine) createSchema(ctx context.Context, parameters agent.CreateSchemaParameters, report agent.Report) (agent.SchemaCreated, error) {
	made, err := cqlschema.Create(parameters.Keyspaces, report, func(keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement) (existed bool, err error) {
		err = e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) (err error) {
			existed, err = cqlschema.CreateOne(ctx, conn, keyspace, statement)
			return err
		})
		return existed, err
	})
	if err != nil {
		return made, err
	}
	return made, e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error { return e.schemaAgreed(ctx, conn) })
}
