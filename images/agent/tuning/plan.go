package tuning

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/disks"
	"ringmaster/agent/ioproperties"
	"ringmaster/agent/pinning"
)

// The engines.
const (
	Scylla    = "scylla"
	Cassandra = "cassandra"
)

// Mountpoint is where an engine has its data.
func Mountpoint(engine string) string { return "/var/lib/" + engine }

// Spec is what the control plane wants of a machine.
type Spec struct {
	Engine string
	// IO is the cluster's one value; nil: the preset of the machine type.
	IO *ioproperties.Figures
	// Pinned: a thread-pool engine gets a cpuset too. Scylla always has one.
	Pinned bool
	// AllowedCPUs limits what the rule chooses from; empty means all.
	AllowedCPUs string
	// Ratio of cores to an interrupt core; 0 means the rule's own.
	Ratio int
	// AcceptReshard: a changed number of shards is wanted.
	AcceptReshard bool
}

// Layout is the part of an earlier plan that the data on the disks depends on.
type Layout struct {
	Shards  string `json:"shards"`
	NShards int    `json:"n_shards"`
}

// File is a file that the plan writes.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Setting is a value of the kernel. Path is below the root, without a leading slash.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	// Optional: some kernels and devices refuse it, which is told and no failure.
	Optional bool `json:"optional,omitempty"`
}

// Warning is something a person should know.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Pins are the CPUs of the plan, as lists.
type Pins struct {
	IRQ     string `json:"irq"`
	Shards  string `json:"shards"`
	NShards int    `json:"n_shards"`
	// Engine is where the engine may run; empty: everywhere.
	Engine string `json:"engine"`
}

// IO is what the engine is told about the disks. Source is "control-plane", "preset" or "unknown".
type IO struct {
	Figures *ioproperties.Figures `json:"figures"`
	Source  string                `json:"source"`
}

// Plan is what tuning would do. It is made of facts and wishes only.
type Plan struct {
	Engine   string     `json:"engine"`
	Pins     Pins       `json:"pins"`
	IO       IO         `json:"io"`
	Files    []File     `json:"files"`
	Settings []Setting  `json:"settings"`
	Commands [][]string `json:"commands"`
	Warnings []Warning  `json:"warnings"`
}

// Make makes the plan. uuid is that of the data's file system, empty when it is not known yet; before is the layout that the data was
// made with, nil on a first boot. Error codes: unknown-engine, pinning-refused, reshard-needed.
func Make(facts Facts, spec Spec, presets ioproperties.Presets, uuid string, before *Layout) (Plan, error) {
	if spec.Engine != Scylla && spec.Engine != Cassandra {
		return Plan{}, agent.Errorf("unknown-engine", "There is no engine %q.", spec.Engine)
	}
	options := pinning.Options{Ratio: spec.Ratio}
	if spec.AllowedCPUs != "" {
		allowed, err := pinning.ParseList(spec.AllowedCPUs)
		if err != nil {
			return Plan{}, agent.Errorf("pinning-refused", "%v", err)
		}
		options.Allowed = allowed
	}
	choice, err := pinning.Choose(facts.Topology, options)
	if err != nil {
		return Plan{}, agent.Errorf("pinning-refused", "%v", err)
	}
	m := making{facts: facts, spec: spec, choice: choice, all: facts.Topology.CPUs()}
	m.plan = Plan{Engine: spec.Engine, Files: []File{}, Settings: []Setting{}, Commands: [][]string{}, Warnings: []Warning{}}
	m.plan.Pins = Pins{IRQ: choice.IRQ.String(), Shards: choice.Shards.String(), NShards: len(choice.Shards)}
	if m.confined() {
		m.plan.Pins.Engine = choice.Shards.String()
	}
	if err := m.checkLayout(before); err != nil {
		return Plan{}, err
	}
	m.io(presets)
	m.files(uuid)
	m.settings()
	m.plan.Commands = [][]string{{"systemctl", "daemon-reload"}}
	return m.plan, nil
}

// Layout is what must be remembered of an applied plan; nil where the data does not depend on the CPUs.
func (p Plan) Layout() *Layout {
	if p.Engine != Scylla {
		return nil
	}
	return &Layout{Shards: p.Pins.Shards, NShards: p.Pins.NShards}
}

type making struct {
	facts  Facts
	spec   Spec
	choice pinning.Choice
	all    pinning.CPUSet
	plan   Plan
}

// confined tells whether the engine is kept off the interrupt CPUs.
func (m *making) confined() bool { return m.spec.Engine == Scylla || m.spec.Pinned }

func (m *making) warn(code, format string, arguments ...any) {
	m.plan.Warnings = append(m.plan.Warnings, Warning{Code: code, Message: fmt.Sprintf(format, arguments...)})
}

