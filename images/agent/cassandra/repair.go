package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/statefile"
)

// lookAtRepairs is how often the engine is asked whether a repair is over, askProgress how often how far it is, which costs more.
const (
	lookAtRepairs = 200 * time.Millisecond
	askProgress   = 2 * time.Second
)

// unheard is how long after a call to the engine, whose answer was lost, its repair may still show up.
const unheard = 3 * time.Second

// endsWithoutTable is how long after one of its tables is gone a repair may go on. Some never end by themselves (5.0.5).
const endsWithoutTable = 15 * time.Second

// startedRepair is what must survive the agent while the engine repairs.
type startedRepair struct {
	// EngineStartedAt is when the JVM started, in milliseconds: commands of another JVM have the same numbers.
	EngineStartedAt int64     `json:"engine_started_at"`
	Begun           time.Time `json:"begun"`
	// Command is 0 until the engine has answered.
	Command int `json:"command"`
	// Left: the job was deleted, and the engine could not be made to end this repair alone.
	Left bool `json:"left,omitempty"`
}

func (f folders) repairs() string          { return filepath.Join(f.root, "repairs") }
func (f folders) repair(job string) string { return filepath.Join(f.repairs(), job+".json") }

// repairParameters are those of the job repair.
type repairParameters struct{ agent.RepairParameters }

func (p repairParameters) check() error { return p.Check() }

// options are what the engine wants to be told.
func (p repairParameters) options() map[string]string {
	options := map[string]string{
		"parallelism":    orElse(p.Parallelism, "parallel"),
		"incremental":    strconv.FormatBool(p.Mode == agent.RepairIncremental),
		"pullRepair":     strconv.FormatBool(p.Mode == agent.RepairPull),
		"primaryRange":   "false",
		"trace":          "false",
		"jobThreads":     strconv.Itoa(max(1, p.JobThreads)),
		"columnFamilies": strings.Join(p.Tables, ","),
		// A pull has one sender.
		"optimiseStreams": strconv.FormatBool(p.OptimiseStreams && p.Mode != agent.RepairPull),
	}
	if len(p.Ranges) > 0 {
		ranges := make([]string, len(p.Ranges))
		for index, one := range p.Ranges {
			ranges[index] = one.Start + ":" + one.End
		}
		options["ranges"] = strings.Join(ranges, ",")
	}
	if len(p.Hosts) > 0 {
		options["hosts"] = strings.Join(p.Hosts, ",")
	}
	return options
}

// isOf tells whether the engine's row is of a repair with these parameters.
func (p repairParameters) isOf(row cql.Row) bool {
	same := func(column string, wanted []string) bool {
		found := row.Texts(column)
		slices.Sort(found)
		return slices.Equal(found, slices.Sorted(slices.Values(wanted)))
	}
	ranges := make([]string, len(p.Ranges))
	for index, one := range p.Ranges {
		ranges[index] = fmt.Sprintf("(%s,%s]", one.Start, one.End)
	}
	// Without ranges the engine puts in its own.
	sameRanges := len(ranges) == 0 && !row.Bool("options_subrange_repair") || len(ranges) > 0 && same("options_ranges", ranges)
	// What it tells of the option for incremental repairs is always null, and of the type at first.
	kind := row.Text("type")
	return row.Text("keyspace_name") == p.Keyspace && same("options_column_families", p.Tables) && sameRanges &&
		same("options_hosts", p.Hosts) && row.Bool("options_pull_repair") == (p.Mode == agent.RepairPull) &&
		(kind == "" || (kind == "incremental") == (p.Mode == agent.RepairIncremental))
}

// repair runs one repair to its end. What it began is written down before and after the engine is asked, so that a later agent
// goes on with it, and never takes another's end for its own. Error codes: repair-failed, repair-lost, unknown-keyspace,
// table-not-found, not-a-replica.
func (e *Engine) repair(ctx context.Context, parameters repairParameters, report agent.Report) (agent.Repaired, error) {
	if err := os.MkdirAll(e.place.repairs(), 0o700); err != nil {
		return agent.Repaired{}, err
	}
	one := &oneRepair{Engine: e, parameters: parameters, path: e.place.repair(agent.JobName(ctx)), report: report}
	if err := statefile.ReadJSON(one.path, &one.kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return agent.Repaired{}, err
	}
	if one.kept.Left {
		// Of an earlier job of this name; the engine ends it by itself.
		one.kept = startedRepair{}
	}
	result, err := one.run(ctx)
	switch {
	case ctx.Err() == nil && !one.kept.Left:
		_ = os.Remove(one.path)
	case agent.JobDeleted(ctx):
		one.giveUp()
	}
	return result, err
}

