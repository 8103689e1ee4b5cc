// Package cassandra runs Apache Cassandra on this machine: it renders its files, starts, watches and stops it, and makes
// roles and proofs over CQL.
package cassandra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/enginetls"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
	"ringmaster/agent/supervise"
	"ringmaster/agent/traffic"
)

// Name is the engine's name in configurations.
const Name = "cassandra"

// Engine is Cassandra on one machine. It implements agent.Engine.
type Engine struct {
	nodeID     string
	cache      string
	place      folders
	identity   enginetls.Identity
	log        *slog.Logger
	supervisor *supervise.Supervisor
	management *jolokia.Client
	backups    *backup.Service
	archive    *backup.Archive
	seeds      seedsDue
	// cpus are those that the engine may run on; none means all.
	cpus []int

	mu        sync.Mutex
	config    *Config
	control   *controlSession
	heartbeat heartbeats
	look      lastLook
	hints     hintsWatch

	fenceWatch fenceWatch
	collector  collector
	traffic    traffic.Meter
	// born is when this agent began.
	born time.Time
}

var _ agent.Engine = (*Engine)(nil)

// New makes the engine of a machine whose state is below folder, with trees in cache.
func New(folder, cache, nodeID string, identity enginetls.Identity, log *slog.Logger) (*Engine, error) {
	e := &Engine{
		nodeID: nodeID, cache: cache, place: folders{root: filepath.Join(folder, Name)}, identity: identity, log: log,
		heartbeat: heartbeats{}, seeds: make(seedsDue, 1), born: time.Now(),
	}
	e.traffic.Path = e.place.traffic()
	if err := e.place.make(); err != nil {
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
	e.control = newControlSession(e.place, e.dial)
	e.management = jolokia.New(e.place.managementLogin)
	var err error
	node := backup.Node{Snapshot: e.place.snapshotFolders, Restores: e.place.restores()}
	if e.backups, err = backup.New(e.place.backups(), nodeID, node); err != nil {
		return nil, err
	}
	if e.archive, err = backup.NewArchive(e.backups, e.place.commitLog(), e.place.archive(), log); err != nil {
		return nil, err
	}
	supervisor, err := supervise.New(program{e}, filepath.Join(e.place.root, "engine.json"), supervise.DefaultTiming(), log)
	if err != nil {
		return nil, err
	}
	e.supervisor = supervisor
	return e, nil
}

// Bundles implements httpapi.Snapshots.
func (e *Engine) Bundles(tag, after string, limit int) (agent.BundlePage, error) {
	return e.backups.Bundles(tag, after, limit)
}

// Archived implements httpapi.Archive.
func (e *Engine) Archived(after int64) (agent.ArchiveReport, error) { return e.archive.Report(after) }

// RunOn confines the engine to some CPUs from its next start on. Call it before Run.
func (e *Engine) RunOn(cpus []int) { e.cpus = cpus }

// Configure implements agent.Engine.
func (e *Engine) Configure(document json.RawMessage) error {
	config, err := parseConfig(document)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	condition := e.supervisor.Condition()
	if e.config != nil && (condition.Booted || condition.Alive) {
		if err := e.config.checkSuccessor(config); err != nil {
			return err
		}
	}
	if !condition.Booted {
		if err := config.checkFirst(); err != nil {
			return err
		}
	}
	if err := statefile.WriteJSON(e.configPath(), config); err != nil {
		return err
	}
	e.config = &config
	e.seeds.due()
	return nil
}

// Run implements agent.Engine.
func (e *Engine) Run(ctx context.Context) error {
	go e.watchRing(ctx)
	go e.watchSeeds(ctx)
	go e.watchTraffic(ctx)
	go e.archive.Run(ctx)
	return e.supervisor.Run(ctx)
}

// Status implements agent.Engine.
func (e *Engine) Status(context.Context) agent.EngineStatus {
	condition := e.supervisor.Condition()
	status := agent.EngineStatus{Name: Name, State: agent.EngineAbsent, Restarts: condition.Restarts, LastError: condition.LastError}
	status.RunningRevision, status.Mode = e.runningRevision(), e.modeNow(condition)
	config, err := e.configured()
	if err == nil {
		status.Version, status.ConfigRevision = config.Version, config.Revision
		status.State = agent.EngineStopped
	}
	switch {
	case condition.Alive:
		status.PID = condition.Process.PID
		if started, err := process.StartedAt(condition.Process); err == nil {
			status.StartedAt = &started
		}
		status.State = agent.EngineStarting
		if condition.Ready {
			status.State = agent.EngineRunning
			status.CQLReady = e.portOpen()
		}
	case condition.Wanted:
		status.State = agent.EngineFailed
	}
	return status
}

// Do implements agent.Engine.
func (e *Engine) Do(ctx context.Context, kind agent.JobKind, parameters json.RawMessage, report agent.Report) (any, error) {
	if len(parameters) == 0 {
		parameters = json.RawMessage("{}")
	}
	do, known := e.jobs()[kind]
	if !known {
		return nil, agent.Errorf("unknown-kind", "There is no job of the kind %q.", kind)
	}
	return do(ctx, parameters, report)
}

// job runs one kind of job with the parameters given.
type job func(ctx context.Context, parameters json.RawMessage, report agent.Report) (any, error)

// jobs are all the kinds that Cassandra knows.
func (e *Engine) jobs() map[agent.JobKind]job {
	return map[agent.JobKind]job{
		agent.Install: worker(e.install),
		agent.Start:   worker(e.start),
		agent.Stop:    worker(e.stop),
		agent.Drain:   worker(e.drain),

		agent.Secure:         worker(e.secure),
		agent.RotatePassword: worker(e.rotatePassword),

		agent.Prove:        worker(e.prove),
		agent.DescribeRing: worker(e.describeRing),

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
		agent.RunCommand:      worker(e.runCommand),

		agent.Repair:        worker(e.repair),
		agent.SetThroughput: worker(e.setThroughput),

		agent.Roles:         worker(e.roles),
		agent.ChangeRole:    worker(e.changeRole),
		agent.Grant:         worker(e.grant),
		agent.Revoke:        worker(e.revoke),
		agent.Allowlist:     worker(e.allowlist),
		agent.Keyspaces:     worker(e.keyspaces),
		agent.Replicate:     worker(e.replicate),
		agent.Settings:      worker(e.settings),
		agent.ApplySettings: worker(e.applySettings),
		agent.ReloadTLS:     worker(e.reloadTLS),

		agent.Snapshot:      worker(e.snapshot),
		agent.ClearSnapshot: worker(e.clearSnapshot),
		agent.IndexSnapshot: worker(e.backups.Index),
		agent.UploadBundles: worker(e.backups.Upload),
		agent.VerifyObjects: worker(e.backups.Verify),
		agent.FetchBundles:  worker(e.backups.Fetch),
		agent.ImportBundles: worker(e.importBundles),
		agent.DropRestore:   worker(e.backups.Drop),
		agent.SetArchive:    worker(e.archive.Set),
		agent.ReplayArchive: worker(e.replayArchive),

		agent.DescribeSchema: worker(e.describeSchema),
		agent.CreateSchema:   worker(e.createSchema),
		agent.TruncateTables: worker(e.truncateTables),
		agent.FetchFiles:     worker(e.backups.FetchFiles),
		agent.DigestTable:    worker(e.digestTable),

		agent.DescribeTables: worker(e.describeTables),
		agent.AlterTable:     worker(e.alterTable),
		agent.RewriteTable:   worker(e.rewriteTable),

		agent.LoadWorkload: worker(e.loadWorkload),
		agent.RunWorkload:  worker(e.runWorkload),
	}
}

// worker makes a job of a function that takes typed parameters.
func worker[P any, R any](do func(context.Context, P, agent.Report) (R, error)) job {
	return func(ctx context.Context, parameters json.RawMessage, report agent.Report) (any, error) {
		return work(ctx, parameters, report, do)
	}
}

// work reads the parameters of a job and runs it.
func work[P any, R any](
	ctx context.Context, document json.RawMessage, report agent.Report, do func(context.Context, P, agent.Report) (R, error),
) (any, error) {
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
		return agent.Errorf("invalid-parameters", "version must look like 5.0.5")
	}
	return nil
}

