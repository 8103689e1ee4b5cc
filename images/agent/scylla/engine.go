// Package scylla runs ScyllaDB on this machine: it renders its files, starts, watches and stops it, asks it over its REST
// API, and makes roles and proofs over CQL.
package scylla

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/cql"
	"ringmaster/agent/enginetls"
	"ringmaster/agent/process"
	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/statefile"
	"ringmaster/agent/supervise"
	"ringmaster/agent/tabledigest"
)

// Name is the engine's name in configurations.
const Name = "scylla"

// Installation is where the engine is on this machine.
type Installation struct {
	// Binary is the engine's program, Options the folder of what the first boot wrote for it, Data where its data is.
	Binary, Options, Data string
	// API is where its REST API is.
	API string
	// OwnScope: systemd gives the engine a place beside the agent's.
	OwnScope bool
}

// Packaged is the installation that the vendor's packages make on a machine of its own.
func Packaged() Installation {
	_, err := os.Stat("/run/systemd/system")
	return Installation{
		Binary: "/usr/bin/scylla", Options: "/etc/scylla.d", Data: "/var/lib/scylla",
		API: net.JoinHostPort("127.0.0.1", strconv.Itoa(apiPort)), OwnScope: err == nil,
	}
}

// session is a connection over which statements are run; *cql.Conn is one.
type session interface {
	tabledigest.Session
	Close()
}

// Engine is ScyllaDB on one machine. It implements agent.Engine.
type Engine struct {
	nodeID     string
	at         Installation
	place      folders
	identity   enginetls.Identity
	log        *slog.Logger
	supervisor *supervise.Supervisor
	api        *scyllaapi.Client
	backups    *backup.Service
	dial       func(ctx context.Context, username, password string) (session, error)

	mu     sync.Mutex
	config *Config
	look   look
	// holding keeps two jobs from changing at once whether tablets move.
	holding sync.Mutex
}

var _ agent.Engine = (*Engine)(nil)

