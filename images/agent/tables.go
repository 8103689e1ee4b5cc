package agent

// The kinds of jobs that tell how tables are set, and set them.
const (
	// DescribeTables tells every table that is not the engine's own: its options, columns, indexes and statements.
	DescribeTables JobKind = "describe-tables"
	// AlterTable sets options of a table, if they still are what they were said to be.
	AlterTable JobKind = "alter-table"
	// RewriteTable writes the files of a table anew on this node, with the options that it has now.
	RewriteTable JobKind = "rewrite-table"
)

// TableJobKinds are all of them.
func TableJobKinds() []JobKind { return []JobKind{DescribeTables, AlterTable, RewriteTable} }

// TablesDescribed is the result of the job describe-tables.
type TablesDescribed struct {
	Keyspaces []DescribedKeyspace `json:"keyspaces"`
	Tables    []DescribedTable    `json:"tables"`
}

// DescribedKeyspace is how a keyspace is placed.
type DescribedKeyspace struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	// Replication is the number of replicas per data centre; of SimpleStrategy one entry "replication_factor".
	Replication map[string]int `json:"replication"`
}

// DescribedTable is a table, or a view.
type DescribedTable struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	ID       string `json:"id"`
	// ViewOf is the table that a materialized view is of.
	ViewOf string `json:"view_of,omitempty"`
	// Options by name: numbers, text, booleans, and maps of text.
	Options map[string]any   `json:"options"`
	Columns []ColumnSchema   `json:"columns"`
	Indexes []DescribedIndex `json:"indexes"`
	// Statement makes it anew, with its indexes.
	Statement string `json:"statement"`
}

// DescribedIndex is an index of a table.
type DescribedIndex struct {
	Name string `json:"name"`
	// Kind is the engine's word: COMPOSITES, KEYS or CUSTOM.
	Kind   string `json:"kind"`
	Target string `json:"target"`
	// Values is how many different ones this node has, as the engine estimates; left out: it keeps no such figure.
	Values *int64 `json:"values,omitempty"`
}

// AlterTableParameters are those of the job alter-table.
type AlterTableParameters struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	// Before is what the options to set are known to be. Another value is left alone.
	Before  map[string]any `json:"before"`
	Options map[string]any `json:"options"`
}

// TableAltered is the result of the job alter-table.
type TableAltered struct {
	// Changed: this job did it. Otherwise it was so already.
	Changed bool `json:"changed"`
	// Options are those that were to be set, as the engine has them now.
	Options map[string]any `json:"options"`
}

// RewriteTableParameters are those of the job rewrite-table.
type RewriteTableParameters struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
}
