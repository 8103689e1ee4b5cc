package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/cmd/agent/machinetest"
)

func recorded(t *testing.T) *machinetest.Recorded {
	t.Helper()
	return machinetest.New(t, "../../tuning/testdata/i4i.xlarge.tree")
}

func TestCommandsAboutTheMachinePrintJSON(t *testing.T) {
	r, stateDir := recorded(t), t.TempDir()
	told := agent.UserData{NodeID: "n1", ClusterID: "c1", Machine: &agent.MachineSpec{Engine: "scylla", Membership: "new"}}
	data, err := json.Marshal(told)
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
			name, "--root", r.Root, "--state-dir", stateDir, "--user-data", file, "--presets", "../../../machine/data/io-params.json", "--metadata", r.Metadata,
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
	if left, _ := os.ReadFile(filepath.Join(r.Root, "proc/sys/vm/swappiness")); strings.TrimSpace(string(left)) != "60" {
		t.Errorf("a plan changes things: %s", left)
	}
	if report, err := call("report"); err != nil || report["machine_type"] != "i4i.xlarge" {
		t.Errorf("%v %v", report, err)
	}
	if reverted, err := call("revert"); err != nil || reverted["restored"] != 0.0 {
		t.Errorf("%v %v", reverted, err)
	}
	told.Machine = nil
	data, _ = json.Marshal(told)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	refused, err := call("firstboot")
	if !errors.Is(err, errTold) || refused["error"].(map[string]any)["code"] != "shared-machine" {
		t.Errorf("%v %v", refused, err)
	}
}

func TestAMachineWithoutUserDataAsksForThem(t *testing.T) {
	r, stateDir := recorded(t), t.TempDir()
	file := filepath.Join(t.TempDir(), "etc/user-data.json")
	err := command(t.Context(), []string{
		"firstboot", "--root", r.Root, "--state-dir", stateDir, "--user-data", file, "--metadata", r.Metadata,
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
