package agent

import "time"

// CheckStatus is how a check of the tuning report came out.
type CheckStatus string

// The outcomes of a check.
const (
	Pass CheckStatus = "pass"
	Fail CheckStatus = "fail"
	// NotApplicable: the check says nothing here, for example on a machine that is not the node's alone; see its reason.
	NotApplicable CheckStatus = "not-applicable"
)

// Environment is what a node runs in.
type Environment string

// The environments.
const (
	OwnMachine Environment = "machine"
	Container  Environment = "container"
	// SharedMachine: the computer at hand, which the agent must not change.
	SharedMachine Environment = "shared"
)

// TuningReport is the answer of GET /v1/tuning.
type TuningReport struct {
	CheckedAt   time.Time   `json:"checked_at"`
	Environment Environment `json:"environment"`
	Provider    string      `json:"provider"`
	MachineType string      `json:"machine_type"`
	Engine      string      `json:"engine"`
	// Pins is null when the rule does not fit the machine.
	Pins *TuningPins `json:"pins"`
	// IO is null when the engine was told nothing about its disks.
	IO     *TuningIO     `json:"io"`
	Checks []TuningCheck `json:"checks"`
	// FirstBoot is null where there was none.
	FirstBoot *FirstBootReport `json:"first_boot"`
	Warnings  []TuningWarning  `json:"warnings"`
}

// TuningPins are the CPUs that take interrupts and those that run the engine, as the kernel writes lists: "1-15,17-31".
type TuningPins struct {
	CPUs    int    `json:"cpus"`
	IRQ     string `json:"irq"`
	Shards  string `json:"shards"`
	NShards int    `json:"n_shards"`
}

// TuningIO is what the engine is told about its disks: requests of 4 KiB and bytes, per second, of the whole array.
type TuningIO struct {
	// Source is "control-plane" or "preset".
	Source         string    `json:"source"`
	WrittenAt      time.Time `json:"written_at"`
	ReadIOPS       int64     `json:"read_iops"`
	ReadBandwidth  int64     `json:"read_bandwidth"`
	WriteIOPS      int64     `json:"write_iops"`
	WriteBandwidth int64     `json:"write_bandwidth"`
}

// TuningCheck is one line of the checklist.
type TuningCheck struct {
	Name   string      `json:"name"`
	Status CheckStatus `json:"status"`
	Found  string      `json:"found"`
	Wanted string      `json:"wanted"`
	// Cost is what it costs when the check fails.
	Cost string `json:"cost"`
	// Reason says why the check is not applicable; empty otherwise.
	Reason string `json:"reason"`
}

// TuningWarning is something a person should know.
type TuningWarning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// StepState is where a step of the first boot stands.
type StepState string

// The states of a step.
const (
	StepSucceeded StepState = "succeeded"
	StepFailed    StepState = "failed"
	StepPending   StepState = "pending"
)

// FirstBootReport is how the last first boot went.
type FirstBootReport struct {
	// State is succeeded when every step is.
	State      StepState       `json:"state"`
	StartedAt  time.Time       `json:"started_at"`
	DurationMS int64           `json:"duration_ms"`
	Steps      []FirstBootStep `json:"steps"`
}

// FirstBootStep is one step of it, in order.
type FirstBootStep struct {
	Name       string    `json:"name"`
	State      StepState `json:"state"`
	DurationMS int64     `json:"duration_ms"`
	// Attempts is how often it was tried.
	Attempts int `json:"attempts"`
	// Message says what was done or found.
	Message string `json:"message"`
	Error   *Error `json:"error"`
}

// MeasureIOParameters are those of the job measure-io. What is left out or 0 keeps the usual value.
type MeasureIOParameters struct {
	Rounds        int     `json:"rounds,omitempty"`         // 3
	RampSeconds   float64 `json:"ramp_seconds,omitempty"`   // 3
	WindowSeconds float64 `json:"window_seconds,omitempty"` // 5
	LimitSeconds  float64 `json:"limit_seconds,omitempty"`  // 60
	FileMiB       int     `json:"file_mib,omitempty"`       // 8192
}
