package cqlschema

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// statementTypes are those that the engine tells, in the order in which they can be made.
var statementTypes = []string{"keyspace", "type", "function", "aggregate", "table", "index", "materialized_view"}

// Check refuses what cannot be made. Error code: invalid-parameters.
func Check(keyspace agent.KeyspaceToCreate) error {
	names := []string{keyspace.Name, newName(keyspace)}
	for before, after := range keyspace.RenamedTables {
		names = append(names, before, after)
	}
	for _, name := range names {
		if !IsName(name) {
			return agent.Errorf("invalid-parameters", "%q is not the name of a keyspace or a table", name)
		}
	}
	if IsSystem(newName(keyspace)) {
		return agent.Errorf("invalid-parameters", "%s is the engine's own.", newName(keyspace))
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

// newName is what the keyspace is called then.
func newName(keyspace agent.KeyspaceToCreate) string {
	if keyspace.As != "" {
		return keyspace.As
	}
	return keyspace.Name
}

// Create makes all of it and counts. `one` makes one statement with CreateOne on a session that it gets; `report` as a job's.
func Create(
	keyspaces []agent.KeyspaceToCreate, report agent.Report, one func(agent.KeyspaceToCreate, agent.SchemaStatement) (existed bool, err error),
) (made agent.SchemaCreated, err error) {
	total := 0
	for _, keyspace := range keyspaces {
		if err := Check(keyspace); err != nil {
			return agent.SchemaCreated{}, err
		}
		total += len(keyspace.Statements)
	}
	for _, keyspace := range keyspaces {
		for _, statement := range keyspace.Statements {
			report(float64(made.Created+made.Existing)/float64(total+1), "Creating "+statement.Type+" "+statement.Name)
			existed, err := one(keyspace, statement)
			switch {
			case err != nil:
				return agent.SchemaCreated{}, err
			case existed:
				made.Existing++
			default:
				made.Created++
			}
		}
	}
	report(0.95, "Waiting until all nodes have the schema")
	return made, nil
}

// CreateOne makes what one statement tells of, and leaves as it is what is there already. Error codes: invalid-parameters,
// schema-differs, schema-refused.
func CreateOne(ctx context.Context, conn Session, keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement) (existed bool, err error) {
	statements, name, err := rewritten(keyspace, statement)
	if err != nil {
		return false, err
	}
	if existed, err = alreadyThere(ctx, conn, newName(keyspace), statement.Type, name); err != nil {
		return false, err
	}
	if existed {
		return true, sameColumns(ctx, conn, keyspace, statement, name)
	}
	for _, one := range statements {
		_, err := conn.Query(ctx, cql.Quorum, one)
		if cql.Code(err) != 0 && !cql.Passing(err) {
			return false, agent.Errorf("schema-refused", "The engine does not make the %s %s: %s", statement.Type, name, shortened(err.Error()))
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func shortened(line string) string {
	const longest = 400
	if len(line) > longest {
		return strings.ToValidUTF8(line[:longest], "") + "…"
	}
	return line
}

// alreadyThere looks by name. Of functions, which may share a name, it says no: they are made only if they are not there.
func alreadyThere(ctx context.Context, conn Session, keyspace, kind, name string) (bool, error) {
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
func sameColumns(ctx context.Context, conn Session, keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement, name string) error {
	index := slices.IndexFunc(keyspace.Tables, func(table agent.TableSchema) bool { return table.Name == statement.Name })
	if index < 0 || (statement.Type != "table" && statement.Type != "materialized_view") {
		return nil
	}
	tables, err := ReadTables(ctx, conn, newName(keyspace))
	if err != nil {
		return err
	}
	for _, there := range tables {
		if there.Name != name {
			continue
		}
		if difference := columnDifference(there.Columns, keyspace.Tables[index].Columns); difference != "" {
			return agent.Errorf("schema-differs", "%s.%s is there already, and differs: %s.", newName(keyspace), name, difference)
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
	to := newName(keyspace)
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
	if statement.Type == "keyspace" && len(keyspace.Replication) > 0 {
		if words, err = replicated(words, keyspace.Replication); err != nil {
			return nil, "", err
		}
	}
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

// replicated puts other numbers of replicas into the statement of a keyspace; all else of it stays, such as how it is cut into tablets.
func replicated(words []cqlWord, replication map[string]int) ([]cqlWord, error) {
	factors, replicas := []string{"'class': 'NetworkTopologyStrategy'"}, 0
	for _, datacenter := range slices.Sorted(maps.Keys(replication)) {
		factors = append(factors, fmt.Sprintf("'%s': %d", strings.ReplaceAll(datacenter, "'", "''"), replication[datacenter]))
		if replication[datacenter] < 0 {
			return nil, agent.Errorf("invalid-parameters", "replication must be numbers by the names of data centres")
		}
		replicas += replication[datacenter]
	}
	if replicas == 0 {
		return nil, agent.Errorf("invalid-parameters", "a keyspace must have replicas somewhere")
	}
	is := func(text string) func(cqlWord) bool { return func(word cqlWord) bool { return word.text == text } }
	option := slices.IndexFunc(words, func(word cqlWord) bool { return word.name == "replication" })
	if option >= 0 {
		if begin := slices.IndexFunc(words[option:], is("{")); begin >= 0 {
			if length := slices.IndexFunc(words[option+begin:], is("}")); length >= 0 {
				return slices.Replace(words, option+begin, option+begin+length+1, cqlWord{text: "{" + strings.Join(factors, ", ") + "}"}), nil
			}
		}
	}
	return nil, agent.Errorf("invalid-parameters", "what makes the keyspace does not say how it is replicated")
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

// Split are the statements of a text, without the semicolons between them.
func Split(text string) []string {
	var statements []string
	for _, words := range splitWords(cqlWords(text)) {
		statements = append(statements, joinWords(words))
	}
	return statements
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
			words[index] = cqlWord{text: Quoted(to), name: to}
			return
		}
		if index+2 >= len(words) || words[index+1].text != "." || words[index+2].name == "" {
			continue
		}
		if renamed, is := keyspace.RenamedTables[words[index+2].name]; is {
			words[index+2] = cqlWord{text: Quoted(renamed), name: renamed}
		}
		words[index] = cqlWord{text: Quoted(to), name: to}
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
				words[indexAt] = cqlWord{text: Quoted(name), name: name}
			}
		}
	}
	return words[indexAt].name
}
