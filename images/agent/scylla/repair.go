package scylla

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/process"
	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/statefile"
)

// The engine's modules that have tasks of repairs: of keyspaces spread by tokens, and of tablets.
const (
	tokenRepairs  = "repair"
	tabletRepairs = "tablets"
)

// lookAtRepairs is how often the engine is asked whether a repair is over.
const lookAtRepairs = 500 * time.Millisecond

// startedRepair is what must survive the agent while the engine repairs.
type startedRepair struct {
	// Process is the engine's: numbers of another process are of other repairs.
	Process process.ID `json:"process"`
	Begun   time.Time  `json:"begun"`
	// Before are tasks that ran already, so that the one that was begun is known among them.
	Before []string `json:"before"`
	// Number is that of a repair by tokens, Task the id of one of tablets; nothing until the engine has answered.
	Number int64  `json:"number"`
	Task   string `json:"task"`
	// Left: the job was deleted, and the engine could not be made to end this repair alone.
	Left bool `json:"left,omitempty"`
}

func (r startedRepair) known() bool { return r.Number != 0 || r.Task != "" }

func (e *Engine) repairPath(job string) string {
	return filepath.Join(e.place.root, "repairs", job+".json")
}

// repairParameters are those of the job repair.
type repairParameters struct{ agent.RepairParameters }

func (p repairParameters) check() error { return p.Check() }

// repair runs one repair to its end. Error codes: repair-failed, repair-lost, repair-not-possible, unknown-keyspace, table-not-found,
// not-a-replica.
func (e *Engine) repair(ctx context.Context, parameters repairParameters, report agent.Report) (agent.Repaired, error) {
	path := e.repairPath(agent.JobName(ctx))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return agent.Repaired{}, err
	}
	one := &oneRepair{Engine: e, parameters: parameters, path: path, report: report}
	if err := statefile.ReadJSON(path, &one.kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return agent.Repaired{}, err
	}
	if one.kept.Left {
		one.kept = startedRepair{}
	}
	result, err := one.run(ctx)
	switch {
	case ctx.Err() == nil:
		_ = os.Remove(path)
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
	// tablets: the keyspace's tables are cut into them.
	tablets bool
}

func lost(what string) error {
	return agent.Errorf("repair-lost", "%s: what became of it is not known. Repair the same again.", what)
}

func (r *oneRepair) run(ctx context.Context) (agent.Repaired, error) {
	if err := r.untilAnswered(ctx, func() error { return r.possible(ctx) }); err != nil {
		return agent.Repaired{}, err
	}
	for ; ; _ = pause(ctx, lookAtRepairs) {
		if ctx.Err() != nil {
			return agent.Repaired{}, ctx.Err()
		}
		if err := r.isRunning(); err != nil {
			if !r.kept.Begun.IsZero() && !r.tablets {
				return agent.Repaired{}, lost("The engine was stopped while it repaired")
			}
			return agent.Repaired{}, err
		}
		ended, err := r.step(ctx)
		var coded *agent.Error
		switch {
		case err == nil && ended:
			return r.result(), nil
		case err == nil:
		case errors.As(err, &coded):
			return agent.Repaired{}, err
		case scyllaapi.Refusal(err) != nil:
			return agent.Repaired{}, withCode("repair-failed", err)
		default:
			r.report(0, "Waiting for the engine to answer")
		}
	}
}

// possible refuses what the engine cannot do, and learns how the keyspace is spread.
func (r *oneRepair) possible(ctx context.Context) error {
	keyspaces, err := r.api.Keyspaces(ctx, scyllaapi.Everyhow)
	if err != nil {
		return err
	}
	if !slices.Contains(keyspaces, r.parameters.Keyspace) {
		return agent.Errorf("unknown-keyspace", "There is no keyspace %s that other nodes hold too.", r.parameters.Keyspace)
	}
	byTablets, err := r.api.Keyspaces(ctx, scyllaapi.ByTablets)
	if err != nil {
		return err
	}
	r.tablets = slices.Contains(byTablets, r.parameters.Keyspace)
	tables, err := r.api.Tables(ctx)
	if err != nil {
		return err
	}
	for _, table := range r.parameters.Tables {
		if !slices.Contains(tables, scyllaapi.Table{Keyspace: r.parameters.Keyspace, Name: table}) {
			return agent.Errorf("table-not-found", "There is no table %s in %s.", table, r.parameters.Keyspace)
		}
	}
	switch {
	case r.parameters.Mode == agent.RepairPull:
		return agent.Errorf("repair-not-possible", "ScyllaDB has no repair that sends to one side only.")
	case r.tablets && len(r.parameters.Tables) != 1:
		return agent.Errorf("repair-not-possible", "The tables of %s are cut into tablets: one table at a time.", r.parameters.Keyspace)
	case !r.tablets && r.parameters.Mode == agent.RepairIncremental:
		return agent.Errorf("repair-not-possible", "ScyllaDB repairs incrementally only tables that are cut into tablets.")
	case r.tablets:
		return nil
	}
	return r.replicasOf(ctx)
}

