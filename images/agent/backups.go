package agent

import "time"

// The kinds of jobs about backups: docs/agent-api.md.
const (
	Snapshot       JobKind = "snapshot"
	ClearSnapshot  JobKind = "clear-snapshot"
	IndexSnapshot  JobKind = "index-snapshot"
	UploadBundles  JobKind = "upload-bundles"
	VerifyObjects  JobKind = "verify-objects"
	FetchBundles   JobKind = "fetch-bundles"
	ImportBundles  JobKind = "import-bundles"
	DropRestore    JobKind = "drop-restore"
	DescribeSchema JobKind = "describe-schema"
	CreateSchema   JobKind = "create-schema"
	TruncateTables JobKind = "truncate-tables"
	DigestTable    JobKind = "digest-table"
	// Of an engine that moves its data among the nodes by itself.
	HoldTablets    JobKind = "hold-tablets"
	ReleaseTablets JobKind = "release-tablets"
)

// BackupJobKinds are all of those.
func BackupJobKinds() []JobKind {
	return []JobKind{
		Snapshot, ClearSnapshot, IndexSnapshot, UploadBundles, VerifyObjects, FetchBundles, ImportBundles, DropRestore,
		DescribeSchema, CreateSchema, TruncateTables, FetchFiles, DigestTable,
		HoldTablets, ReleaseTablets,
	}
}

// StoreKind is what a store is.
type StoreKind string

// The kinds of stores.
const (
	// FolderStore: a folder of this machine, usually a file system that all nodes share.
	FolderStore StoreKind = "folder"
	// S3Store: Amazon S3, or any server that speaks its protocol.
	S3Store StoreKind = "s3"
	// GCSStore: Google Cloud Storage, over its JSON API.
	GCSStore StoreKind = "gcs"
)

// Store says where objects are kept, and how to get at them. It is secret.
type Store struct {
	Kind StoreKind `json:"kind"`
	// Folder is an absolute path; of FolderStore.
	Folder string `json:"folder,omitempty"`
	Bucket string `json:"bucket,omitempty"`
	// Prefix is put before the name of every object, with a slash between; of any kind.
	Prefix string `json:"prefix,omitempty"`
	Region string `json:"region,omitempty"`
	// Endpoint is a URL; left out, the provider's own.
	Endpoint string `json:"endpoint,omitempty"`
	// PathStyle: the bucket's name is in the path, not in the host's name; most servers that are not Amazon's want it.
	PathStyle bool `json:"path_style,omitempty"`
	// CAPEM are authorities to trust besides the machine's own.
	CAPEM string `json:"ca_pem,omitempty"`
	// The three are of S3Store. Without them, the machine's own role is used.
	AccessKeyID     string `json:"access_key_id,omitempty"`
	SecretAccessKey string `json:"secret_access_key,omitempty"`
	SessionToken    string `json:"session_token,omitempty"`
	// ServiceAccount is the JSON document of a key of a Google service account; of GCSStore. Without it, the machine's own.
	ServiceAccount string `json:"service_account,omitempty"`
}

// Encryption is the key that all objects of an organisation are named and encrypted with.
type Encryption struct {
	// Key is 32 bytes in base64. It is kept as long as the job runs.
	Key string `json:"key"`
}

// TableName is a table, or a whole keyspace.
type TableName struct {
	Keyspace string `json:"keyspace"`
	// Table left out: all of the keyspace.
	Table string `json:"table,omitempty"`
}

// SnapshotParameters are those of the job snapshot.
type SnapshotParameters struct {
	Tag string `json:"tag"`
	// Tables left out: all that are not the engine's own.
	Tables []TableName `json:"tables,omitempty"`
	// TTLSeconds, at least 60: then the engine removes the snapshot by itself.
	TTLSeconds int64 `json:"ttl_seconds"`
}

