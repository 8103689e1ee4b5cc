//go:build engine

package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent"
)

const everyColumn = `CREATE TABLE console.everything (id int PRIMARY KEY, a ascii, b bigint, bl blob, bo boolean, da date, de decimal, dob double,
 du duration, f float, i inet, si smallint, t text, ti time, ts timestamp, tu timeuuid, ty tinyint, u uuid, v varint,
 l list<text>, m map<text, int>, s set<int>, tup tuple<int, text>, vec vector<float, 3>, ad frozen<address>, empty text, nothing text)`

const everyValue = `INSERT INTO console.everything (id, a, b, bl, bo, da, de, dob, du, f, i, si, t, ti, ts, tu, ty, u, v, l, m, s, tup, vec, ad, empty)
 VALUES (1, 'a', -9223372036854775808, 0xcafe, true, '2026-01-02', 1.50, 0.1, 1y2mo3d4h5m6s, 1.5, '2001:db8::1', -2, 'it''s; ☃', '08:12:54.123', '2026-01-02 03:04:05.678+0000',
 50554d6e-29bb-11e5-b345-feff819cdc9f, -1, 123e4567-e89b-12d3-a456-426614174000, 123456789012345678901234567890,
 ['x', 'y'], {'k': 1}, {3, 1}, (1, null), [1, 2.5, -3], {street: 'S', zip: null}, '')`

var everyShown = map[string]string{
	"id": "1", "a": "a", "b": "-9223372036854775808", "bl": "0xcafe", "bo": "true", "da": "2026-01-02", "de": "1.50", "dob": "0.1",
	"du": "1y2mo3d4h5m6s", "f": "1.5", "i": "2001:db8::1", "si": "-2", "t": "it's; ☃", "ti": "08:12:54.123000000",
	"ts": "2026-01-02T03:04:05.678Z", "tu": "50554d6e-29bb-11e5-b345-feff819cdc9f", "ty": "-1",
	"u": "123e4567-e89b-12d3-a456-426614174000", "v": "123456789012345678901234567890", "l": "['x', 'y']", "m": "{'k': 1}", "s": "{1, 3}",
	"tup": "(1, null)", "vec": "[1, 2.5, -3]", "ad": "{street: 'S', zip: null}", "empty": "",
}

func (c customer) run(name string, request agent.StatementRequest) agent.Statement {
	c.t.Helper()
	var told agent.Statement
	c.ask(http.MethodPut, "/v1/statements/"+name+"?wait=5", request, &told)
	if told.State != agent.Succeeded && told.State != agent.Failed {
		c.t.Fatalf("%s: %+v", name, told)
	}
	return told
}

