// Package iomeasure measures with fio what a file system's disks do: four measurements with direct I/O, each in windows until
// three agree, several rounds, medians. It must never run beside the engine.
package iomeasure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
)

// Measurement is one of the four.
type Measurement string

// The measurements. The sequential ones give bytes per second with requests of 1 MiB, the random ones requests of 4 KiB per second.
const (
	WriteBandwidth Measurement = "write_bandwidth"
	ReadBandwidth  Measurement = "read_bandwidth"
	WriteIOPS      Measurement = "write_iops"
	ReadIOPS       Measurement = "read_iops"
)

// Measurements are all of them, in the order in which they are made: what is read was written before.
func Measurements() []Measurement {
	return []Measurement{WriteBandwidth, ReadBandwidth, WriteIOPS, ReadIOPS}
}

// Verdict says what a measurement is good for.
type Verdict string

// The verdicts, by the spread of the rounds.
const (
	// Stable: at most 5 %.
	Stable Verdict = "stable"
	// Usable: at most 15 %.
	Usable Verdict = "usable"
	// Noisy figures are never written automatically.
	Noisy Verdict = "noisy"
)

const (
	stableSpread = 0.05
	usableSpread = 0.15
	// agreement is how near three windows in a row must be for the figure to be taken.
	agreement = 0.05
	agreeing  = 3
)

// Plan is how long to measure.
type Plan struct {
	// Ramp is not measured; Window is measured again and again until three agree, for at most Limit in all.
	Ramp, Window, Limit time.Duration
	Rounds              int
	// FileBytes is the size of the file that is measured on.
	FileBytes int64
}

// DefaultPlan takes between 4 and 13 minutes.
func DefaultPlan() Plan {
	return Plan{Ramp: 3 * time.Second, Window: 5 * time.Second, Limit: time.Minute, Rounds: 3, FileBytes: 8 << 30}
}

// MeasuredFigure is the outcome of one measurement.
type MeasuredFigure struct {
	Median float64 `json:"median"`
	// Rounds are the figures of the rounds in their order.
	Rounds []float64 `json:"rounds"`
	// Spread is (highest - lowest) / median of the rounds.
	Spread  float64 `json:"spread"`
	Verdict Verdict `json:"verdict"`
	// Agreed: three windows agreed in every round before the time was over.
	Agreed bool `json:"agreed"`
}

// MeasuredIO is the whole.
type MeasuredIO struct {
	// Engine is how fio asked for I/O: io_uring, or libaio where the kernel refuses io_uring.
	Engine         string         `json:"engine"`
	WriteBandwidth MeasuredFigure `json:"write_bandwidth"`
	ReadBandwidth  MeasuredFigure `json:"read_bandwidth"`
	WriteIOPS      MeasuredFigure `json:"write_iops"`
	ReadIOPS       MeasuredFigure `json:"read_iops"`
	Verdict        Verdict        `json:"verdict"`
	Warnings       []string       `json:"warnings"`
	MeasuredAt     time.Time      `json:"measured_at"`
	Seconds        float64        `json:"seconds"`
}

// Fio runs fio once with these arguments and returns its JSON.
type Fio func(ctx context.Context, arguments []string) ([]byte, error)

// Installed runs the fio of the machine. Error codes: fio-not-found, measure-io-failed.
func Installed(ctx context.Context, arguments []string) ([]byte, error) {
	command := exec.CommandContext(ctx, "fio", arguments...)
	output, err := command.Output()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, agent.Errorf("fio-not-found", "fio is not installed on this machine; without it disks cannot be measured.")
	case errors.As(err, &ended):
		said := strings.TrimSpace(string(ended.Stderr) + " " + string(output))
		return nil, agent.Errorf("measure-io-failed", "fio ended with %d: %s", ended.ExitCode(), said[:min(len(said), 300)])
	}
	return output, err
}

// Measure measures the file system of folder. Its file is removed at the end. Error codes: fio-not-found, measure-io-failed,
// no-space.
func Measure(ctx context.Context, folder string, plan Plan, run Fio, report agent.Report) (MeasuredIO, error) {
	began := time.Now()
	file := filepath.Join(folder, ".ringmaster-measure-io")
	defer os.Remove(file)
	m := measuring{plan: plan, run: run, file: file}
	outcome := MeasuredIO{Warnings: []string{}, MeasuredAt: began.UTC().Truncate(time.Second)}
	report(0, "Looking how this machine takes direct I/O")
	if err := m.chooseEngine(ctx); err != nil {
		return MeasuredIO{}, err
	}
	outcome.Engine = m.engine
	if m.engine != "io_uring" {
		outcome.Warnings = append(outcome.Warnings, "io_uring is refused here; measured with "+m.engine+", which costs more CPU and can read lower.")
	}
	rounds := map[Measurement][]float64{}
	agreed := map[Measurement]bool{WriteBandwidth: true, ReadBandwidth: true, WriteIOPS: true, ReadIOPS: true}
	for round := range plan.Rounds {
		for index, which := range Measurements() {
			done := float64(round*len(Measurements())+index) / float64(plan.Rounds*len(Measurements()))
			report(done, fmt.Sprintf("Round %d of %d: %s", round+1, plan.Rounds, strings.ReplaceAll(string(which), "_", " ")))
			figure, steady, err := m.once(ctx, which)
			if err != nil {
				return MeasuredIO{}, err
			}
			rounds[which] = append(rounds[which], figure)
			agreed[which] = agreed[which] && steady
		}
	}
	into := map[Measurement]*MeasuredFigure{
		WriteBandwidth: &outcome.WriteBandwidth, ReadBandwidth: &outcome.ReadBandwidth, WriteIOPS: &outcome.WriteIOPS, ReadIOPS: &outcome.ReadIOPS,
	}
	outcome.Verdict = Stable
	for _, which := range Measurements() {
		*into[which] = judge(rounds[which], agreed[which])
		if !agreed[which] {
			outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("%s: no three windows in a row agreed within %.0f %% in the time given.", which, 100*agreement))
		}
		outcome.Verdict = worse(outcome.Verdict, into[which].Verdict)
	}
	outcome.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
	return outcome, nil
}

