// Package agent holds the words that the control plane and a node's agent share: what is asked of an agent, what it
// answers, and what an engine must be able to do. How each is done is in the sub-packages; cmd/agent joins them.
package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// UserData is what a machine is told when it is made. It holds the one-time token, so its file is the owner's only.
type UserData struct {
	NodeID    string `json:"node_id"`
	ClusterID string `json:"cluster_id"`
	// EnrolURL takes the first contact; see package enrol.
	EnrolURL string `json:"enrol_url"`
	// CAPEM is the authority of agents and of the control plane; the cluster's own authority comes with the enrolment.
	CAPEM string `json:"ca_pem"`
	Token string `json:"token"`
	// Listen is host:port of the agent's API.
	Listen string `json:"listen"`
	// Address is the machine's own, where the engine listens.
	Address string `json:"address"`
	// EngineCache is the folder of engine trees; empty means DefaultEngineCache, where machine images hold them.
	EngineCache string `json:"engine_cache"`
	// Machine is what the first boot goes by; left out on a computer that is not the node's alone, which is then left as it is.
	Machine *MachineSpec `json:"machine,omitempty"`
}

// MachineSpec is what the control plane wants of a machine that is the node's alone.
type MachineSpec struct {
	// Engine is "cassandra" or "scylla".
	Engine string `json:"engine"`
	// Provider is "aws" or "gcp"; left out, the firmware tells.
	Provider string `json:"provider,omitempty"`
	// Membership is "new", "replacing" or "member": what blank disks mean.
	Membership string `json:"membership"`
	// Generation counts the machines that the node has had.
	Generation int `json:"generation"`
	// IOProperties are the cluster's one value; left out: the preset of the machine type.
	IOProperties *IOProperties `json:"io_properties,omitempty"`
	// Pinned keeps a thread-pool engine off the interrupt CPUs too.
	Pinned bool `json:"pinned,omitempty"`
	// AllowedCPUs is what pinning chooses from, for example "0-7,16-23"; left out: all.
	AllowedCPUs string `json:"allowed_cpus,omitempty"`
	// AcceptReshard: a number of shards other than that of the data is wanted.
	AcceptReshard bool `json:"accept_reshard,omitempty"`
	// DiskModels are patterns of models of disks for data; left out: the local NVMe disks of AWS and GCP.
	DiskModels []string `json:"disk_models,omitempty"`
}

// IOProperties are what the disks of a node do: requests of 4 KiB and bytes, per second, of the whole array.
type IOProperties struct {
	ReadIOPS       int64 `json:"read_iops"`
	ReadBandwidth  int64 `json:"read_bandwidth"`
	WriteIOPS      int64 `json:"write_iops"`
	WriteBandwidth int64 `json:"write_bandwidth"`
}

// DefaultEngineCache is where a machine image keeps its engine trees.
const DefaultEngineCache = "/opt/ringmaster/engines"

// JobKind says what a job does.
type JobKind string

// The kinds of jobs.
const (
	Install        JobKind = "install"
	Start          JobKind = "start"
	Stop           JobKind = "stop"
	Drain          JobKind = "drain"
	Secure         JobKind = "secure"
	RotatePassword JobKind = "rotate-password"
	Prove          JobKind = "prove"
	DescribeRing   JobKind = "describe-ring"
)

// The kinds of jobs about who may do what, and about how the engine is set.
const (
	Roles         JobKind = "roles"
	ChangeRole    JobKind = "change-role"
	Grant         JobKind = "grant"
	Revoke        JobKind = "revoke"
	Allowlist     JobKind = "allowlist"
	Keyspaces     JobKind = "keyspaces"
	Replicate     JobKind = "replicate"
	Settings      JobKind = "settings"
	ApplySettings JobKind = "apply-settings"
	ReloadTLS     JobKind = "reload-tls"
)

// The kinds of jobs that change who is in the ring, or look at what a node holds.
const (
	Decommission    JobKind = "decommission"
	RemoveNode      JobKind = "remove-node"
	Cleanup         JobKind = "cleanup"
	Rebuild         JobKind = "rebuild"
	UpgradeSSTables JobKind = "upgrade-sstables"
	StreamLimit     JobKind = "stream-limit"
	DescribeData    JobKind = "describe-data"
	PlantCanary     JobKind = "plant-canary"
	ReadCanary      JobKind = "read-canary"
	Inspect         JobKind = "inspect"
)

// MeasureIO measures the node's disks; it is no engine's job.
const MeasureIO JobKind = "measure-io"

