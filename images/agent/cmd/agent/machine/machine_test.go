package machine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/cmd/agent/machinetest"
	"ringmaster/agent/iomeasure"
)

func recordedFirstBoot(t *testing.T, spec agent.MachineSpec) (*machinetest.Recorded, *Machine) {
	t.Helper()
	r := machinetest.New(t, "../../../tuning/testdata/i4i.xlarge.tree")
	m := New(t.TempDir(), agent.UserData{NodeID: "n1", ClusterID: "c1", Machine: &spec}, "test", func(context.Context) agent.EngineStatus {
		return agent.EngineStatus{Name: spec.Engine, State: agent.EngineStopped}
	})
	m.Root, m.Runner, m.Presets, m.Service.Address = r.Root, r, "../../../../machine/data/io-params.json", r.Metadata
	return r, m
}

func TestAFreshMachineBecomesANodeAndStaysOneAfterAReboot(t *testing.T) {
	for _, engine := range []string{"scylla", "cassandra"} {
		r, m := recordedFirstBoot(t, agent.MachineSpec{Engine: engine, Membership: "new", Generation: 1})
		report, err := m.FirstBoot(t.Context())
		if err != nil {
			t.Fatalf("%s: %+v %v", engine, report, err)
		}
		names := []string{}
		for _, step := range report.Steps {
			names = append(names, step.Name)
			if step.State != agent.StepSucceeded || step.Message == "" {
				t.Errorf("%s: %+v", engine, step)
			}
		}
		if strings.Join(names, " ") != "facts disk-decision array engine-folders pinning-plan io-properties tuning" {
			t.Error(names)
		}
		unit, err := os.ReadFile(filepath.Join(r.Root, "etc/systemd/system/var-lib-"+engine+".mount"))
		if err != nil || !strings.Contains(string(unit), "What=UUID=0b1c") {
			t.Errorf("%s %v", unit, err)
		}
		if engine == "cassandra" {
			if target, err := os.Readlink(filepath.Join(m.StateDir, "cassandra/data")); err != nil || target != filepath.Join(r.Root, "var/lib/cassandra/data") {
				t.Error(target, err)
			}
		}
		tuned, err := m.Tuning(t.Context())
		if err != nil || tuned.Environment != agent.OwnMachine || tuned.FirstBoot == nil || tuned.IO == nil || tuned.IO.Source != "preset" ||
			tuned.Pins.Shards != "0-3" || tuned.MachineType != "i4i.xlarge" || len(tuned.Checks) != 18 {
			t.Errorf("%+v %v", tuned, err)
		}
		if err := m.startable(); err != nil {
			t.Error(err)
		}
		formatted := strings.Count(strings.Join(r.Ran, " "), "mkfs.xfs")
		// The identity was written into the folder that the pretended mount left empty; put it where the real one would show it.
		r.Put("var/lib/"+engine+"/.ringmaster-node.json", `{"cluster": "c1", "node": "n1", "generation": 1}`)
		r.Put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n/dev/nvme1n1 "+filepath.Join(r.Root, "var/lib", engine)+" xfs rw,noatime 0 0\n")
		if report, err = m.FirstBoot(t.Context()); err != nil || formatted != 1 || strings.Count(strings.Join(r.Ran, " "), "mkfs.xfs") != 1 {
			t.Errorf("%s, again: %+v %v", engine, report, err)
		}
		if message := report.Steps[6].Message; message != "0 files and settings changed" {
			t.Error(message)
		}
	}
}

func TestWhatTheArrayBringsWithItIsTunedAtTheFirstBoot(t *testing.T) {
	r, m := recordedFirstBoot(t, agent.MachineSpec{Engine: "scylla", Membership: "new", Generation: 1})
	const readAhead = "sys/block/md127/queue/read_ahead_kb"
	r.After = func(program string) {
		if program == "mkfs.xfs" {
			r.Put("sys/block/md127/queue/rotational", "0\n")
			r.Put(readAhead, "4096\n")
		}
	}
	if report, err := m.FirstBoot(t.Context()); err != nil {
		t.Fatalf("%+v %v", report, err)
	}
	if found, err := os.ReadFile(filepath.Join(r.Root, readAhead)); err != nil || strings.TrimSpace(string(found)) != "4" {
		t.Errorf("the array reads %q KiB ahead, %v", found, err)
	}
}

