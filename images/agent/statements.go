package agent

import (
	"slices"
	"strings"
	"time"
)

// Statements of people: run as a role of theirs over a connection of its own, and kept in memory only. See docs/cql-console.md.

// StatementRequest is the body of PUT /v1/statements/{name}. It is never written down.
type StatementRequest struct {
	Role     string `json:"role"`
	Password string `json:"password"`
	// Statement is one statement; with Schema it is left out.
	Statement string `json:"statement,omitempty"`
	// Schema asks for what there is instead: keyspaces, tables and all in them.
	Schema bool `json:"schema,omitempty"`
	// Keyspace is that of names without one; left out: none.
	Keyspace string `json:"keyspace,omitempty"`
	// Consistency in CQL's words; left out: LOCAL_QUORUM.
	Consistency string `json:"consistency,omitempty"`
	// PageSize is how many rows are wanted, 1 to 1000; left out: 100.
	PageSize int `json:"page_size,omitempty"`
	// PageState is what the page before told as next_page.
	PageState []byte `json:"page_state,omitempty"`
	// TimeoutSeconds is 1 to 60; left out: 10.
	TimeoutSeconds int  `json:"timeout_seconds,omitempty"`
	Tracing        bool `json:"tracing,omitempty"`
	// MayRunAgain: it changes nothing, so it may be asked again for fewer rows when those of a page are too large.
	MayRunAgain bool `json:"may_run_again,omitempty"`
}

const (
	longestStatement                  = 128 << 10
	longestPageState                  = 32 << 10
	usualPage, largestPage            = 100, 1000
	usualPatience, longestPatience    = 10, 60
	longestKeyspace, longestLoginName = 48, 255
)

// Consistencies are CQL's words for how many replicas must answer.
func Consistencies() []string {
	return []string{"ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL", "LOCAL_SERIAL", "LOCAL_ONE"}
}

// Check refuses what no engine can do, and fills in what was left out. Error code: invalid-parameters.
func (r *StatementRequest) Check() error {
	refuse := func(format string, arguments ...any) error { return Errorf("invalid-parameters", format, arguments...) }
	if r.PageSize == 0 {
		r.PageSize = usualPage
	}
	if r.TimeoutSeconds == 0 {
		r.TimeoutSeconds = usualPatience
	}
	if r.Consistency == "" {
		r.Consistency = "LOCAL_QUORUM"
	}
	switch {
	case r.Role == "" || len(r.Role) > longestLoginName || len(r.Password) > longestLoginName:
		return refuse("role and password must have 1 to %d bytes", longestLoginName)
	case strings.ContainsRune(r.Role+r.Password, 0):
		// It separates one from the other in the protocol.
		return refuse("role and password must not hold a NUL")
	case r.Schema == (r.Statement != ""):
		return refuse("either a statement or schema")
	case len(r.Statement) > longestStatement:
		return refuse("a statement has at most %d bytes", longestStatement)
	case len(r.PageState) > longestPageState:
		return refuse("page_state has at most %d bytes", longestPageState)
	case r.PageSize < 1 || r.PageSize > largestPage:
		return refuse("page_size must be 1 to %d", largestPage)
	case r.TimeoutSeconds < 1 || r.TimeoutSeconds > longestPatience:
		return refuse("timeout_seconds must be 1 to %d", longestPatience)
	case len(r.Keyspace) > longestKeyspace || r.Keyspace != "" && !schemaName.MatchString(r.Keyspace):
		return refuse("%q is not the name of a keyspace", r.Keyspace)
	case !slices.Contains(Consistencies(), r.Consistency):
		return refuse("there is no consistency %q", r.Consistency)
	}
	return nil
}

// Statement is how far a statement is. It is forgotten a minute after its end.
type Statement struct {
	Name  string   `json:"name"`
	State JobState `json:"state"`
	// Error is why it failed. Codes are those of StatementProblem in docs/agent-api.md; messages are the engine's own words.
	Error *StatementProblem `json:"error"`
	// Result is nil until it has succeeded. Schema is, too, unless it was asked for.
	Result *StatementResult `json:"result"`
	Schema *SchemaTree      `json:"schema"`
}

