package agent

import "time"

// The kinds of jobs about the archive of commit logs: docs/agent-api.md.
const (
	SetArchive    JobKind = "set-archive"
	ReplayArchive JobKind = "replay-archive"
)

// ArchiveKeyspace and ArchiveTable are what the pieces of an archive are fetched as: the job replay-archive looks for them there.
const (
	ArchiveKeyspace = "commit_log"
	ArchiveTable    = "pieces"
)

// SetArchiveParameters are those of the job set-archive.
type SetArchiveParameters struct {
	// On false: nothing more is archived, and what waited for it is dropped. The rest is then left out.
	On         bool        `json:"on"`
	Store      *Store      `json:"store,omitempty"`
	Encryption *Encryption `json:"encryption,omitempty"`
	// IntervalSeconds is how old what is written may become before it is stored, 1 to 3600; left out: 60.
	IntervalSeconds int `json:"interval_seconds,omitempty"`
	// BytesPerSecond limits what is stored; left out: no limit. It is apart from that of backups.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
}

// ArchiveSet is the result of the job set-archive.
type ArchiveSet struct {
	// Stream names what is archived from now on; empty: nothing. It stays the same while store and key do.
	Stream string `json:"stream"`
}

// ArchiveEntryKind is what a line of the archive's journal tells of.
type ArchiveEntryKind string

// The kinds of entries.
const (
	// ArchivePiece: an object that was stored.
	ArchivePiece ArchiveEntryKind = "piece"
	// ArchiveGap: writes of that time may be missing from the archive of this node.
	ArchiveGap ArchiveEntryKind = "gap"
)

// ArchiveEntry is a line of the archive's journal.
type ArchiveEntry struct {
	// Sequence counts from 1 in each stream.
	Sequence int64            `json:"sequence"`
	Kind     ArchiveEntryKind `json:"kind"`
	// From and To: no write in the piece reached the node before or after; or from when to when something may be missing.
	From time.Time `json:"begins_at"`
	To   time.Time `json:"ends_at"`
	// Segment is the engine's number of the log that a piece is of. Bytes are those of the log.
	Segment int64 `json:"segment,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	// Key, StoredBytes and SHA256 are those of the object: see docs/backup-format.md.
	Key         string `json:"key,omitempty"`
	StoredBytes int64  `json:"stored_bytes,omitempty"`
	SHA256      string `json:"sha256,omitempty"`
	// Reason of a gap is a sentence.
	Reason string `json:"reason,omitempty"`
}

// ArchiveReport is the answer of GET /v1/archive.
type ArchiveReport struct {
	// Stream is empty while nothing is archived.
	Stream string `json:"stream"`
	// From and Until: what was written to this node between them is stored, but for the gaps.
	From  *time.Time `json:"began_at"`
	Until *time.Time `json:"covered_until"`
	// WaitingBytes are those of logs that the engine needs no more and that are not stored yet.
	WaitingBytes int64 `json:"waiting_bytes"`
	// Problem is why the last try to store something failed; empty: it did not.
	Problem string         `json:"problem"`
	Entries []ArchiveEntry `json:"entries"`
	// More: there are entries after these.
	More bool `json:"more"`
}

// ReplayArchiveParameters are those of the job replay-archive.
type ReplayArchiveParameters struct {
	// Restore is that which the pieces were fetched for, as commit_log.pieces.
	Restore string `json:"restore"`
	// Keyspaces make the types and tables as they were when the pieces were written, with their ids.
	Keyspaces []ReplayedKeyspace `json:"keyspaces"`
	Tables    []TableName        `json:"tables"`
	// Until: what has a later time of writing is left out.
	Until time.Time `json:"until"`
	// Since: a table that was emptied between it and Until ends the job.
	Since time.Time `json:"since"`
}

// ReplayedKeyspace is a keyspace as job describe-schema told it: its types and the tables that are wanted.
type ReplayedKeyspace struct {
	Name       string            `json:"name"`
	Statements []SchemaStatement `json:"statements"`
}

// Replayed is the result of the job replay-archive. The job import-bundles then takes the SSTables as fetched ones.
type Replayed struct {
	Pieces int `json:"pieces"`
	// Mutations were read, Kept are parts of them that are of the chosen tables and in time.
	Mutations int64 `json:"mutations"`
	Kept      int64 `json:"kept"`
	// Later are those that were left out, wholly or in part, because of the time they were written at.
	Later    int64 `json:"later"`
	SSTables int   `json:"sstables"`
	Bytes    int64 `json:"bytes"`
}