// oneRepair is a repair of this node while its job runs.
type oneRepair struct {
	*Engine
	parameters repairParameters
	path       string
	kept       startedRepair
	report     agent.Report
	askedAt    time.Time
	// tableGoneAt is when one of its tables was first seen to be gone.
	tableGoneAt time.Time
}

func (r *oneRepair) run(ctx context.Context) (agent.Repaired, error) {
	for ; ; _ = pause(ctx, lookAtRepairs) {
		if ctx.Err() != nil {
			return agent.Repaired{}, ctx.Err()
		}
		if err := r.running(); err != nil {
			if r.kept.EngineStartedAt != 0 {
				return agent.Repaired{}, lost("The engine was stopped while it repaired")
			}
			return agent.Repaired{}, err
		}
		ended, err := r.step(ctx)
		switch {
		case err == nil && ended:
			return r.result(ctx), nil
		case err == nil:
		case passes(err):
			r.report(0, "Waiting for the engine to answer")
			_ = pause(ctx, lookAtStreams)
		default:
			return agent.Repaired{}, err
		}
	}
}

// passes tells whether an error is only that the engine does not answer just now.
func passes(err error) bool {
	var coded *agent.Error
	return !errors.As(err, &coded) && jolokia.Refusal(err) == nil && (cql.Code(err) == 0 || cql.Passing(err))
}

func lost(what string) error {
	return agent.Errorf("repair-lost", "%s: what became of it is not known. Repair the same again.", what)
}

// step does what is next: begin, find what an earlier agent began, or look whether it is over.
func (r *oneRepair) step(ctx context.Context) (ended bool, err error) {
	switch {
	case r.kept.EngineStartedAt == 0:
		if err := r.possible(ctx); err != nil {
			return false, err
		}
		return r.begin(ctx)
	case r.kept.Command == 0:
		return false, r.find(ctx)
	default:
		return r.look(ctx)
	}
}

// begin asks the engine, with a note before and one after. True: there is nothing to do.
func (r *oneRepair) begin(ctx context.Context) (bool, error) {
	started, err := r.engineStartedAt(ctx)
	if err != nil {
		return false, err
	}
	r.kept = startedRepair{EngineStartedAt: started, Begun: time.Now().UTC()}
	if err := statefile.WriteJSON(r.path, r.kept); err != nil {
		return false, err
	}
	r.report(0.01, "Beginning to repair")
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	answers, err := r.management.Batch(within, []jolokia.Call{
		jolokia.Read(jvmRuntime, "StartTime"), jolokia.Exec(storageService, repairOperation, r.parameters.Keyspace, r.parameters.options()),
	})
	if err != nil {
		return false, err
	}
	var command int
	if err := answers[1].Into(&command); err != nil {
		return false, withCode("repair-failed", err)
	}
	if command == 0 {
		return true, nil
	}
	if err := answers[0].Into(&r.kept.EngineStartedAt); err != nil {
		return false, err
	}
	r.kept.Command = command
	return false, statefile.WriteJSON(r.path, r.kept)
}

// find looks among the engine's repairs for one that was asked for and whose number is not known.
func (r *oneRepair) find(ctx context.Context) error {
	started, err := r.engineStartedAt(ctx)
	if err != nil {
		return err
	}
	if started != r.kept.EngineStartedAt {
		return lost("The engine was started anew while it repaired")
	}
	conn, err := r.control.again(ctx)
	if err != nil {
		return err
	}
	rows, err := conn.Query(ctx, cql.One, "SELECT command_id, keyspace_name, options_column_families, options_ranges, options_subrange_repair, "+
		"options_hosts, options_pull_repair, type, state_init_timestamp FROM system_views.repairs")
	if err != nil {
		return err
	}
	others := r.begunRepairs(started)
	for _, row := range rows {
		command, _ := row["command_id"].(int32)
		initiated, _ := row["state_init_timestamp"].(time.Time)
		if _, taken := others[int(command)]; !taken && r.parameters.isOf(row) && !initiated.Before(r.kept.Begun.Truncate(time.Millisecond)) {
			r.log.Info("found the repair that was begun", "command", command)
			r.kept.Command = int(command)
			return statefile.WriteJSON(r.path, r.kept)
		}
	}
	if time.Since(r.kept.Begun) > unheard {
		// It never reached the engine.
		r.kept = startedRepair{}
	}
	return nil
}