func TestAMemberWithBlankDisksIsRefusedAndItsEngineNotStarted(t *testing.T) {
	r, m := recordedFirstBoot(t, agent.MachineSpec{Engine: "cassandra", Membership: "member", Generation: 1})
	report, err := m.FirstBoot(t.Context())
	var coded *agent.Error
	if !errors.As(err, &coded) || coded.Code != "local-data-lost" || report.State != agent.StepFailed || report.Steps[1].Attempts != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	if ran := strings.Join(r.Ran, " "); strings.Contains(ran, "mkfs") || strings.Contains(ran, "wipefs") {
		t.Error(ran)
	}
	if err := m.startable(); !errors.As(err, &coded) || coded.Code != "first-boot-failed" {
		t.Error(err)
	}
	if tuned, err := m.Tuning(t.Context()); err != nil || tuned.FirstBoot.Steps[1].Error.Code != "local-data-lost" {
		t.Errorf("%+v %v", tuned.FirstBoot, err)
	}
}

func TestAComputerThatIsNotTheNodesAloneIsReportedHonestly(t *testing.T) {
	m := New(t.TempDir(), agent.UserData{NodeID: "n1"}, "test", func(context.Context) agent.EngineStatus {
		return agent.EngineStatus{Name: "cassandra", State: agent.EngineRunning, PID: os.Getpid()}
	})
	report, err := m.Tuning(t.Context())
	if err != nil || report.Environment != agent.SharedMachine || report.Provider != "local" || report.FirstBoot != nil || report.IO != nil {
		t.Fatalf("%+v %v", report, err)
	}
	for _, check := range report.Checks {
		if check.Name != "host-network" && check.Name != "seccomp" && check.Name != "cpuset" && check.Status != agent.NotApplicable {
			t.Errorf("%+v", check)
		}
	}
	for _, command := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := m.FirstBoot(ctx); return err },
		func(ctx context.Context) error { _, err := m.Tune(ctx); return err },
	} {
		var coded *agent.Error
		if err := command(t.Context()); !errors.As(err, &coded) || coded.Code != "shared-machine" {
			t.Error(err)
		}
	}
}

func TestMeasuringIsAJobThatNeverRunsBesideTheEngine(t *testing.T) {
	state := agent.EngineRunning
	// Not t.TempDir, which may be in memory, where direct I/O is refused.
	folder, err := os.MkdirTemp(".", ".measured-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(folder)
	m := New(folder, agent.UserData{NodeID: "n1"}, "test", func(context.Context) agent.EngineStatus { return agent.EngineStatus{State: state} })
	do := m.Doer(nil)
	short := json.RawMessage(`{"rounds": 1, "ramp_seconds": 0.05, "window_seconds": 0.1, "limit_seconds": 0.3, "file_mib": 16}`)
	silent := func(float64, string) {}
	var coded *agent.Error
	if _, err := do(t.Context(), agent.MeasureIO, short, silent); !errors.As(err, &coded) || coded.Code != "engine-running" {
		t.Error(err)
	}
	for _, odd := range []string{`{"rounds": 99}`, `{"depth": 1}`, `[]`} {
		state = agent.EngineStopped
		if _, err := do(t.Context(), agent.MeasureIO, json.RawMessage(odd), silent); !errors.As(err, &coded) || coded.Code != "invalid-parameters" {
			t.Errorf("%s: %v", odd, err)
		}
	}
	m.measuring.Store(true)
	if _, err := do(t.Context(), agent.Start, nil, silent); !errors.As(err, &coded) || coded.Code != "measuring-io" {
		t.Error(err)
	}
	m.measuring.Store(false)
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed (apt-get install fio)")
	}
	result, err := do(t.Context(), agent.MeasureIO, short, silent)
	if err != nil {
		t.Fatal(err)
	}
	if measured := result.(iomeasure.MeasuredIO); measured.ReadIOPS.Median <= 0 || measured.Engine == "" {
		t.Errorf("%+v", measured)
	}
}

func TestDisksOfModelsThatTheUserDataNameCountAsLocal(t *testing.T) {
	_, m := recordedFirstBoot(t, agent.MachineSpec{Engine: "cassandra", Membership: "new", DiskModels: []string{"No Such Disk"}})
	plan, err := m.Plan(t.Context())
	if err != nil || plan.IO.Source != "unknown" {
		t.Errorf("%+v %v", plan.IO, err)
	}
	m.Data.Machine.DiskModels = []string{"Amazon EC2 NVMe Instance*"}
	if plan, err = m.Plan(t.Context()); err != nil || plan.IO.Source != "preset" {
		t.Errorf("%+v %v", plan.IO, err)
	}
}
