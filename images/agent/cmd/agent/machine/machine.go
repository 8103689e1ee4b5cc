// Package machine makes the machine that a node has to itself ready for its engine, tells how it is, and measures its disks. It joins the
// packages that each do a part of that.
package machine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/disks"
	"ringmaster/agent/ioproperties"
	"ringmaster/agent/metadata"
	"ringmaster/agent/pinning"
	"ringmaster/agent/statefile"
	"ringmaster/agent/tuning"
)

// Where machine images hold what the agent reads.
const (
	DefaultPresets = "/opt/ringmaster/data/io-params.json"
	imageFile      = "/etc/ringmaster/image.json"
)

// Machine joins what is about the machine rather than about its engine.
type Machine struct {
	// Root is where sysfs, procfs and configuration files are: "/" but in tests.
	Root string
	// StateDir is the agent's; what is about the machine is in its folder machine.
	StateDir string
	// Presets is the file with what the disks of machine types do.
	Presets string
	Service metadata.Service
	Runner  disks.Runner
	Data    agent.UserData
	// EngineCPUs are those that the agent confines the engine to; none means all.
	EngineCPUs pinning.CPUSet
	// Engine tells how the engine is.
	Engine func(context.Context) agent.EngineStatus
	// Version is the agent's.
	Version   string
	measuring atomic.Bool
}

// New is the machine that the agent runs on.
func New(stateDir string, data agent.UserData, version string, engine func(context.Context) agent.EngineStatus) *Machine {
	return &Machine{
		Root: "/", StateDir: stateDir, Presets: DefaultPresets, Runner: disks.Programs{}, Data: data, Engine: engine, Version: version,
	}
}

func (m *Machine) state() string { return filepath.Join(m.StateDir, "machine") }

func (m *Machine) host() tuning.Host {
	return tuning.Host{Root: m.Root, State: m.state(), Runner: m.Runner}
}

// own is the spec of a machine that is the node's alone. Error code: shared-machine.
func (m *Machine) own() (agent.MachineSpec, error) {
	if m.Data.Machine == nil {
		return agent.MachineSpec{}, agent.Errorf("shared-machine", "The user data say nothing of a machine: the computer is not the node's alone and is left as it is.")
	}
	return *m.Data.Machine, nil
}

// facts are what sysfs, procfs and the metadata service tell.
func (m *Machine) facts(ctx context.Context) (tuning.Facts, error) {
	facts, err := tuning.Collect(m.Root)
	if err != nil {
		return tuning.Facts{}, err
	}
	if m.Data.Machine == nil {
		facts.Provider = "local"
		return facts, nil
	}
	facts.DiskModels = m.Data.Machine.DiskModels
	var told metadata.Instance
	path := filepath.Join(m.state(), "instance.json")
	facts.Provider = metadata.Detect(m.Root)
	if m.Data.Machine.Provider != "" {
		facts.Provider = m.Data.Machine.Provider
	}
	// A machine's type and zone are the same until it is stopped; the first boot of each start asks again.
	if err := statefile.ReadJSON(path, &told); err != nil {
		if told, err = m.Service.Read(ctx, facts.Provider); err != nil {
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

func (m *Machine) keep(path string, value any) error {
	if err := os.MkdirAll(m.state(), 0o700); err != nil {
		return err
	}
	return statefile.WriteJSON(path, value)
}

func (m *Machine) disks(spec agent.MachineSpec) disks.Machine {
	models := spec.DiskModels
	if len(models) == 0 {
		models = disks.LocalModels()
	}
	return disks.Machine{
		Runner: m.Runner, Root: m.Root, Models: models, State: m.state(), Mountpoint: filepath.Join(m.Root, tuning.Mountpoint(spec.Engine)),
	}
}

func (m *Machine) wanted(spec agent.MachineSpec) disks.Wanted {
	return disks.Wanted{
		Identity:   disks.Identity{Cluster: m.Data.ClusterID, Node: m.Data.NodeID, Generation: spec.Generation},
		Membership: disks.Membership(spec.Membership),
	}
}

// Plan is what tuning would do. Error codes: shared-machine, presets-unreadable, and those of the metadata service and of tuning.Make.
func (m *Machine) Plan(ctx context.Context) (tuning.Plan, error) {
	facts, err := m.facts(ctx)
	if err != nil {
		return tuning.Plan{}, err
	}
	return m.planOf(facts, m.volumeUUID())
}

func (m *Machine) planOf(facts tuning.Facts, uuid string) (tuning.Plan, error) {
	spec, err := m.own()
	if err != nil {
		return tuning.Plan{}, err
	}
	var presets ioproperties.Presets
	switch content, err := os.ReadFile(m.Presets); {
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
func (m *Machine) volumeUUID() string {
	var volume disks.Volume
	_ = statefile.ReadJSON(filepath.Join(m.state(), "volume.json"), &volume)
	return volume.UUID
}

// EnginePins are the CPUs that the agent confines the engine it starts to. On a computer that is not the node's alone that is all that can be
// tuned; with at most 4 CPUs there is nothing to choose.
func (m *Machine) EnginePins() (pinning.CPUSet, error) {
	if m.Data.Machine != nil && !m.Data.Machine.Pinned {
		return nil, nil
	}
	topology, err := pinning.ReadTopology(m.Root)
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
	if m.Data.Machine != nil && m.Data.Machine.AllowedCPUs != "" {
		if options.Allowed, err = pinning.ParseList(m.Data.Machine.AllowedCPUs); err != nil {
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