// checkLayout: the number of shards is part of how the data lies on the disks.
func (m *making) checkLayout(before *Layout) error {
	if m.spec.Engine != Scylla || before == nil || before.NShards == m.plan.Pins.NShards {
		return nil
	}
	if !m.spec.AcceptReshard {
		return agent.Errorf("reshard-needed", "The data was written by %d shards; this machine would have %d. Resharding must be asked for.", before.NShards, m.plan.Pins.NShards)
	}
	m.warn("reshard", "The data was written by %d shards and will be resharded to %d.", before.NShards, m.plan.Pins.NShards)
	return nil
}

func (m *making) io(presets ioproperties.Presets) {
	if m.spec.IO != nil && m.spec.IO.Valid() {
		m.plan.IO = IO{Figures: m.spec.IO, Source: "control-plane"}
		return
	}
	local := 0
	for _, disk := range m.facts.Disks {
		if m.facts.local(disk.Model) {
			local++
		}
	}
	found, err := presets.Lookup(m.facts.Provider, m.facts.MachineType, local)
	if err != nil {
		m.plan.IO.Source = "unknown"
		if errors.Is(err, ioproperties.ErrUnknown) {
			m.warn("io-unknown", "There is no io preset for %q with %d local disks: measure-io finds out.", m.facts.MachineType, local)
		}
		return
	}
	m.plan.IO = IO{Figures: &found, Source: "preset"}
}

// local tells local disks from volumes that outlive the machine.
func (f Facts) local(model string) bool {
	models := f.DiskModels
	if len(models) == 0 {
		models = disks.LocalModels()
	}
	return slices.ContainsFunc(models, func(pattern string) bool { match, _ := path.Match(pattern, model); return match })
}

// settings are what the running kernel is told; the bake and the files see to what a boot sets.
func (m *making) settings() {
	set := func(path, value string, optional bool) {
		if _, there := m.facts.Values[path]; there {
			m.plan.Settings = append(m.plan.Settings, Setting{Path: path, Value: value, Optional: optional})
		}
	}
	if source := wantedClock(m.facts); source != "" {
		set(clockSource, source, true)
	}
	for _, name := range slices.Sorted(maps.Keys(sysctls())) {
		set(sysctlPath(name), sysctls()[name], false)
	}
	set(hugePages, "madvise", false)
	for _, path := range slices.Sorted(maps.Keys(m.facts.Values)) {
		if strings.HasSuffix(path, "/scaling_governor") {
			set(path, "performance", true)
		}
	}
	interrupts := m.choice.IRQ
	if !m.confined() {
		interrupts = m.all
	}
	turn := 0
	spread := func(irqs []int) {
		for _, irq := range irqs {
			// Interrupts that the kernel manages itself, as NVMe queues are, cannot be moved.
			set(affinityPath(irq), pinning.Of(interrupts[turn%len(interrupts)]).KernelMask(), true)
			turn++
		}
	}
	for _, disk := range m.facts.Disks {
		folder := "sys/block/" + disk.Name + "/queue/"
		if !disk.Rotational {
			set(folder+"scheduler", "none", true)
			set(folder+"nomerges", "2", true)
			set(folder+"read_ahead_kb", "4", false)
			set(folder+"rq_affinity", "2", true)
		}
		spread(disk.Interrupts)
	}
	set(flowEntries, strconv.Itoa(flows), false)
	for _, card := range m.facts.Cards {
		spread(card.Interrupts)
		m.steer(card, set)
	}
}

// flows is how many connections the kernel remembers the CPU of (receive flow steering).
const flows = 32768

// steer lets packets be worked on where the connection is served, and sent by the queue nearest to that.
func (m *making) steer(card NetworkCard, set func(path, value string, optional bool)) {
	folder := "sys/class/net/" + card.Name + "/queues/"
	for _, queue := range card.RxQueues {
		set(folder+queue+"/rps_cpus", m.choice.Shards.KernelMask(), true)
		set(folder+queue+"/rps_flow_cnt", strconv.Itoa(flows/len(card.RxQueues)), true)
	}
	for index, queue := range card.TxQueues {
		var mine []int
		for turn, id := range m.all {
			if turn%len(card.TxQueues) == index {
				mine = append(mine, id)
			}
		}
		set(folder+queue+"/xps_cpus", pinning.Of(mine...).KernelMask(), true)
	}
}

// wantedClock is the source that costs no call into the hypervisor; empty when the machine has none.
func wantedClock(facts Facts) string {
	available := strings.Fields(facts.Values[availableClocks])
	for _, source := range []string{"tsc", "arch_sys_counter"} {
		if slices.Contains(available, source) {
			return source
		}
	}
	return ""
}
