// Package firstboot runs the steps that make a fresh machine a node, one after another, and keeps how each went. Every step can be
// repeated: what is so already is success.
package firstboot

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// Step is one of them.
type Step struct {
	Name string
	// Limit is how long one try may take.
	Limit time.Duration
	// Tries is how often it is tried in all, with Pause between; 0 means once. A refusal, an *agent.Error, is not tried again.
	Tries int
	Pause time.Duration
	// Do returns what was done or found, for people.
	Do func(ctx context.Context) (message string, err error)
}

// Run does the steps in their order until one fails, and writes how it stands into the state folder after each. The report is complete
// in any case. The error is that of the step, with a code: its own, or step-timeout or step-failed.
func Run(ctx context.Context, state string, steps []Step) (agent.FirstBootReport, error) {
	began := time.Now()
	report := agent.FirstBootReport{State: agent.StepPending, StartedAt: began.UTC().Truncate(time.Millisecond), Steps: make([]agent.FirstBootStep, len(steps))}
	for index, step := range steps {
		report.Steps[index] = agent.FirstBootStep{Name: step.Name, State: agent.StepPending}
	}
	for index, step := range steps {
		outcome := &report.Steps[index]
		failure := run(ctx, step, outcome)
		report.DurationMS = time.Since(began).Milliseconds()
		report.State = agent.StepPending
		switch {
		case failure != nil:
			report.State = agent.StepFailed
		case index == len(steps)-1:
			report.State = agent.StepSucceeded
		}
		if err := statefile.WriteJSON(path(state), report); err != nil {
			return report, err
		}
		if failure != nil {
			return report, failure
		}
	}
	return report, nil
}

func run(ctx context.Context, step Step, outcome *agent.FirstBootStep) error {
	began := time.Now()
	defer func() { outcome.DurationMS = time.Since(began).Milliseconds() }()
	for {
		outcome.Attempts++
		within, cancel := context.WithTimeout(ctx, step.Limit)
		message, err := step.Do(within)
		late := within.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil {
			outcome.State, outcome.Message, outcome.Error = agent.StepSucceeded, message, nil
			return nil
		}
		var refused *agent.Error
		if !errors.As(err, &refused) {
			refused = agent.Errorf("step-failed", "%s: %v", step.Name, err)
			if late {
				refused = agent.Errorf("step-timeout", "%s took longer than %s: %v", step.Name, step.Limit, err)
			}
			if outcome.Attempts < step.Tries && ctx.Err() == nil && wait(ctx, step.Pause) {
				continue
			}
		}
		outcome.State, outcome.Message, outcome.Error = agent.StepFailed, "", refused
		return refused
	}
}

func wait(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// Last is the report of the last Run; nil when there was none.
func Last(state string) (*agent.FirstBootReport, error) {
	var report agent.FirstBootReport
	err := statefile.ReadJSON(path(state), &report)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &report, nil
}

func path(state string) string { return filepath.Join(state, "first-boot.json") }
