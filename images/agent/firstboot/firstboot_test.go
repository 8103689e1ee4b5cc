package firstboot

import (
	"context"
	"errors"
	"testing"
	"time"

	"ringmaster/agent"
)

func step(name string, do func(context.Context) (string, error)) Step {
	return Step{Name: name, Limit: 50 * time.Millisecond, Tries: 3, Pause: time.Millisecond, Do: do}
}

func well(context.Context) (string, error) { return "done", nil }

func TestStepsAreReportedWithDurations(t *testing.T) {
	state := t.TempDir()
	slow := func(context.Context) (string, error) { time.Sleep(20 * time.Millisecond); return "slept", nil }
	report, err := Run(t.Context(), state, []Step{step("facts", well), step("array", slow)})
	if err != nil || report.State != agent.StepSucceeded || report.DurationMS < 20 {
		t.Fatalf("%+v %v", report, err)
	}
	if last := report.Steps[1]; last.DurationMS < 20 || last.Message != "slept" || last.Attempts != 1 || last.State != agent.StepSucceeded {
		t.Errorf("%+v", last)
	}
	kept, err := Last(state)
	if err != nil || kept == nil || len(kept.Steps) != 2 || kept.DurationMS != report.DurationMS {
		t.Errorf("%+v %v", kept, err)
	}
	if none, err := Last(t.TempDir()); none != nil || err != nil {
		t.Error(none, err)
	}
}

func TestAFailedStepStopsTheRest(t *testing.T) {
	calls := 0
	for code, do := range map[string]func(context.Context) (string, error){
		"step-failed":     func(context.Context) (string, error) { calls++; return "", errors.New("the disk is busy") },
		"step-timeout":    func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		"local-data-lost": func(context.Context) (string, error) { return "", agent.Errorf("local-data-lost", "gone") },
	} {
		report, err := Run(t.Context(), t.TempDir(), []Step{step("facts", well), step("disks", do), step("tune", well)})
		var coded *agent.Error
		if !errors.As(err, &coded) || coded.Code != code || report.State != agent.StepFailed {
			t.Errorf("%s: %v %+v", code, err, report)
		}
		attempts := 3
		if code == "local-data-lost" {
			attempts = 1
		}
		if report.Steps[1].Attempts != attempts || report.Steps[1].Error.Code != code || report.Steps[2].State != agent.StepPending {
			t.Errorf("%s: %+v", code, report.Steps)
		}
	}
}

func TestAStepMayFailTwiceAndSucceed(t *testing.T) {
	calls := 0
	report, err := Run(t.Context(), t.TempDir(), []Step{step("metadata", func(context.Context) (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("not yet")
		}
		return "i3.8xlarge", nil
	})})
	if err != nil || report.Steps[0].Attempts != 3 || report.Steps[0].Error != nil {
		t.Errorf("%+v %v", report, err)
	}
}