// look tells whether the repair is over. A failure is an error.
func (r *oneRepair) look(ctx context.Context) (bool, error) {
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	answers, err := r.management.Batch(within, []jolokia.Call{
		jolokia.Read(jvmRuntime, "StartTime"), jolokia.Exec(storageService, repairedOperation, r.kept.Command),
	})
	if err != nil {
		return false, err
	}
	var started int64
	if err := answers[0].Into(&started); err != nil {
		return false, err
	}
	if started != r.kept.EngineStartedAt {
		return false, lost("The engine was started anew while it repaired")
	}
	var status []string
	if err := answers[1].Into(&status); err != nil {
		return false, err
	}
	if len(status) == 0 {
		return false, lost("The engine does not know the repair any more")
	}
	switch status[0] {
	case "COMPLETED":
		return true, nil
	case "FAILED":
		return false, r.failure(within, status[1:])
	}
	if time.Since(r.askedAt) >= askProgress {
		r.askedAt = time.Now()
		if conn, err := r.control.again(within); err == nil {
			if row, err := repairRow(within, conn, r.kept.Command); err == nil && row != nil {
				done, all := sessionsOf(within, conn, row)
				r.report(0.05+0.9*share(done, all), fmt.Sprintf("Repairing: %d of %d parts", done, all))
			}
		}
		return false, r.endWithoutTable(within)
	}
	return false, nil
}

// endWithoutTable gives a repair up that goes on long after one of its tables is gone. Error code: table-not-found.
func (r *oneRepair) endWithoutTable(ctx context.Context) error {
	err := r.tablesThere(ctx)
	switch {
	case err == nil || passes(err):
		r.tableGoneAt = time.Time{}
		return nil
	case r.tableGoneAt.IsZero():
		r.tableGoneAt = time.Now()
		return nil
	case time.Since(r.tableGoneAt) < endsWithoutTable:
		return nil
	}
	r.giveUp()
	return err
}

// failure is what the engine says of a repair that failed. A table that is being dropped fails repairs before it is gone everywhere.
func (r *oneRepair) failure(ctx context.Context, said []string) error {
	for range 3 {
		if err := r.tablesThere(ctx); err != nil && !passes(err) {
			return err
		}
		if pause(ctx, lookAtStreams) != nil {
			break
		}
	}
	if conn, err := r.control.again(ctx); err == nil {
		if row, err := repairRow(ctx, conn, r.kept.Command); err == nil && row.Text("failure_cause") != "" {
			cause, _, _ := strings.Cut(row.Text("failure_cause"), "\n")
			said = append(said, cause)
		}
	}
	reason := rangesForm.ReplaceAllString(strings.Join(slices.Compact(said), "; "), "of its ranges")
	return agent.Errorf("repair-failed", "%s", shortened(orElse(reason, "the engine gives no reason")))
}

// rangesForm is a list of ranges, which may be thousands, in what the engine says.
var rangesForm = regexp.MustCompile(`for range \[\(-?\d+,-?\d+\](, \(-?\d+,-?\d+\])*\]`)

// result is told of a repair that is over and did not fail.
func (r *oneRepair) result(ctx context.Context) agent.Repaired {
	told := agent.Repaired{
		Outcome: agent.RepairCompleted, Seconds: time.Since(r.kept.Begun).Seconds(), Command: r.kept.Command,
		EngineStartedAt: time.UnixMilli(r.kept.EngineStartedAt).UTC(),
	}
	if r.kept.Command == 0 {
		told.Outcome = agent.RepairNothingToDo
		return told
	}
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	conn, err := r.control.again(within)
	if err != nil {
		return told
	}
	streams, err := conn.Query(within, cql.One, "SELECT bytes_received, bytes_sent, files_received, files_sent, status_init_timestamp "+
		"FROM system_views.streaming WHERE operation = 'Repair' ALLOW FILTERING")
	if err != nil {
		r.log.Warn("the engine does not tell what a repair streamed", "error", err)
		return told
	}
	for _, stream := range streams {
		if at, _ := stream["status_init_timestamp"].(time.Time); at.Before(r.kept.Begun.Truncate(time.Millisecond)) {
			continue
		}
		for column, into := range map[string]*int64{
			"bytes_received": &told.BytesReceived, "bytes_sent": &told.BytesSent, "files_received": &told.FilesReceived, "files_sent": &told.FilesSent,
		} {
			count, _ := stream[column].(int64)
			*into += count
		}
	}
	return told
}

// giveUp ends the repair of a job that was deleted, if the engine then ends no other. It can only end all that it coordinates, and
// doing so it also fails those that it takes part in.
func (r *oneRepair) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	// The engine may have begun what it was asked for last.
	for r.kept.EngineStartedAt != 0 && r.kept.Command == 0 && r.find(ctx) == nil {
		_ = pause(ctx, lookAtRepairs)
	}
	if r.kept.EngineStartedAt == 0 {
		_ = os.Remove(r.path)
		return
	}
	alone, err := r.aloneRunning(ctx)
	if err == nil && alone {
		err = r.exec(ctx, nil, storageService, endRepairs)
	}
	if err == nil && alone {
		_ = os.Remove(r.path)
		return
	}
	r.log.Info("a repair goes on without its job", "command", r.kept.Command, "error", err)
	r.kept.Left = true
	if err := statefile.WriteJSON(r.path, r.kept); err != nil {
		r.log.Error("could not note that a repair goes on", "error", err)
	}
}

