package agent

import (
	"slices"
	"time"
)

// What a node is asked about itself, and the one form of every answer: docs/diagnostics.md.

// Diagnose is the kind of job that asks one question. It changes nothing.
const Diagnose JobKind = "diagnose"

// Question says what a node is asked.
type Question string

// The questions.
const (
	AskStatus          Question = "status"
	AskRing            Question = "ring"
	AskTableStatistics Question = "table-statistics"
	AskThreadPools     Question = "thread-pools"
	AskCompactions     Question = "compactions"
	AskStreams         Question = "streams"
	AskClients         Question = "clients"
	AskMemory          Question = "memory"
	AskLog             Question = "log"
	AskSlowQueries     Question = "slow-queries"
	AskHotPartitions   Question = "hot-partitions"
	AskFlameGraph      Question = "flame-graph"
	AskSSTables        Question = "sstables"
	AskCQLTraffic      Question = "cql-traffic"
	AskNodeTraffic     Question = "node-traffic"
)

// DiagnoseParameters are those of the job diagnose. Each question takes some of them.
type DiagnoseParameters struct {
	Question Question `json:"question"`
	Keyspace string   `json:"keyspace,omitempty"`
	Table    string   `json:"table,omitempty"`
	// Seconds is how long to sample, 1 to 60; left out: 10.
	Seconds int `json:"seconds,omitempty"`
	// Minutes is how long to read files at most, 1 to 60; left out: 10.
	Minutes int `json:"minutes,omitempty"`
	// Limit is how many rows or lines are wanted, 1 to 1000; left out: 200.
	Limit int `json:"limit,omitempty"`
	// Level is the least severe that is wanted of a log: DEBUG, INFO, WARN or ERROR; left out: all.
	Level string `json:"level,omitempty"`
	// Search is text that lines of a log must hold, whatever its case.
	Search string `json:"search,omitempty"`
	// Before is where an earlier answer about the log ended: the page before it is wanted.
	Before string `json:"before,omitempty"`
}

// MostRows is the most rows or lines that one answer has.
const MostRows = 1000

const (
	usualSeconds, mostSeconds = 10, 60
	usualMinutes, mostMinutes = 10, 60
	usualLimit                = 200
)

// Check refuses what no engine can do, and fills in what was left out. Error code: invalid-parameters.
func (p *DiagnoseParameters) Check() error {
	refuse := func(format string, arguments ...any) error { return Errorf("invalid-parameters", format, arguments...) }
	if p.Seconds == 0 {
		p.Seconds = usualSeconds
	}
	if p.Minutes == 0 {
		p.Minutes = usualMinutes
	}
	if p.Limit == 0 {
		p.Limit = usualLimit
	}
	for _, name := range []string{p.Keyspace, p.Table} {
		if name != "" && !schemaName.MatchString(name) {
			return refuse("%q is not the name of a keyspace or table", name)
		}
	}
	const longestSearch = 200
	switch {
	case p.Seconds < 1 || p.Seconds > mostSeconds:
		return refuse("seconds must be 1 to %d", mostSeconds)
	case p.Minutes < 1 || p.Minutes > mostMinutes:
		return refuse("minutes must be 1 to %d", mostMinutes)
	case p.Limit < 1 || p.Limit > MostRows:
		return refuse("limit must be 1 to %d", MostRows)
	case len(p.Search) > longestSearch:
		return refuse("search has at most %d bytes", longestSearch)
	case p.Level != "" && !slices.Contains(LogLevels(), p.Level):
		return refuse("level must be DEBUG, INFO, WARN or ERROR")
	case p.Question == AskRing && p.Keyspace == "":
		return refuse("of which keyspace?")
	case p.Question == AskSSTables && p.Table == "":
		return refuse("of which table?")
	case p.Table != "" && p.Keyspace == "":
		return refuse("a table needs its keyspace")
	}
	return nil
}

// LogLevels go from the least severe to the most.
func LogLevels() []string { return []string{"DEBUG", "INFO", "WARN", "ERROR"} }

// Unit says what the values of a column or fact are.
type Unit string

// The units. Text is a string, Flag a boolean, Moment a time as RFC 3339 writes it, all others numbers.
const (
	Text         Unit = "text"
	Flag         Unit = "flag"
	Moment       Unit = "time"
	Count        Unit = "count"
	Bytes        Unit = "bytes"
	Seconds      Unit = "seconds"
	Milliseconds Unit = "milliseconds"
	// Ratio is 0 to 1.
	Ratio Unit = "ratio"
)

// Answer is what every question is answered with: whatever of these parts there is to tell. Values that are not known are null.
type Answer struct {
	TakenAt time.Time     `json:"taken_at"`
	Facts   []AnswerFact  `json:"facts,omitempty"`
	Tables  []AnswerTable `json:"tables,omitempty"`
	Log     *AnswerLog    `json:"log,omitempty"`
	Flame   *AnswerFlame  `json:"flame,omitempty"`
	File    *AnswerFile   `json:"file,omitempty"`
	// Notes are sentences about what the answer does and does not hold.
	Notes []string `json:"notes,omitempty"`
}

// AnswerFile is something to download, of at most MostFileBytes.
type AnswerFile struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	// Content is in base64.
	Content []byte `json:"content"`
}

// MostFileBytes is the most that a file of an answer has.
const MostFileBytes = 1 << 20

// AnswerFact is one value with its name.
type AnswerFact struct {
	Label string `json:"label"`
	Unit  Unit   `json:"unit"`
	Value any    `json:"value"`
}

// AnswerTable has a value for each column in every row.
type AnswerTable struct {
	Title   string         `json:"title"`
	Columns []AnswerColumn `json:"columns"`
	Rows    [][]any        `json:"rows"`
	// Left is how many rows more there were than are told.
	Left int `json:"left"`
}

// AnswerColumn says what is in a column.
type AnswerColumn struct {
	Title string `json:"title"`
	Unit  Unit   `json:"unit"`
}

// AnswerLog is a page of a log, in the order in which it was written.
type AnswerLog struct {
	Lines []LogLine `json:"lines"`
	// Before is what to ask with for what was written before; empty: there is no more.
	Before string `json:"before"`
}

// LogLine is one entry of a log; what a program printed below it is part of its text.
type LogLine struct {
	// At is as the engine wrote it, in the machine's own time zone.
	At     string `json:"at"`
	Level  string `json:"level"`
	Thread string `json:"thread"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// AnswerFlame is how often the engine was seen in which function.
type AnswerFlame struct {
	Samples int       `json:"samples"`
	Root    FlameNode `json:"root"`
}

// FlameNode is a function, called by the one above it.
type FlameNode struct {
	Name string `json:"name"`
	// Samples in which it ran, itself or what it called.
	Samples  int         `json:"samples"`
	Children []FlameNode `json:"children,omitempty"`
}

// Told makes a table of at most so many rows.
func Told(title string, columns []AnswerColumn, rows [][]any, limit int) AnswerTable {
	left := max(0, len(rows)-limit)
	if rows == nil {
		rows = [][]any{}
	}
	return AnswerTable{Title: title, Columns: columns, Rows: rows[:len(rows)-left], Left: left}
}
