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
	"ringmaster/agent/backup"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/statefile"
)

// The beans of tables, and of views, that are asked to take files.
const tableBeans = "org.apache.cassandra.db:type=Tables,*"

func tableBean(keyspace, table string) string {
	return fmt.Sprintf("org.apache.cassandra.db:type=Tables,keyspace=%s,table=%s", keyspace, table)
}

const (
	snapshotOperation      = "takeSnapshot(java.lang.String,java.util.Map,[Ljava.lang.String;)"
	clearSnapshotOperation = "clearSnapshot(java.lang.String,[Ljava.lang.String;)"
	importOperation        = "importNewSSTables(java.util.Set,boolean,boolean,boolean,boolean,boolean,boolean)"
)

// snapshotBeans are what may be asked about snapshots and files.
func snapshotBeans() []managed {
	return []managed{
		{Name: storageService, Operations: []string{snapshotOperation, clearSnapshotOperation}},
		{Name: tableBeans, Operations: []string{importOperation}},
	}
}

func (f folders) backups() string  { return filepath.Join(f.root, "backups") }
func (f folders) restores() string { return filepath.Join(f.root, "restores") }

// snapshotFolders lists the folders of a snapshot; none when there is none.
func (f folders) snapshotFolders(tag string) ([]backup.TableFolder, error) {
	return backup.SnapshotFolders(f.data(), tag)
}

func checkSnapshot(parameters agent.SnapshotParameters) error {
	const shortest = 60
	if parameters.TTLSeconds < shortest {
		return agent.Errorf("invalid-parameters", "ttl_seconds must be at least %d", shortest)
	}
	if err := checkTables(parameters.Tables); err != nil {
		return err
	}
	return backup.CheckName("tag", parameters.Tag)
}

func checkTables(tables []agent.TableName) error {
	for _, one := range tables {
		if !keyspaceForm.MatchString(one.Keyspace) || (one.Table != "" && !keyspaceForm.MatchString(one.Table)) {
			return agent.Errorf("invalid-parameters", "tables are names of a keyspace and of a table, or of a keyspace alone")
		}
	}
	return nil
}

// snapshot makes the engine flush and link the files of tables and views. A snapshot that an earlier agent did not see to its end is
// taken anew. Error codes, besides those of access: invalid-parameters, table-not-found, snapshot-failed.
func (e *Engine) snapshot(ctx context.Context, parameters agent.SnapshotParameters, report agent.Report) (agent.SnapshotTaken, error) {
	if err := checkSnapshot(parameters); err != nil {
		return agent.SnapshotTaken{}, err
	}
	var taken agent.SnapshotTaken
	note := filepath.Join(e.place.backups(), "taken-"+parameters.Tag+".json")
	folders, err := e.place.snapshotFolders(parameters.Tag)
	if err != nil {
		return agent.SnapshotTaken{}, err
	}
	if len(folders) > 0 && statefile.ReadJSON(note, &taken) == nil {
		return taken, nil
	}
	names, err := e.existingTables(ctx, parameters.Tables)
	if err != nil {
		return agent.SnapshotTaken{}, err
	}
	if len(folders) > 0 {
		if err := e.clear(ctx, parameters.Tag); err != nil {
			return agent.SnapshotTaken{}, err
		}
	}
	report(0.1, fmt.Sprintf("Flushing and linking the files of %d tables", len(names)))
	taken = agent.SnapshotTaken{TakenAt: time.Now().UTC(), Tables: len(names)}
	// Without names the engine would take all there is.
	if len(names) > 0 {
		options := map[string]string{"ttl": fmt.Sprintf("%ds", parameters.TTLSeconds), "skipFlush": "false"}
		err := e.exec(ctx, nil, storageService, snapshotOperation, parameters.Tag, options, names)
		if err != nil {
			return agent.SnapshotTaken{}, withCode("snapshot-failed", err)
		}
	}
	if folders, err = e.place.snapshotFolders(parameters.Tag); err != nil {
		return agent.SnapshotTaken{}, err
	}
	if taken.Files, taken.Bytes, err = backup.SizeOf(folders); err != nil {
		return agent.SnapshotTaken{}, err
	}
	return taken, statefile.WriteJSON(note, taken)
}

