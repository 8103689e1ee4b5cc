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
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/statefile"
)

const (
	flushOperation          = "forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)"
	compactOperation        = "forceKeyspaceCompaction(boolean,java.lang.String,[Ljava.lang.String;)"
	compactFilesOperation   = "forceUserDefinedCompaction"
	rewriteOperation        = "upgradeSSTables(java.lang.String,boolean,long,int,[Ljava.lang.String;)"
	refreshOperation        = "loadNewSSTables"
	stopCompactionOperation = "stopCompactionById"
)

// commandBeans are what commands may ask.
func commandBeans() []managed {
	return []managed{
		{Name: storageService, Operations: []string{flushOperation, compactOperation, rewriteOperation, refreshOperation}},
		{Name: compactionManager, Operations: []string{compactFilesOperation, stopCompactionOperation}},
	}
}

func (f folders) command(job string) string { return filepath.Join(f.root, "commands", job+".json") }

// begunCommand is noted before a command begins, so that a later agent of the same engine does not begin it anew.
type begunCommand struct {
	At     time.Time         `json:"at"`
	PID    int               `json:"pid"`
	Before agent.CommandDone `json:"before"`
}

var sstableName = regexp.MustCompile(`^[0-9a-z_]{1,64}$`)

func checkCommand(p agent.CommandParameters) error {
	refuse := func(format string, arguments ...any) error {
		return agent.Errorf("invalid-parameters", format, arguments...)
	}
	known := []agent.Command{agent.Flush, agent.Compact, agent.CleanUp, agent.Rewrite, agent.Refresh}
	const mostFiles = 100
	switch {
	case !slices.Contains(known, p.Command):
		return refuse("there is no command %q", p.Command)
	case !keyspaceForm.MatchString(p.Keyspace) || !keyspaceForm.MatchString(p.Table):
		return refuse("a command is about a keyspace and a table")
	case cqlschema.IsSystem(p.Keyspace):
		return refuse("%s is the engine's own", p.Keyspace)
	case len(p.SSTables) > 0 && p.Command != agent.Compact, len(p.SSTables) > mostFiles:
		return refuse("only compact takes sstables, at most %d", mostFiles)
	case slices.ContainsFunc(p.SSTables, func(name string) bool { return !sstableName.MatchString(name) }):
		return refuse("sstables are names as the answer about SSTables tells them")
	}
	return nil
}

// runCommand does it and waits for its end. Error codes: invalid-parameters, table-not-found, sstable-not-found, engine-not-running,
// management-unreachable, no-space, command-failed.
func (e *Engine) runCommand(ctx context.Context, p agent.CommandParameters, report agent.Report) (agent.CommandDone, error) {
	if err := checkCommand(p); err != nil {
		return agent.CommandDone{}, err
	}
	if err := e.running(); err != nil {
		return agent.CommandDone{}, err
	}
	if _, err := e.existingTables(ctx, []agent.TableName{{Keyspace: p.Keyspace, Table: p.Table}}); err != nil {
		return agent.CommandDone{}, err
	}
	note := e.place.command(agent.JobName(ctx))
	var begun begunCommand
	if statefile.ReadJSON(note, &begun) != nil || begun.PID != e.supervisor.Condition().Process.PID {
		bytes, sstables, err := e.liveFiles(ctx, p)
		if err != nil {
			return agent.CommandDone{}, err
		}
		if err := e.roomFor(p); err != nil {
			return agent.CommandDone{}, err
		}
		begun = begunCommand{At: time.Now().UTC(), PID: e.supervisor.Condition().Process.PID}
		begun.Before.BytesBefore, begun.Before.SSTablesBefore = bytes, sstables
		if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
			return agent.CommandDone{}, err
		}
		if err := statefile.WriteJSON(note, begun); err != nil {
			return agent.CommandDone{}, err
		}
	} else if done, err := e.attach(ctx, p, begun, report); err != nil || done {
		return e.commandEnded(ctx, p, begun, note, err)
	}
	return e.commandEnded(ctx, p, begun, note, e.carryOut(ctx, p, begun, report))
}

// attach waits for the end of what an earlier agent began, and tells whether it need not be begun anew.
func (e *Engine) attach(ctx context.Context, p agent.CommandParameters, begun begunCommand, report agent.Report) (bool, error) {
	// Between two tasks of one command there may be none for a moment.
	for quiet := 0; quiet < 3; quiet++ {
		if running := e.tasksOf(ctx, p); len(running) > 0 {
			tellTasks(p, running, report)
			quiet = 0
		}
		if err := pause(ctx, lookAtStreams); err != nil {
			return false, err
		}
	}
	if p.Command != agent.Compact {
		// These do little where all is done.
		return false, nil
	}
	compacted := false
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, columnfamily_name, compacted_at FROM system.compaction_history")
		for _, row := range rows {
			at, _ := row["compacted_at"].(time.Time)
			compacted = compacted || row.Text("keyspace_name") == p.Keyspace && row.Text("columnfamily_name") == p.Table && at.After(begun.At)
		}
		return err
	})
	return compacted, err
}

