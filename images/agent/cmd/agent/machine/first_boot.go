package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/disks"
	"ringmaster/agent/firstboot"
	"ringmaster/agent/metadata"
	"ringmaster/agent/statefile"
	"ringmaster/agent/tuning"
)

// FetchUserData asks the metadata service for the user data where no file has them yet. They hold a token: the file is the owner's only.
func (m *Machine) FetchUserData(ctx context.Context, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	provider := metadata.Detect(m.Root)
	text, err := m.Service.UserData(within, provider)
	if err != nil {
		return err
	}
	var told agent.UserData
	if err := json.Unmarshal([]byte(text), &told); err != nil || told.NodeID == "" {
		return fmt.Errorf("the metadata service has none that are a node's: %v", err)
	}
	if told.Address == "" {
		// The control plane cannot know it before the machine is there.
		instance, err := m.Service.Read(within, provider)
		if err != nil {
			return err
		}
		told.Address = instance.Address
	}
	if told.Listen == "" {
		told.Listen = net.JoinHostPort(told.Address, "7443")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return statefile.WriteJSON(path, told)
}

// FirstBoot makes the machine ready for its engine. It is run at every boot: what is so already is left alone.
func (m *Machine) FirstBoot(ctx context.Context) (agent.FirstBootReport, error) {
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
		again("pinning-plan", 10*time.Second, func(ctx context.Context) (string, error) {
			// The array may have been made just now, and it is a disk to tune as any other.
			var err error
			if facts, err = m.facts(ctx); err != nil {
				return "", err
			}
			plan, err = m.planOf(facts, volume.UUID)
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
func (m *Machine) engineFolders(engine string) error {
	if engine != tuning.Cassandra {
		// ScyllaDB is told where its data is.
		return nil
	}
	below := filepath.Join(m.StateDir, cassandra.Name)
	if err := os.MkdirAll(below, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"data", "commitlog", "hints", "saved_caches"} {
		target := filepath.Join(m.Root, tuning.Mountpoint(engine), name)
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

// Tune applies the plan alone and returns how much changed.
func (m *Machine) Tune(ctx context.Context) (int, error) {
	plan, err := m.Plan(ctx)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(m.state(), 0o700); err != nil {
		return 0, err
	}
	return m.host().Apply(ctx, plan)
}

// Revert puts back everything as it was before the first time, and returns how much that was.
func (m *Machine) Revert(ctx context.Context) (int, error) { return m.host().Revert(ctx) }