// JobKinds are all of them.
func JobKinds() []JobKind {
	kinds := []JobKind{
		Install, Start, Stop, Drain, Secure, RotatePassword, Prove, DescribeRing,
		Decommission, RemoveNode, Cleanup, Rebuild, UpgradeSSTables, StreamLimit, DescribeData, PlantCanary, ReadCanary, Inspect,
		Roles, ChangeRole, Grant, Revoke, Allowlist, Keyspaces, Replicate, Settings, ApplySettings, ReloadTLS, MeasureIO,
		Repair, SetThroughput, SetArchive, ReplayArchive, Diagnose, RunCommand,
	}
	return slices.Concat(kinds, BackupJobKinds(), TableJobKinds(), WorkloadJobKinds())
}

// JobState is where a job stands.
type JobState string

// The states of a job.
const (
	Running   JobState = "running"
	Succeeded JobState = "succeeded"
	Failed    JobState = "failed"
)

// JobRequest is the body of PUT /v1/jobs/{name}.
type JobRequest struct {
	Kind       JobKind         `json:"kind"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// Job is a named piece of work. Its parameters may be secret and are never shown.
type Job struct {
	Name  string   `json:"name"`
	Kind  JobKind  `json:"kind"`
	State JobState `json:"state"`
	// Progress is between 0 and 1 and only grows.
	Progress   float64         `json:"progress"`
	Message    string          `json:"message"`
	Error      *Error          `json:"error"`
	Result     json.RawMessage `json:"result"`
	StartedAt  time.Time       `json:"started_at"`
	FinishedAt *time.Time      `json:"finished_at"`
}

// JobList is the answer of GET /v1/jobs.
type JobList struct {
	Items []Job `json:"items"`
}

// Report tells how far a job is. Progress is between 0 and 1.
type Report func(progress float64, message string)

// EngineState says how the engine's process is.
type EngineState string

// The states of the engine.
const (
	// EngineAbsent: not installed or not configured.
	EngineAbsent EngineState = "absent"
	// EngineStopped: no process, and none is wanted.
	EngineStopped EngineState = "stopped"
	// EngineStarting: a process that does not accept CQL yet.
	EngineStarting EngineState = "starting"
	EngineRunning  EngineState = "running"
	// EngineFailed: a process is wanted but it ended; see last_error.
	EngineFailed EngineState = "failed"
)

// Status is the answer of GET /v1/status.
type Status struct {
	// Time is the agent's clock, to the millisecond.
	Time   time.Time    `json:"time"`
	Agent  AgentStatus  `json:"agent"`
	NodeID string       `json:"node_id"`
	Engine EngineStatus `json:"engine"`
	// MachineStatus is part of the same object.
	MachineStatus
	// Ring is nil until the agent knows the control account (job secure) and the engine answers.
	Ring *RingStatus `json:"ring"`
}

// MachineStatus is what the engine has of its machine.
type MachineStatus struct {
	// LocalDataLost: the engine has served before and its data folder is blank now. It is not started.
	LocalDataLost bool `json:"local_data_lost"`
	// Disk is null when the machine does not tell.
	Disk *DiskStatus `json:"disk"`
	// EngineCertificateExpiresAt is null until there is one.
	EngineCertificateExpiresAt *time.Time `json:"engine_certificate_expires_at"`
	// Traffic is left out until it is known, and where the engine does not tell it.
	Traffic *TrafficStatus `json:"traffic,omitempty"`
}

// TrafficStatus is how many bytes the engine has sent and received, over all of its starts on this machine. The counts only grow.
type TrafficStatus struct {
	// Epoch names what is counted: when it is another one, all counts began at 0.
	Epoch string `json:"epoch"`
	// ToNodes is what was sent to other nodes, by where they are.
	ToNodes     []TrafficToNodes `json:"to_nodes"`
	FromClients int64            `json:"from_clients"`
	ToClients   int64            `json:"to_clients"`
}

// TrafficToNodes is what was sent to the nodes of a zone of a data centre: messages and streams.
type TrafficToNodes struct {
	Datacenter string `json:"datacenter"`
	Zone       string `json:"zone"`
	Bytes      int64  `json:"bytes"`
}

// DiskStatus is the file system that holds the engine's data.
type DiskStatus struct {
	TotalBytes int64 `json:"total_bytes"`
	FreeBytes  int64 `json:"free_bytes"`
	// DataBytes is the live data as the engine tells it, at most a minute old; 0 while it is not known.
	DataBytes int64 `json:"data_bytes"`
}

// AgentStatus describes the agent's own process.
type AgentStatus struct {
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
}

// EngineStatus describes the engine's process.
type EngineStatus struct {
	Name      string      `json:"name"`
	Version   string      `json:"version"`
	State     EngineState `json:"state"`
	PID       int         `json:"pid"`
	StartedAt *time.Time  `json:"started_at"`
	CQLReady  bool        `json:"cql_ready"`
	// Restarts counts unexpected ends since the last start job.
	Restarts  int    `json:"restarts"`
	LastError string `json:"last_error"`
	// Mode is the engine's own word: STARTING, JOINING, NORMAL, LEAVING, DECOMMISSIONED, DRAINED and others; empty when unknown.
	Mode string `json:"mode"`
	// ConfigRevision names the stored configuration, RunningRevision the one the engine was last started with.
	ConfigRevision  string `json:"config_revision"`
	RunningRevision string `json:"running_revision"`
}

// RingStatus is the ring as this node sees it.
type RingStatus struct {
	HostID        string  `json:"host_id"`
	Datacenter    string  `json:"datacenter"`
	Rack          string  `json:"rack"`
	SchemaVersion string  `json:"schema_version"`
	Tokens        []int64 `json:"tokens"`
	TokensDigest  string  `json:"tokens_digest,omitempty"`
	Peers         []Peer  `json:"peers"`
}

// SchemaDisagreement is nil when all living nodes have this node's schema. Error code: schema-disagreement.
func (r RingStatus) SchemaDisagreement() error {
	for _, peer := range r.Peers {
		if peer.Up && peer.SchemaVersion != r.SchemaVersion {
			return Errorf("schema-disagreement", "The schema of %s still differs; the change itself is made.", peer.Address)
		}
	}
	return nil
}

// TokensDigest is a short word that is the same for the same tokens: the first 16 hexadecimal digits of the SHA-256 over them,
// sorted, joined with commas.
func TokensDigest(tokens []int64) string {
	var text []byte
	for index, token := range slices.Sorted(slices.Values(tokens)) {
		if index > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, token, 10)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8])
}

// Peer is another node of the ring as this node sees it.
type Peer struct {
	Address       string `json:"address"`
	HostID        string `json:"host_id"`
	Datacenter    string `json:"datacenter"`
	Rack          string `json:"rack"`
	SchemaVersion string `json:"schema_version"`
	Up            bool   `json:"up"`
	// Status is what gossip says of it: NORMAL, JOINING, LEAVING, LEFT, MOVING, REMOVING, SHUTDOWN; empty when it says nothing.
	Status       string `json:"status,omitempty"`
	TokensDigest string `json:"tokens_digest,omitempty"`
	// HintsDroppedAt is when this node last kept no hint for it, as it was away for too long; null: not in two days.
	HintsDroppedAt *time.Time `json:"hints_dropped_at,omitempty"`
}

// Certificate is the answer of GET /v1/certificate.
type Certificate struct {
	Certificate string    `json:"certificate"`
	NotAfter    time.Time `json:"not_after"`
}

// NewEngineCertificate is the body of PUT /v1/engine-certificate.
type NewEngineCertificate struct {
	// Certificate is for the key kept aside, CA one authority or several that the engine shall trust; both PEM.
	Certificate string `json:"certificate"`
	CA          string `json:"ca"`
}

// CertificateRequest is the answer of POST /v1/certificate/request: a PEM signing request for a new key.
type CertificateRequest struct {
	CSR string `json:"csr"`
}

// NewCertificate is the body of PUT /v1/certificate.
type NewCertificate struct {
	Certificate string `json:"certificate"`
}

// Engine is one database engine on this machine. Every method but Run may be called again at any time, also after a crash half-way,
// and from several goroutines. Errors that the control plane can act on are *Error; others are faults of the machine.
type Engine interface {
	// Configure checks and stores the configuration of PUT /v1/config; it takes effect at the next start.
	// Error codes: invalid-config, setting-not-allowed, identity-fixed.
	Configure(document json.RawMessage) error
	// Do runs a job to its end. Its result is a JSON object.
	// Error codes: see docs/agent-api.md.
	Do(ctx context.Context, kind JobKind, parameters json.RawMessage, report Report) (result any, err error)
	Status(ctx context.Context) EngineStatus
	Machine(ctx context.Context) MachineStatus
	// Ring is nil while it cannot be known.
	Ring(ctx context.Context) *RingStatus
	// The next four ask the engine, for two seconds at most.
	// Error codes: engine-not-running, management-unreachable, control-unknown; of KeyspaceRing also unknown-keyspace, table-not-found.
	Repairs(ctx context.Context) (RepairActivity, error)
	Load(ctx context.Context) (Load, error)
	// KeyspaceRing is of a table where its keyspace is cut into tablets.
	KeyspaceRing(ctx context.Context, keyspace, table string) (KeyspaceRing, error)
	Tables(ctx context.Context) (Schema, error)
	// Run re-attaches to the engine's process, or starts it if it should run, and watches over it until ctx ends. The
	// engine is left running.
	Run(ctx context.Context) error
}