// statementsAreRun is what the console does, as a role without any right but that to one keyspace.
func statementsAreRun(t *testing.T, c customer) {
	admin := func(name, statement string) agent.Statement {
		return c.run(name, agent.StatementRequest{Role: "admin", Password: "customer", Statement: statement, TimeoutSeconds: 30})
	}
	for index, statement := range []string{
		"CREATE KEYSPACE console WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TYPE console.address (street text, zip text)", everyColumn, "CREATE INDEX by_t ON console.everything (t)",
		"CREATE ROLE reader WITH PASSWORD = 'sesame-2' AND LOGIN = true", "GRANT SELECT ON KEYSPACE console TO reader", everyValue,
		"INSERT INTO console.everything (id) VALUES (2)",
	} {
		told := admin("make-"+string(rune('a'+index)), statement)
		if told.State != agent.Succeeded {
			t.Fatalf("%s: %+v", statement, told.Error)
		}
		if index == 2 && told.Result.Outcome != "CREATED TABLE console.everything" {
			t.Errorf("%+v", told.Result)
		}
	}
	reader := agent.StatementRequest{Role: "reader", Password: "sesame-2", Keyspace: "console", PageSize: 1, MayRunAgain: true}

	first := reader
	first.Statement, first.Tracing = "SELECT * FROM everything", true
	told := c.run("first", first)
	if told.State != agent.Succeeded || len(told.Result.Rows) != 1 || told.Result.NextPage == nil {
		t.Fatalf("%+v %+v", told, told.Error)
	}
	shown := map[string]string{}
	for index, column := range told.Result.Columns {
		if cell := told.Result.Rows[0][index]; cell != nil {
			shown[column.Name] = *cell
		}
	}
	for name, wanted := range everyShown {
		if cell, there := shown[name]; !there || cell != wanted {
			t.Errorf("%s: %q (%t), not %q", name, cell, there, wanted)
		}
	}
	if _, there := shown["nothing"]; there {
		t.Error("null is not null")
	}
	trace := told.Result.Trace
	if trace == nil || trace.Microseconds == nil || len(trace.Events) < 3 || trace.Events[0].Source != c.address || trace.Coordinator != c.address {
		t.Fatalf("%+v", trace)
	}
	if !slices.ContainsFunc(trace.Events, func(one agent.TraceEvent) bool { return strings.Contains(one.Activity, "Parsing") }) {
		t.Errorf("%+v", trace.Events)
	}

	second := first
	second.PageState, second.Tracing = told.Result.NextPage, false
	if next := c.run("second", second); len(next.Result.Rows) != 1 || *next.Result.Rows[0][0] != "2" || next.Result.Rows[0][1] != nil {
		t.Errorf("%+v", next.Result)
	}

	for name, refused := range map[string]struct{ statement, password, code string }{
		"write":    {"INSERT INTO everything (id) VALUES (3)", "sesame-2", "unauthorized"},
		"syntax":   {"SELECT\n * FORM everything", "sesame-2", "syntax-error"},
		"unknown":  {"SELECT * FROM nothing", "sesame-2", "invalid"},
		"password": {"SELECT * FROM everything", "guess", "bad-credentials"},
	} {
		request := reader
		request.Statement, request.Password = refused.statement, refused.password
		told := c.run("refused-"+name, request)
		if told.Error == nil || told.Error.Code != refused.code || told.Error.Message == "" {
			t.Errorf("%s: %+v", name, told.Error)
		} else if name == "syntax" && (told.Error.Line == nil || *told.Error.Line != 2 || *told.Error.Column != 3) {
			t.Errorf("%+v", told.Error)
		}
	}

	described := reader
	described.Statement, described.PageSize = "DESCRIBE TABLE everything", 100
	if told := c.run("describe", described); told.State != agent.Succeeded || !strings.Contains(*told.Result.Rows[0][3], "CREATE TABLE console.everything") {
		t.Errorf("%+v %+v", told, told.Error)
	}
	schemaIsTold(t, c.run("schema", agent.StatementRequest{Role: "reader", Password: "sesame-2", Schema: true}).Schema)
}

func schemaIsTold(t *testing.T, tree *agent.SchemaTree) {
	if tree == nil {
		t.Fatal("there is no schema")
	}
	place := slices.IndexFunc(tree.Keyspaces, func(one agent.SchemaKeyspace) bool { return one.Name == "console" })
	if place < 0 || tree.Left != 0 {
		t.Fatalf("%+v", tree)
	}
	keyspace := tree.Keyspaces[place]
	table := keyspace.Tables[0]
	if keyspace.System || keyspace.Replication["replication_factor"] != "1" || table.Name != "everything" || len(table.Columns) != 27 {
		t.Errorf("%+v", keyspace)
	}
	if table.Columns[0] != (agent.SchemaColumn{Name: "id", Type: "int", Kind: "partition_key", Order: "none"}) {
		t.Errorf("%+v", table.Columns[0])
	}
	if len(table.Indexes) != 1 || table.Indexes[0].Target != "t" || table.Indexes[0].Name != "by_t" {
		t.Errorf("%+v", table.Indexes)
	}
	if len(keyspace.Types) != 1 || !slices.Equal(keyspace.Types[0].Fields, []agent.SchemaField{{Name: "street", Type: "text"}, {Name: "zip", Type: "text"}}) {
		t.Errorf("%+v", keyspace.Types)
	}
	system := slices.IndexFunc(tree.Keyspaces, func(one agent.SchemaKeyspace) bool { return one.Name == "system_schema" })
	if system < 0 || !tree.Keyspaces[system].System {
		t.Error("the engine's own keyspaces are not marked")
	}
}