// existingTables are the names, KEYSPACE.TABLE, of tables and views that were asked for; of none: all but the engine's own. Error
// codes, besides those of access: table-not-found.
func (e *Engine) existingTables(ctx context.Context, asked []agent.TableName) ([]string, error) {
	var there []agent.TableName
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		there = nil
		for _, source := range []struct{ query, column string }{
			{"SELECT keyspace_name, table_name FROM system_schema.tables", "table_name"},
			{"SELECT keyspace_name, view_name FROM system_schema.views", "view_name"},
		} {
			rows, err := conn.Query(ctx, cql.One, source.query)
			if err != nil {
				return err
			}
			for _, row := range rows {
				there = append(there, agent.TableName{Keyspace: row.Text("keyspace_name"), Table: row.Text(source.column)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range there {
		wanted := slices.ContainsFunc(asked, func(name agent.TableName) bool {
			return name.Keyspace == one.Keyspace && (name.Table == "" || name.Table == one.Table)
		})
		if wanted || (len(asked) == 0 && !cqlschema.IsSystem(one.Keyspace)) {
			names = append(names, one.Keyspace+"."+one.Table)
		}
	}
	for _, name := range asked {
		if !slices.ContainsFunc(there, func(one agent.TableName) bool {
			return name.Keyspace == one.Keyspace && (name.Table == "" || name.Table == one.Table)
		}) {
			return nil, agent.Errorf("table-not-found", "There is no table %s.%s.", name.Keyspace, orElse(name.Table, "*"))
		}
	}
	slices.Sort(names)
	return names, nil
}

// clear removes a snapshot; one that is not there is no failure. Without a tag the engine would remove all there are.
func (e *Engine) clear(ctx context.Context, tag string) error {
	if err := backup.CheckName("tag", tag); err != nil {
		return err
	}
	return withCode("snapshot-failed", e.exec(ctx, nil, storageService, clearSnapshotOperation, tag, []string{}))
}

// clearSnapshot removes a snapshot, and what was noted about it. Error codes: invalid-parameters, engine-not-running, snapshot-failed.
func (e *Engine) clearSnapshot(ctx context.Context, parameters agent.ClearSnapshotParameters, _ agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	if err := e.clear(ctx, parameters.Tag); err != nil {
		return Nothing{}, err
	}
	note := filepath.Join(e.place.backups(), "taken-"+parameters.Tag+".json")
	if err := os.Remove(note); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Nothing{}, err
	}
	return Nothing{}, e.backups.Forget(parameters.Tag)
}

// importedAtOnce bounds one call of the engine, so that progress is seen and a failure is about few.
const importedAtOnce = 32

// importBundles makes the engine take the files of a table that were fetched: they are moved, not copied. Every byte of a bundle was
// checked when it was fetched, so the engine does not read it once more unless it is told to. Error codes: invalid-parameters, restore-not-found, table-not-found,
// engine-running, engine-not-running, import-failed, cleanup-failed.
func (e *Engine) importBundles(ctx context.Context, parameters agent.ImportBundlesParameters, report agent.Report) (agent.Imported, error) {
	toKeyspace, toTable := orElse(parameters.AsKeyspace, parameters.Keyspace), orElse(parameters.AsTable, parameters.Table)
	for _, name := range []string{parameters.Keyspace, parameters.Table, toKeyspace, toTable} {
		if !keyspaceForm.MatchString(name) {
			return agent.Imported{}, agent.Errorf("invalid-parameters", "%q is not the name of a keyspace or a table", name)
		}
	}
	if cqlschema.IsSystem(toKeyspace) && toKeyspace != "system_auth" {
		return agent.Imported{}, agent.Errorf("invalid-parameters", "%s is the engine's own.", toKeyspace)
	}
	ready, err := e.backups.Fetched(parameters.Restore, parameters.Keyspace, parameters.Table)
	if err != nil {
		return agent.Imported{}, err
	}
	if parameters.Place {
		return e.placeBundles(ready, toKeyspace, toTable)
	}
	if err := e.running(); err != nil {
		return agent.Imported{}, err
	}
	if _, err := e.existingTables(ctx, []agent.TableName{{Keyspace: toKeyspace, Table: toTable}}); err != nil {
		return agent.Imported{}, err
	}
	done := agent.Imported{}
	for batch := range slices.Chunk(ready, importedAtOnce) {
		report(float64(done.Bundles)/float64(len(ready)+1), fmt.Sprintf("Importing %s.%s: %d of %d SSTables", toKeyspace, toTable, done.Bundles, len(ready)))
		if err := e.importBatch(ctx, parameters, batch, toKeyspace, toTable); err != nil {
			return agent.Imported{}, err
		}
		for _, one := range batch {
			done.Bundles++
			done.Bytes += one.Bytes
		}
	}
	if parameters.Cleanup {
		return done, e.cleanUpTable(ctx, toKeyspace, toTable, report)
	}
	return done, nil
}

// importBatch gives the engine links to the files, which it moves to where they belong. The engine takes only what is in a folder
// named as the table, in one named as the keyspace; of what is elsewhere it says nothing.
func (e *Engine) importBatch(ctx context.Context, parameters agent.ImportBundlesParameters, batch []backup.Ready, keyspace, table string) error {
	root := filepath.Join(e.place.restores(), parameters.Restore, "importing-"+keyspace+"."+table)
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	source := filepath.Join(root, keyspace, table)
	if err := os.MkdirAll(source, 0o700); err != nil {
		return err
	}
	for index, one := range batch {
		if err := one.LinkInto(source, index+1); err != nil {
			return err
		}
	}
	var failed []string
	// Level and time of repair go: they say something of the cluster that the files come from.
	const resetLevel, clearRepaired, invalidateCaches, extended = true, true, true, false
	err := e.exec(ctx, &failed, tableBean(keyspace, table), importOperation, []string{source},
		resetLevel, clearRepaired, parameters.Verify, parameters.CheckTokens, invalidateCaches, extended)
	if err != nil {
		return withCode("import-failed", err)
	}
	left, err := filepath.Glob(filepath.Join(source, "*-Data.db"))
	if err != nil {
		return err
	}
	if len(failed) > 0 || len(left) > 0 {
		return agent.Errorf("import-failed", "The engine did not take all of %d SSTables into %s.%s; its log says why.", len(batch), keyspace, table)
	}
	// After a crash before this the engine is given them once more, which costs room and changes nothing.
	for _, one := range batch {
		if err := one.Taken(); err != nil {
			return err
		}
	}
	return os.RemoveAll(root)
}

// cleanUpTable drops what this node is no replica of.
func (e *Engine) cleanUpTable(ctx context.Context, keyspace, table string, report agent.Report) error {
	report(0.95, "Dropping what other nodes hold")
	return e.untilAnswered(ctx, func() error {
		var status int
		err := e.exec(ctx, &status, storageService, cleanupOperation, rewriteJobs, keyspace, []string{table})
		if err == nil && status != 0 {
			return agent.Errorf("cleanup-failed", "The engine could not do it for all of %s.%s (status %d); its log says why.", keyspace, table, status)
		}
		return withCode("cleanup-failed", err)
	})
}

// placeBundles moves files into the folder of a table of an engine that is stopped.
func (e *Engine) placeBundles(ready []backup.Ready, keyspace, table string) (agent.Imported, error) {
	if condition := e.supervisor.Condition(); condition.Alive || condition.Wanted {
		return agent.Imported{}, agent.Errorf("engine-running", "Files are placed while the engine is stopped.")
	}
	candidates, err := filepath.Glob(filepath.Join(e.place.data(), keyspace, table+"-*"))
	if err != nil {
		return agent.Imported{}, err
	}
	candidates = slices.DeleteFunc(candidates, func(path string) bool {
		name, _, is := backup.TableOf(filepath.Base(path))
		return !is || name != table
	})
	if len(candidates) != 1 {
		return agent.Imported{}, agent.Errorf("table-not-found", "There are %d folders of a table %s.%s on this node, not one.", len(candidates), keyspace, table)
	}
	done := agent.Imported{}
	for _, one := range ready {
		if err := placeOne(one.Folder, candidates[0]); err != nil {
			return agent.Imported{}, err
		}
		done.Bundles++
		done.Bytes += one.Bytes
	}
	return done, nil
}

var numberedForm = regexp.MustCompile(`^[a-z]{2}-([0-9]+)-[a-z]+-`)

func highestNumber(folder string) (int, error) {
	highest := 0
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if parts := numberedForm.FindStringSubmatch(entry.Name()); parts != nil {
			if number, err := strconv.Atoi(parts[1]); err == nil {
				highest = max(highest, number)
			}
		}
	}
	return highest, err
}

// placement is the number that an SSTable gets, noted before the first of its files moves: a crash between two of them must not
// make two SSTables of it.
type placement struct {
	Number int `json:"number"`
}

func placeOne(from, to string) error {
	note := filepath.Join(from, "placement.json")
	var chosen placement
	if err := statefile.ReadJSON(note, &chosen); err != nil {
		highest, err := highestNumber(to)
		if err != nil {
			return err
		}
		chosen.Number = highest + 1
		if err := statefile.WriteJSON(note, chosen); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var data string
	move := func(name string) error {
		placed := backup.Renumbered(name, chosen.Number)
		if placed == "" {
			return nil
		}
		return os.Rename(filepath.Join(from, name), filepath.Join(to, placed))
	}
	for _, entry := range entries {
		// The data last: as long as it is here, the rest is still to be done.
		if strings.HasSuffix(entry.Name(), "-Data.db") {
			data = entry.Name()
			continue
		}
		if err := move(entry.Name()); err != nil {
			return err
		}
	}
	return move(data)
}

// truncateTables empties tables on all nodes, which must all be up; the engine keeps a snapshot of its own of what was in them.
// Error codes, besides those of access: invalid-parameters, table-not-found, truncate-failed.
func (e *Engine) truncateTables(ctx context.Context, parameters agent.TruncateTablesParameters, report agent.Report) (Nothing, error) {
	if err := checkTables(parameters.Tables); err != nil {
		return Nothing{}, err
	}
	for _, one := range parameters.Tables {
		if one.Table == "" || cqlschema.IsSystem(one.Keyspace) {
			return Nothing{}, agent.Errorf("invalid-parameters", "tables are names of a keyspace and of a table, not the engine's own")
		}
	}
	if len(parameters.Tables) == 0 {
		return Nothing{}, agent.Errorf("invalid-parameters", "tables is empty")
	}
	if _, err := e.existingTables(ctx, parameters.Tables); err != nil {
		return Nothing{}, err
	}
	for index, one := range parameters.Tables {
		report(float64(index)/float64(len(parameters.Tables)+1), fmt.Sprintf("Emptying %s.%s", one.Keyspace, one.Table))
		err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
			_, err := conn.Query(ctx, cql.Quorum, "TRUNCATE TABLE "+quotedName(one.Keyspace)+"."+quotedName(one.Table))
			return err
		})
		if err != nil {
			return Nothing{}, truncateFailed(one, err)
		}
	}
	return Nothing{}, nil
}

func truncateFailed(one agent.TableName, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return agent.Errorf("truncate-failed", "%s.%s could not be emptied, which needs all nodes: %s", one.Keyspace, one.Table, shortened(err.Error()))
}
