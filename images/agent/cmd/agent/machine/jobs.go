package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/firstboot"
	"ringmaster/agent/iomeasure"
	"ringmaster/agent/jobs"
	"ringmaster/agent/tuning"
)

// Doer does the jobs of the machine itself and hands the others to the engine.
func (m *Machine) Doer(engine agent.Engine) jobs.Run {
	return func(ctx context.Context, kind agent.JobKind, document json.RawMessage, report agent.Report) (any, error) {
		switch kind {
		case agent.MeasureIO:
			var parameters agent.MeasureIOParameters
			if err := strictly(document, &parameters); err != nil {
				return nil, agent.Errorf("invalid-parameters", "%v", err)
			}
			return m.MeasureIO(ctx, parameters, report)
		case agent.Start:
			if err := m.startable(); err != nil {
				return nil, err
			}
		}
		return engine.Do(ctx, kind, document, report)
	}
}

// MeasureIO measures the file system that holds the engine's data. Error codes: engine-running and those of iomeasure.Measure.
func (m *Machine) MeasureIO(ctx context.Context, parameters agent.MeasureIOParameters, report agent.Report) (iomeasure.MeasuredIO, error) {
	if !m.measuring.CompareAndSwap(false, true) {
		return iomeasure.MeasuredIO{}, agent.Errorf("measuring-io", "The disks are being measured already.")
	}
	defer m.measuring.Store(false)
	if state := m.Engine(ctx).State; state != agent.EngineAbsent && state != agent.EngineStopped {
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
	folder := m.StateDir
	if m.Data.Machine != nil {
		folder = filepath.Join(m.Root, tuning.Mountpoint(m.Data.Machine.Engine))
	}
	return iomeasure.Measure(ctx, folder, plan, iomeasure.Installed, report)
}

// startable keeps the engine from a machine that is being measured or was not made ready. Error codes: measuring-io, first-boot-failed.
func (m *Machine) startable() error {
	if m.measuring.Load() {
		return agent.Errorf("measuring-io", "The engine cannot be started while the disks are measured.")
	}
	if m.Data.Machine == nil {
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
