package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/disks"
	"ringmaster/agent/firstboot"
	"ringmaster/agent/iomeasure"
	"ringmaster/agent/ioproperties"
	"ringmaster/agent/jobs"
	"ringmaster/agent/metadata"
	"ringmaster/agent/pinning"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
	"ringmaster/agent/tuning"
)

// Where machine images hold what the agent reads.
const (
	defaultPresets = "/opt/ringmaster/data/io-params.json"
	imageFile      = "/etc/ringmaster/image.json"
)

// nodeMachine joins what is about the machine rather than about its engine.
type nodeMachine struct {
	// root is where sysfs, procfs and configuration files are: "/" but in tests.
	root string
	// stateDir is the agent's; what is about the machine is in its folder machine.
	stateDir string
	presets  string
	service  metadata.Service
	runner   disks.Runner
	data     agent.UserData
	// engineCPUs are those that the agent confines the engine to; none means all.
	engineCPUs pinning.CPUSet
	engine     func(context.Context) agent.EngineStatus
	measuring  atomic.Bool
}

func newMachine(stateDir string, data agent.UserData, engine func(context.Context) agent.EngineStatus) *nodeMachine {
	return &nodeMachine{root: "/", stateDir: stateDir, presets: defaultPresets, runner: disks.Programs{}, data: data, engine: engine}
}

func (m *nodeMachine) state() string { return filepath.Join(m.stateDir, "machine") }

func (m *nodeMachine) host() tuning.Host {
	return tuning.Host{Root: m.root, State: m.state(), Runner: m.runner}
}

// own is the spec of a machine that is the node's alone. Error code: shared-machine.
func (m *nodeMachine) own() (agent.MachineSpec, error) {
	if m.data.Machine == nil {
		return agent.MachineSpec{}, agent.Errorf("shared-machine", "The user data say nothing of a machine: the computer is not the node's alone and is left as it is.")
	}
	return *m.data.Machine, nil
}

// facts are what sysfs, procfs and the metadata service tell.
func (m *nodeMachine) facts(ctx context.Context) (tuning.Facts, error) {
	facts, err := tuning.Collect(m.root)
	if err != nil {
		return tuning.Facts{}, err
	}
	if m.data.Machine == nil {
		facts.Provider = "local"
		return facts, nil
	}
	var told metadata.Instance
	path := filepath.Join(m.state(), "instance.json")
	facts.Provider = metadata.Detect(m.root)
	if m.data.Machine.Provider != "" {
		facts.Provider = m.data.Machine.Provider
	}
	// A machine's type and zone are the same until it is stopped; the first boot of each start asks again.
	if err := statefile.ReadJSON(path, &told); err != nil {
		if told, err = m.service.Read(ctx, facts.Provider); err != nil {
			return tuning.Facts{}, err
		}
		if told != (metadata.Instance{}) {
			if err := m.keep(path, told); err != nil {
				return tuning.Facts{}, err
			}
		}
	}
	facts.MachineType, facts.Zone = told.Type, told.Zone
	return facts, nil
}

func (m *nodeMachine) keep(path string, value any) error {
	if err := os.MkdirAll(m.state(), 0o700); err != nil {
		return err
	}
	return statefile.WriteJSON(path, value)
}

func (m *nodeMachine) disks(spec agent.MachineSpec) disks.Machine {
	models := spec.DiskModels
	if len(models) == 0 {
		models = disks.LocalModels()
	}
	return disks.Machine{
		Runner: m.runner, Root: m.root, Models: models, State: m.state(), Mountpoint: filepath.Join(m.root, tuning.Mountpoint(spec.Engine)),
	}
}

func (m *nodeMachine) wanted(spec agent.MachineSpec) disks.Wanted {
	return disks.Wanted{
		Identity:   disks.Identity{Cluster: m.data.ClusterID, Node: m.data.NodeID, Generation: spec.Generation},
		Membership: disks.Membership(spec.Membership),
	}
}