func (e *Engine) carryOut(ctx context.Context, p agent.CommandParameters, begun begunCommand, report agent.Report) error {
	call, err := e.commandCall(p, begun)
	if err != nil {
		return err
	}
	var status *int
	tables := p.Keyspace + "." + p.Table
	report(0, fmt.Sprintf("%s of %s", commandWords[p.Command], tables))
	err = e.during(ctx, call, &status, func(ctx context.Context) { tellTasks(p, e.tasksOf(ctx, p), report) })
	if err == nil && status != nil && *status != 0 {
		return agent.Errorf("command-failed", "The engine could not do it for all of %s (status %d); its log says why.", tables, *status)
	}
	if err == nil && len(p.SSTables) > 0 {
		return e.compacted(ctx, p)
	}
	return withCode("command-failed", err)
}

// filesRemoved is how long an engine may take to remove the files it has compacted; it does so when nobody reads them.
const filesRemoved = 30 * time.Second

// compacted waits until the named files are gone. Error code: command-failed.
func (e *Engine) compacted(ctx context.Context, p agent.CommandParameters) error {
	for until := time.Now().Add(filesRemoved); ; {
		left, _ := e.namedFiles(p)
		// One file alone may have been compacted into itself.
		if len(left) <= 1 {
			return nil
		}
		if time.Now().After(until) {
			return agent.Errorf("command-failed", "The engine left %d of the %d files as they were; its log says why.", len(left), len(p.SSTables))
		}
		if err := pause(ctx, lookAtStreams); err != nil {
			return err
		}
	}
}

var commandWords = map[agent.Command]string{
	agent.Flush: "Flush", agent.Compact: "Compaction", agent.CleanUp: "Clean-up", agent.Rewrite: "Rewriting the SSTables", agent.Refresh: "Taking new files",
}

func (e *Engine) commandCall(p agent.CommandParameters, begun begunCommand) (jolokia.Call, error) {
	tables := []string{p.Table}
	switch p.Command {
	case agent.Flush:
		return jolokia.Exec(storageService, flushOperation, p.Keyspace, tables), nil
	case agent.CleanUp:
		return jolokia.Exec(storageService, cleanupOperation, rewriteJobs, p.Keyspace, tables), nil
	case agent.Rewrite:
		// Those that were made since it began are new already.
		return jolokia.Exec(storageService, rewriteOperation, p.Keyspace, false, begun.At.UnixMilli(), rewriteJobs, tables), nil
	case agent.Refresh:
		return jolokia.Exec(storageService, refreshOperation, p.Keyspace, p.Table), nil
	}
	if len(p.SSTables) == 0 {
		return jolokia.Exec(storageService, compactOperation, false, p.Keyspace, tables), nil
	}
	files, err := e.namedFiles(p)
	if err != nil {
		return jolokia.Call{}, err
	}
	return jolokia.Exec(compactionManager, compactFilesOperation, strings.Join(files, ",")), nil
}

// commandEnded stops what goes on when the job was deleted, and tells what became of the table's files.
func (e *Engine) commandEnded(ctx context.Context, p agent.CommandParameters, begun begunCommand, note string, err error) (agent.CommandDone, error) {
	if agent.JobDeleted(ctx) {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		e.stopTasks(within, p)
	}
	// What was begun and whose end was not heard of is attached to when it is tried again.
	var coded *agent.Error
	if err == nil || errors.As(err, &coded) || agent.JobDeleted(ctx) {
		if removed := os.Remove(note); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			e.log.Warn("the note of a command stays", "path", note, "error", removed)
		}
	}
	if err != nil {
		return agent.CommandDone{}, err
	}
	done := begun.Before
	done.Seconds = time.Since(begun.At).Seconds()
	done.BytesAfter, done.SSTablesAfter, err = e.liveFiles(ctx, p)
	return done, err
}

// tableTask is a compaction, or what the engine counts as one.
type tableTask struct {
	compaction
	ID       string `json:"compactionId"`
	Keyspace string `json:"keyspace"`
	Table    string `json:"columnfamily"`
}

// commandTasks are the engine's names for what a command has it do.
var commandTasks = map[agent.Command][]string{
	agent.Compact: {"Compaction", "Major compaction"}, agent.CleanUp: {"Cleanup"}, agent.Rewrite: {"Upgrade sstables"},
}

func (e *Engine) tasksOf(ctx context.Context, p agent.CommandParameters) []tableTask {
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var running []tableTask
	if e.management.Do(within, jolokia.Read(compactionManager, "Compactions"), &running) != nil {
		return nil
	}
	return slices.DeleteFunc(running, func(one tableTask) bool {
		return one.Keyspace != p.Keyspace || one.Table != p.Table || !slices.Contains(commandTasks[p.Command], one.Task)
	})
}

