package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/disks"
	"ringmaster/agent/iomeasure"
)

// recordedMachine is the tree of an i4i.xlarge with one blank local disk, and programs that only pretend.
type recordedMachine struct {
	t     *testing.T
	root  string
	types map[string]string
	ran   []string
}

func (r *recordedMachine) Run(_ context.Context, program string, arguments ...string) (string, error) {
	last := arguments[len(arguments)-1]
	r.ran = append(r.ran, program)
	switch program {
	case "blkid":
		if r.types[last] == "" {
			return "", &disks.ExitError{Program: program, Status: 8}
		}
		if r.types[last] == "blank" {
			return "", nil
		}
		return "TYPE=" + r.types[last] + "\nUUID=0b1c\n", nil
	case "mkfs.xfs":
		r.types[last] = "xfs"
	case "mount":
		r.put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n/dev/nvme1n1 "+last+" xfs rw,noatime,discard,lazytime 0 0\n")
	case "umount":
		r.put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n")
	}
	return "", nil
}

func (r *recordedMachine) put(path, content string) {
	r.t.Helper()
	full := filepath.Join(r.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func recordedFirstBoot(t *testing.T, spec agent.MachineSpec) (*recordedMachine, *nodeMachine) {
	t.Helper()
	r := &recordedMachine{t: t, root: t.TempDir(), types: map[string]string{"/dev/nvme1n1": "blank"}}
	content, err := os.ReadFile("../../tuning/testdata/i4i.xlarge.tree")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if path, value, found := strings.Cut(strings.TrimRight(line, "\n"), " ="); found && !strings.HasPrefix(line, "#") {
			files[path] += strings.TrimPrefix(value, " ") + "\n"
		}
	}
	for path, value := range files {
		r.put(path, value)
	}
	cloud := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprint(response, map[string]string{
			"/latest/api/token": "t", "/latest/meta-data/instance-id": "i-1", "/latest/meta-data/instance-type": "i4i.xlarge",
			"/latest/meta-data/placement/availability-zone": "us-east-1a", "/latest/meta-data/local-ipv4": "10.0.0.5", "/latest/user-data": `{"node_id": "n1", "cluster_id": "c1"}`,
		}[request.URL.Path])
	}))
	t.Cleanup(cloud.Close)
	m := newMachine(t.TempDir(), agent.UserData{NodeID: "n1", ClusterID: "c1", Machine: &spec}, func(context.Context) agent.EngineStatus {
		return agent.EngineStatus{Name: spec.Engine, State: agent.EngineStopped}
	})
	m.root, m.runner, m.presets, m.service.Address = r.root, r, "../../../machine/data/io-params.json", cloud.URL
	return r, m
}