func judge(rounds []float64, agreed bool) MeasuredFigure {
	figure := MeasuredFigure{Median: median(rounds), Rounds: rounds, Verdict: Noisy, Agreed: agreed}
	if figure.Median > 0 {
		figure.Spread = (slices.Max(rounds) - slices.Min(rounds)) / figure.Median
		switch {
		case len(rounds) == 1 && !agreed: // nothing to compare it with
		case figure.Spread <= stableSpread:
			figure.Verdict = Stable
		case figure.Spread <= usableSpread:
			figure.Verdict = Usable
		}
	}
	return figure
}

func worse(a, b Verdict) Verdict {
	order := []Verdict{Stable, Usable, Noisy}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

type measuring struct {
	plan   Plan
	run    Fio
	file   string
	engine string
}

// chooseEngine lays the file out with io_uring, and with libaio where that is refused. The file is written whole: reading
// blocks that were never written measures nothing.
func (m *measuring) chooseEngine(ctx context.Context) error {
	var err error
	for _, m.engine = range []string{"io_uring", "libaio"} {
		_, err = m.run(ctx, []string{
			"--name=layout", "--filename=" + m.file, "--size=" + strconv.FormatInt(m.plan.FileBytes, 10), "--rw=write", "--bs=1M",
			"--direct=1", "--ioengine=" + m.engine, "--iodepth=32", "--refill_buffers", "--end_fsync=1", "--output-format=json",
		})
		var coded *agent.Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &coded) && coded.Code == "measure-io-failed" && strings.Contains(coded.Message, "No space left"):
			return agent.Errorf("no-space", "The file system has no %d MiB left to measure with.", m.plan.FileBytes>>20)
		case !errors.As(err, &coded) || coded.Code != "measure-io-failed":
			return err
		}
	}
	return err
}

// once is one measurement of one round: the mean of the first three windows in a row that agree, or of the last three.
func (m *measuring) once(ctx context.Context, which Measurement) (float64, bool, error) {
	var windows []float64
	ramp := m.plan.Ramp
	for spent := time.Duration(0); len(windows) < agreeing || spent < m.plan.Limit; {
		output, err := m.run(ctx, m.arguments(which, ramp))
		if err != nil {
			return 0, false, err
		}
		figure, err := parse(output, which)
		if err != nil {
			return 0, false, err
		}
		spent += ramp + m.plan.Window
		windows = append(windows, figure)
		if last := windows[max(0, len(windows)-agreeing):]; len(last) == agreeing && slices.Max(last)-slices.Min(last) <= agreement*mean(last) {
			return mean(last), true, nil
		}
		// The disks are warm from the second window on.
		ramp = min(ramp, time.Second)
	}
	return mean(windows[len(windows)-agreeing:]), false, nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}

func (m *measuring) arguments(which Measurement, ramp time.Duration) []string {
	shape := map[Measurement][]string{
		WriteBandwidth: {"--rw=write", "--bs=1M", "--iodepth=32"},
		ReadBandwidth:  {"--rw=read", "--bs=1M", "--iodepth=32"},
		WriteIOPS:      {"--rw=randwrite", "--bs=4k", "--iodepth=128"},
		ReadIOPS:       {"--rw=randread", "--bs=4k", "--iodepth=128"},
	}[which]
	return append([]string{
		"--name=" + string(which), "--filename=" + m.file, "--size=" + strconv.FormatInt(m.plan.FileBytes, 10), "--direct=1",
		"--ioengine=" + m.engine, "--time_based", "--norandommap", "--refill_buffers", "--group_reporting", "--output-format=json",
		fmt.Sprintf("--ramp_time=%dms", ramp.Milliseconds()), fmt.Sprintf("--runtime=%dms", m.plan.Window.Milliseconds()),
	}, shape...)
}

// parse takes one figure out of fio's JSON: IOPS of random, bytes per second of sequential measurements.
func parse(output []byte, which Measurement) (float64, error) {
	// fio may print a line of its own before the JSON.
	begin := slices.Index(output, '{')
	if begin < 0 {
		return 0, agent.Errorf("measure-io-failed", "fio printed no JSON.")
	}
	type direction struct {
		IOPS      float64 `json:"iops"`
		Bandwidth float64 `json:"bw_bytes"`
		Count     int64   `json:"total_ios"`
	}
	var said struct {
		Jobs []struct {
			Error int       `json:"error"`
			Read  direction `json:"read"`
			Write direction `json:"write"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(output[begin:], &said); err != nil {
		return 0, agent.Errorf("measure-io-failed", "fio's JSON cannot be read: %v.", err)
	}
	if len(said.Jobs) != 1 || said.Jobs[0].Error != 0 {
		return 0, agent.Errorf("measure-io-failed", "fio reports an error.")
	}
	taken := said.Jobs[0].Read
	if which == WriteBandwidth || which == WriteIOPS {
		taken = said.Jobs[0].Write
	}
	if cmp.Compare(taken.IOPS, 0) <= 0 || taken.Count == 0 {
		return 0, agent.Errorf("measure-io-failed", "fio measured nothing.")
	}
	if which == ReadBandwidth || which == WriteBandwidth {
		return taken.Bandwidth, nil
	}
	return taken.IOPS, nil
}
