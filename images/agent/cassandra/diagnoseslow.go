package cassandra

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// slowQuery is how the engine writes one: the statement with its values, and how long it took once or several times.
var slowQuery = regexp.MustCompile(`(?s)<(.+?)>, (?:time (\d+) msec|was slow (\d+) times: avg/min/max (\d+)/(\d+)/(\d+) msec) - slow timeout (\d+) msec(/cross-node)?`)

// slowStatement is one of a table, as often as it was slow.
type slowStatement struct {
	at, statement       string
	times, average, max int64
	crossNode           bool
}

func readSlow(from io.Reader) ([]slowStatement, error) {
	var all []slowStatement
	err := readEntries(from, wholeFile, func(one entry) {
		for _, found := range slowQuery.FindAllStringSubmatch(one.Text, -1) {
			slow := slowStatement{at: one.At, statement: found[1], times: 1, crossNode: found[8] != ""}
			figure := func(index int) int64 { value, _ := strconv.ParseInt(found[index], 10, 64); return value }
			if found[2] != "" {
				slow.average, slow.max = figure(2), figure(2)
			} else {
				slow.times, slow.average, slow.max = figure(3), figure(4), figure(6)
			}
			all = append(all, slow)
		}
	})
	return all, err
}

// askSlowQueries tells what took longer than the engine's slow_query_log_timeout on this node.
func (e *Engine) askSlowQueries(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	keys, err := readKeys(ctx, conn)
	if err != nil {
		return agent.Answer{}, err
	}
	limits, err := conn.Query(ctx, cql.One, "SELECT value FROM system_views.settings WHERE name = 'slow_query_log_timeout'")
	if err != nil {
		return agent.Answer{}, err
	}
	files, err := logFiles(e.place.slowLog())
	if err != nil {
		return agent.Answer{}, err
	}
	var rows [][]any
	for _, path := range files {
		file, err := openLog(path)
		if err != nil {
			return agent.Answer{}, err
		}
		found, err := readSlow(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return agent.Answer{}, err
		}
		for _, slow := range slices.Backward(found) {
			keyspace, table, filters := keys.judge(slow.statement)
			if parameters.Keyspace != "" && keyspace != parameters.Keyspace || parameters.Table != "" && table != parameters.Table {
				continue
			}
			rows = append(rows, []any{slow.at, keyspace + "." + table, filters, slow.times, slow.average, slow.max, slow.crossNode, shortenedTo(strings.TrimSuffix(slow.statement, alwaysAdded), 2000)})
		}
	}
	answer := agent.Answer{
		Tables: []agent.AnswerTable{agent.Told("Slow queries, the newest first", []agent.AnswerColumn{
			column("At", agent.Text), column("Table", agent.Text), column("Needs ALLOW FILTERING", agent.Flag), column("Times", agent.Count),
			column("Average", agent.Milliseconds), column("Longest", agent.Milliseconds), column("Asked by another node", agent.Flag),
			column("What was read", agent.Text),
		}, rows, parameters.Limit)},
		Notes: []string{
			"Reads only, as the replica saw them. Needs ALLOW FILTERING: it is restricted by a column that is neither of its key nor indexed, or by a part of its key without the partition. " +
				"The engine's own log writes ALLOW FILTERING behind all of them.",
		},
	}
	for _, row := range limits {
		answer.Facts = append(answer.Facts, fact("Slow is more than (slow_query_log_timeout)", agent.Text, row.Text("value")))
	}
	if len(files) == 0 {
		answer.Notes = append(answer.Notes, "This engine was started by an earlier agent, which kept no log of slow queries; it does from its next start on.")
	}
	return answer, nil
}

// alwaysAdded is at the end of every statement as the engine writes it, whether or not it was needed.
const alwaysAdded = " ALLOW FILTERING"

func shortenedTo(text string, longest int) string {
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// tableKeys are what reads of a table may be restricted by without filtering.
type tableKeys struct {
	partition []string
	// free are columns by which the engine finds rows: the key's and those that are indexed.
	clustering, indexed []string
}

// keysOf holds them by keyspace.table.
type keysOf map[string]*tableKeys

var indexTarget = regexp.MustCompile(`^(?:\w+\()?"?([^")]+)"?\)?$`)

func readKeys(ctx context.Context, conn *cql.Conn) (keysOf, error) {
	keys := keysOf{}
	rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, table_name, column_name, kind FROM system_schema.columns")
	if err != nil {
		return nil, err
	}
	of := func(row cql.Row) *tableKeys {
		name := row.Text("keyspace_name") + "." + row.Text("table_name")
		if keys[name] == nil {
			keys[name] = &tableKeys{}
		}
		return keys[name]
	}
	for _, row := range rows {
		switch table := of(row); row.Text("kind") {
		case "partition_key":
			table.partition = append(table.partition, row.Text("column_name"))
		case "clustering":
			table.clustering = append(table.clustering, row.Text("column_name"))
		}
	}
	indexes, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, table_name, options FROM system_schema.indexes")
	if err != nil {
		return nil, err
	}
	for _, row := range indexes {
		options, _ := row["options"].(map[string]any)
		target, _ := options["target"].(string)
		if found := indexTarget.FindStringSubmatch(target); found != nil {
			table := of(row)
			table.indexed = append(table.indexed, found[1])
		}
	}
	return keys, nil
}

var (
	readFrom = regexp.MustCompile(`(?s) FROM "?(\w+)"?\."?(\w+)"?(?: WHERE (.*))?`)
	// quotedValue is left out before columns are looked for: a value may look like a restriction.
	quotedValue = regexp.MustCompile(`'(?:[^']|'')*'`)
	restriction = regexp.MustCompile(`(?i)(?:^|\bAND\s+|\(|,\s*)"?(\w+)"?\)?(?:\[[^\]]*\])?\s*(?:=|<=|>=|<|>|\bIN\b|\bCONTAINS\b|\bLIKE\b|!=)`)
)

// judge tells what a statement of the slow log reads, and whether it needs ALLOW FILTERING; nil: the table is not known any more.
func (keys keysOf) judge(statement string) (keyspace, table string, filters any) {
	found := readFrom.FindStringSubmatch(statement)
	if found == nil {
		return "", "", nil
	}
	keyspace, table = found[1], found[2]
	known := keys[keyspace+"."+table]
	if known == nil {
		return keyspace, table, nil
	}
	restricted := map[string]bool{}
	for _, match := range restriction.FindAllStringSubmatch(quotedValue.ReplaceAllString(found[3], "''"), -1) {
		restricted[match[1]] = true
	}
	whole := true
	for _, name := range known.partition {
		whole = whole && restricted[name]
	}
	for name := range restricted {
		switch {
		case slices.Contains(known.indexed, name):
		case slices.Contains(known.partition, name) || slices.Contains(known.clustering, name):
			// token(…) restricts a range of partitions, not the columns in it.
			if !whole && !strings.Contains(found[3], "token(") {
				return keyspace, table, true
			}
		default:
			return keyspace, table, true
		}
	}
	return keyspace, table, false
}