func TestAFreshMachineBecomesANodeAndStaysOneAfterAReboot(t *testing.T) {
	for _, engine := range []string{"scylla", "cassandra"} {
		r, m := recordedFirstBoot(t, agent.MachineSpec{Engine: engine, Membership: "new", Generation: 1})
		report, err := m.firstBoot(t.Context())
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
		unit, err := os.ReadFile(filepath.Join(r.root, "etc/systemd/system/var-lib-"+engine+".mount"))
		if err != nil || !strings.Contains(string(unit), "What=UUID=0b1c") {
			t.Errorf("%s %v", unit, err)
		}
		if engine == "cassandra" {
			if target, err := os.Readlink(filepath.Join(m.stateDir, "cassandra/data")); err != nil || target != filepath.Join(r.root, "var/lib/cassandra/data") {
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
		formatted := strings.Count(strings.Join(r.ran, " "), "mkfs.xfs")
		// The identity was written into the folder that the pretended mount left empty; put it where the real one would show it.
		r.put("var/lib/"+engine+"/.ringmaster-node.json", `{"cluster": "c1", "node": "n1", "generation": 1}`)
		r.put("proc/self/mounts", "/dev/nvme0n1p1 / ext4 rw 0 0\n/dev/nvme1n1 "+filepath.Join(r.root, "var/lib", engine)+" xfs rw,noatime 0 0\n")
		if report, err = m.firstBoot(t.Context()); err != nil || formatted != 1 || strings.Count(strings.Join(r.ran, " "), "mkfs.xfs") != 1 {
			t.Errorf("%s, again: %+v %v", engine, report, err)
		}
		if message := report.Steps[6].Message; message != "0 files and settings changed" {
			t.Error(message)
		}
	}
}

func TestAMemberWithBlankDisksIsRefusedAndItsEngineNotStarted(t *testing.T) {
	r, m := recordedFirstBoot(t, agent.MachineSpec{Engine: "cassandra", Membership: "member", Generation: 1})
	report, err := m.firstBoot(t.Context())
	var coded *agent.Error
	if !errors.As(err, &coded) || coded.Code != "local-data-lost" || report.State != agent.StepFailed || report.Steps[1].Attempts != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	if ran := strings.Join(r.ran, " "); strings.Contains(ran, "mkfs") || strings.Contains(ran, "wipefs") {
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
	m := newMachine(t.TempDir(), agent.UserData{NodeID: "n1"}, func(context.Context) agent.EngineStatus {
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
		func(ctx context.Context) error { _, err := m.firstBoot(ctx); return err },
		func(ctx context.Context) error { _, err := m.tune(ctx); return err },
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
	m := newMachine(folder, agent.UserData{NodeID: "n1"}, func(context.Context) agent.EngineStatus { return agent.EngineStatus{State: state} })
	do := m.doer(nil)
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

func TestCommandsAboutTheMachinePrintJSON(t *testing.T) {
	r, m := recordedFirstBoot(t, agent.MachineSpec{Engine: "scylla", Membership: "new"})
	data, err := json.Marshal(m.data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "user-data.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(name string, more ...string) (map[string]any, error) {
		t.Helper()
		var out bytes.Buffer
		err := command(t.Context(), append([]string{
			name, "--root", r.root, "--state-dir", m.stateDir, "--user-data", file, "--presets", m.presets, "--metadata", m.service.Address,
		}, more...), &out, io.Discard)
		var printed map[string]any
		if problem := json.Unmarshal(out.Bytes(), &printed); problem != nil {
			t.Fatalf("%s: %v: %s", name, problem, out.String())
		}
		return printed, err
	}
	plan, err := call("plan")
	if err != nil || plan["engine"] != "scylla" || len(plan["files"].([]any)) < 8 {
		t.Errorf("%v %v", plan, err)
	}
	if left, _ := os.ReadFile(filepath.Join(r.root, "proc/sys/vm/swappiness")); strings.TrimSpace(string(left)) != "60" {
		t.Errorf("a plan changes things: %s", left)
	}
	if report, err := call("report"); err != nil || report["machine_type"] != "i4i.xlarge" {
		t.Errorf("%v %v", report, err)
	}
	if reverted, err := call("revert"); err != nil || reverted["restored"] != 0.0 {
		t.Errorf("%v %v", reverted, err)
	}
	m.data.Machine = nil
	data, _ = json.Marshal(m.data)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	refused, err := call("firstboot")
	if !errors.Is(err, errTold) || refused["error"].(map[string]any)["code"] != "shared-machine" {
		t.Errorf("%v %v", refused, err)
	}
}

func TestAMachineWithoutUserDataAsksForThem(t *testing.T) {
	r, m := recordedFirstBoot(t, agent.MachineSpec{})
	file := filepath.Join(t.TempDir(), "etc/user-data.json")
	err := command(t.Context(), []string{
		"firstboot", "--root", r.root, "--state-dir", m.stateDir, "--user-data", file, "--metadata", m.service.Address,
	}, io.Discard, io.Discard)
	// They name no machine, so nothing more is done.
	if !errors.Is(err, errTold) {
		t.Error(err)
	}
	written, err := os.Stat(file)
	if err != nil || written.Mode().Perm() != 0o600 {
		t.Error(written, err)
	}
	content, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(content), `"listen": "10.0.0.5:7443"`) {
		t.Errorf("%s %v", content, err)
	}
}