// plan is what tuning would do. Error codes: shared-machine, presets-unreadable and those of tuning.Make.
func (m *nodeMachine) plan(facts tuning.Facts, uuid string) (tuning.Plan, error) {
	spec, err := m.own()
	if err != nil {
		return tuning.Plan{}, err
	}
	var presets ioproperties.Presets
	switch content, err := os.ReadFile(m.presets); {
	case err == nil:
		if presets, err = ioproperties.Parse(content); err != nil {
			return tuning.Plan{}, agent.Errorf("presets-unreadable", "%v", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return tuning.Plan{}, agent.Errorf("presets-unreadable", "%v", err)
	}
	before, err := m.host().Layout()
	if err != nil {
		return tuning.Plan{}, err
	}
	wishes := tuning.Spec{Engine: spec.Engine, Pinned: spec.Pinned, AllowedCPUs: spec.AllowedCPUs, AcceptReshard: spec.AcceptReshard}
	if given := spec.IOProperties; given != nil {
		figures := ioproperties.Figures(*given)
		wishes.IO = &figures
	}
	return tuning.Make(facts, wishes, presets, uuid, before)
}

// volumeUUID is that of the data's file system as the first boot left it; empty before.
func (m *nodeMachine) volumeUUID() string {
	var volume disks.Volume
	_ = statefile.ReadJSON(filepath.Join(m.state(), "volume.json"), &volume)
	return volume.UUID
}

// firstBoot makes the machine ready for its engine. It is run at every boot: what is so already is left alone.
func (m *nodeMachine) firstBoot(ctx context.Context) (agent.FirstBootReport, error) {
	spec, err := m.own()
	if err != nil {
		return agent.FirstBootReport{}, err
	}
	if err := os.MkdirAll(m.state(), 0o700); err != nil {
		return agent.FirstBootReport{}, err
	}
	var facts tuning.Facts
	var found disks.Found
	var decision disks.Decision
	var volume disks.Volume
	var plan tuning.Plan
	local, wanted := m.disks(spec), m.wanted(spec)
	again := func(name string, limit time.Duration, do func(context.Context) (string, error)) firstboot.Step {
		return firstboot.Step{Name: name, Limit: limit, Tries: 3, Pause: time.Second, Do: do}
	}
	return firstboot.Run(ctx, m.state(), []firstboot.Step{
		again("facts", time.Minute, func(ctx context.Context) (string, error) {
			if err := os.Remove(filepath.Join(m.state(), "instance.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			var err error
			facts, err = m.facts(ctx)
			return fmt.Sprintf("%s %s, %d CPUs", facts.Provider, facts.MachineType, len(facts.Topology.CPUs())), err
		}),
		again("disk-decision", time.Minute, func(ctx context.Context) (string, error) {
			var err error
			if found, err = local.Look(ctx); err != nil {
				return "", err
			}
			if decision = disks.Decide(found, wanted); decision.Action == disks.Refuse {
				return "", agent.Errorf(decision.Code, "%s", decision.Reason)
			}
			return decision.Reason, nil
		}),
		again("array", 5*time.Minute, func(ctx context.Context) (string, error) {
			// A try that failed half-way has changed what there is.
			var err error
			if found, err = local.Look(ctx); err != nil {
				return "", err
			}
			volume, err = local.CarryOut(ctx, found, wanted, disks.Decide(found, wanted))
			return fmt.Sprintf("%s of %d disks, mounted at %s", volume.Device, len(volume.Members), local.Mountpoint), err
		}),
		again("engine-folders", 30*time.Second, func(context.Context) (string, error) {
			if err := m.keep(filepath.Join(m.state(), "volume.json"), volume); err != nil {
				return "", err
			}
			return "on the array", m.engineFolders(spec.Engine)
		}),
		again("pinning-plan", 10*time.Second, func(context.Context) (string, error) {
			var err error
			plan, err = m.plan(facts, volume.UUID)
			return fmt.Sprintf("interrupts on CPUs %s, %d shards on %s", plan.Pins.IRQ, plan.Pins.NShards, plan.Pins.Shards), err
		}),
		again("io-properties", 10*time.Second, func(context.Context) (string, error) {
			if plan.IO.Figures == nil {
				return "unknown: measure-io finds out", nil
			}
			return "from " + plan.IO.Source, nil
		}),
		again("tuning", 2*time.Minute, func(ctx context.Context) (string, error) {
			changed, err := m.host().Apply(ctx, plan)
			return fmt.Sprintf("%d files and settings changed", changed), err
		}),
	})
}

// engineFolders puts an engine's data onto the array, where the agent looks for it below its state folder. The state itself stays on
// the root disk: a node that lost its data must know who it was.
func (m *nodeMachine) engineFolders(engine string) error {
	if engine != tuning.Cassandra {
		// ScyllaDB is told where its data is.
		return nil
	}
	below := filepath.Join(m.stateDir, cassandra.Name)
	if err := os.MkdirAll(below, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"data", "commitlog", "hints", "saved_caches"} {
		target := filepath.Join(m.root, tuning.Mountpoint(engine), name)
		if err := os.MkdirAll(target, 0o700); err != nil {
			return err
		}
		link := filepath.Join(below, name)
		if there, err := os.Readlink(link); err == nil && there == target {
			continue
		}
		// An empty folder may be there from an agent that started too early; one with data in it is not removed.
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	return nil
}

// tune applies the plan alone and returns how much changed.
func (m *nodeMachine) tune(ctx context.Context) (int, error) {
	facts, err := m.facts(ctx)
	if err != nil {
		return 0, err
	}
	plan, err := m.plan(facts, m.volumeUUID())
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(m.state(), 0o700); err != nil {
		return 0, err
	}
	return m.host().Apply(ctx, plan)
}

// measureIO measures the file system that holds the engine's data. Error codes: engine-running and those of iomeasure.Measure.
func (m *nodeMachine) measureIO(ctx context.Context, parameters agent.MeasureIOParameters, report agent.Report) (iomeasure.MeasuredIO, error) {
	if !m.measuring.CompareAndSwap(false, true) {
		return iomeasure.MeasuredIO{}, agent.Errorf("measuring-io", "The disks are being measured already.")
	}
	defer m.measuring.Store(false)
	if state := m.engine(ctx).State; state != agent.EngineAbsent && state != agent.EngineStopped {
		return iomeasure.MeasuredIO{}, agent.Errorf("engine-running", "The disks cannot be measured while the engine is %s: stop it first.", state)
	}
	plan := iomeasure.DefaultPlan()
	seconds := func(given float64, into *time.Duration) {
		if given > 0 {
			*into = time.Duration(given * float64(time.Second))
		}
	}
	seconds(parameters.RampSeconds, &plan.Ramp)
	seconds(parameters.WindowSeconds, &plan.Window)
	seconds(parameters.LimitSeconds, &plan.Limit)
	if parameters.Rounds > 0 {
		plan.Rounds = parameters.Rounds
	}
	if parameters.FileMiB > 0 {
		plan.FileBytes = int64(parameters.FileMiB) << 20
	}
	if plan.Rounds > 20 || plan.Window > time.Minute || plan.Ramp > time.Minute || plan.Limit > 10*time.Minute || plan.FileBytes < 1<<20 {
		return iomeasure.MeasuredIO{}, agent.Errorf("invalid-parameters", "at most 20 rounds, windows and ramps of a minute, and limits of 10 minutes")
	}
	folder := m.stateDir
	if m.data.Machine != nil {
		folder = filepath.Join(m.root, tuning.Mountpoint(m.data.Machine.Engine))
	}
	return iomeasure.Measure(ctx, folder, plan, iomeasure.Installed, report)
}

// Tuning implements httpapi.Machine.
func (m *nodeMachine) Tuning(ctx context.Context) (agent.TuningReport, error) {
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	facts, err := m.facts(within)
	if err != nil {
		return agent.TuningReport{}, err
	}
	applied, err := m.host().Applied()
	if err != nil {
		return agent.TuningReport{}, err
	}
	boot, err := firstboot.Last(m.state())
	if err != nil {
		return agent.TuningReport{}, err
	}
	status := m.engine(ctx)
	live, err := m.live(status)
	if err != nil {
		return agent.TuningReport{}, err
	}
	shared := m.data.Machine == nil
	report := agent.TuningReport{
		CheckedAt: live.Now.Truncate(time.Millisecond), Environment: agent.OwnMachine, Provider: facts.Provider, MachineType: facts.MachineType,
		Engine: status.Name, Checks: tuning.Checks(facts, applied, live, shared, m.engineCPUs.String()), FirstBoot: boot, Warnings: []agent.TuningWarning{},
	}
	switch {
	case shared:
		report.Environment = agent.SharedMachine
	case facts.Container:
		report.Environment = agent.Container
	}
	if choice, err := pinning.Choose(facts.Topology, pinning.Options{}); err == nil {
		report.Pins = pinsOf(len(facts.Topology.CPUs()), choice)
	} else {
		report.Warnings = append(report.Warnings, agent.TuningWarning{Code: "pinning-refused", Message: err.Error()})
	}
	if applied != nil {
		report.Engine = applied.Plan.Engine
		pins := applied.Plan.Pins
		report.Pins = &agent.TuningPins{CPUs: len(facts.Topology.CPUs()), IRQ: pins.IRQ, Shards: pins.Shards, NShards: pins.NShards}
		if figures := applied.Plan.IO.Figures; figures != nil {
			report.IO = &agent.TuningIO{
				Source: applied.Plan.IO.Source, WrittenAt: applied.At, ReadIOPS: figures.ReadIOPS, ReadBandwidth: figures.ReadBandwidth,
				WriteIOPS: figures.WriteIOPS, WriteBandwidth: figures.WriteBandwidth,
			}
		}
		for _, warning := range applied.Plan.Warnings {
			report.Warnings = append(report.Warnings, agent.TuningWarning(warning))
		}
	}
	return report, nil
}

func pinsOf(cpus int, choice pinning.Choice) *agent.TuningPins {
	return &agent.TuningPins{CPUs: cpus, IRQ: choice.IRQ.String(), Shards: choice.Shards.String(), NShards: len(choice.Shards)}
}

// live is what the engine's process and the clock are like now.
func (m *nodeMachine) live(status agent.EngineStatus) (tuning.Live, error) {
	live := tuning.Live{Now: time.Now().UTC(), Versions: strings.TrimSpace(fmt.Sprintf("agent %s, %s %s", version, status.Name, status.Version))}
	if id, err := process.Of(status.PID); err == nil && status.PID > 0 {
		// The engine may end between these questions; then the report says that it does not run.
		live.EngineCPUs, _ = process.CPUs(id)
		live.MemoryLocked, _ = process.Limit(id, "Max locked memory")
		live.OpenFiles, _ = process.Limit(id, "Max open files")
	}
	var adjustment unix.Timex
	if state, err := unix.Adjtimex(&adjustment); err == nil {
		synced := state != unix.TIME_ERROR && adjustment.Status&unix.STA_UNSYNC == 0
		live.ClockSynced = &synced
	}
	var image struct {
		Engine        string `json:"engine"`
		EngineVersion string `json:"engine_version"`
		Agent         string `json:"agent"`
	}
	switch err := statefile.ReadJSON(filepath.Join(m.root, imageFile), &image); {
	case err == nil:
		live.VersionsWanted = fmt.Sprintf("agent %s, %s %s", image.Agent, image.Engine, image.EngineVersion)
	case !errors.Is(err, fs.ErrNotExist):
		return tuning.Live{}, err
	}
	return live, nil
}

// enginePins are the CPUs that the agent confines the engine it starts to. On a computer that is not the node's alone that is all that can be
// tuned; with at most 4 CPUs there is nothing to choose.
func (m *nodeMachine) enginePins() (pinning.CPUSet, error) {
	if m.data.Machine != nil && !m.data.Machine.Pinned {
		return nil, nil
	}
	topology, err := pinning.ReadTopology(m.root)
	if err != nil {
		return nil, err
	}
	// In a container the agent itself may be confined, and can give no more than it has.
	var given unix.CPUSet
	if err := unix.SchedGetaffinity(0, &given); err != nil {
		return nil, err
	}
	var options pinning.Options
	for _, id := range topology.CPUs() {
		if given.IsSet(id) {
			options.Allowed = append(options.Allowed, id)
		}
	}
	if m.data.Machine != nil && m.data.Machine.AllowedCPUs != "" {
		if options.Allowed, err = pinning.ParseList(m.data.Machine.AllowedCPUs); err != nil {
			return nil, err
		}
	}
	choice, err := pinning.Choose(topology, options)
	if err != nil {
		return nil, err
	}
	if len(choice.IRQ) == len(choice.Shards) && choice.IRQ.String() == choice.Shards.String() {
		return nil, nil
	}
	return choice.Shards, nil
}

// doer does the jobs of the machine itself and hands the others to the engine.
func (m *nodeMachine) doer(engine agent.Engine) jobs.Run {
	return func(ctx context.Context, kind agent.JobKind, document json.RawMessage, report agent.Report) (any, error) {
		switch kind {
		case agent.MeasureIO:
			var parameters agent.MeasureIOParameters
			if err := strictly(document, &parameters); err != nil {
				return nil, agent.Errorf("invalid-parameters", "%v", err)
			}
			return m.measureIO(ctx, parameters, report)
		case agent.Start:
			if err := m.startable(); err != nil {
				return nil, err
			}
		}
		return engine.Do(ctx, kind, document, report)
	}
}

// startable keeps the engine from a machine that is being measured or was not made ready. Error codes: measuring-io, first-boot-failed.
func (m *nodeMachine) startable() error {
	if m.measuring.Load() {
		return agent.Errorf("measuring-io", "The engine cannot be started while the disks are measured.")
	}
	if m.data.Machine == nil {
		return nil
	}
	boot, err := firstboot.Last(m.state())
	if err != nil {
		return err
	}
	if boot == nil || boot.State != agent.StepSucceeded {
		return agent.Errorf("first-boot-failed", "The machine is not ready: its first boot did not succeed. See /v1/tuning.")
	}
	return nil
}

// strictly reads parameters and knows all their fields; none are all left out.
func strictly(document json.RawMessage, into any) error {
	if len(document) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
