package tuning

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/ioproperties"
	"ringmaster/agent/pinning"
)

var update = flag.Bool("update", false, "write the golden files anew")

// machine is a recorded tree, laid out in a folder.
type machine struct {
	t    *testing.T
	name string
	host Host
	ran  []string
}

// recorded lays out testdata/NAME.tree.
func recorded(t *testing.T, name string) *machine {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".tree"))
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, name: name}
	m.host = Host{Root: t.TempDir(), State: t.TempDir(), Runner: m}
	files := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if path, value, found := strings.Cut(strings.TrimRight(line, "\n"), " ="); found && !strings.HasPrefix(line, "#") {
			files[path] += strings.TrimPrefix(value, " ") + "\n"
		}
	}
	for path, value := range files {
		m.put(path, value)
	}
	return m
}

func (m *machine) Run(_ context.Context, program string, arguments ...string) (string, error) {
	m.ran = append(m.ran, program+" "+strings.Join(arguments, " "))
	return "", nil
}

func (m *machine) put(path, content string) {
	m.t.Helper()
	full := filepath.Join(m.host.Root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// contents are all files below the root.
func (m *machine) contents() map[string]string {
	m.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(m.host.Root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		relative, _ := filepath.Rel(m.host.Root, path)
		found[relative] = strings.TrimSpace(string(content))
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return found
}

func (m *machine) facts() Facts {
	m.t.Helper()
	facts, err := Collect(m.host.Root)
	if err != nil {
		m.t.Fatal(err)
	}
	facts.MachineType, facts.Provider = m.name, "aws"
	if strings.HasPrefix(m.name, "n2-") {
		facts.Provider = "gcp"
	}
	return facts
}

func (m *machine) plan(engine string) Plan {
	m.t.Helper()
	plan, err := Make(m.facts(), Spec{Engine: engine}, presets(m.t), "5ca1ab1e-0000-4000-8000-000000000001", nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return plan
}

func presets(t *testing.T) ioproperties.Presets {
	t.Helper()
	content, err := os.ReadFile("../../machine/data/io-params.json")
	if err != nil {
		t.Fatal(err)
	}
	found, err := ioproperties.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func machines() []string { return []string{"i3.8xlarge", "i4i.xlarge", "n2-highmem-64"} }

func codeOf(err error) string {
	var coded *agent.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

func TestEveryFileOfEveryMachineIsThatOfTheGoldenFiles(t *testing.T) {
	for _, name := range machines() {
		for _, engine := range []string{Scylla, Cassandra} {
			plan := recorded(t, name).plan(engine)
			folder := filepath.Join("testdata", "golden", name, engine)
			written := map[string]string{}
			for _, file := range plan.Files {
				written[strings.ReplaceAll(strings.TrimPrefix(file.Path, "/"), "/", "__")] = file.Content
			}
			var settings strings.Builder
			for _, setting := range plan.Settings {
				fmt.Fprintf(&settings, "/%s = %s\n", setting.Path, setting.Value)
			}
			written["settings"] = settings.String()
			if *update {
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				for file, content := range written {
					if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) != len(written) {
				t.Errorf("%s, %s: %d files, %d golden ones", name, engine, len(written), len(entries))
			}
			for file, content := range written {
				golden, err := os.ReadFile(filepath.Join(folder, file))
				if err != nil || string(golden) != content {
					t.Errorf("%s, %s, %s: %v\n%s", name, engine, file, err, content)
				}
			}
		}
	}
}

func TestTuningIsAppliedOnceAndReverted(t *testing.T) {
	for _, name := range machines() {
		m := recorded(t, name)
		before := m.contents()
		plan := m.plan(Scylla)
		changed, err := m.host.Apply(t.Context(), plan)
		if err != nil || changed == 0 {
			t.Fatal(name, changed, err)
		}
		for _, setting := range plan.Settings {
			if !Same(setting.Path, m.contents()[setting.Path], setting.Value) {
				t.Errorf("%s: /%s is %q", name, setting.Path, m.contents()[setting.Path])
			}
		}
		if strings.Join(m.ran, "; ") != "systemctl daemon-reload" {
			t.Errorf("%s: ran %v", name, m.ran)
		}
		if again, err := m.host.Apply(t.Context(), plan); err != nil || again != 0 {
			t.Errorf("%s: a second time changes %d: %v", name, again, err)
		}
		other := m.plan(Cassandra)
		if _, err := m.host.Apply(t.Context(), other); err != nil {
			t.Fatal(name, err)
		}
		if _, err := m.host.Revert(t.Context()); err != nil {
			t.Fatal(name, err)
		}
		after := m.contents()
		for path := range maps.Keys(before) {
			if was := chosen(before[path]); after[path] != before[path] && after[path] != was {
				t.Errorf("%s: %s was %q, is %q", name, path, before[path], after[path])
			}
		}
		if len(after) != len(before) {
			t.Errorf("%s: %d files became %d", name, len(before), len(after))
		}
		if again, err := m.host.Revert(t.Context()); err != nil || again != 0 {
			t.Errorf("%s: a second revert puts %d back: %v", name, again, err)
		}
	}
}

func TestAnInterruptedApplyCanBeRevertedToo(t *testing.T) {
	m := recorded(t, "i4i.xlarge")
	before := m.contents()
	plan := m.plan(Scylla)
	plan.Settings = append(plan.Settings, Setting{Path: "proc/sys/none/such", Value: "1"})
	if _, err := m.host.Apply(t.Context(), plan); codeOf(err) != "tuning-failed" {
		t.Fatal(err)
	}
	if _, err := m.host.Revert(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := m.contents(); len(after) != len(before) || after["proc/sys/vm/swappiness"] != "60" {
		t.Errorf("%d files became %d; swappiness %s", len(before), len(after), after["proc/sys/vm/swappiness"])
	}
}

func TestWhatAKernelRefusesIsToldAndNoFailure(t *testing.T) {
	m := recorded(t, "i4i.xlarge")
	plan := m.plan(Scylla)
	plan.Settings = append(plan.Settings, Setting{Path: "proc/irq/9999/smp_affinity", Value: "1", Optional: true})
	if _, err := m.host.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	applied, err := m.host.Applied()
	if err != nil || applied.Refused["proc/irq/9999/smp_affinity"] == "" {
		t.Error(applied, err)
	}
}

func TestWhatAKernelRefusesIsNoChange(t *testing.T) {
	m := recorded(t, "i4i.xlarge")
	const path = "proc/irq/9998/smp_affinity"
	if err := os.MkdirAll(filepath.Join(m.host.Root, "proc/irq/9998"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/version", filepath.Join(m.host.Root, path)); err != nil {
		t.Fatal(err)
	}
	plan := m.plan(Scylla)
	plan.Settings = append(plan.Settings, Setting{Path: path, Value: "1", Optional: true})
	for range 2 {
		if _, err := m.host.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := m.host.Apply(t.Context(), plan); err != nil || changed != 0 {
		t.Errorf("%d changed the third time, %v", changed, err)
	}
	if applied, err := m.host.Applied(); err != nil || applied.Refused[path] == "" {
		t.Error(applied, err)
	}
}

func TestAChangedNumberOfShardsIsNeverAppliedSilently(t *testing.T) {
	m := recorded(t, "i3.8xlarge")
	if _, err := m.host.Apply(t.Context(), m.plan(Scylla)); err != nil {
		t.Fatal(err)
	}
	layout, err := m.host.Layout()
	if err != nil || layout == nil || layout.NShards != 30 || layout.Shards != "1-15,17-31" {
		t.Fatal(layout, err)
	}
	smaller := recorded(t, "i4i.xlarge").facts()
	if _, err := Make(smaller, Spec{Engine: Scylla}, presets(t), "", layout); codeOf(err) != "reshard-needed" {
		t.Error(err)
	}
	plan, err := Make(smaller, Spec{Engine: Scylla, AcceptReshard: true}, presets(t), "", layout)
	if err != nil || !slices.ContainsFunc(plan.Warnings, func(w Warning) bool { return w.Code == "reshard" }) {
		t.Error(plan.Warnings, err)
	}
	if _, err := Make(smaller, Spec{Engine: Cassandra}, presets(t), "", layout); err != nil {
		t.Error("Cassandra has no shards:", err)
	}
	if _, err := m.host.Revert(t.Context()); err != nil {
		t.Fatal(err)
	}
	if layout, err := m.host.Layout(); err != nil || layout == nil {
		t.Error("the layout is forgotten, but the data is still there:", err)
	}
}

func TestThePlanFollowsTheSpec(t *testing.T) {
	facts := recorded(t, "i3.8xlarge").facts()
	measured := ioproperties.Figures{ReadIOPS: 1, ReadBandwidth: 2, WriteIOPS: 3, WriteBandwidth: 4}
	plan, err := Make(facts, Spec{Engine: Cassandra, Pinned: true, AllowedCPUs: "0-7,16-23", IO: &measured}, presets(t), "", nil)
	if err != nil || plan.Pins.Engine != "1-7,17-23" || plan.IO.Source != "control-plane" || plan.IO.Figures.WriteIOPS != 3 {
		t.Errorf("%+v %v", plan, err)
	}
	if plan, err = Make(facts, Spec{Engine: Cassandra}, presets(t), "", nil); err != nil || plan.Pins.Engine != "" || plan.IO.Source != "preset" {
		t.Errorf("%+v %v", plan, err)
	}
	facts.MachineType = "m5.large"
	if plan, err = Make(facts, Spec{Engine: Scylla}, presets(t), "", nil); err != nil || plan.IO.Source != "unknown" || plan.IO.Figures != nil {
		t.Errorf("%+v %v", plan.IO, err)
	}
	for code, spec := range map[string]Spec{
		"unknown-engine": {Engine: "other"}, "pinning-refused": {Engine: Scylla, AllowedCPUs: "0-99"},
	} {
		if _, err := Make(facts, spec, presets(t), "", nil); codeOf(err) != code {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func statuses(checks []agent.TuningCheck) map[string]agent.CheckStatus {
	found := map[string]agent.CheckStatus{}
	for _, check := range checks {
		found[check.Name] = check.Status
	}
	return found
}

func TestATunedMachinePassesEveryCheck(t *testing.T) {
	m := recorded(t, "i3.8xlarge")
	if _, err := m.host.Apply(t.Context(), m.plan(Scylla)); err != nil {
		t.Fatal(err)
	}
	applied, err := m.host.Applied()
	if err != nil {
		t.Fatal(err)
	}
	synced := true
	live := Live{
		EngineCPUs: "1-15,17-31", MemoryLocked: "unlimited", OpenFiles: "800000", ClockSynced: &synced,
		Versions: "scylla 6.2", VersionsWanted: "scylla 6.2", Now: time.Now(),
	}
	checks := Checks(m.facts(), applied, live, false, "")
	for _, check := range checks {
		na := slices.Contains([]string{"governor", "host-network", "seccomp"}, check.Name)
		if (check.Status != agent.Pass) != na || check.Cost == "" || (check.Status == agent.NotApplicable) != (check.Reason != "") {
			t.Errorf("%+v", check)
		}
	}
	if len(checks) != 18 {
		t.Errorf("%d checks", len(checks))
	}

	for name, spoil := range map[string]func(){
		"clock-source": func() {
			m.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "xen\n")
		},
		"huge-pages":    func() { m.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n") },
		"read-ahead":    func() { m.put("sys/block/nvme0n1/queue/read_ahead_kb", "128\n") },
		"scheduler":     func() { m.put("sys/block/nvme0n1/queue/scheduler", "none [mq-deadline]\n") },
		"irq-cpus":      func() { m.put("proc/irq/75/smp_affinity", "ffffffff\n") },
		"swap":          func() { m.put("proc/swaps", "Filename Type\n/swapfile file\n") },
		"mount-options": func() { m.put("proc/self/mounts", "/dev/md127 /var/lib/scylla xfs rw,relatime 0 0\n") },
		"file-system": func() {
			m.put("proc/self/mounts", "/dev/md127 /var/lib/scylla ext4 rw,noatime,discard,lazytime 0 0\n")
		},
		"array": func() {
			m.put("proc/self/mounts", "/dev/nvme0n1 /var/lib/scylla xfs rw,noatime,discard,lazytime 0 0\n")
		},
		"cpuset":     func() { live.EngineCPUs = "0-31" },
		"limits":     func() { live.OpenFiles = "1024" },
		"clock-sync": func() { synced = false },
		"versions":   func() { live.Versions = "scylla 6.1" },
	} {
		before, liveBefore := m.contents(), live
		spoil()
		spoilt := statuses(Checks(m.facts(), applied, live, false, ""))
		if spoilt[name] != agent.Fail {
			t.Errorf("%s: %s", name, spoilt[name])
		}
		for path, content := range before {
			if slices.Contains([]string{"sys", "proc"}, strings.SplitN(path, "/", 2)[0]) {
				m.put(path, content+"\n")
			}
		}
		live, synced = liveBefore, true
	}
	m.put("proc/sys/vm/swappiness", "60\n")
	if drifted := statuses(Checks(m.facts(), applied, live, false, "")); drifted["drift"] != agent.Fail {
		t.Error("a changed setting is no drift")
	}
}

func TestAComputerThatIsNotTheNodesAloneIsNotJudged(t *testing.T) {
	checks := Checks(recorded(t, "n2-highmem-64").facts(), nil, Live{EngineCPUs: "1-15", Now: time.Now()}, true, "1-15")
	for name, status := range statuses(checks) {
		wanted := agent.NotApplicable
		if name == "cpuset" {
			wanted = agent.Pass
		}
		if status != wanted {
			t.Errorf("%s: %s", name, status)
		}
	}
}

func TestMasksAndChoicesAreReadAsTheKernelShowsThem(t *testing.T) {
	for _, c := range []struct {
		path, shown, wanted string
		same                bool
	}{
		{"proc/irq/1/smp_affinity", "00000000,00010001\n", "00010001", true},
		{"x/rps_cpus", "00000000,00010001", "00010001,00000000", false},
		{"x/scheduler", "[none] mq-deadline kyber", "none", true}, {"x/scheduler", "none [mq-deadline]", "none", false},
		{"x/nomerges", "2\n", "2", true},
	} {
		if Same(c.path, c.shown, c.wanted) != c.same {
			t.Errorf("%+v", c)
		}
	}
}

func TestAPlanIsTheSameForTheSameMachine(t *testing.T) {
	m := recorded(t, "n2-highmem-64")
	first, _ := json.Marshal(m.plan(Scylla))
	for range 5 {
		if again, _ := json.Marshal(m.plan(Scylla)); string(again) != string(first) {
			t.Fatal("two plans for one machine")
		}
	}
	if irq, _ := pinning.ParseList("0,16,32,48"); m.plan(Scylla).Pins.IRQ != irq.String() {
		t.Error(m.plan(Scylla).Pins)
	}
}
