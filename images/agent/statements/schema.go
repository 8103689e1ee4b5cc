package statements

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// mostColumns is how many columns are told of all tables together: what is more would not fit into one answer.
const mostColumns = 20_000

// readSchema reads what there is from the engine's own tables, which every role may read.
func readSchema(ctx context.Context, session Session) (*agent.SchemaTree, error) {
	read := reading{ctx: ctx, session: session, keyspaces: map[string]*agent.SchemaKeyspace{}}
	tree := &agent.SchemaTree{Keyspaces: []agent.SchemaKeyspace{}}
	read.keyspacesOf()
	tables := read.tables()
	tree.Left = read.columns(tables)
	read.indexes(tables)
	read.types()
	read.functions("functions", false, "argument_types, return_type, language")
	read.functions("aggregates", true, "argument_types, return_type")
	if read.err != nil {
		return nil, read.err
	}
	for name, table := range tables {
		keyspace, _, _ := strings.Cut(name, ".")
		slices.SortFunc(table.Columns, byPlace)
		slices.SortFunc(table.Indexes, func(a, b agent.SchemaIndex) int { return strings.Compare(a.Name, b.Name) })
		if found := read.keyspaces[keyspace]; found != nil {
			found.Tables = append(found.Tables, *table)
		}
	}
	for _, keyspace := range read.keyspaces {
		slices.SortFunc(keyspace.Tables, func(a, b agent.SchemaTable) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(keyspace.Types, func(a, b agent.SchemaType) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(keyspace.Functions, func(a, b agent.SchemaFunction) int { return strings.Compare(a.Name, b.Name) })
		tree.Keyspaces = append(tree.Keyspaces, *keyspace)
	}
	slices.SortFunc(tree.Keyspaces, func(a, b agent.SchemaKeyspace) int { return strings.Compare(a.Name, b.Name) })
	return tree, nil
}

// reading keeps the first error, after which it reads nothing more.
type reading struct {
	ctx       context.Context
	session   Session
	keyspaces map[string]*agent.SchemaKeyspace
	err       error
}

func (r *reading) rows(columns, table string) cql.Rows {
	if r.err != nil {
		return nil
	}
	rows, err := r.session.Query(r.ctx, cql.One, fmt.Sprintf("SELECT %s FROM system_schema.%s", columns, table))
	r.err = err
	return rows
}

func (r *reading) keyspacesOf() {
	for _, row := range r.rows("keyspace_name, replication", "keyspaces") {
		name := row.Text("keyspace_name")
		one := &agent.SchemaKeyspace{
			Name: name, System: name == "system" || strings.HasPrefix(name, "system_"), Replication: map[string]string{},
			Tables: []agent.SchemaTable{}, Types: []agent.SchemaType{}, Functions: []agent.SchemaFunction{},
		}
		options, _ := row["replication"].(map[string]any)
		for key, value := range options {
			one.Replication[key], _ = value.(string)
		}
		r.keyspaces[name] = one
	}
}

// tables are tables and views by keyspace.name.
func (r *reading) tables() map[string]*agent.SchemaTable {
	tables := map[string]*agent.SchemaTable{}
	add := func(row cql.Row, name string) *agent.SchemaTable {
		table := &agent.SchemaTable{
			Name: row.Text(name), Comment: row.Text("comment"), Columns: []agent.SchemaColumn{}, Indexes: []agent.SchemaIndex{},
		}
		tables[row.Text("keyspace_name")+"."+table.Name] = table
		return table
	}
	for _, row := range r.rows("keyspace_name, table_name, comment", "tables") {
		add(row, "table_name")
	}
	for _, row := range r.rows("keyspace_name, view_name, base_table_name, comment", "views") {
		add(row, "view_name").ViewOf = row.Text("base_table_name")
	}
	return tables
}

// columns adds as many as fit to their tables, and tells how many were left.
func (r *reading) columns(tables map[string]*agent.SchemaTable) int {
	rows := r.rows("keyspace_name, table_name, column_name, type, kind, position, clustering_order", "columns")
	left := 0
	for index, row := range rows {
		table := tables[row.Text("keyspace_name")+"."+row.Text("table_name")]
		if table == nil {
			continue
		}
		if index >= mostColumns {
			left++
			continue
		}
		position, _ := row["position"].(int32)
		table.Columns = append(table.Columns, agent.SchemaColumn{
			Name: row.Text("column_name"), Type: row.Text("type"), Kind: row.Text("kind"), Position: int(position),
			Order: row.Text("clustering_order"),
		})
	}
	return left
}

func (r *reading) indexes(tables map[string]*agent.SchemaTable) {
	for _, row := range r.rows("keyspace_name, table_name, index_name, kind, options", "indexes") {
		table := tables[row.Text("keyspace_name")+"."+row.Text("table_name")]
		if table == nil {
			continue
		}
		options, _ := row["options"].(map[string]any)
		target, _ := options["target"].(string)
		using, _ := options["class_name"].(string)
		table.Indexes = append(table.Indexes, agent.SchemaIndex{Name: row.Text("index_name"), Kind: row.Text("kind"), Target: target, Using: using})
	}
}

func (r *reading) types() {
	for _, row := range r.rows("keyspace_name, type_name, field_names, field_types", "types") {
		keyspace := r.keyspaces[row.Text("keyspace_name")]
		if keyspace == nil {
			continue
		}
		one := agent.SchemaType{Name: row.Text("type_name"), Fields: []agent.SchemaField{}}
		kinds := row.Texts("field_types")
		for index, name := range row.Texts("field_names") {
			if index < len(kinds) {
				one.Fields = append(one.Fields, agent.SchemaField{Name: name, Type: kinds[index]})
			}
		}
		keyspace.Types = append(keyspace.Types, one)
	}
}

func (r *reading) functions(table string, aggregate bool, columns string) {
	name := strings.TrimSuffix(table, "s") + "_name"
	for _, row := range r.rows("keyspace_name, "+name+", "+columns, table) {
		if keyspace := r.keyspaces[row.Text("keyspace_name")]; keyspace != nil {
			keyspace.Functions = append(keyspace.Functions, agent.SchemaFunction{
				Name: row.Text(name), Aggregate: aggregate, Arguments: row.Texts("argument_types"), Returns: row.Text("return_type"),
				Language: row.Text("language"),
			})
		}
	}
}

// byPlace is the order in which a table's columns are written: keys first.
func byPlace(a, b agent.SchemaColumn) int {
	rank := map[string]int{"partition_key": 0, "clustering": 1, "static": 2, "regular": 3}
	return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Position, b.Position), strings.Compare(a.Name, b.Name))
}
