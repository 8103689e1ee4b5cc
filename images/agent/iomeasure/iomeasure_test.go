package iomeasure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
)

func silent(float64, string) {}

func TestFiguresAreTakenOutOfRecordedRuns(t *testing.T) {
	for which, wanted := range map[Measurement]float64{WriteBandwidth: 3921486808, ReadIOPS: 50962.04} {
		recorded, err := os.ReadFile(filepath.Join("testdata", string(which)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if figure, err := parse(append([]byte("fio: a note\n"), recorded...), which); err != nil || math.Abs(figure-wanted) > 1 {
			t.Errorf("%s: %f %v", which, figure, err)
		}
	}
	recorded, _ := os.ReadFile("testdata/read_iops.json")
	for name, odd := range map[string]string{
		"nothing": "", "a note": "fio: engine not loadable", "half": string(recorded[:len(recorded)/2]), "no jobs": `{"jobs": []}`,
		"an error": `{"jobs": [{"error": 22, "read": {"iops": 1, "total_ios": 1}}]}`,
	} {
		if figure, err := parse([]byte(odd), ReadIOPS); err == nil {
			t.Errorf("%s: %f", name, figure)
		}
	}
	if figure, err := parse(recorded, WriteIOPS); err == nil {
		t.Errorf("a run of reads has %f writes", figure)
	}
}

// disk pretends to be fio on a disk whose windows do these figures, one after another and then the last for ever.
type disk struct {
	windows map[Measurement][]float64
	refused string
	ran     [][]string
}

func (d *disk) fio(_ context.Context, arguments []string) ([]byte, error) {
	d.ran = append(d.ran, arguments)
	if d.refused != "" && slices.Contains(arguments, "--ioengine="+d.refused) {
		return nil, agent.Errorf("measure-io-failed", "fio ended with 1: io_uring_setup: Operation not permitted")
	}
	which := Measurement(strings.TrimPrefix(arguments[0], "--name="))
	if which == "layout" {
		return []byte("{}"), nil
	}
	figure := d.windows[which][0]
	if len(d.windows[which]) > 1 {
		d.windows[which] = d.windows[which][1:]
	}
	return fmt.Appendf(nil, `{"jobs": [{"read": {"iops": %[1]f, "bw_bytes": %[1]f, "total_ios": 1}, "write": {"iops": %[1]f, "bw_bytes": %[1]f, "total_ios": 1}}]}`, figure), nil
}

func steady() map[Measurement][]float64 {
	return map[Measurement][]float64{WriteBandwidth: {2e9}, ReadBandwidth: {4e9}, WriteIOPS: {100e3}, ReadIOPS: {200e3}}
}

func TestASteadyDiskIsStable(t *testing.T) {
	d := &disk{windows: steady()}
	outcome, err := Measure(t.Context(), t.TempDir(), DefaultPlan(), d.fio, silent)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Verdict != Stable || outcome.Engine != "io_uring" || outcome.ReadIOPS.Median != 200e3 || outcome.WriteBandwidth.Median != 2e9 || len(outcome.Warnings) > 0 {
		t.Errorf("%+v", outcome)
	}
	if len(d.ran) != 1+3*4*3 {
		t.Errorf("%d runs: one to lay out, and three windows of each of four measurements in three rounds are enough", len(d.ran))
	}
}

func TestWindowsAreRepeatedUntilThreeAgree(t *testing.T) {
	d := &disk{windows: steady()}
	d.windows[ReadIOPS] = []float64{100e3, 150e3, 190e3, 200e3, 202e3, 199e3}
	plan := DefaultPlan()
	plan.Rounds = 1
	outcome, err := Measure(t.Context(), t.TempDir(), plan, d.fio, silent)
	if err != nil || !outcome.ReadIOPS.Agreed || math.Abs(outcome.ReadIOPS.Median-200.3e3) > 100 {
		t.Errorf("%+v %v", outcome.ReadIOPS, err)
	}
}

func TestADiskThatNeverSettlesStopsAtTheLimit(t *testing.T) {
	d := &disk{windows: steady()}
	for index := range 200 {
		d.windows[WriteIOPS] = append(d.windows[WriteIOPS], 50e3+100e3*float64(index%2))
	}
	outcome, err := Measure(t.Context(), t.TempDir(), DefaultPlan(), d.fio, silent)
	if err != nil || outcome.WriteIOPS.Agreed || len(outcome.Warnings) != 1 {
		t.Errorf("%+v %v", outcome, err)
	}
	windows := 0
	for _, arguments := range d.ran {
		if arguments[0] == "--name=write_iops" {
			windows++
		}
	}
	// 3 s of ramp and 5 s the first time, 1 s and 5 s after that: ten windows make 62 s.
	if windows != 3*10 {
		t.Errorf("%d windows in three rounds of at most 60 s", windows)
	}
}

func TestTheSpreadOfTheRoundsIsTheVerdict(t *testing.T) {
	for _, c := range []struct {
		rounds  []float64
		verdict Verdict
	}{
		{[]float64{100, 102, 105}, Stable}, {[]float64{100, 100, 106}, Usable}, {[]float64{93, 100, 107}, Usable},
		{[]float64{90, 100, 110}, Noisy}, {[]float64{0, 0, 0}, Noisy}, {[]float64{100}, Stable},
	} {
		if figure := judge(c.rounds, true); figure.Verdict != c.verdict {
			t.Errorf("%v: %+v", c.rounds, figure)
		}
	}
	if figure := judge([]float64{100}, false); figure.Verdict != Noisy {
		t.Errorf("one round whose windows did not agree: %+v", figure)
	}
	d := &disk{windows: steady()}
	d.windows[ReadBandwidth] = []float64{4e9, 4e9, 4e9, 3e9, 3e9, 3e9, 4e9}
	if outcome, err := Measure(t.Context(), t.TempDir(), DefaultPlan(), d.fio, silent); err != nil || outcome.Verdict != Noisy || outcome.ReadBandwidth.Median != 4e9 {
		t.Errorf("%+v %v", outcome, err)
	}
}

func TestARefusedEngineIsReplacedAndSaidSo(t *testing.T) {
	d := &disk{windows: steady(), refused: "io_uring"}
	outcome, err := Measure(t.Context(), t.TempDir(), DefaultPlan(), d.fio, silent)
	if err != nil || outcome.Engine != "libaio" || len(outcome.Warnings) != 1 || !strings.Contains(outcome.Warnings[0], "io_uring") {
		t.Errorf("%+v %v", outcome, err)
	}
}

func TestFailuresHaveStableCodes(t *testing.T) {
	for code, failure := range map[string]error{
		"fio-not-found":     agent.Errorf("fio-not-found", "none"),
		"no-space":          agent.Errorf("measure-io-failed", "fio ended with 1: No space left on device"),
		"measure-io-failed": agent.Errorf("measure-io-failed", "fio ended with 1: Input/output error"),
	} {
		_, err := Measure(t.Context(), t.TempDir(), DefaultPlan(), func(context.Context, []string) ([]byte, error) { return nil, failure }, silent)
		var coded *agent.Error
		if !errors.As(err, &coded) || coded.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestARealDiskIsMeasured(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed (apt-get install fio)")
	}
	// Not t.TempDir, which may be in memory, where direct I/O is refused.
	folder, err := os.MkdirTemp(".", ".measured-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(folder)
	plan := Plan{Ramp: 50 * time.Millisecond, Window: 100 * time.Millisecond, Limit: 300 * time.Millisecond, Rounds: 1, FileBytes: 16 << 20}
	outcome, err := Measure(t.Context(), folder, plan, Installed, silent)
	if err != nil {
		t.Fatal(err)
	}
	for _, figure := range []MeasuredFigure{outcome.ReadIOPS, outcome.WriteIOPS, outcome.ReadBandwidth, outcome.WriteBandwidth} {
		if figure.Median <= 0 || len(figure.Rounds) != 1 {
			t.Errorf("%+v", outcome)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