// SnapshotTaken is the result of the job snapshot.
type SnapshotTaken struct {
	// TakenAt: all that was written to this node before is in it.
	TakenAt time.Time `json:"taken_at"`
	Tables  int       `json:"tables"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
}

// ClearSnapshotParameters are those of the job clear-snapshot.
type ClearSnapshotParameters struct {
	Tag string `json:"tag"`
}

// HoldTabletsParameters are those of the job hold-tablets.
type HoldTabletsParameters struct {
	// Name is whose hold it is; one that is there already gets a new end.
	Name string `json:"name"`
	// Seconds, 1 to 86,400: then the agent ends it by itself.
	Seconds int64 `json:"seconds"`
}

// TabletsHeld is the result of the job hold-tablets.
type TabletsHeld struct {
	Until time.Time `json:"until"`
}

// ReleaseTabletsParameters are those of the job release-tablets.
type ReleaseTabletsParameters struct {
	Name string `json:"name"`
	// Anyway: also when this agent knows of no such hold, because the one that did is gone.
	Anyway bool `json:"anyway,omitempty"`
}

// IndexSnapshotParameters are those of the job index-snapshot.
type IndexSnapshotParameters struct {
	Tag        string     `json:"tag"`
	Encryption Encryption `json:"encryption"`
}

// Indexed is the result of the job index-snapshot.
type Indexed struct {
	Bundles int `json:"bundles"`
	// Bytes are those of the files, HashedBytes those among them that had to be read.
	Bytes       int64 `json:"bytes"`
	HashedBytes int64 `json:"hashed_bytes"`
}

// Bundle is one SSTable of a snapshot: all its files together.
type Bundle struct {
	// Key names the object: 64 hexadecimal digits, the same for the same content under the same encryption.
	Key      string `json:"key"`
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	TableID  string `json:"table_id"`
	// SSTable is its name on this node, for example nb-3gx0_0wzo_1ab2c-big.
	SSTable string `json:"sstable"`
	// Bytes are those of the files, StoredBytes those of the object.
	Bytes       int64 `json:"bytes"`
	StoredBytes int64 `json:"stored_bytes"`
	// MinToken and MaxToken are those of its first and last partition.
	MinToken int64 `json:"min_token"`
	MaxToken int64 `json:"max_token"`
	Level    int   `json:"level"`
	// RepairedAt is in milliseconds since 1970, 0: not repaired.
	RepairedAt int64 `json:"repaired_at"`
}

// BundlePage is the answer of GET /v1/snapshots/{tag}/bundles.
type BundlePage struct {
	Items []Bundle `json:"items"`
	// Next is what to give as after for the next page; empty at the end.
	Next string `json:"next"`
}

// UploadBundlesParameters are those of the job upload-bundles.
type UploadBundlesParameters struct {
	Tag        string     `json:"tag"`
	Store      Store      `json:"store"`
	Encryption Encryption `json:"encryption"`
	// Keys of bundles of the snapshot, at most 1,000.
	Keys []string `json:"keys"`
	// BytesPerSecond limits all transfers of this node together, the latest job's word counts; left out: no limit.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
	// Parallel is how many objects are under way at once, 1 to 16; left out: 2.
	Parallel int `json:"parallel,omitempty"`
}

// StoredObject is an object as it is in a store.
type StoredObject struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
	// SHA256 of all its bytes, in hexadecimal digits.
	SHA256 string `json:"sha256"`
}

// Uploaded is the result of the job upload-bundles.
type Uploaded struct {
	Stored []StoredObject `json:"stored"`
}

// VerifyMode is how closely objects are looked at.
type VerifyMode string

// The modes.
const (
	// VerifySize asks the store how long each object is.
	VerifySize VerifyMode = "size"
	// VerifyContent reads each object, decrypts it, and checks everything in it.
	VerifyContent VerifyMode = "content"
)

// VerifyObjectsParameters are those of the job verify-objects.
type VerifyObjectsParameters struct {
	Store      Store      `json:"store"`
	Encryption Encryption `json:"encryption"`
	// Objects, at most 1,000.
	Objects        []StoredObject `json:"objects"`
	Mode           VerifyMode     `json:"mode"`
	BytesPerSecond int64          `json:"bytes_per_second,omitempty"`
	Parallel       int            `json:"parallel,omitempty"`
}

// BadReason is what is wrong with an object.
type BadReason string

// The reasons.
const (
	ObjectMissing BadReason = "missing"
	// ObjectSize: it has another length.
	ObjectSize BadReason = "size"
	// ObjectContent: its bytes are not those that were stored.
	ObjectContent BadReason = "content"
)

// BadObject is one that cannot be restored from.
type BadObject struct {
	Key    string    `json:"key"`
	Reason BadReason `json:"reason"`
}

// Verified is the result of the job verify-objects.
type Verified struct {
	Checked int `json:"checked"`
	// Bytes are those that were read.
	Bytes int64       `json:"bytes"`
	Bad   []BadObject `json:"bad"`
}

// BundleToFetch is an object and the table whose data it is.
type BundleToFetch struct {
	StoredObject
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
}

// FetchBundlesParameters are those of the job fetch-bundles.
type FetchBundlesParameters struct {
	// Restore names the folder that the bundles are put in; several jobs may fill one.
	Restore    string     `json:"restore"`
	Store      Store      `json:"store"`
	Encryption Encryption `json:"encryption"`
	// Bundles, at most 500.
	Bundles        []BundleToFetch `json:"bundles"`
	BytesPerSecond int64           `json:"bytes_per_second,omitempty"`
	Parallel       int             `json:"parallel,omitempty"`
}

// Fetched is the result of the job fetch-bundles.
type Fetched struct {
	Bundles int `json:"bundles"`
	// Bytes are those of the files, FetchedBytes those that were read from the store by the last run of the job.
	Bytes        int64 `json:"bytes"`
	FetchedBytes int64 `json:"fetched_bytes"`
}

// ImportBundlesParameters are those of the job import-bundles.
type ImportBundlesParameters struct {
	Restore string `json:"restore"`
	// Keyspace and Table are those that the bundles were fetched for.
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	// AsKeyspace and AsTable are where they go; left out: the same.
	AsKeyspace string `json:"as_keyspace,omitempty"`
	AsTable    string `json:"as_table,omitempty"`
	// CheckTokens refuses bundles with partitions that this node is no replica of.
	CheckTokens bool `json:"check_tokens,omitempty"`
	// Verify has the engine check the files first: for those that other programs left. The hash of a bundle says more.
	Verify bool `json:"verify,omitempty"`
	// Cleanup drops such partitions afterwards.
	Cleanup bool `json:"cleanup,omitempty"`
	// Place puts the files into the table's folder while the engine is stopped, instead of asking the engine to take them.
	Place bool `json:"place,omitempty"`
}

// Imported is the result of the job import-bundles.
type Imported struct {
	Bundles int   `json:"bundles"`
	Bytes   int64 `json:"bytes"`
}

// DropRestoreParameters are those of the job drop-restore.
type DropRestoreParameters struct {
	Restore string `json:"restore"`
}

// TruncateTablesParameters are those of the job truncate-tables.
type TruncateTablesParameters struct {
	Tables []TableName `json:"tables"`
}

// DescribeSchemaParameters are those of the job describe-schema.
type DescribeSchemaParameters struct {
	// Keyspaces left out: all that are not the engine's own.
	Keyspaces []string `json:"keyspaces,omitempty"`
}

// SchemaDescription is the result of the job describe-schema.
type SchemaDescription struct {
	Keyspaces []KeyspaceSchema `json:"keyspaces"`
}

// KeyspaceSchema is a keyspace and all in it.
type KeyspaceSchema struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	// Replication is the number of replicas per data centre; of SimpleStrategy one entry "replication_factor".
	Replication map[string]int `json:"replication"`
	// Statements make it anew, in this order, the keyspace itself first.
	Statements []SchemaStatement `json:"statements"`
	Tables     []TableSchema     `json:"tables"`
}

// SchemaStatement is a CREATE or ALTER statement.
type SchemaStatement struct {
	// Type is the engine's word: keyspace, type, function, aggregate, table, index, materialized_view.
	Type      string `json:"type"`
	Name      string `json:"name"`
	Statement string `json:"statement"`
}

// TableSchema is a table, or a view.
type TableSchema struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// ViewOf is the table that a materialized view is of.
	ViewOf  string         `json:"view_of,omitempty"`
	Columns []ColumnSchema `json:"columns"`
	// Dropped are columns that were there once: files may still hold them.
	Dropped []DroppedColumn `json:"dropped"`
	Indexes []string        `json:"indexes"`
}

// ColumnSchema is a column of a table.
type ColumnSchema struct {
	Name string `json:"name"`
	// Kind is partition_key, clustering, regular or static.
	Kind string `json:"kind"`
	// Position is its place within the key, -1 when it is not of it.
	Position int    `json:"position"`
	Type     string `json:"type"`
	// Order is asc or desc of a clustering column, else none.
	Order string `json:"order"`
}

// DroppedColumn is one that a table had.
type DroppedColumn struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Type      string    `json:"type"`
	DroppedAt time.Time `json:"dropped_at"`
}

// CreateSchemaParameters are those of the job create-schema.
type CreateSchemaParameters struct {
	Keyspaces []KeyspaceToCreate `json:"keyspaces"`
}

// KeyspaceToCreate is a keyspace as describe-schema told it, or a part of it.
type KeyspaceToCreate struct {
	Name string `json:"name"`
	// As is its new name; left out: the same.
	As string `json:"as,omitempty"`
	// Replication is the number of replicas per data centre; left out: as the statement says.
	Replication map[string]int `json:"replication,omitempty"`
	// Statements as told; those of what is there already are passed over.
	Statements []SchemaStatement `json:"statements"`
	// Tables as told: with them, tables that are there already must have the same columns.
	Tables []TableSchema `json:"tables,omitempty"`
	// RenamedTables are new names of tables, by the old ones.
	RenamedTables map[string]string `json:"renamed_tables,omitempty"`
	// KeepIDs gives tables the ids that they had; for files that are placed. Not together with new names.
	KeepIDs bool `json:"keep_ids,omitempty"`
}

// SchemaCreated is the result of the job create-schema.
type SchemaCreated struct {
	Created int `json:"created"`
	// Existing were there already, with the same columns.
	Existing int `json:"existing"`
}

// DigestTableParameters are those of the job digest-table.
type DigestTableParameters struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	// Slices is into how many equal parts the ring is cut, 1 to 1024.
	Slices int `json:"slices"`
}

// SliceDigest is what one part of the ring holds of a table.
type SliceDigest struct {
	Rows int64 `json:"rows"`
	// SHA256 is of all rows in their order, with the times at which their cells were written. Empty: there are no rows.
	SHA256 string `json:"sha256"`
	// NewestWrite is in microseconds since 1970; 0: no cell tells when it was written.
	NewestWrite int64 `json:"newest_write"`
}

// TableDigest is the result of the job digest-table. The same rows give the same digest on any ring of the same partitioner.
type TableDigest struct {
	Rows   int64         `json:"rows"`
	Slices []SliceDigest `json:"slices"`
}
