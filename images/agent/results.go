package agent

// What the jobs of every engine answer with, so that an engine cannot differ in what it tells: docs/agent-api.md.

// Inspection is the result of the job inspect: what a careful operator looks at before touching a ring.
type Inspection struct {
	Mode        string   `json:"mode"`
	Unreachable []string `json:"unreachable"`
	Joining     []string `json:"joining"`
	Leaving     []string `json:"leaving"`
	Moving      []string `json:"moving"`
	// RepairsRunning counts those that this node coordinates.
	RepairsRunning     int            `json:"repairs_running"`
	PendingCompactions int            `json:"pending_compactions"`
	Client             ClientRequests `json:"client"`
}

// ClientRequests are counters since the engine started, of requests that this node coordinated. The latencies are the
// engine's own, which weigh the last minutes most.
type ClientRequests struct {
	Reads        int64   `json:"reads"`
	Writes       int64   `json:"writes"`
	Timeouts     int64   `json:"timeouts"`
	Unavailables int64   `json:"unavailables"`
	Failures     int64   `json:"failures"`
	ReadP99MS    float64 `json:"read_p99_ms"`
	WriteP99MS   float64 `json:"write_p99_ms"`
}

// DataDescription is the result of the job describe-data.
type DataDescription struct {
	Tables []TableData `json:"tables"`
}

// TableData is this node's own share of a table.
type TableData struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	// Bytes on disk and in memory, as the engine counts them. Partitions are the engine's estimate.
	Bytes      int64 `json:"bytes"`
	Partitions int64 `json:"partitions"`
}

// CanaryReading is the result of the job read-canary.
type CanaryReading struct {
	// Checked are the rows that this node is a replica of, Missing those among them that it does not have.
	Checked int `json:"checked"`
	Missing int `json:"missing"`
}

// Proof is the result of the job prove.
type Proof struct {
	RingStatus
	// Rows are the ids of the nodes whose rows were read under the key.
	Rows []string `json:"rows"`
}

// Streamed is the result of jobs that move data between nodes.
type Streamed struct {
	BytesStreamed int64 `json:"bytes_streamed"`
}

// TLSReloaded is the result of the job reload-tls.
type TLSReloaded struct {
	// Serial is the certificate's, in hexadecimal digits; both ports show it.
	Serial string `json:"serial"`
}

// AppliedSettings is the result of the job apply-settings.
type AppliedSettings struct {
	// Applied are settings that the engine was told and now goes by: those of the configuration that it was not started
	// with, and those that are no longer in the configuration and are back at what they were.
	Applied []string `json:"applied"`
	// NeedsRestart are those that differ from what the engine was started with and that only a start changes.
	NeedsRestart []string `json:"needs_restart"`
	// Refused is what the engine said of those among them that it would not take while it runs.
	Refused map[string]string `json:"refused"`
}

// Installed is the result of the job install.
type Installed struct {
	Version string `json:"version"`
}

// Started is the result of the job start.
type Started struct {
	PID       int  `json:"pid"`
	FirstBoot bool `json:"first_boot"`
	// BytesStreamed is what a node that joined or replaced another was sent, 0 for any other start.
	BytesStreamed int64 `json:"bytes_streamed"`
}
