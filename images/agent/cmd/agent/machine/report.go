package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/firstboot"
	"ringmaster/agent/pinning"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
	"ringmaster/agent/tuning"
)

// Tuning implements httpapi.Machine.
func (m *Machine) Tuning(ctx context.Context) (agent.TuningReport, error) {
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
	status := m.Engine(ctx)
	live, err := m.live(status)
	if err != nil {
		return agent.TuningReport{}, err
	}
	shared := m.Data.Machine == nil
	report := agent.TuningReport{
		CheckedAt: live.Now.Truncate(time.Millisecond), Environment: agent.OwnMachine, Provider: facts.Provider, MachineType: facts.MachineType,
		Engine: status.Name, Checks: tuning.Checks(facts, applied, live, shared, m.EngineCPUs.String()), FirstBoot: boot, Warnings: []agent.TuningWarning{},
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
func (m *Machine) live(status agent.EngineStatus) (tuning.Live, error) {
	live := tuning.Live{Now: time.Now().UTC(), Versions: strings.TrimSpace(fmt.Sprintf("agent %s, %s %s", m.Version, status.Name, status.Version))}
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
	switch err := statefile.ReadJSON(filepath.Join(m.Root, imageFile), &image); {
	case err == nil:
		live.VersionsWanted = fmt.Sprintf("agent %s, %s %s", image.Agent, image.Engine, image.EngineVersion)
	case !errors.Is(err, fs.ErrNotExist):
		return tuning.Live{}, err
	}
	return live, nil
}
