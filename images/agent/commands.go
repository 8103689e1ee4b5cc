package agent

// RunCommand is the kind of job that does something to the files of one table on one node: docs/diagnostics.md.
const RunCommand JobKind = "run-command"

// Command is what is done.
type Command string

// The commands.
const (
	// Flush writes what is in memory to files.
	Flush Command = "flush"
	// Compact makes as few files as the table's strategy allows, or one of those that are named.
	Compact Command = "compact"
	// CleanUp drops what the node is no replica of.
	CleanUp Command = "cleanup"
	// Rewrite writes every file anew, with the table's settings of today.
	Rewrite Command = "rewrite"
	// Refresh takes files that somebody placed in the table's folder.
	Refresh Command = "refresh"
)

// CommandParameters are those of the job run-command.
type CommandParameters struct {
	Command  Command `json:"command"`
	Keyspace string  `json:"keyspace"`
	Table    string  `json:"table"`
	// SSTables are names of files as the answer about SSTables tells them, of the command compact; none: all.
	SSTables []string `json:"sstables,omitempty"`
}

// CommandDone is the result of the job run-command. Bytes are on the disk, of live files.
type CommandDone struct {
	BytesBefore    int64   `json:"bytes_before"`
	BytesAfter     int64   `json:"bytes_after"`
	SSTablesBefore int     `json:"sstables_before"`
	SSTablesAfter  int     `json:"sstables_after"`
	Seconds        float64 `json:"seconds"`
}