func (e *Engine) install(_ context.Context, parameters InstallParameters, report agent.Report) (agent.Installed, error) {
	report(0, "Checking the engine's files")
	found, err := openTree(e.cache, parameters.Version)
	if err != nil {
		return agent.Installed{}, err
	}
	return agent.Installed{Version: parameters.Version}, found.check(parameters.Version)
}

func (e *Engine) start(ctx context.Context, _ Nothing, report agent.Report) (agent.Started, error) {
	config, err := e.configured()
	if err != nil {
		return agent.Started{}, err
	}
	if _, err := openTree(e.cache, config.Version); err != nil {
		return agent.Started{}, err
	}
	firstBoot := !e.supervisor.Condition().Booted
	if !e.supervisor.Condition().Alive {
		if err := e.startable(!firstBoot); err != nil {
			return agent.Started{}, err
		}
	}
	var streamed int64
	if firstBoot && config.FirstBoot.intoData() {
		if streamed, err = e.startIntoData(ctx, report); err != nil {
			return agent.Started{}, err
		}
	} else {
		report(0.1, "Waiting for the engine to accept CQL")
		if err := e.supervisor.Start(ctx); err != nil {
			return agent.Started{}, err
		}
	}
	return agent.Started{PID: e.supervisor.Condition().Process.PID, FirstBoot: firstBoot, BytesStreamed: streamed}, nil
}

// stopGrace is how long the engine may take to flush and leave.
const stopGrace = 60 * time.Second

func (e *Engine) stop(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	report(0.1, "Waiting for the engine to end")
	e.lastTraffic(ctx)
	e.control.forget()
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

func (e *Engine) configPath() string { return filepath.Join(e.place.root, "config.json") }

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

func (e *Engine) cqlAddress() (string, error) {
	config, err := e.configured()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(config.Address, strconv.Itoa(cqlPort)), nil
}

// running fails with the code engine-not-running, unless the engine is just being started anew.
func (e *Engine) running() error {
	if condition := e.supervisor.Condition(); !condition.Alive && !condition.Wanted {
		return agent.Errorf("engine-not-running", "The engine does not run: %s", orElse(condition.LastError, "it was not started"))
	}
	return nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
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

// Accepts asks the engine itself whether it takes CQL connections, whoever watches over it.
func (e *Engine) Accepts(ctx context.Context) bool { return program{e}.Ready(ctx) == nil }
