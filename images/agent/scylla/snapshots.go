package scylla

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/statefile"
)

func (f folders) backups() string { return filepath.Join(f.root, "backups") }

func (f folders) snapshotFolders(tag string) ([]backup.TableFolder, error) {
	return backup.SnapshotFolders(f.data(), tag)
}

// Bundles implements httpapi.Snapshots.
func (e *Engine) Bundles(tag, after string, limit int) (agent.BundlePage, error) {
	return e.backups.Bundles(tag, after, limit)
}

// changeLog ends the name of the table that holds another's change data capture. Its rows belong to streams of one ring, so they
// are not kept; it is made anew with its table.
const changeLog = "_scylla_cdc_log"

// kept tells whether a table is one that backups hold: not a log of changes, and not what the engine notes of lightweight transactions.
func kept(table string) bool {
	return !strings.HasSuffix(table, changeLog) && !strings.Contains(table, "$")
}

// keptSnapshot is what must be known of a snapshot after the agent has ended: the engine itself keeps snapshots for ever.
type keptSnapshot struct {
	Taken agent.SnapshotTaken `json:"taken"`
	Until time.Time           `json:"until"`
	// Whole: all of its tables are in it.
	Whole bool `json:"whole"`
}

func (e *Engine) snapshotPath(tag string) string {
	return filepath.Join(e.place.backups(), "taken-"+tag+".json")
}

// snapshotParameters are those of the job snapshot.
type snapshotParameters struct{ agent.SnapshotParameters }

func (p snapshotParameters) check() error {
	const shortest = 60
	if p.TTLSeconds < shortest {
		return agent.Errorf("invalid-parameters", "ttl_seconds must be at least %d", shortest)
	}
	for _, one := range p.Tables {
		if !cqlschema.IsName(one.Keyspace) || one.Table != "" && !cqlschema.IsName(one.Table) {
			return agent.Errorf("invalid-parameters", "tables are names of a keyspace and of a table, or of a keyspace alone")
		}
	}
	return backup.CheckName("tag", p.Tag)
}

// tablesAtOnce bounds the length of a call's address.
const tablesAtOnce = 20

// snapshot makes the engine flush and link the files of tables. Views it makes anew from their tables. One that an earlier agent did
// not see to its end is taken anew. Error codes, besides those of asControl: table-not-found, snapshot-failed.
func (e *Engine) snapshot(ctx context.Context, p snapshotParameters, report agent.Report) (agent.SnapshotTaken, error) {
	var noted keptSnapshot
	folders, err := e.place.snapshotFolders(p.Tag)
	if err != nil {
		return agent.SnapshotTaken{}, err
	}
	if statefile.ReadJSON(e.snapshotPath(p.Tag), &noted) == nil && noted.Whole && len(folders) > 0 {
		return noted.Taken, nil
	}
	var tables []agent.TableName
	if err := e.asControl(ctx, func(ctx context.Context, conn session) (err error) {
		tables, err = existingTables(ctx, conn, p.Tables)
		return err
	}); err != nil {
		return agent.SnapshotTaken{}, err
	}
	if err := e.clear(ctx, p.Tag); err != nil {
		return agent.SnapshotTaken{}, err
	}
	now := time.Now().UTC()
	noted = keptSnapshot{Taken: agent.SnapshotTaken{TakenAt: now, Tables: len(tables)}, Until: now.Add(time.Duration(p.TTLSeconds) * time.Second)}
	if err := statefile.WriteJSON(e.snapshotPath(p.Tag), noted); err != nil {
		return agent.SnapshotTaken{}, err
	}
	byKeyspace, done := map[string][]string{}, 0
	var keyspaces []string
	for _, one := range tables {
		if byKeyspace[one.Keyspace] == nil {
			keyspaces = append(keyspaces, one.Keyspace)
		}
		byKeyspace[one.Keyspace] = append(byKeyspace[one.Keyspace], one.Table)
	}
	for _, keyspace := range keyspaces {
		for some := range slices.Chunk(byKeyspace[keyspace], tablesAtOnce) {
			report(0.05+0.9*float64(done)/float64(len(tables)+1), "Flushing and linking the files of "+keyspace)
			if err := withCode("snapshot-failed", e.api.TakeSnapshot(ctx, p.Tag, keyspace, strings.Join(some, ","))); err != nil {
				return agent.SnapshotTaken{}, err
			}
			done += len(some)
		}
	}
	if folders, err = e.place.snapshotFolders(p.Tag); err != nil {
		return agent.SnapshotTaken{}, err
	}
	if noted.Taken.Files, noted.Taken.Bytes, err = backup.SizeOf(folders); err != nil {
		return agent.SnapshotTaken{}, err
	}
	noted.Whole = true
	return noted.Taken, statefile.WriteJSON(e.snapshotPath(p.Tag), noted)
}

