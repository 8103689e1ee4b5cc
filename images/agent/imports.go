package agent

// FetchFiles is the job that fetches SSTables as other programs left them: docs/agent-api.md.
const FetchFiles JobKind = "fetch-files"

// ForeignFile is one file of an SSTable in a store.
type ForeignFile struct {
	// Name is without that of the SSTable: Data.db.
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// MD5 of the file in hexadecimal digits; of a file that was stored in parts: that of the MD5s of its parts. Left out: not known.
	MD5 string `json:"md5,omitempty"`
	// PartBytes is how long its parts were; left out: it was stored whole.
	PartBytes int64 `json:"part_bytes,omitempty"`
}

// ForeignSSTable is an SSTable in a store and the table whose data it is.
type ForeignSSTable struct {
	// Key is 64 hexadecimal digits, the asker's choice: it names the SSTable within the restore.
	Key      string `json:"key"`
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	// Folder is where its files are, below the prefix of the store.
	Folder string `json:"folder"`
	// SSTable is how its files begin, without the last hyphen: nb-12-big.
	SSTable string        `json:"sstable"`
	Files   []ForeignFile `json:"files"`
}

// FetchFilesParameters are those of the job fetch-files. Its result is that of fetch-bundles.
type FetchFilesParameters struct {
	// Restore names the folder that the SSTables are put in; several jobs may fill one.
	Restore string `json:"restore"`
	Store   Store  `json:"store"`
	// SSTables, at most 500.
	SSTables       []ForeignSSTable `json:"sstables"`
	BytesPerSecond int64            `json:"bytes_per_second,omitempty"`
	Parallel       int              `json:"parallel,omitempty"`
}