// New makes the engine of a machine whose state is below folder.
func New(folder string, at Installation, nodeID string, identity enginetls.Identity, log *slog.Logger) (*Engine, error) {
	e := &Engine{
		nodeID: nodeID, at: at, place: folders{root: filepath.Join(folder, Name), work: at.Data}, identity: identity, log: log,
		api: scyllaapi.New(at.API),
	}
	e.dial = e.dialTLS
	if err := os.MkdirAll(e.place.root, 0o700); err != nil {
		return nil, err
	}
	switch document, err := os.ReadFile(e.configPath()); {
	case err == nil:
		config, err := parseConfig(document)
		if err != nil {
			return nil, fmt.Errorf("stored configuration: %w", err)
		}
		e.config = &config
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	var err error
	node := backup.Node{Snapshot: e.place.snapshotFolders, Restores: e.place.restores()}
	if e.backups, err = backup.New(e.place.backups(), nodeID, node); err != nil {
		return nil, err
	}
	supervisor, err := supervise.New(program{e}, filepath.Join(e.place.root, "engine.json"), supervise.DefaultTiming(), log)
	if err != nil {
		return nil, err
	}
	e.supervisor = supervisor
	return e, nil
}

// RunOn does nothing: the engine confines itself to the CPUs of cpuset.conf.
func (e *Engine) RunOn([]int) {}

// Configure implements agent.Engine.
func (e *Engine) Configure(document json.RawMessage) error {
	config, err := parseConfig(document)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if condition := e.supervisor.Condition(); e.config != nil && (condition.Booted || condition.Alive) {
		if err := e.config.checkSuccessor(config); err != nil {
			return err
		}
	}
	if err := statefile.WriteJSON(e.configPath(), config); err != nil {
		return err
	}
	e.config = &config
	return nil
}

// Run implements agent.Engine.
func (e *Engine) Run(ctx context.Context) error {
	go e.watchRing(ctx)
	go e.endWhatIsOver(ctx)
	return e.supervisor.Run(ctx)
}

// Status implements agent.Engine.
func (e *Engine) Status(context.Context) agent.EngineStatus {
	condition := e.supervisor.Condition()
	status := agent.EngineStatus{Name: Name, State: agent.EngineAbsent, Restarts: condition.Restarts, LastError: condition.LastError}
	var noted running
	_ = statefile.ReadJSON(e.runningPath(), &noted)
	status.RunningRevision, status.Mode = noted.Revision, e.modeNow(condition)
	if config, err := e.configured(); err == nil {
		status.Version, status.ConfigRevision, status.State = config.Version, config.Revision, agent.EngineStopped
	}
	switch {
	case condition.Alive:
		status.PID = condition.Process.PID
		if started, err := process.StartedAt(condition.Process); err == nil {
			status.StartedAt = &started
		}
		status.State = agent.EngineStarting
		if condition.Ready {
			status.State, status.CQLReady = agent.EngineRunning, e.portOpen()
		}
	case condition.Wanted:
		status.State = agent.EngineFailed
	}
	return status
}

func (e *Engine) portOpen() bool {
	address, err := e.cqlAddress()
	if err != nil {
		return false
	}
	socket, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = socket.Close()
	return true
}

// Machine implements agent.Engine.
func (e *Engine) Machine(context.Context) agent.MachineStatus {
	condition := e.supervisor.Condition()
	status := agent.MachineStatus{LocalDataLost: condition.Booted && !condition.Alive && !e.hasLeft() && e.place.dataLost()}
	var system unix.Statfs_t
	if unix.Statfs(e.place.work, &system) == nil {
		// As df counts: what the file system keeps from ordinary users is neither free nor in use.
		used := system.Blocks - system.Bfree
		status.Disk = &agent.DiskStatus{TotalBytes: int64(used+system.Bavail) * system.Bsize, FreeBytes: int64(system.Bavail) * system.Bsize}
		if condition.Alive {
			status.Disk.DataBytes = e.look.dataBytes()
		}
	}
	if own, err := e.identity.Own(); err == nil {
		status.EngineCertificateExpiresAt = &own.NotAfter
	}
	return status
}

// dataLost tells whether a node that has served before has nothing left: every engine that was ever up has written who it is.
func (f folders) dataLost() bool {
	found, err := filepath.Glob(filepath.Join(f.data(), "system", "local-*", "*-Data.db"))
	return err == nil && len(found) == 0
}

// startable refuses what must not be started. Error codes: node-left, local-data-lost.
func (e *Engine) startable(booted bool) error {
	if e.hasLeft() {
		return agent.Errorf("node-left", "The node has left its ring; its data is the other nodes' now.")
	}
	if booted && e.place.dataLost() {
		return agent.Errorf("local-data-lost", "The node has served before, and its data is gone. Started now it would answer without data. Replace it.")
	}
	return nil
}

// Do implements agent.Engine.
func (e *Engine) Do(ctx context.Context, kind agent.JobKind, parameters json.RawMessage, report agent.Report) (any, error) {
	if len(parameters) == 0 {
		parameters = json.RawMessage("{}")
	}
	do, known := e.jobs()[kind]
	if !known {
		return nil, agent.Errorf("not-supported", "The agent cannot do %q with ScyllaDB.", kind)
	}
	return do(ctx, parameters, report)
}

// job runs one kind of job with the parameters given.
type job func(ctx context.Context, parameters json.RawMessage, report agent.Report) (any, error)

// jobs are all the kinds that are possible with ScyllaDB. What is missing (roles, address lists, archives of commit logs) is in
// docs/scylla.md.
func (e *Engine) jobs() map[agent.JobKind]job {
	return map[agent.JobKind]job{
		agent.Install: worker(e.install),
		agent.Start:   worker(e.start),
		agent.Stop:    worker(e.stop),
		agent.Drain:   worker(e.drain),

		agent.Secure:         worker(e.secure),
		agent.RotatePassword: worker(e.rotatePassword),
		agent.Prove:          worker(e.prove),
		agent.DescribeRing:   worker(e.describeRing),

		agent.Decommission:    worker(e.decommission),
		agent.RemoveNode:      worker(e.removeNode),
		agent.Cleanup:         worker(e.cleanup),
		agent.Rebuild:         worker(e.rebuild),
		agent.UpgradeSSTables: worker(e.upgradeSSTables),
		agent.StreamLimit:     worker(e.limitStreams),
		agent.DescribeData:    worker(e.describeData),
		agent.PlantCanary:     worker(e.plantCanary),
		agent.ReadCanary:      worker(e.readCanary),
		agent.Inspect:         worker(e.inspect),
		agent.Diagnose:        worker(e.diagnose),

		agent.Repair:        worker(e.repair),
		agent.SetThroughput: worker(e.setThroughput),

		agent.Allowlist:     worker(e.allowlist),
		agent.Keyspaces:     worker(e.keyspaces),
		agent.Replicate:     worker(e.replicate),
		agent.Settings:      worker(e.settings),
		agent.ApplySettings: worker(e.applySettings),
		agent.ReloadTLS:     worker(e.reloadTLS),

		agent.HoldTablets:    worker(e.holdTablets),
		agent.ReleaseTablets: worker(e.releaseTablets),
		agent.Snapshot:       worker(e.snapshot),
		agent.ClearSnapshot:  worker(e.clearSnapshot),
		agent.IndexSnapshot:  worker(e.backups.Index),
		agent.UploadBundles:  worker(e.backups.Upload),
		agent.VerifyObjects:  worker(e.backups.Verify),
		agent.FetchBundles:   worker(e.backups.Fetch),
		agent.ImportBundles:  worker(e.importBundles),
		agent.DropRestore:    worker(e.backups.Drop),
		agent.DescribeSchema: worker(e.describeSchema),
		agent.CreateSchema:   worker(e.createSchema),
		agent.TruncateTables: worker(e.truncateTables),
		agent.DigestTable:    worker(e.digestTable),

		agent.LoadWorkload: worker(e.loadWorkload),
		agent.RunWorkload:  worker(e.runWorkload),
	}
}

// worker makes a job of a function that takes typed parameters.
func worker[P any, R any](do func(context.Context, P, agent.Report) (R, error)) job {
	return func(ctx context.Context, document json.RawMessage, report agent.Report) (any, error) {
		var parameters P
		if err := strictly(document, &parameters); err != nil {
			return nil, agent.Errorf("invalid-parameters", "%v", err)
		}
		if checked, ok := any(parameters).(interface{ check() error }); ok {
			if err := checked.check(); err != nil {
				return nil, err
			}
		}
		return do(ctx, parameters, report)
	}
}

// Nothing are the parameters of a job that takes none.
type Nothing struct{}

// InstallParameters are those of the job install.
type InstallParameters struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
}