func tellTasks(p agent.CommandParameters, running []tableTask, report agent.Report) {
	var completed, total int64
	for _, one := range running {
		completed, total = completed+one.Completed, total+one.Total
	}
	if total > 0 {
		report(float64(completed)/float64(total), fmt.Sprintf("%s of %s.%s, %s of %s", commandWords[p.Command], p.Keyspace, p.Table, inMiB(completed), inMiB(total)))
	}
}

// stopTasks ends what a command has begun; the engine drops what it had half written.
func (e *Engine) stopTasks(ctx context.Context, p agent.CommandParameters) {
	for quiet := 0; quiet < 2 && ctx.Err() == nil; quiet++ {
		for _, one := range e.tasksOf(ctx, p) {
			quiet = 0
			if err := e.exec(ctx, nil, compactionManager, stopCompactionOperation, one.ID); err != nil {
				e.log.Warn("a compaction goes on", "id", one.ID, "error", err)
			}
		}
		_ = pause(ctx, lookAtStreams)
	}
}

// liveFiles are bytes and number of the table's SSTables.
func (e *Engine) liveFiles(ctx context.Context, p agent.CommandParameters) (bytes int64, sstables int, err error) {
	of := []string{"keyspace=" + p.Keyspace, "scope=" + p.Table}
	answers, err := e.management.Batch(ctx, []jolokia.Call{
		jolokia.Read(metric("Table", "LiveDiskSpaceUsed", of...), "Count"), jolokia.Read(metric("Table", "LiveSSTableCount", of...), "Value"),
	})
	if err != nil {
		return 0, 0, err
	}
	return bytes, sstables, errors.Join(answers[0].Into(&bytes), answers[1].Into(&sstables))
}

// dataFiles are the SSTables in the table's folder, each with the bytes of all its components.
func (e *Engine) dataFiles(p agent.CommandParameters) (map[string]int64, error) {
	folders, err := filepath.Glob(filepath.Join(e.place.data(), p.Keyspace, p.Table+"-*"))
	if err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for _, folder := range folders {
		if name, _, is := backup.TableOf(filepath.Base(folder)); !is || name != p.Table {
			continue
		}
		paths, err := filepath.Glob(filepath.Join(folder, "*-Data.db"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			components, err := filepath.Glob(strings.TrimSuffix(path, "Data.db") + "*")
			if err != nil {
				return nil, err
			}
			for _, component := range components {
				// One may be compacted away meanwhile.
				if info, err := os.Stat(component); err == nil {
					found[path] += info.Size()
				}
			}
		}
	}
	return found, nil
}

// namedFiles are the paths of the SSTables that are named. Error code: sstable-not-found.
func (e *Engine) namedFiles(p agent.CommandParameters) ([]string, error) {
	files, err := e.dataFiles(p)
	if err != nil {
		return nil, err
	}
	var paths []string
	missing := ""
	for _, name := range p.SSTables {
		before := len(paths)
		for path := range files {
			if parts := strings.Split(filepath.Base(path), "-"); len(parts) == 4 && parts[1] == name {
				paths = append(paths, path)
			}
		}
		if len(paths) == before {
			missing = name
		}
	}
	if missing != "" {
		return paths, agent.Errorf("sstable-not-found", "%s.%s has no SSTable %s here; it may have been compacted. Ask for its SSTables again.", p.Keyspace, p.Table, missing)
	}
	return paths, nil
}

// keptFree is the share of the disk that a command leaves free.
const keptFree = 0.05

// roomFor refuses what might fill the disk: old files go when all new ones are written. Error codes: no-space, sstable-not-found.
func (e *Engine) roomFor(p agent.CommandParameters) error {
	files, err := e.dataFiles(p)
	if err != nil {
		return err
	}
	if len(p.SSTables) > 0 {
		named, err := e.namedFiles(p)
		if err != nil {
			return err
		}
		for path := range files {
			if !slices.Contains(named, path) {
				delete(files, path)
			}
		}
	}
	disk := e.Machine(context.Background()).Disk
	if disk == nil {
		return errors.New("the disk does not tell how much is free")
	}
	return checkRoom(p, files, disk)
}

func checkRoom(p agent.CommandParameters, files map[string]int64, disk *agent.DiskStatus) error {
	var sizes []int64
	for _, bytes := range files {
		sizes = append(sizes, bytes)
	}
	slices.SortFunc(sizes, func(a, b int64) int { return int(min(1, max(-1, b-a))) })
	var needed int64
	for index, bytes := range sizes {
		if p.Command == agent.Compact || (p.Command == agent.CleanUp || p.Command == agent.Rewrite) && index < rewriteJobs {
			needed += bytes
		}
	}
	kept := int64(keptFree * float64(disk.TotalBytes))
	if needed > 0 && disk.FreeBytes-needed < kept {
		return agent.Errorf("no-space", "%s of %s.%s may need %s beside what is there; %s are free, of which %s are to stay free. Make room or add nodes first.",
			commandWords[p.Command], p.Keyspace, p.Table, inMiB(needed), inMiB(disk.FreeBytes), inMiB(kept))
	}
	return nil
}
