// Command agent runs on every database machine; see docs/agent-api.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/enginetls"
	"ringmaster/agent/identity"
	"ringmaster/agent/metrics"
	"ringmaster/agent/scylla"
	"ringmaster/agent/statefile"
	"ringmaster/agent/statements"
)

// version is set at release builds: -ldflags "-X main.version=1.2.3".
var version = "0.1.0"

const usage = `agent runs on a database machine: it enrols with the control plane, then installs, starts and watches the engine
as the control plane asks over mutual TLS. It can end and start again at any time; the engine goes on.

Usage:

  agent COMMAND [OPTIONS]

Commands:

  run       enrol if need be, serve the API, keep the engine running
  status    show from this machine's files how agent, engine and jobs are (works without the agent running)
  plan      print what tuning would do with this machine, and do nothing
  firstboot make this machine ready for its engine: disks, files, kernel settings; done at every boot before the engine
  tune      apply the plan alone
  revert    put back what tuning changed
  report    print the tuning checklist
  measure-io  measure what the disks do, with fio; the engine must be stopped
  pin       print which CPUs take interrupts and which run the engine, for this machine or for --topology
  io-figures  print what the local disks of a machine type do, and where that is from
  schema    print the JSON Schema of everything the API takes and answers
  version   print the version

Examples:

  agent run --state-dir /var/lib/ringmaster --user-data /etc/ringmaster/user-data.json
  agent status --state-dir /var/lib/ringmaster --user-data /etc/ringmaster/user-data.json
  agent pin --topology 1x16x2 --siblings split
  agent run --help
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) && !errors.Is(err, errTold) {
			fmt.Fprintf(os.Stderr, "agent: %v\n", err)
		}
		stop()
		os.Exit(exitCode(err))
	}
}

// errUsage marks a wrong call.
var errUsage = errors.New("see agent --help")

func exitCode(err error) int {
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	}
	return 1
}

func command(ctx context.Context, arguments []string, out, problems io.Writer) error {
	if len(arguments) == 0 {
		fmt.Fprint(problems, usage)
		return fmt.Errorf("no command given: %w", errUsage)
	}
	switch arguments[0] {
	case "run":
		options, err := parse("run", arguments[1:], problems)
		if err != nil {
			return err
		}
		return run(ctx, options, slog.New(slog.NewJSONHandler(out, nil)))
	case "status":
		options, err := parse("status", arguments[1:], problems)
		if err != nil {
			return err
		}
		return status(ctx, options, out)
	case "plan", "firstboot", "tune", "revert", "measure-io", "report":
		return machineCommand(ctx, arguments[0], arguments[1:], out, problems)
	case "pin":
		return pin(arguments[1:], out, problems)
	case "io-figures":
		return ioFigures(arguments[1:], out, problems)
	case "schema":
		return encode(out, apiSchema())
	case "version":
		fmt.Fprintln(out, version)
		return nil
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return nil
	}
	return fmt.Errorf("there is no command %q: %w", arguments[0], errUsage)
}

// options are what run and status are told.
type options struct {
	stateDir string
	data     agent.UserData
}

func parse(name string, arguments []string, problems io.Writer) (options, error) {
	var chosen options
	var userData, listen string
	flags := flag.NewFlagSet("agent "+name, flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&chosen.stateDir, "state-dir", "", "folder for everything the agent and the engine keep (required)")
	flags.StringVar(&userData, "user-data", "", "JSON file with what this machine was told when it was made (required)")
	flags.StringVar(&listen, "listen", "", "host:port of the API instead of the one in the user data")
	if err := parseFlags(flags, arguments); err != nil {
		return options{}, err
	}
	if chosen.stateDir == "" || userData == "" {
		return options{}, fmt.Errorf("--state-dir and --user-data are required: %w", errUsage)
	}
	absolute, err := filepath.Abs(chosen.stateDir)
	if err != nil {
		return options{}, err
	}
	chosen.stateDir = absolute
	if err := statefile.ReadJSON(userData, &chosen.data); err != nil {
		return options{}, fmt.Errorf("user data: %w", err)
	}
	if listen != "" {
		chosen.data.Listen = listen
	}
	if chosen.data.EngineCache == "" {
		chosen.data.EngineCache = agent.DefaultEngineCache
	}
	for field, value := range map[string]string{
		"node_id": chosen.data.NodeID, "enrol_url": chosen.data.EnrolURL, "ca_pem": chosen.data.CAPEM, "token": chosen.data.Token,
		"listen": chosen.data.Listen, "address": chosen.data.Address,
	} {
		if value == "" {
			return options{}, fmt.Errorf("the user data lack %s", field)
		}
	}
	return chosen, nil
}

// parseFlags reads the options of a command that takes nothing else. Errors: flag.ErrHelp, errUsage.
func parseFlags(flags *flag.FlagSet, arguments []string) error {
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", err, errUsage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is too much: %w", flags.Arg(0), errUsage)
	}
	return nil
}

// parts are what run joins and status looks at.
type parts struct {
	identity *identity.Identity
	engine   nodeEngine
}

// nodeEngine is the one engine of this machine.
type nodeEngine interface {
	agent.Engine
	statements.Engine
	// RunOn confines the engine to some CPUs from its next start on, unless it sees to that itself.
	RunOn(cpus []int)
	// Accepts asks the engine itself whether it takes CQL connections.
	Accepts(ctx context.Context) bool
	// Metrics adds what the engine tells of itself and of its tables.
	Metrics(ctx context.Context, page *metrics.Page) error
	// DataFolder is where its data are.
	DataFolder() string
}

// newEngine makes the engine that the machine is for; where that is not said, Cassandra.
func newEngine(chosen options, self *identity.Identity, log *slog.Logger) (nodeEngine, error) {
	files := enginetls.Identity{
		KeyAndCertificate: self.EnginePEM(), Authority: self.EngineAuthorityPEM(), FormerCertificate: self.FormerEngineCertificate(),
	}
	name := cassandra.Name
	if chosen.data.Machine != nil && chosen.data.Machine.Engine != "" {
		name = chosen.data.Machine.Engine
	}
	switch name {
	case cassandra.Name:
		return cassandra.New(chosen.stateDir, chosen.data.EngineCache, chosen.data.NodeID, files, log)
	case scylla.Name:
		return scylla.New(chosen.stateDir, scylla.Packaged(), chosen.data.NodeID, files, log)
	}
	return nil, fmt.Errorf("user data: there is no engine %q, only %q and %q", name, cassandra.Name, scylla.Name)
}

func open(chosen options, log *slog.Logger) (parts, error) {
	if err := os.MkdirAll(chosen.stateDir, 0o700); err != nil {
		return parts{}, err
	}
	self, err := identity.Open(filepath.Join(chosen.stateDir, "identity"), chosen.data.NodeID, chosen.data.Address)
	if err != nil {
		return parts{}, err
	}
	engine, err := newEngine(chosen, self, log)
	if err != nil {
		return parts{}, err
	}
	return parts{identity: self, engine: engine}, nil
}

// localStatus is what `agent status` prints.
type localStatus struct {
	NodeID      string             `json:"node_id"`
	Enrolled    bool               `json:"enrolled"`
	Certificate *time.Time         `json:"certificate_not_after"`
	Engine      agent.EngineStatus `json:"engine"`
}

func status(ctx context.Context, chosen options, out io.Writer) error {
	joined, err := open(chosen, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	shown := localStatus{NodeID: chosen.data.NodeID, Enrolled: joined.identity.Enrolled(), Engine: joined.engine.Status(ctx)}
	if served, err := joined.identity.Certificate(); err == nil {
		shown.Certificate = &served.NotAfter
	}
	if shown.Engine.State == agent.EngineStarting && joined.engine.Accepts(ctx) {
		shown.Engine.State, shown.Engine.CQLReady = agent.EngineRunning, true
	}
	return encode(out, shown)
}

func encode(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
