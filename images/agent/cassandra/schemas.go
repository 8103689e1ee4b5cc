package cassandra

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// describeSchema tells keyspaces in the engine's own statements, and in parts. Error codes, besides those of access:
// invalid-parameters, unknown-keyspace.
func (e *Engine) describeSchema(ctx context.Context, parameters agent.DescribeSchemaParameters, _ agent.Report) (agent.SchemaDescription, error) {
	for _, name := range parameters.Keyspaces {
		if !keyspaceForm.MatchString(name) {
			return agent.SchemaDescription{}, agent.Errorf("invalid-parameters", "%q is not the name of a keyspace", name)
		}
	}
	var told agent.SchemaDescription
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		told = agent.SchemaDescription{Keyspaces: []agent.KeyspaceSchema{}}
		names := parameters.Keyspaces
		if len(names) == 0 {
			rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name FROM system_schema.keyspaces")
			if err != nil {
				return err
			}
			for _, row := range rows {
				if name := row.Text("keyspace_name"); !isSystem(name) {
					names = append(names, name)
				}
			}
			slices.Sort(names)
		}
		for _, name := range names {
			keyspace, err := describeKeyspace(ctx, conn, name)
			if err != nil {
				return err
			}
			told.Keyspaces = append(told.Keyspaces, keyspace)
		}
		return nil
	})
	return told, err
}

func describeKeyspace(ctx context.Context, conn *cql.Conn, name string) (agent.KeyspaceSchema, error) {
	placed, err := readReplication(ctx, conn, name)
	if err != nil {
		return agent.KeyspaceSchema{}, err
	}
	told := agent.KeyspaceSchema{Name: name, Class: placed.class, Replication: placed.factors, Statements: []agent.SchemaStatement{}}
	rows, err := conn.Query(ctx, cql.One, "DESCRIBE KEYSPACE "+quotedName(name)+" WITH INTERNALS")
	if err != nil {
		return agent.KeyspaceSchema{}, err
	}
	for _, row := range rows {
		told.Statements = append(told.Statements, agent.SchemaStatement{
			Type: row.Text("type"), Name: row.Text("name"), Statement: row.Text("create_statement"),
		})
	}
	told.Tables, err = readTables(ctx, conn, name)
	return told, err
}

// readTables are the tables and views of a keyspace.
func readTables(ctx context.Context, conn *cql.Conn, keyspace string) ([]agent.TableSchema, error) {
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

// createSchema makes what was described, here or elsewhere, under the same or other names. What is there is left as it is. Error
// codes, besides those of access: invalid-parameters, schema-differs, schema-refused, schema-disagreement.
func (e *Engine) createSchema(ctx context.Context, parameters agent.CreateSchemaParameters, report agent.Report) (agent.SchemaCreated, error) {
	var made agent.SchemaCreated
	total, seen := 0, 0
	for _, keyspace := range parameters.Keyspaces {
		if err := checkToCreate(keyspace); err != nil {
			return agent.SchemaCreated{}, err
		}
		total += len(keyspace.Statements)
	}
	for _, keyspace := range parameters.Keyspaces {
		for _, statement := range keyspace.Statements {
			report(float64(seen)/float64(total+1), "Creating "+statement.Type+" "+statement.Name)
			seen++
			existed, err := e.createOne(ctx, keyspace, statement)
			if err != nil {
				return agent.SchemaCreated{}, err
			}
			if existed {
				made.Existing++
			} else {
				made.Created++
			}
		}
	}
	report(0.95, "Waiting until all nodes have the schema")
	return made, e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error { return e.schemaAgreed(ctx, conn) })
}

// statementTypes are those that the engine tells, in the order in which they can be made.
var statementTypes = []string{"keyspace", "type", "function", "aggregate", "table", "index", "materialized_view"}

func checkToCreate(keyspace agent.KeyspaceToCreate) error {
	names := []string{keyspace.Name, orElse(keyspace.As, keyspace.Name)}
	for before, after := range keyspace.RenamedTables {
		names = append(names, before, after)
	}
	for _, name := range names {
		if !keyspaceForm.MatchString(name) {
			return agent.Errorf("invalid-parameters", "%q is not the name of a keyspace or a table", name)
		}
	}
	if isSystem(orElse(keyspace.As, keyspace.Name)) {
		return agent.Errorf("invalid-parameters", "%s is the engine's own.", orElse(keyspace.As, keyspace.Name))
	}
	if keyspace.KeepIDs && len(keyspace.RenamedTables) > 0 {
		return agent.Errorf("invalid-parameters", "keep_ids goes with the old names only: two tables cannot have one id")
	}
	for _, statement := range keyspace.Statements {
		if !slices.Contains(statementTypes, statement.Type) {
			return agent.Errorf("invalid-parameters", "statements are of the types %s, not %q", strings.Join(statementTypes, ", "), statement.Type)
		}
	}
	return nil
}

