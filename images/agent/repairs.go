package agent

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// What repairs are asked with and tell, the same for every engine: docs/agent-api.md, "Repairs".

// The kinds of jobs about repairs.
const (
	Repair        JobKind = "repair"
	SetThroughput JobKind = "set-throughput"
)

// RepairMode says what a repair compares and who sends.
type RepairMode string

// The modes of a repair.
const (
	// RepairFull compares all data of its ranges.
	RepairFull RepairMode = "full"
	// RepairIncremental compares what was not repaired before, and marks it repaired.
	RepairIncremental RepairMode = "incremental"
	// RepairPull compares with one other node, and only this node is sent what it lacks.
	RepairPull RepairMode = "pull"
)

// RepairOutcome is how a repair that did not fail ended.
type RepairOutcome string

// The outcomes.
const (
	RepairCompleted RepairOutcome = "completed"
	// RepairNothingToDo: the engine found that nobody else holds any of it.
	RepairNothingToDo RepairOutcome = "nothing-to-do"
)

// TokenRange holds the tokens above Start up to and with End, as decimal text; where End is not above Start it goes on over the
// ring's end.
type TokenRange struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// RepairParameters are those of the job repair: one command of the engine.
type RepairParameters struct {
	Keyspace string   `json:"keyspace"`
	Tables   []string `json:"tables"`
	// Ranges must each lie inside one range of the ring that this node is a replica of; of a table of tablets they may be any: all
	// tablets are repaired that hold something of them. Empty: all; not with pull.
	Ranges []TokenRange `json:"ranges,omitempty"`
	Mode   RepairMode   `json:"mode"`
	// Hosts are the addresses of those that take part, this node among them; empty: all replicas. A pull has exactly two.
	Hosts []string `json:"hosts,omitempty"`
	// JobThreads is how much is repaired side by side, 1 (also when left out) to 4: tables in Cassandra, ranges in ScyllaDB.
	JobThreads int `json:"job_threads,omitempty"`
	// OptimiseStreams sends each difference from one of several equal replicas instead of all. Cassandra's alone.
	OptimiseStreams bool `json:"optimise_streams,omitempty"`
	// Parallelism is "parallel" (also when left out), "sequential" or "dc_parallel". Cassandra's alone.
	Parallelism string `json:"parallelism,omitempty"`
}

// Repaired is the result of the job repair.
type Repaired struct {
	Outcome RepairOutcome `json:"outcome"`
	Seconds float64       `json:"seconds"`
	// What this node received and sent by streams of repairs while this one ran.
	BytesReceived int64 `json:"bytes_received"`
	BytesSent     int64 `json:"bytes_sent"`
	FilesReceived int64 `json:"files_received"`
	FilesSent     int64 `json:"files_sent"`
	// Command is the engine's number for it, of the engine that started at EngineStartedAt; 0 when there was nothing to do, and
	// where the engine uses no numbers.
	Command         int       `json:"command"`
	EngineStartedAt time.Time `json:"engine_started_at"`
}

// RepairActivity is the answer of GET /v1/repairs.
type RepairActivity struct {
	// EngineStartedAt is when the engine's process started, as it tells itself. Commands are counted from 1 by each process.
	EngineStartedAt time.Time `json:"engine_started_at"`
	// Automatic: the engine repairs some keyspaces by itself.
	Automatic bool `json:"automatic"`
	// Repairs are those that run now and that this node coordinates or takes part in.
	Repairs []RunningRepair `json:"repairs"`
}

// RunningRepair is one, of whoever began it.
type RunningRepair struct {
	// ID is the engine's, the same on every node that takes part; of ScyllaDB the command's number as text.
	ID string `json:"id"`
	// Job is the name of this agent's job that began it, also of one that was deleted since. Empty: somebody else did.
	Job string `json:"job"`
	// Command is 0 when another node coordinates it.
	Command int `json:"command"`
	// Coordinator is that node's address, empty when it is not known.
	Coordinator string   `json:"coordinator"`
	Keyspace    string   `json:"keyspace"`
	Tables      []string `json:"tables"`
	// State is the engine's own word. Progress is 0 to 1, 0 where the engine does not tell.
	State    string     `json:"state"`
	Progress float64    `json:"progress"`
	Since    *time.Time `json:"since"`
}