// StatementProblem is why a statement failed.
type StatementProblem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Line counts from 1 and Column from 0; nil: the engine does not say where.
	Line   *int `json:"line"`
	Column *int `json:"column"`
}

// StatementResult is one page of what a statement gave.
type StatementResult struct {
	// HasRows: the statement gives rows, even if there are none.
	HasRows bool           `json:"has_rows"`
	Columns []ResultColumn `json:"columns"`
	// Rows have a text for each column; null is null. Text is as it is, all else as CQL writes it.
	Rows [][]*string `json:"rows"`
	// Cut are the cells whose text is longer than is told.
	Cut []CutCell `json:"cut"`
	// NextPage is what to ask for the next page with; left out: this was the last.
	NextPage []byte   `json:"next_page,omitempty"`
	Warnings []string `json:"warnings"`
	// Outcome of a statement that changed the schema, for example "CREATED TABLE shop.orders".
	Outcome string `json:"outcome"`
	// Microseconds from the request to the engine's answer, on this node.
	Microseconds int64           `json:"microseconds"`
	Trace        *StatementTrace `json:"trace"`
}

// ResultColumn is a column of a result.
type ResultColumn struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	Name     string `json:"name"`
	Type     string `json:"type"`
}

// CutCell is a cell of which only the beginning is told; Bytes is how long its text is.
type CutCell struct {
	Row    int `json:"row"`
	Column int `json:"column"`
	Bytes  int `json:"bytes"`
}

// StatementTrace is what the nodes did for a statement.
type StatementTrace struct {
	ID          string     `json:"id"`
	Coordinator string     `json:"coordinator"`
	StartedAt   *time.Time `json:"started_at"`
	// Microseconds that the whole took; nil: the engine had not written it down in time, and events may be missing.
	Microseconds *int64       `json:"microseconds"`
	Events       []TraceEvent `json:"events"`
}

// TraceEvent is a thing that a node did. Offset is from the first event, by the nodes' clocks; Elapsed since that node began with the
// statement, nil when it does not say. Both in microseconds.
type TraceEvent struct {
	Source   string `json:"source"`
	Activity string `json:"activity"`
	Thread   string `json:"thread"`
	Offset   int64  `json:"offset_microseconds"`
	Elapsed  *int64 `json:"elapsed_microseconds"`
}

// SchemaTree is what there is in a database.
type SchemaTree struct {
	Keyspaces []SchemaKeyspace `json:"keyspaces"`
	// Left is how many columns were not told: there were too many.
	Left int `json:"left"`
}

// SchemaKeyspace is a keyspace and what is in it.
type SchemaKeyspace struct {
	Name string `json:"name"`
	// System: the engine's own.
	System      bool              `json:"system"`
	Replication map[string]string `json:"replication"`
	Tables      []SchemaTable     `json:"tables"`
	Types       []SchemaType      `json:"types"`
	Functions   []SchemaFunction  `json:"functions"`
}

// SchemaTable is a table or a materialized view.
type SchemaTable struct {
	Name string `json:"name"`
	// ViewOf is the table that it is a view of; empty: it is a table.
	ViewOf  string         `json:"view_of"`
	Comment string         `json:"comment"`
	Columns []SchemaColumn `json:"columns"`
	Indexes []SchemaIndex  `json:"indexes"`
}

// SchemaColumn is a column. Kind is partition_key, clustering, static or regular; Order asc, desc or none.
type SchemaColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Kind     string `json:"kind"`
	Position int    `json:"position"`
	Order    string `json:"order"`
}

// SchemaIndex is an index. Target is what it is of, Using the class of a custom one.
type SchemaIndex struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Using  string `json:"using"`
}

// SchemaType is a user-defined type.
type SchemaType struct {
	Name   string        `json:"name"`
	Fields []SchemaField `json:"fields"`
}

// SchemaField is a field of a user-defined type.
type SchemaField struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// SchemaFunction is a user-defined function or aggregate.
type SchemaFunction struct {
	Name      string   `json:"name"`
	Aggregate bool     `json:"aggregate"`
	Arguments []string `json:"arguments"`
	Returns   string   `json:"returns"`
	Language  string   `json:"language"`
}
