// Package cqlschema describes the schema of an engine over CQL, and makes it anew, here or elsewhere, under the same or other names.
package cqlschema

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// Session is a connection over which statements are run; *cql.Conn is one.
type Session interface {
	Query(ctx context.Context, consistency cql.Consistency, statement string, values ...any) (cql.Rows, error)
}

// nameForm is what engines accept as the name of a keyspace or of a table, quoted.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_]{1,222}$`)

// IsName tells whether a keyspace or a table can have the name.
func IsName(name string) bool { return nameForm.MatchString(name) }

// IsSystem tells whether a keyspace is the engine's or the control plane's own.
func IsSystem(keyspace string) bool {
	return keyspace == "system" || strings.HasPrefix(keyspace, "system_") || keyspace == "ringmaster"
}

// Quoted is a name as CQL takes it whatever its case and letters.
func Quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Replication is how a keyspace's replicas are placed.
type Replication struct {
	// Class has no package in front.
	Class string
	// Factors are replicas per data centre; of SimpleStrategy one entry "replication_factor".
	Factors map[string]int
}

// ParseReplication reads what the engine's schema tells. Transient replicas ("3/1") count as replicas.
func ParseReplication(row cql.Row) Replication {
	entries, _ := row["replication"].(map[string]any)
	told := Replication{Factors: map[string]int{}}
	for name, value := range entries {
		text, _ := value.(string)
		if name == "class" {
			told.Class = text[strings.LastIndexByte(text, '.')+1:]
			continue
		}
		whole, _, _ := strings.Cut(text, "/")
		if factor, err := strconv.Atoi(whole); err == nil {
			told.Factors[name] = factor
		}
	}
	return told
}

// ReadReplication fails with the code unknown-keyspace when there is none of the name.
func ReadReplication(ctx context.Context, conn Session, keyspace string) (Replication, error) {
	rows, err := conn.Query(ctx, cql.One, "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)
	if err != nil {
		return Replication{}, err
	}
	if len(rows) == 0 {
		return Replication{}, agent.Errorf("unknown-keyspace", "There is no keyspace %s.", keyspace)
	}
	return ParseReplication(rows[0]), nil
}

// Keyspaces are the names asked for, or, of none, all that are not the engine's own. Error code: invalid-parameters.
func Keyspaces(ctx context.Context, conn Session, asked []string) ([]string, error) {
	for _, name := range asked {
		if !IsName(name) {
			return nil, agent.Errorf("invalid-parameters", "%q is not the name of a keyspace", name)
		}
	}
	if len(asked) > 0 {
		return asked, nil
	}
	rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name FROM system_schema.keyspaces")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range rows {
		if name := row.Text("keyspace_name"); !IsSystem(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Describe tells a keyspace in the engine's own statements, and in parts. Error code: unknown-keyspace.
func Describe(ctx context.Context, conn Session, name string) (agent.KeyspaceSchema, error) {
	placed, err := ReadReplication(ctx, conn, name)
	if err != nil {
		return agent.KeyspaceSchema{}, err
	}
	told := agent.KeyspaceSchema{Name: name, Class: placed.Class, Replication: placed.Factors, Statements: []agent.SchemaStatement{}}
	rows, err := conn.Query(ctx, cql.One, "DESCRIBE KEYSPACE "+Quoted(name)+" WITH INTERNALS")
	if err != nil {
		return agent.KeyspaceSchema{}, err
	}
	for _, row := range rows {
		told.Statements = append(told.Statements, agent.SchemaStatement{
			Type: row.Text("type"), Name: row.Text("name"), Statement: row.Text("create_statement"),
		})
	}
	told.Tables, err = ReadTables(ctx, conn, name)
	return told, err
}

// ReadTables are the tables and views of a keyspace.
func ReadTables(ctx context.Context, conn Session, keyspace string) ([]agent.TableSchema, error) {
	tables := []agent.TableSchema{}
	place := map[string]int{}
	read := func(query string, take func(row cql.Row)) error {
		rows, err := conn.Query(ctx, cql.One, query, keyspace)
		for _, row := range rows {
			take(row)
		}
		return err
	}
	add := func(name string, row cql.Row, viewOf string) {
		id, _ := row["id"].(string)
		place[name] = len(tables)
		tables = append(tables, agent.TableSchema{
			Name: name, ID: id, ViewOf: viewOf, Columns: []agent.ColumnSchema{}, Dropped: []agent.DroppedColumn{}, Indexes: []string{},
		})
	}
	at := func(row cql.Row) *agent.TableSchema {
		if index, known := place[row.Text("table_name")]; known {
			return &tables[index]
		}
		return &agent.TableSchema{}
	}
	for _, step := range []struct {
		query string
		take  func(cql.Row)
	}{
		{"SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = ?", func(row cql.Row) { add(row.Text("table_name"), row, "") }},
		{"SELECT view_name, id, base_table_name FROM system_schema.views WHERE keyspace_name = ?", func(row cql.Row) {
			add(row.Text("view_name"), row, row.Text("base_table_name"))
		}},
		{"SELECT table_name, column_name, kind, position, type, clustering_order FROM system_schema.columns WHERE keyspace_name = ?", func(row cql.Row) {
			position, _ := row["position"].(int32)
			table := at(row)
			table.Columns = append(table.Columns, agent.ColumnSchema{
				Name: row.Text("column_name"), Kind: row.Text("kind"), Position: int(position), Type: row.Text("type"), Order: row.Text("clustering_order"),
			})
		}},
		{"SELECT table_name, column_name, kind, type, dropped_time FROM system_schema.dropped_columns WHERE keyspace_name = ?", func(row cql.Row) {
			droppedAt, _ := row["dropped_time"].(time.Time)
			table := at(row)
			table.Dropped = append(table.Dropped, agent.DroppedColumn{
				Name: row.Text("column_name"), Kind: row.Text("kind"), Type: row.Text("type"), DroppedAt: droppedAt,
			})
		}},
		{"SELECT table_name, index_name FROM system_schema.indexes WHERE keyspace_name = ?", func(row cql.Row) {
			table := at(row)
			table.Indexes = append(table.Indexes, row.Text("index_name"))
		}},
	} {
		if err := read(step.query, step.take); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// kinds are the kinds of columns in the order in which a table's columns are told.
var kinds = []string{"partition_key", "clustering", "static", "regular"}

// ByPlace puts columns in order: the key first, the others by name.
func ByPlace(a, b agent.ColumnSchema) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Position, b.Position), strings.Compare(a.Name, b.Name))
}
