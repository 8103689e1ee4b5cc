package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/metadata"
	"ringmaster/agent/statefile"
)

// machineCommand does one of the commands about the machine. What they print is JSON; a failure with a code is printed as
// {"error": {"code", "message"}}.
func machineCommand(ctx context.Context, name string, arguments []string, out, problems io.Writer) error {
	var userData, metadataURL string
	var asText bool
	var measuring agent.MeasureIOParameters
	m := newMachine("", agent.UserData{}, nil)
	flags := flag.NewFlagSet("agent "+name, flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&m.stateDir, "state-dir", "/var/lib/ringmaster", "folder for everything the agent and the engine keep")
	flags.StringVar(&userData, "user-data", "/etc/ringmaster/user-data.json", "JSON file with what this machine was told when it was made")
	flags.StringVar(&m.root, "root", m.root, "where sysfs, procfs and configuration files are")
	flags.StringVar(&m.presets, "presets", m.presets, "JSON file with what the disks of machine types do")
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
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", err, errUsage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is too much: %w", flags.Arg(0), errUsage)
	}
	var err error
	if m.stateDir, err = filepath.Abs(m.stateDir); err != nil {
		return err
	}
	m.service = metadata.Service{Address: metadataURL}
	if name == "firstboot" {
		if err := m.fetchUserData(ctx, userData); err != nil {
			return fmt.Errorf("user data: %w", err)
		}
	}
	if err := statefile.ReadJSON(userData, &m.data); err != nil {
		return fmt.Errorf("user data: %w", err)
	}
	m.engine = m.engineFromFiles
	result, err := m.do(ctx, name, measuring)
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

// fetchUserData asks the metadata service for the user data where no file has them yet. They hold a token: the file is the owner's only.
func (m *nodeMachine) fetchUserData(ctx context.Context, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	provider := metadata.Detect(m.root)
	text, err := m.service.UserData(within, provider)
	if err != nil {
		return err
	}
	var told agent.UserData
	if err := json.Unmarshal([]byte(text), &told); err != nil || told.NodeID == "" {
		return fmt.Errorf("the metadata service has none that are a node's: %v", err)
	}
	if told.Address == "" {
		// The control plane cannot know it before the machine is there.
		instance, err := m.service.Read(within, provider)
		if err != nil {
			return err
		}
		told.Address = instance.Address
	}
	if told.Listen == "" {
		told.Listen = net.JoinHostPort(told.Address, "7443")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return statefile.WriteJSON(path, told)
}

// do returns what is to be printed. A first boot that failed is printed like one that succeeded: its report tells the error.
func (m *nodeMachine) do(ctx context.Context, name string, measuring agent.MeasureIOParameters) (any, error) {
	within, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	switch name {
	case "plan":
		facts, err := m.facts(within)
		if err != nil {
			return nil, err
		}
		plan, err := m.plan(facts, m.volumeUUID())
		return orNothing(plan, err)
	case "firstboot":
		report, err := m.firstBoot(within)
		if len(report.Steps) == 0 {
			return nil, err
		}
		return report, err
	case "tune":
		changed, err := m.tune(within)
		return orNothing(map[string]int{"changed": changed}, err)
	case "revert":
		restored, err := m.host().Revert(within)
		return orNothing(map[string]int{"restored": restored}, err)
	case "measure-io":
		outcome, err := m.measureIO(within, measuring, func(float64, string) {})
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
func (m *nodeMachine) engineFromFiles(ctx context.Context) agent.EngineStatus {
	if m.data.NodeID == "" || m.data.Address == "" {
		return agent.EngineStatus{State: agent.EngineAbsent}
	}
	joined, err := open(options{stateDir: m.stateDir, data: m.data}, slog.New(slog.DiscardHandler))
	if err != nil {
		return agent.EngineStatus{State: agent.EngineFailed, LastError: err.Error()}
	}
	return joined.engine.Status(ctx)
}