// aloneRunning tells whether this repair, and those that deleted jobs left, are all that the node takes part in.
func (r *oneRepair) aloneRunning(ctx context.Context) (bool, error) {
	started, err := r.engineStartedAt(ctx)
	if err != nil || started != r.kept.EngineStartedAt {
		return false, err
	}
	conn, err := r.control.again(ctx)
	if err != nil {
		return false, err
	}
	coordinated, partaken, err := runningRepairs(ctx, conn)
	if err != nil {
		return false, err
	}
	begun, own := r.begunRepairs(started), map[string]bool{}
	for _, row := range coordinated {
		command, _ := row["command_id"].(int32)
		if known, ours := begun[int(command)]; int(command) != r.kept.Command && !(ours && known.Left) {
			return false, nil
		}
		own[row.Text("id")] = true
	}
	return !slices.ContainsFunc(partaken, func(row cql.Row) bool { return !own[row.Text("id")] }), nil
}

// begunBy is a repair that this agent began, with its job's name.
type begunBy struct {
	startedRepair
	job string
}

// begunRepairs are those of an engine that jobs of this agent began, by command.
func (e *Engine) begunRepairs(started int64) map[int]begunBy {
	found := map[int]begunBy{}
	paths, _ := filepath.Glob(e.place.repair("*"))
	for _, path := range paths {
		var kept startedRepair
		if statefile.ReadJSON(path, &kept) != nil {
			continue
		}
		if kept.EngineStartedAt != started && kept.Left {
			_ = os.Remove(path)
			continue
		}
		if kept.EngineStartedAt == started && kept.Command != 0 {
			found[kept.Command] = begunBy{kept, strings.TrimSuffix(filepath.Base(path), ".json")}
		}
	}
	return found
}

// engineStartedAt is when the JVM started, in milliseconds since 1970, by its own clock.
func (e *Engine) engineStartedAt(ctx context.Context) (started int64, err error) {
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return started, e.management.Do(within, jolokia.Read(jvmRuntime, "StartTime"), &started)
}

// possible refuses what the engine would accept and then do otherwise: tables that do not exist, ranges of other nodes. Error codes:
// unknown-keyspace, table-not-found, not-a-replica.
func (r *oneRepair) possible(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := r.tablesThere(within); err != nil {
		return err
	}
	config, err := r.configured()
	if err != nil {
		return err
	}
	ranges, err := r.replicaRanges(within, r.parameters.Keyspace)
	if err != nil {
		return err
	}
	wanted := append([]string{config.Address}, r.parameters.Hosts...)
	if len(r.parameters.Hosts) > 0 && !slices.Contains(r.parameters.Hosts, config.Address) {
		return agent.Errorf("not-a-replica", "hosts does not name this node, %s.", config.Address)
	}
	for _, one := range r.parameters.Ranges {
		index := slices.IndexFunc(ranges, func(outer heldRange) bool { return one.Inside(outer.TokenRange) })
		if index < 0 {
			return agent.Errorf("not-a-replica", "(%s, %s] is in no single range of the ring.", one.Start, one.End)
		}
		for _, host := range wanted {
			if !slices.Contains(ranges[index].addresses, host) {
				return agent.Errorf("not-a-replica", "%s holds nothing of (%s, %s].", host, one.Start, one.End)
			}
		}
	}
	return nil
}

func (r *oneRepair) tablesThere(ctx context.Context) error {
	conn, err := r.control.again(ctx)
	if err != nil {
		return err
	}
	if _, err := cqlschema.ReadReplication(ctx, conn, r.parameters.Keyspace); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, statement := range []string{
		"SELECT table_name AS name FROM system_schema.tables WHERE keyspace_name = ?", "SELECT view_name AS name FROM system_schema.views WHERE keyspace_name = ?",
	} {
		rows, err := conn.Query(ctx, cql.One, statement, r.parameters.Keyspace)
		if err != nil {
			return err
		}
		for _, row := range rows {
			there[row.Text("name")] = true
		}
	}
	for _, table := range r.parameters.Tables {
		if !there[table] {
			return agent.Errorf("table-not-found", "There is no table %s in %s.", table, r.parameters.Keyspace)
		}
	}
	return nil
}
