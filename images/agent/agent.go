// Package agent holds the words that the control plane and a node's agent share: what is asked of an agent, what it
// answers, and what an engine must be able to do. How each is done is in the sub-packages; cmd/agent joins them.
package agent

import (
	"context"
	"encoding/json"
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

// JobKinds are all of them.
func JobKinds() []JobKind {
	return []JobKind{Install, Start, Stop, Drain, Secure, RotatePassword, Prove, DescribeRing}
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
	Agent  AgentStatus  `json:"agent"`
	NodeID string       `json:"node_id"`
	Engine EngineStatus `json:"engine"`
	// Ring is nil until the agent knows the control account (job secure) and the engine answers.
	Ring *RingStatus `json:"ring"`
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
}

// RingStatus is the ring as this node sees it.
type RingStatus struct {
	HostID        string  `json:"host_id"`
	Datacenter    string  `json:"datacenter"`
	Rack          string  `json:"rack"`
	SchemaVersion string  `json:"schema_version"`
	Tokens        []int64 `json:"tokens"`
	Peers         []Peer  `json:"peers"`
}

// Peer is another node of the ring as this node sees it.
type Peer struct {
	Address       string `json:"address"`
	HostID        string `json:"host_id"`
	Datacenter    string `json:"datacenter"`
	Rack          string `json:"rack"`
	SchemaVersion string `json:"schema_version"`
	Up            bool   `json:"up"`
}

// Certificate is the answer of GET /v1/certificate.
type Certificate struct {
	Certificate string    `json:"certificate"`
	NotAfter    time.Time `json:"not_after"`
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
	// Ring is nil while it cannot be known.
	Ring(ctx context.Context) *RingStatus
	// Run re-attaches to the engine's process, or starts it if it should run, and watches over it until ctx ends. The
	// engine is left running.
	Run(ctx context.Context) error
}
