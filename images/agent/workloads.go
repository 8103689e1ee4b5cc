package agent

import "time"

// The kinds of jobs that give a test drive something to look at: docs/test-drives.md.
const (
	// LoadWorkload makes the tables of a workload and its data set.
	LoadWorkload JobKind = "load-workload"
	// RunWorkload reads and writes that data set until the time is over or the job is deleted.
	RunWorkload JobKind = "run-workload"
)

// WorkloadJobKinds are all of them.
func WorkloadJobKinds() []JobKind { return []JobKind{LoadWorkload, RunWorkload} }

// Workload names a data set and what is done with it.
type Workload string

// The workloads.
const (
	// KeyValue reads and overwrites single values by their keys.
	KeyValue Workload = "key-value"
	// TimeSeries adds measurements of sensors, and reads the newest.
	TimeSeries Workload = "timeseries"
	// Orders places orders, changes their state, and lists those of a customer.
	Orders Workload = "orders"
)

// Workloads are all of them.
func Workloads() []Workload { return []Workload{KeyValue, TimeSeries, Orders} }

// LoadWorkloadParameters are those of the job load-workload.
type LoadWorkloadParameters struct {
	Workload Workload `json:"workload"`
	Rows     int      `json:"rows"`
	// Replication is how many replicas each data centre has.
	Replication map[string]int `json:"replication"`
}

// WorkloadLoaded is the result of the job load-workload.
type WorkloadLoaded struct {
	Rows int `json:"rows"`
}

// RunWorkloadParameters are those of the job run-workload.
type RunWorkloadParameters struct {
	Workload Workload `json:"workload"`
	// Rows are how many were loaded: which keys there are.
	Rows int `json:"rows"`
	// OperationsPerSecond is what this node does at most, reads and writes together.
	OperationsPerSecond int       `json:"operations_per_second"`
	Until               time.Time `json:"until"`
}

// WorkloadDone is the result of the job run-workload.
type WorkloadDone struct {
	Reads  int64 `json:"reads"`
	Writes int64 `json:"writes"`
}
