package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cmd/agent/machine"
	"ringmaster/agent/metadata"
	"ringmaster/agent/statefile"
)

// machineCommand does one of the commands about the machine. What they print is JSON; a failure with a code is printed as
// {"error": {"code", "message"}}.
func machineCommand(ctx context.Context, name string, arguments []string, out, problems io.Writer) error {
	var userData, metadataURL string
	var asText bool
	var measuring agent.MeasureIOParameters
	m := machine.New("", agent.UserData{}, version, nil)
	flags := flag.NewFlagSet("agent "+name, flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&m.StateDir, "state-dir", "/var/lib/ringmaster", "folder for everything the agent and the engine keep")
	flags.StringVar(&userData, "user-data", "/etc/ringmaster/user-data.json", "JSON file with what this machine was told when it was made")
	flags.StringVar(&m.Root, "root", m.Root, "where sysfs, procfs and configuration files are")
	flags.StringVar(&m.Presets, "presets", m.Presets, "JSON file with what the disks of machine types do")
	flags.StringVar(&metadataURL, "metadata", "", "URL of the metadata service instead of the cloud's own")
	switch name {
	case "plan":
		flags.BoolVar(&asText, "text", false, "print for people instead of JSON")
	case "measure-io":
		flags.IntVar(&measuring.Rounds, "rounds", 3, "how often each measurement is made")
		flags.Float64Var(&measuring.RampSeconds, "ramp", 3, "seconds before each measurement")
		flags.Float64Var(&measuring.WindowSeconds, "window", 5, "seconds of one window; three in a row must agree")
		flags.Float64Var(&measuring.LimitSeconds, "limit", 60, "seconds after which a measurement is taken as it is")
		flags.IntVar(&measuring.FileMiB, "file-mib", 8192, "size of the file that is measured on")
	}
	if err := parseFlags(flags, arguments); err != nil {
		return err
	}
	var err error
	if m.StateDir, err = filepath.Abs(m.StateDir); err != nil {
		return err
	}
	m.Service = metadata.Service{Address: metadataURL}
	if name == "firstboot" {
		if err := m.FetchUserData(ctx, userData); err != nil {
			return fmt.Errorf("user data: %w", err)
		}
	}
	if err := statefile.ReadJSON(userData, &m.Data); err != nil {
		return fmt.Errorf("user data: %w", err)
	}
	m.Engine = func(ctx context.Context) agent.EngineStatus { return engineFromFiles(ctx, m) }
	result, err := aboutMachine(ctx, m, name, measuring)
	if text, ok := result.(fmt.Stringer); ok && asText && err == nil {
		_, err := io.WriteString(out, text.String())
		return err
	}
	var coded *agent.Error
	switch {
	case errors.As(err, &coded) && result == nil:
		result = agent.ErrorBody{Error: coded}
	case err != nil && result == nil:
		return err
	}
	if problem := encode(out, result); problem != nil {
		return problem
	}
	if err != nil {
		return errTold
	}
	return nil
}

// aboutMachine returns what is to be printed. A first boot that failed is printed like one that succeeded: its report tells the error.
func aboutMachine(ctx context.Context, m *machine.Machine, name string, measuring agent.MeasureIOParameters) (any, error) {
	within, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	switch name {
	case "plan":
		plan, err := m.Plan(within)
		return orNothing(plan, err)
	case "firstboot":
		report, err := m.FirstBoot(within)
		if len(report.Steps) == 0 {
			return nil, err
		}
		return report, err
	case "tune":
		changed, err := m.Tune(within)
		return orNothing(map[string]int{"changed": changed}, err)
	case "revert":
		restored, err := m.Revert(within)
		return orNothing(map[string]int{"restored": restored}, err)
	case "measure-io":
		outcome, err := m.MeasureIO(within, measuring, func(float64, string) {})
		return orNothing(outcome, err)
	}
	report, err := m.Tuning(within)
	return orNothing(report, err)
}

func orNothing[T any](value T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return value, nil
}

// engineFromFiles is the engine as its files tell, without an agent running. A machine that has not enrolled has none.
func engineFromFiles(ctx context.Context, m *machine.Machine) agent.EngineStatus {
	if m.Data.NodeID == "" || m.Data.Address == "" {
		return agent.EngineStatus{State: agent.EngineAbsent}
	}
	joined, err := open(options{stateDir: m.StateDir, data: m.Data}, slog.New(slog.DiscardHandler))
	if err != nil {
		return agent.EngineStatus{State: agent.EngineFailed, LastError: err.Error()}
	}
	return joined.engine.Status(ctx)
}
