package cassandra

import (
	"context"
	"slices"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/jolokia"
)

// describeTables tells all tables and views that are not the engine's own. Error codes: those of access.
func (e *Engine) describeTables(ctx context.Context, _ Nothing, _ agent.Report) (agent.TablesDescribed, error) {
	told := agent.TablesDescribed{}
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		told = agent.TablesDescribed{Keyspaces: []agent.DescribedKeyspace{}, Tables: []agent.DescribedTable{}}
		names, err := cqlschema.Keyspaces(ctx, conn, nil)
		if err != nil {
			return err
		}
		for _, name := range names {
			found, err := cqlschema.ReadReplication(ctx, conn, name)
			if err != nil {
				return err
			}
			tables, err := describeKeyspace(ctx, conn, name)
			if err != nil {
				return err
			}
			told.Keyspaces = append(told.Keyspaces, agent.DescribedKeyspace{Name: name, Class: found.Class, Replication: found.Factors})
			told.Tables = append(told.Tables, tables...)
		}
		return nil
	})
	if err != nil {
		return agent.TablesDescribed{}, err
	}
	e.countValues(ctx, told.Tables)
	return told, nil
}

func describeKeyspace(ctx context.Context, conn *cql.Conn, keyspace string) ([]agent.DescribedTable, error) {
	parts, err := cqlschema.ReadTables(ctx, conn, keyspace)
	if err != nil {
		return nil, err
	}
	tables := make([]agent.DescribedTable, len(parts))
	place := map[string]int{}
	for index, part := range parts {
		place[part.Name] = index
		slices.SortFunc(part.Columns, cqlschema.ByPlace)
		tables[index] = agent.DescribedTable{
			Keyspace: keyspace, Table: part.Name, ID: part.ID, ViewOf: part.ViewOf, Columns: part.Columns, Indexes: []agent.DescribedIndex{},
		}
	}
	of := map[string]string{}
	for _, step := range []struct {
		query string
		take  func(cql.Row)
	}{
		{"SELECT * FROM system_schema.tables WHERE keyspace_name = ?", func(row cql.Row) {
			if index, known := place[row.Text("table_name")]; known {
				tables[index].Options = cqlschema.Options(row)
			}
		}},
		{"SELECT * FROM system_schema.views WHERE keyspace_name = ?", func(row cql.Row) {
			if index, known := place[row.Text("view_name")]; known {
				tables[index].Options = cqlschema.Options(row)
			}
		}},
		{"SELECT * FROM system_schema.indexes WHERE keyspace_name = ?", func(row cql.Row) {
			index, known := place[row.Text("table_name")]
			if !known {
				return
			}
			options, _ := row["options"].(map[string]any)
			target, _ := options["target"].(string)
			of[row.Text("index_name")] = row.Text("table_name")
			tables[index].Indexes = append(tables[index].Indexes, agent.DescribedIndex{Name: row.Text("index_name"), Kind: row.Text("kind"), Target: target})
		}},
	} {
		rows, err := conn.Query(ctx, cql.One, step.query, keyspace)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			step.take(row)
		}
	}
	rows, err := conn.Query(ctx, cql.One, "DESCRIBE KEYSPACE "+cqlschema.Quoted(keyspace))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		name := strings.ReplaceAll(strings.Trim(row.Text("name"), `"`), `""`, `"`)
		if row.Text("type") == "index" {
			name = of[name]
		} else if row.Text("type") != "table" && row.Text("type") != "materialized_view" {
			continue
		}
		if index, known := place[name]; known {
			tables[index].Statement = strings.TrimPrefix(tables[index].Statement+"\n\n"+strings.TrimSpace(row.Text("create_statement")), "\n\n")
		}
	}
	return tables, nil
}

// countValues asks how many partitions the hidden tables of indexes have: one for each value that is indexed. Where the engine does
// not say, they are left out.
func (e *Engine) countValues(ctx context.Context, tables []agent.DescribedTable) {
	var calls []jolokia.Call
	var indexes []*agent.DescribedIndex
	for _, table := range tables {
		for number := range table.Indexes {
			index := &table.Indexes[number]
			if index.Kind == "CUSTOM" {
				continue
			}
			indexes = append(indexes, index)
			scope := "scope=" + table.Table + "." + index.Name
			calls = append(calls, jolokia.Read(metric("IndexTable", "EstimatedPartitionCount", "keyspace="+table.Keyspace, scope), "Value"))
		}
	}
	if len(calls) == 0 {
		return
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return
	}
	for number, index := range indexes {
		var values int64
		if answers[number].Into(&values) == nil {
			index.Values = &values
		}
	}
}

// alterTable sets options of a table. Error codes, besides those of access: invalid-parameters, unknown-table, options-differ,
// options-refused, schema-disagreement.
func (e *Engine) alterTable(ctx context.Context, p agent.AlterTableParameters, report agent.Report) (agent.TableAltered, error) {
	if err := tableNamed(p.Keyspace, p.Table); err != nil {
		return agent.TableAltered{}, err
	}
	if err := cqlschema.CheckOptions(p.Options); err != nil {
		return agent.TableAltered{}, err
	}
	changed := false
	altered := agent.TableAltered{}
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) (err error) {
		report(0, "Setting options of "+p.Keyspace+"."+p.Table)
		if altered, err = cqlschema.Alter(ctx, conn, p); err != nil {
			return err
		}
		changed = changed || altered.Changed
		altered.Changed = changed
		report(0.5, "Waiting until all nodes have the schema")
		return e.schemaAgreed(ctx, conn)
	})
	return altered, err
}

// tableNamed refuses the engine's own tables, and what no table is called. Error code: invalid-parameters.
func tableNamed(keyspace, table string) error {
	if !cqlschema.IsName(keyspace) || !cqlschema.IsName(table) || cqlschema.IsSystem(keyspace) {
		return agent.Errorf("invalid-parameters", "%q.%q is no table of a user", keyspace, table)
	}
	return nil
}

// rewriteTable writes all files of a table anew on this node. Error codes: invalid-parameters, unknown-table, rewrite-failed.
func (e *Engine) rewriteTable(ctx context.Context, p agent.RewriteTableParameters, report agent.Report) (Nothing, error) {
	if err := tableNamed(p.Keyspace, p.Table); err != nil {
		return Nothing{}, err
	}
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	if err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		_, err := cqlschema.ReadOptions(ctx, conn, p.Keyspace, p.Table)
		return err
	}); err != nil {
		return Nothing{}, err
	}
	return Nothing{}, e.rewriteKeyspaces(ctx, []string{p.Keyspace}, report, rewrite{
		doing: "Writing " + p.Table + " anew", task: "Upgrade sstables", code: "rewrite-failed",
		call: func(keyspace string) jolokia.Call {
			return jolokia.Exec(storageService, upgradeOperation, keyspace, false, rewriteJobs, []string{p.Table})
		},
	})
}