// ThroughputParameters are those of the job set-throughput: MiB per second, 0 for no limit, null for the configuration's own.
type ThroughputParameters struct {
	StreamMiBS     *int `json:"stream_mib_s"`
	CompactionMiBS *int `json:"compaction_mib_s"`
}

// Throughput is what limits the engine now, MiB per second; 0 is no limit. It is also the result of the job set-throughput:
// what was before.
type Throughput struct {
	// StreamMiBS is what the node sends, to nodes of its data centre and, the same, to others.
	StreamMiBS     int `json:"stream_mib_s"`
	CompactionMiBS int `json:"compaction_mib_s"`
}

// Load is the answer of GET /v1/load: what tells whether a node can bear more work. Counters are since the engine started.
type Load struct {
	EngineStartedAt    time.Time `json:"engine_started_at"`
	PendingCompactions int       `json:"pending_compactions"`
	// The latencies are the engine's own, of requests that this node coordinated; the last minutes weigh most.
	ReadP99MS  float64 `json:"read_p99_ms"`
	WriteP99MS float64 `json:"write_p99_ms"`
	// DroppedMessages counts what the node threw away because it came too late to do it.
	DroppedMessages int64 `json:"dropped_messages"`
	// HintFiles wait for nodes that were down.
	HintFiles int64 `json:"hint_files"`
	// Streams are those that run, of whatever kind; the bytes count those that ended too.
	Streams          int   `json:"streams"`
	StreamedInBytes  int64 `json:"streamed_in_bytes"`
	StreamedOutBytes int64 `json:"streamed_out_bytes"`
	// Disk is null when the machine does not tell.
	Disk *DiskStatus `json:"disk"`
	// LargestTableBytes is this node's share of its largest table, on disk.
	LargestTableBytes int64      `json:"largest_table_bytes"`
	Throughput        Throughput `json:"throughput"`
}

// KeyspaceRing is the answer of GET /v1/ring?keyspace=NAME&table=NAME: who holds what of a keyspace, as the engine itself has it.
type KeyspaceRing struct {
	Keyspace string     `json:"keyspace"`
	Nodes    []RingNode `json:"nodes"`
	// Ranges cover the ring, in the order of their ends. In a keyspace of tablets they are the tablets of the table; none without one.
	Ranges []ReplicaRange `json:"ranges"`
}

// RingNode is a node of the ring.
type RingNode struct {
	HostID     string `json:"host_id"`
	Address    string `json:"address"`
	Datacenter string `json:"datacenter"`
	Rack       string `json:"rack"`
}

// ReplicaRange is a range and those that hold it.
type ReplicaRange struct {
	TokenRange
	// Replicas are indices into the ring's nodes.
	Replicas []int `json:"replicas"`
}

// Schema is the answer of GET /v1/tables: all keyspaces but those that each node has for itself, and their tables.
type Schema struct {
	Keyspaces []KeyspaceFacts `json:"keyspaces"`
	Tables    []TableFacts    `json:"tables"`
}

// KeyspaceFacts tell how a keyspace is spread.
type KeyspaceFacts struct {
	Name string `json:"name"`
	// Class is how replicas are placed: "NetworkTopologyStrategy", "SimpleStrategy"…
	Class string `json:"class"`
	// Replication is the number of replicas per data centre. Of SimpleStrategy it is one entry "replication_factor".
	Replication map[string]int `json:"replication"`
	// System: of the engine's or the control plane's own.
	System bool `json:"system"`
	// Tablets: tables are cut into tablets, which the engine moves and repairs as one.
	Tablets bool `json:"tablets"`
}

// TableFacts are a table's settings that repairs go by, and this node's own share of it.
type TableFacts struct {
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	ID       string `json:"id"`
	// Bytes on disk and in memory; Partitions is an estimate.
	Bytes      int64 `json:"bytes"`
	Partitions int64 `json:"partitions"`
	// UnrepairedBytes on disk were never part of an incremental repair.
	UnrepairedBytes int64 `json:"unrepaired_bytes"`
	// PercentRepaired is the engine's own figure, 100 for a table without files.
	PercentRepaired float64 `json:"percent_repaired"`
	// Compaction is the strategy's name without its package.
	Compaction        string `json:"compaction"`
	DefaultTTLSeconds int64  `json:"default_ttl_seconds"`
	GCGraceSeconds    int64  `json:"gc_grace_seconds"`
	// ViewOf names the table that this one is a view of; Views are the views of this one.
	ViewOf string   `json:"view_of"`
	Views  []string `json:"views"`
	CDC    bool     `json:"cdc"`
}