// existingTables are those asked for that there are, of none: all but the engine's own, in order. Error code: table-not-found.
func existingTables(ctx context.Context, conn session, asked []agent.TableName) ([]agent.TableName, error) {
	rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, table_name FROM system_schema.tables")
	if err != nil {
		return nil, err
	}
	var found []agent.TableName
	met := make([]bool, len(asked))
	for _, row := range rows {
		one := agent.TableName{Keyspace: row.Text("keyspace_name"), Table: row.Text("table_name")}
		if !kept(one.Table) {
			continue
		}
		wanted := len(asked) == 0 && !cqlschema.IsSystem(one.Keyspace)
		for index, name := range asked {
			if name.Keyspace == one.Keyspace && (name.Table == "" || name.Table == one.Table) {
				wanted, met[index] = true, true
			}
		}
		if wanted {
			found = append(found, one)
		}
	}
	if missing := slices.Index(met, false); missing >= 0 {
		return nil, agent.Errorf("table-not-found", "There is no table %s in %s that a backup could hold.", asked[missing].Table, asked[missing].Keyspace)
	}
	slices.SortFunc(found, func(a, b agent.TableName) int { return strings.Compare(a.Keyspace+"."+a.Table, b.Keyspace+"."+b.Table) })
	return found, nil
}

// clear removes a snapshot; one that is not there is no failure. Without a tag the engine would remove all there are.
func (e *Engine) clear(ctx context.Context, tag string) error {
	folders, err := e.place.snapshotFolders(tag)
	if err != nil {
		return err
	}
	var keyspaces []string
	for _, folder := range folders {
		keyspaces = append(keyspaces, folder.Keyspace)
	}
	slices.Sort(keyspaces)
	for _, keyspace := range slices.Compact(keyspaces) {
		if err := withCode("snapshot-failed", e.api.DeleteSnapshot(ctx, tag, keyspace)); err != nil {
			return err
		}
	}
	return nil
}

// forget removes a snapshot, and what was noted about it.
func (e *Engine) forget(ctx context.Context, tag string) error {
	if err := e.clear(ctx, tag); err != nil {
		return err
	}
	if err := os.Remove(e.snapshotPath(tag)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return e.backups.Forget(tag)
}

// clearSnapshot removes a snapshot. Error codes: invalid-parameters, engine-not-running, snapshot-failed.
func (e *Engine) clearSnapshot(ctx context.Context, p agent.ClearSnapshotParameters, _ agent.Report) (Nothing, error) {
	if err := e.isRunning(); err != nil {
		return Nothing{}, err
	}
	return Nothing{}, e.untilAnswered(ctx, func() error { return e.forget(ctx, p.Tag) })
}

// endSnapshots removes those whose time is over: somebody may have forgotten them.
func (e *Engine) endSnapshots(ctx context.Context) {
	paths, _ := filepath.Glob(e.snapshotPath("*"))
	for _, path := range paths {
		var noted keptSnapshot
		if err := statefile.ReadJSON(path, &noted); err != nil || time.Now().Before(noted.Until) {
			continue
		}
		tag := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "taken-"), ".json")
		if err := e.forget(ctx, tag); err != nil {
			e.log.Info("a snapshot whose time is over stays", "tag", tag, "why", err)
		}
	}
}

// lookAtWhatEndsEvery is how often snapshots and holds are looked at whose time may be over.
const lookAtWhatEndsEvery = 15 * time.Second

// endWhatIsOver runs beside the engine until ctx ends.
func (e *Engine) endWhatIsOver(ctx context.Context) {
	for pause(ctx, lookAtWhatEndsEvery) == nil {
		if e.supervisor.Condition().Alive {
			within, cancel := context.WithTimeout(ctx, time.Minute)
			e.endSnapshots(within)
			e.endHolds(within)
			cancel()
		}
	}
}