func (e *Engine) createOne(ctx context.Context, keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement) (existed bool, err error) {
	statements, name, err := rewritten(keyspace, statement)
	if err != nil {
		return false, err
	}
	err = e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		if existed, err = alreadyThere(ctx, conn, orElse(keyspace.As, keyspace.Name), statement.Type, name); err != nil {
			return err
		}
		if existed {
			return sameColumns(ctx, conn, keyspace, statement, name)
		}
		for _, one := range statements {
			_, err := conn.Query(ctx, cql.Quorum, one)
			if cql.Code(err) != 0 && !cql.Passing(err) {
				return agent.Errorf("schema-refused", "The engine does not make the %s %s: %s", statement.Type, name, shortened(err.Error()))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return existed, err
}

// alreadyThere looks by name. Of functions, which may share a name, it says no: they are made only if they are not there.
func alreadyThere(ctx context.Context, conn *cql.Conn, keyspace, kind, name string) (bool, error) {
	column, table := "", ""
	switch kind {
	case "keyspace":
		rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)
		return len(rows) > 0, err
	case "type":
		column, table = "type_name", "types"
	case "table":
		column, table = "table_name", "tables"
	case "materialized_view":
		column, table = "view_name", "views"
	case "index":
		column, table = "index_name", "indexes"
	default:
		return false, nil
	}
	rows, err := conn.Query(ctx, cql.One, "SELECT "+column+" FROM system_schema."+table+" WHERE keyspace_name = ?", keyspace)
	return slices.ContainsFunc(rows, func(row cql.Row) bool { return row.Text(column) == name }), err
}

// sameColumns compares a table that is there with what was told of the one to make, if that was given. Error code: schema-differs.
func sameColumns(ctx context.Context, conn *cql.Conn, keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement, name string) error {
	index := slices.IndexFunc(keyspace.Tables, func(table agent.TableSchema) bool { return table.Name == statement.Name })
	if index < 0 || (statement.Type != "table" && statement.Type != "materialized_view") {
		return nil
	}
	tables, err := readTables(ctx, conn, orElse(keyspace.As, keyspace.Name))
	if err != nil {
		return err
	}
	for _, there := range tables {
		if there.Name != name {
			continue
		}
		if difference := columnDifference(there.Columns, keyspace.Tables[index].Columns); difference != "" {
			return agent.Errorf("schema-differs", "%s.%s is there already, and differs: %s.", orElse(keyspace.As, keyspace.Name), name, difference)
		}
	}
	return nil
}

func columnDifference(there, wanted []agent.ColumnSchema) string {
	for _, one := range wanted {
		index := slices.IndexFunc(there, func(other agent.ColumnSchema) bool { return other.Name == one.Name })
		if index < 0 {
			return "it has no column " + one.Name
		}
		if there[index] != one {
			return fmt.Sprintf("the column %s is %s %s there, %s %s here", one.Name, there[index].Kind, there[index].Type, one.Kind, one.Type)
		}
	}
	for _, one := range there {
		if !slices.ContainsFunc(wanted, func(other agent.ColumnSchema) bool { return other.Name == one.Name }) {
			return "it has a column " + one.Name + " more"
		}
	}
	return ""
}

// rewritten are the statements that make one thing, with the new names, and what it is then called.
func rewritten(keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement) (statements []string, name string, err error) {
	to := orElse(keyspace.As, keyspace.Name)
	if statement.Type == "keyspace" && len(keyspace.Replication) > 0 {
		placed := KeyspaceReplication{Name: to, Replication: keyspace.Replication}
		if err := (ReplicateParameters{Keyspaces: []KeyspaceReplication{placed}}).check(); err != nil {
			return nil, "", err
		}
		return []string{strings.Replace(alterReplication(placed), "ALTER KEYSPACE", "CREATE KEYSPACE IF NOT EXISTS", 1)}, to, nil
	}
	words := cqlWords(statement.Statement)
	if len(words) == 0 || !strings.EqualFold(words[0].text, "CREATE") {
		return nil, "", agent.Errorf("invalid-parameters", "what makes the %s %s does not begin with CREATE", statement.Type, statement.Name)
	}
	name = statement.Name
	if renamed, is := keyspace.RenamedTables[name]; is && (statement.Type == "table" || statement.Type == "materialized_view") {
		name = renamed
	}
	if statement.Type == "keyspace" {
		name = to
	}
	renameWords(words, keyspace, to, statement)
	if statement.Type == "index" {
		name = renameIndex(words, keyspace)
	}
	for _, one := range splitWords(words) {
		text := joinWords(one)
		if !keyspace.KeepIDs {
			text = withoutID(text)
		}
		statements = append(statements, ifNotExists(text))
	}
	return statements, name, nil
}

var (
	onlyID  = regexp.MustCompile(`(?s)\s+WITH ID = [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*$`)
	firstID = regexp.MustCompile(`\sWITH ID = [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s+AND `)
	makes   = regexp.MustCompile(`(?i)^(CREATE (?:OR REPLACE )?(?:KEYSPACE|TYPE|TABLE|CUSTOM INDEX|INDEX|MATERIALIZED VIEW|FUNCTION|AGGREGATE))\s+`)
)

// withoutID drops the table's id, which the engine writes as the first option.
func withoutID(text string) string {
	if where := firstID.FindStringIndex(text); where != nil {
		return text[:where[0]] + " WITH " + text[where[1]:]
	}
	return onlyID.ReplaceAllString(text, "")
}

func ifNotExists(text string) string {
	found := makes.FindString(text)
	if found == "" || strings.HasPrefix(strings.ToUpper(text[len(found):]), "IF NOT EXISTS") {
		return text
	}
	return strings.TrimSpace(found) + " IF NOT EXISTS " + text[len(found):]
}

// cqlWord is a piece of a statement: white space, a name, a text in quotation marks, or one character.
type cqlWord struct {
	text string
	// name is what a name stands for: without quotation marks, small letters otherwise. Empty for all else.
	name string
}

var wordForm = regexp.MustCompile(`(?s)^(?:\s+|\$\$.*?\$\$|'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_]*|[0-9][A-Za-z0-9_.+-]*|.)`)

func cqlWords(statement string) []cqlWord {
	var words []cqlWord
	for rest := strings.TrimSpace(statement); rest != ""; {
		text := wordForm.FindString(rest)
		rest = rest[len(text):]
		word := cqlWord{text: text}
		switch {
		case text[0] == '"' && len(text) > 1:
			word.name = strings.ReplaceAll(text[1:len(text)-1], `""`, `"`)
		case text[0] == '_' || (text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z'):
			word.name = strings.ToLower(text)
		}
		words = append(words, word)
	}
	return words
}

func joinWords(words []cqlWord) string {
	var text strings.Builder
	for _, word := range words {
		text.WriteString(word.text)
	}
	return strings.TrimSpace(text.String())
}

// splitWords parts statements at semicolons: after a table may stand what was dropped from it.
func splitWords(words []cqlWord) [][]cqlWord {
	var all [][]cqlWord
	start := 0
	for index, word := range words {
		if word.text == ";" {
			all = append(all, words[start:index])
			start = index + 1
		}
	}
	all = append(all, words[start:])
	return slices.DeleteFunc(all, func(one []cqlWord) bool { return joinWords(one) == "" })
}

// renameWords changes names of tables that stand with that of their keyspace, and the keyspace's own.
func renameWords(words []cqlWord, keyspace agent.KeyspaceToCreate, to string, statement agent.SchemaStatement) {
	for index, word := range words {
		if word.name != keyspace.Name {
			continue
		}
		if statement.Type == "keyspace" {
			words[index] = cqlWord{text: quotedName(to), name: to}
			return
		}
		if index+2 >= len(words) || words[index+1].text != "." || words[index+2].name == "" {
			continue
		}
		if renamed, is := keyspace.RenamedTables[words[index+2].name]; is {
			words[index+2] = cqlWord{text: quotedName(renamed), name: renamed}
		}
		words[index] = cqlWord{text: quotedName(to), name: to}
	}
}

// renameIndex gives the index of a renamed table another name, because names of indexes are a keyspace's own; it returns the name.
func renameIndex(words []cqlWord, keyspace agent.KeyspaceToCreate) string {
	indexAt, tableAt := -1, -1
	for index, word := range words {
		switch {
		case indexAt < 0 && word.name != "" && !slices.Contains([]string{"create", "custom", "index", "if", "not", "exists"}, word.name):
			indexAt = index
		case indexAt >= 0 && word.text == "." && index+1 < len(words):
			tableAt = index + 1
		}
		if tableAt >= 0 {
			break
		}
	}
	if indexAt < 0 {
		return ""
	}
	if tableAt >= 0 {
		for _, renamed := range keyspace.RenamedTables {
			if words[tableAt].name == renamed {
				name := renamed + "_" + words[indexAt].name
				words[indexAt] = cqlWord{text: quotedName(name), name: name}
			}
		}
	}
	return words[indexAt].name
}