// Check refuses what no engine can do. Error code: invalid-parameters.
func (p RepairParameters) Check() error {
	refuse := func(format string, arguments ...any) error { return Errorf("invalid-parameters", format, arguments...) }
	for _, name := range append([]string{p.Keyspace}, p.Tables...) {
		if !schemaName.MatchString(name) {
			return refuse("%q is not the name of a keyspace or table", name)
		}
	}
	switch {
	case len(p.Tables) == 0:
		return refuse("tables is empty")
	case p.JobThreads < 0 || p.JobThreads > 4:
		return refuse("job_threads must be 1 to 4")
	case !slices.Contains([]string{"", "parallel", "sequential", "dc_parallel"}, p.Parallelism):
		return refuse("parallelism must be parallel, sequential or dc_parallel")
	}
	switch p.Mode {
	case RepairFull:
	case RepairIncremental:
		if len(p.Hosts) > 0 {
			return refuse("an incremental repair takes all replicas: leave out hosts")
		}
	case RepairPull:
		if len(p.Hosts) != 2 || len(p.Ranges) == 0 {
			return refuse("a pull needs ranges and exactly two hosts, one of them this node")
		}
	default:
		return refuse("mode must be full, incremental or pull")
	}
	for _, one := range p.Ranges {
		if _, _, err := one.Tokens(); err != nil {
			return refuse("%v", err)
		}
	}
	for _, host := range p.Hosts {
		if _, err := netip.ParseAddr(host); err != nil {
			return refuse("%q in hosts is no address", host)
		}
	}
	return nil
}

// schemaName is what names of keyspaces and tables are made of; engines allow at most 222 characters.
var schemaName = regexp.MustCompile(`^\w{1,222}$`)

// Tokens are start and end as numbers.
func (r TokenRange) Tokens() (start, end int64, err error) {
	if start, err = strconv.ParseInt(r.Start, 10, 64); err == nil {
		end, err = strconv.ParseInt(r.End, 10, 64)
	}
	if err != nil || start == end {
		return 0, 0, fmt.Errorf("(%s, %s] is no range of tokens", r.Start, r.End)
	}
	return start, end, nil
}

// Inside tells whether all of the range is in another one.
func (r TokenRange) Inside(outer TokenRange) bool {
	start, end, err := r.Tokens()
	low, lowErr := strconv.ParseInt(outer.Start, 10, 64)
	high, highErr := strconv.ParseInt(outer.End, 10, 64)
	if err != nil || lowErr != nil || highErr != nil {
		return false
	}
	// Seen from the outer range's start, the ring is a line. The whole ring is a range with one token as start and end.
	from, to, width := uint64(start-low), uint64(end-low), uint64(high-low)
	return from < to && to <= width || width == 0 && (from < to || to == 0)
}

// Meets tells whether two ranges, neither of which goes over the ring's end, have tokens in common.
func (r TokenRange) Meets(other TokenRange) bool {
	start, end, err := r.Tokens()
	low, high, otherErr := other.Tokens()
	return err == nil && otherErr == nil && max(start, low) < min(end, high)
}

// WithReplicas turns addresses into indices of nodes; read takes a range apart.
func WithReplicas[R any](nodes []RingNode, ranges []R, read func(R) (TokenRange, []string)) ([]ReplicaRange, error) {
	index := make(map[string]int, len(nodes))
	for number, node := range nodes {
		index[node.Address] = number
	}
	told := make([]ReplicaRange, len(ranges))
	for number, one := range ranges {
		tokens, addresses := read(one)
		told[number] = ReplicaRange{TokenRange: tokens, Replicas: make([]int, len(addresses))}
		for place, address := range addresses {
			node, known := index[address]
			if !known {
				return nil, Errorf("ring-changing", "The ring is changing: %s holds a range and is no member yet. Ask again.", address)
			}
			told[number].Replicas[place] = node
		}
	}
	return told, nil
}