// replicasOf checks that this node and all hosts hold the ranges. Error code: not-a-replica.
func (r *oneRepair) replicasOf(ctx context.Context) error {
	config, err := r.configured()
	if err != nil {
		return err
	}
	if len(r.parameters.Hosts) > 0 && !slices.Contains(r.parameters.Hosts, config.Address) {
		return agent.Errorf("not-a-replica", "hosts does not name this node, %s.", config.Address)
	}
	ranges, err := r.ranges(ctx, r.parameters.Keyspace, "")
	if err != nil {
		return err
	}
	for _, one := range r.parameters.Ranges {
		index := slices.IndexFunc(ranges, func(outer heldRange) bool { return one.Inside(outer.TokenRange) })
		if index < 0 {
			return agent.Errorf("not-a-replica", "(%s, %s] is in no single range of the ring.", one.Start, one.End)
		}
		for _, host := range append([]string{config.Address}, r.parameters.Hosts...) {
			if !slices.Contains(ranges[index].addresses, host) {
				return agent.Errorf("not-a-replica", "%s holds nothing of (%s, %s].", host, one.Start, one.End)
			}
		}
	}
	return nil
}

func (r *oneRepair) step(ctx context.Context) (ended bool, err error) {
	if !r.kept.Begun.IsZero() && !r.tablets && r.kept.Process != r.supervisor.Condition().Process {
		return false, lost("The engine was started anew while it repaired")
	}
	switch {
	case r.kept.Begun.IsZero():
		return false, r.begin(ctx)
	case !r.kept.known():
		return false, r.find(ctx)
	case r.tablets:
		return r.lookAtTask(ctx)
	}
	status, err := r.api.RepairStatus(ctx, r.parameters.Keyspace, r.kept.Number)
	switch {
	case scyllaapi.Refusal(err) != nil:
		return false, lost("The engine does not know the repair any more")
	case err != nil:
		return false, err
	case status == "FAILED":
		return false, agent.Errorf("repair-failed", "The engine says that it failed; its log says why.")
	}
	return status == "SUCCESSFUL", nil
}

func (r *oneRepair) lookAtTask(ctx context.Context) (ended bool, err error) {
	status, err := r.api.TaskStatus(ctx, r.kept.Task)
	switch {
	case scyllaapi.Refusal(err) != nil:
		return false, lost("The engine does not know the repair any more")
	case err != nil:
		return false, err
	case status.State == "failed":
		return false, agent.Errorf("repair-failed", "%s", shortened(status.Error))
	case status.Total > 0:
		r.report(0.05+0.9*min(1, status.Completed/status.Total), "Repairing")
	}
	return status.State == "done", nil
}

// begin asks the engine, with a note before and one after.
func (r *oneRepair) begin(ctx context.Context) error {
	module := tokenRepairs
	if r.tablets {
		module = tabletRepairs
	}
	tasks, err := r.api.Tasks(ctx, module)
	if err != nil {
		return err
	}
	before := []string{}
	for _, task := range tasks {
		before = append(before, task.ID)
	}
	r.kept = startedRepair{Process: r.supervisor.Condition().Process, Begun: time.Now().UTC(), Before: before}
	if err := statefile.WriteJSON(r.path, r.kept); err != nil {
		return err
	}
	r.report(0.01, "Beginning to repair")
	if r.tablets {
		hosts, err := r.hostIDs(ctx)
		if err != nil {
			return err
		}
		tokens, err := r.tabletTokens(ctx)
		if err != nil {
			return err
		}
		mode := map[agent.RepairMode]string{agent.RepairFull: "full", agent.RepairIncremental: "incremental"}[r.parameters.Mode]
		r.kept.Task, err = r.api.StartTabletRepair(ctx, scyllaapi.TabletRepair{
			Keyspace: r.parameters.Keyspace, Table: r.parameters.Tables[0], Tokens: tokens, Hosts: strings.Join(hosts, ","), Mode: mode,
		})
		if err != nil {
			return err
		}
		return statefile.WriteJSON(r.path, r.kept)
	}
	ranges := make([]string, len(r.parameters.Ranges))
	for index, one := range r.parameters.Ranges {
		ranges[index] = one.Start + ":" + one.End
	}
	r.kept.Number, err = r.api.StartRepair(ctx, scyllaapi.Repair{
		Keyspace: r.parameters.Keyspace, Table: strings.Join(r.parameters.Tables, ","), Ranges: strings.Join(ranges, ","),
		Hosts: strings.Join(r.parameters.Hosts, ","), Parallelism: max(1, r.parameters.JobThreads),
	})
	if err != nil {
		return err
	}
	return statefile.WriteJSON(r.path, r.kept)
}