func (p InstallParameters) check() error {
	if p.Engine != "" && p.Engine != Name {
		return agent.Errorf("invalid-parameters", "engine must be %q", Name)
	}
	if !versionForm.MatchString(p.Version) {
		return agent.Errorf("invalid-parameters", "version must look like 2026.1.8")
	}
	return nil
}

// install asks the program for its version: packages are put on a machine when its image is baked. Error code: engine-not-found.
func (e *Engine) install(ctx context.Context, parameters InstallParameters, report agent.Report) (agent.Installed, error) {
	report(0, "Asking the engine for its version")
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	said, err := exec.CommandContext(within, e.at.Binary, "--version").Output()
	if err != nil {
		return agent.Installed{}, agent.Errorf("engine-not-found", "ScyllaDB is not installed on this machine: %v", err)
	}
	// 2026.1.8-0.20260705.be3e0d31004f
	found, _, _ := strings.Cut(strings.TrimSpace(string(said)), "-")
	if found != parameters.Version {
		return agent.Installed{}, agent.Errorf("engine-not-found", "This machine has ScyllaDB %s, not %s: it needs an image of that version.", found, parameters.Version)
	}
	return agent.Installed{Version: found}, nil
}

// start ends when the engine accepts CQL; a node that joins has its ranges by then, but for tablets, which come later.
func (e *Engine) start(ctx context.Context, _ Nothing, report agent.Report) (agent.Started, error) {
	config, err := e.configured()
	if err != nil {
		return agent.Started{}, err
	}
	condition := e.supervisor.Condition()
	if !condition.Alive {
		if err := e.startable(condition.Booted); err != nil {
			return agent.Started{}, err
		}
	}
	joins := !condition.Booted && config.FirstBoot.Join != nil
	var watch streamWatch
	report(0.1, "Waiting for the engine to accept CQL")
	stop := e.whileRunning(ctx, func(ctx context.Context) {
		if joins && watch.look(ctx, e.api, inward) {
			report(watch.between(0.1, 0.95), watch.words("Fetching data"))
		}
	})
	err = e.supervisor.Start(ctx)
	stop()
	if err != nil {
		return agent.Started{}, err
	}
	if joins {
		watch.look(ctx, e.api, inward)
	}
	return agent.Started{PID: e.supervisor.Condition().Process.PID, FirstBoot: !condition.Booted, BytesStreamed: watch.Done}, nil
}