// tabletTokens are a token of each tablet that holds something of the ranges: tablets may have been cut or joined since somebody
// asked for their ranges, and are repaired as a whole.
func (r *oneRepair) tabletTokens(ctx context.Context) (string, error) {
	if len(r.parameters.Ranges) == 0 {
		return "all", nil
	}
	tablets, err := r.ranges(ctx, r.parameters.Keyspace, r.parameters.Tables[0])
	if err != nil {
		return "", err
	}
	var tokens []string
	for _, tablet := range tablets {
		if slices.ContainsFunc(r.parameters.Ranges, tablet.TokenRange.Meets) {
			tokens = append(tokens, tablet.End)
		}
	}
	return strings.Join(tokens, ","), nil
}

// hostIDs are those of the hosts that take part, none for all.
func (r *oneRepair) hostIDs(ctx context.Context) ([]string, error) {
	if len(r.parameters.Hosts) == 0 {
		return nil, nil
	}
	known, err := r.api.HostIDs(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, host := range r.parameters.Hosts {
		if known[host] == "" {
			return nil, agent.Errorf("not-a-replica", "%s is no node of this ring.", host)
		}
		ids = append(ids, known[host])
	}
	return ids, nil
}

// find looks for a repair that was asked for and whose answer was lost: a task of its keyspace that there was not before. One that
// is over by now is not found, and done again; so is one of some of a table's tablets, since its task does not tell of which.
func (r *oneRepair) find(ctx context.Context) error {
	tasks, err := r.repairTasks(ctx)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if task.Keyspace != r.parameters.Keyspace || slices.Contains(r.kept.Before, task.ID) || task.tablets != r.tablets {
			continue
		}
		if task.tablets && task.Table == r.parameters.Tables[0] && len(r.parameters.Ranges) == 0 {
			r.kept.Task = task.ID
			return statefile.WriteJSON(r.path, r.kept)
		}
		if !task.tablets && task.Number > 0 {
			r.kept.Number = task.Number
			return statefile.WriteJSON(r.path, r.kept)
		}
	}
	if time.Since(r.kept.Begun) > unheard {
		r.kept = startedRepair{}
	}
	return nil
}

// unheard is how long after a call to the engine, whose answer was lost, its repair may still show up.
const unheard = 3 * time.Second

func (r *oneRepair) result() agent.Repaired {
	told := agent.Repaired{Outcome: agent.RepairCompleted, Seconds: time.Since(r.kept.Begun).Seconds(), Command: int(r.kept.Number)}
	told.EngineStartedAt, _ = process.StartedAt(r.supervisor.Condition().Process)
	return told
}

// giveUp ends the repair of a job that was deleted. Of those by tokens the engine can only end all that it coordinates.
func (r *oneRepair) giveUp() {
	if r.kept.Begun.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	err := errors.New("it is not known which one it is")
	switch {
	case r.kept.Task != "":
		err = r.api.AbortTask(ctx, r.kept.Task)
	case r.kept.Number != 0:
		var numbers []int64
		if numbers, err = r.api.ActiveRepairs(ctx); err == nil {
			others := slices.DeleteFunc(numbers, func(number int64) bool { return number == r.kept.Number || r.left(number) })
			if err = fmt.Errorf("%d others run", len(others)); len(others) == 0 {
				err = r.api.EndRepairs(ctx)
			}
		}
	}
	if err == nil {
		_ = os.Remove(r.path)
		return
	}
	r.log.Info("a repair goes on without its job", "number", r.kept.Number, "task", r.kept.Task, "why", err)
	r.kept.Left = true
	if err := statefile.WriteJSON(r.path, r.kept); err != nil {
		r.log.Error("could not note that a repair goes on", "error", err)
	}
}

// left tells whether a deleted job has left the repair of that number.
func (r *oneRepair) left(number int64) bool {
	for _, begun := range r.begunRepairs() {
		if begun.Left && begun.Number == number {
			return true
		}
	}
	return false
}

// begunRepairs are those that jobs of this agent began, by the jobs' names.
func (e *Engine) begunRepairs() map[string]startedRepair {
	found, running := map[string]startedRepair{}, e.supervisor.Condition().Process
	paths, _ := filepath.Glob(e.repairPath("*"))
	for _, path := range paths {
		var kept startedRepair
		if statefile.ReadJSON(path, &kept) != nil {
			continue
		}
		if kept.Left && kept.Process != running {
			_ = os.Remove(path)
			continue
		}
		if kept.Process == running || kept.Task != "" {
			found[strings.TrimSuffix(filepath.Base(path), ".json")] = kept
		}
	}
	return found
}

// repairTask is one of the engine's tasks that repairs, and runs.
type repairTask struct {
	scyllaapi.Task
	tablets bool
}

func (e *Engine) repairTasks(ctx context.Context) ([]repairTask, error) {
	var found []repairTask
	for _, module := range []string{tokenRepairs, tabletRepairs} {
		tasks, err := e.api.Tasks(ctx, module)
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			runs := task.State == "created" || task.State == "running"
			if runs && (module == tokenRepairs || strings.Contains(task.Type, "repair")) {
				found = append(found, repairTask{Task: task, tablets: module == tabletRepairs})
			}
		}
	}
	return found, nil
}