// whileRunning looks again and again beside a long call, until the function returned is called.
func (e *Engine) whileRunning(ctx context.Context, look func(context.Context)) (stop func()) {
	looking, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause(looking, lookEvery) == nil {
			look(looking)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// stopGrace is how long the engine may take to flush and leave.
const stopGrace = 60 * time.Second

func (e *Engine) stop(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	report(0.1, "Waiting for the engine to end")
	return Nothing{}, e.supervisor.Stop(ctx, stopGrace)
}

// configured is the configuration. Error code: not-configured.
func (e *Engine) configured() (Config, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.config == nil {
		return Config{}, agent.Errorf("not-configured", "The node has no configuration yet: PUT /v1/config first.")
	}
	return *e.config, nil
}

func (e *Engine) configPath() string  { return filepath.Join(e.place.root, "config.json") }
func (e *Engine) runningPath() string { return filepath.Join(e.place.root, "running.json") }
func (e *Engine) startedPath() string { return filepath.Join(e.place.root, "started.json") }
func (e *Engine) leftPath() string    { return filepath.Join(e.place.root, "left.json") }

// running is what the engine was last started with.
type running struct {
	Revision string `json:"revision"`
}

func (e *Engine) noteRevision(revision string) error {
	return statefile.WriteJSON(e.runningPath(), running{Revision: revision})
}

// hasLeft tells whether the node has left its ring for good.
func (e *Engine) hasLeft() bool {
	_, err := os.Stat(e.leftPath())
	return err == nil
}

// isRunning fails with the code engine-not-running, unless the engine is just being started anew.
func (e *Engine) isRunning() error {
	if condition := e.supervisor.Condition(); !condition.Alive && !condition.Wanted {
		said := condition.LastError
		if said == "" {
			said = "it was not started"
		}
		return agent.Errorf("engine-not-running", "The engine does not run: %s", said)
	}
	return nil
}

// Accepts asks the engine itself whether it takes CQL connections, whoever watches over it.
func (e *Engine) Accepts(ctx context.Context) bool { return program{e}.Ready(ctx) == nil }

// dialTLS logs in to the engine beside us, from the node's own address.
func (e *Engine) dialTLS(ctx context.Context, username, password string) (session, error) {
	config, err := e.configured()
	if err != nil {
		return nil, err
	}
	own, err := netip.ParseAddr(config.Address)
	if err != nil {
		return nil, err
	}
	trusted, err := e.identity.Trust()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return cql.DialFrom(within, own, net.JoinHostPort(config.Address, strconv.Itoa(cqlPort)), trusted, username, password)
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case <-time.After(duration):
		return nil
	}
}
