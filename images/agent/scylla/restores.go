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

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/statefile"
	"ringmaster/agent/tabledigest"
)

// restores is on the file system of the data, so that files can be linked; the engine does not look there.
func (f folders) restores() string { return filepath.Join(f.work, "ringmaster-restores") }

// upload is the folder from which the engine takes files into a table. A dropped table of the same name has another id.
func (f folders) upload(keyspace, table, id string) string {
	return filepath.Join(f.data(), keyspace, table+"-"+strings.ReplaceAll(id, "-", ""), "upload")
}

// importParameters are those of the job import-bundles.
type importParameters struct{ agent.ImportBundlesParameters }

func (p importParameters) check() error {
	for _, name := range []string{p.Keyspace, p.Table, p.toKeyspace(), p.toTable()} {
		if !cqlschema.IsName(name) {
			return agent.Errorf("invalid-parameters", "%q is not the name of a keyspace or a table", name)
		}
	}
	switch {
	case cqlschema.IsSystem(p.toKeyspace()):
		return agent.Errorf("invalid-parameters", "%s is the engine's own.", p.toKeyspace())
	case p.Place || p.Verify:
		return agent.Errorf("not-supported", "ScyllaDB takes files only while it runs, and does not read them first.")
	}
	return nil
}

func (p importParameters) toKeyspace() string { return orElse(p.AsKeyspace, p.Keyspace) }
func (p importParameters) toTable() string    { return orElse(p.AsTable, p.Table) }

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// loadedAtOnce bounds one call of the engine, so that progress is seen and a failure is about few.
const loadedAtOnce = 32

// importBundles makes the engine load the files of a table that were fetched, and send each row to all of its replicas, whichever
// node has the files: nothing is refused for its tokens, and nothing is left to clean up. Error codes: restore-not-found,
// table-not-found, engine-not-running, import-failed, besides those of asControl.
func (e *Engine) importBundles(ctx context.Context, p importParameters, report agent.Report) (agent.Imported, error) {
	ready, err := e.backups.Fetched(p.Restore, p.Keyspace, p.Table)
	if err != nil {
		return agent.Imported{}, err
	}
	var id string
	if err := e.asControl(ctx, func(ctx context.Context, conn session) error {
		rows, err := conn.Query(ctx, cql.One, "SELECT id FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", p.toKeyspace(), p.toTable())
		if err == nil && len(rows) == 0 {
			return agent.Errorf("table-not-found", "There is no table %s.%s.", p.toKeyspace(), p.toTable())
		}
		for _, row := range rows {
			id = row.Text("id")
		}
		return err
	}); err != nil {
		return agent.Imported{}, err
	}
	loading := loading{
		Engine: e, keyspace: p.toKeyspace(), table: p.toTable(), folder: e.place.upload(p.toKeyspace(), p.toTable(), id),
		note: filepath.Join(e.place.restores(), p.Restore, "loading-"+p.toKeyspace()+"."+p.toTable()),
	}
	if err := loading.finishEarlier(ctx); err != nil {
		return agent.Imported{}, err
	}
	done := agent.Imported{}
	for batch := range slices.Chunk(ready, loadedAtOnce) {
		report(float64(done.Bundles)/float64(len(ready)+1), fmt.Sprintf("Loading %s.%s: %d of %d SSTables", p.toKeyspace(), p.toTable(), done.Bundles, len(ready)))
		if err := loading.some(ctx, batch); err != nil {
			return agent.Imported{}, err
		}
		for _, one := range batch {
			done.Bundles++
			done.Bytes += one.Bytes
		}
	}
	return done, nil
}

// loading is one table's, on this node. The file note is there while links of ours may be in the folder.
type loading struct {
	*Engine
	keyspace, table, folder, note string
}

// finishEarlier has the engine load what an earlier agent gave it.
func (l loading) finishEarlier(ctx context.Context) error {
	if _, err := os.Stat(l.note); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return l.load(ctx)
}

func (l loading) some(ctx context.Context, batch []backup.Ready) error {
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return err
	}
	left, err := os.ReadDir(l.folder)
	if err != nil {
		return err
	}
	for _, entry := range left {
		if entry.Type().IsRegular() {
			return agent.Errorf("import-failed", "%s holds files that somebody else put there, such as %s; move them away.", l.folder, entry.Name())
		}
	}
	if err := statefile.WriteJSON(l.note, Nothing{}); err != nil {
		return err
	}
	for index, one := range batch {
		if err := one.LinkInto(l.folder, index+1); err != nil {
			return err
		}
	}
	if err := l.load(ctx); err != nil {
		return err
	}
	// After a crash before this the engine is given them once more, which changes nothing.
	for _, one := range batch {
		if err := one.Taken(); err != nil {
			return err
		}
	}
	return nil
}

// load returns when the engine has taken all there is, or with the folder empty: what is not taken is still where it was fetched.
func (l loading) load(ctx context.Context) error {
	err := l.untilAnswered(ctx, func() error {
		for {
			err := l.api.LoadSSTables(ctx, l.keyspace, l.table)
			refusal := scyllaapi.Refusal(err)
			// It was asked by an agent that has ended since.
			if refusal == nil || !strings.Contains(refusal.Message, "Already loading") {
				return err
			}
			if err := pause(ctx, lookAtRepairs); err != nil {
				return err
			}
		}
	})
	if err != nil && scyllaapi.Refusal(err) == nil {
		return err
	}
	left, globbed := filepath.Glob(filepath.Join(l.folder, "*-Data.db"))
	if globbed != nil {
		return globbed
	}
	if err == nil && len(left) > 0 {
		err = agent.Errorf("import-failed", "The engine did not take %d SSTables into %s.%s; its log says why.", len(left), l.keyspace, l.table)
	}
	if err != nil {
		return errors.Join(withCode("import-failed", err), emptied(l.folder), os.Remove(l.note))
	}
	return errors.Join(emptied(l.folder), os.Remove(l.note))
}

// emptied removes the files of a folder.
func emptied(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}

// describeSchema tells keyspaces in the engine's own statements, and in parts. Error codes, besides those of asControl:
// invalid-parameters, unknown-keyspace.
func (e *Engine) describeSchema(ctx context.Context, p agent.DescribeSchemaParameters, _ agent.Report) (agent.SchemaDescription, error) {
	told := agent.SchemaDescription{}
	return told, e.asControl(ctx, func(ctx context.Context, conn session) error {
		told.Keyspaces = []agent.KeyspaceSchema{}
		names, err := cqlschema.Keyspaces(ctx, conn, p.Keyspaces)
		if err != nil {
			return err
		}
		for _, name := range names {
			keyspace, err := cqlschema.Describe(ctx, conn, name)
			if err != nil {
				return err
			}
			told.Keyspaces = append(told.Keyspaces, asElsewhere(keyspace))
		}
		return nil
	})
}

// asElsewhere is a keyspace in the words of all engines: ScyllaDB calls a materialized view a view. What backups do not hold is left out.
func asElsewhere(keyspace agent.KeyspaceSchema) agent.KeyspaceSchema {
	keyspace.Tables = slices.DeleteFunc(keyspace.Tables, func(table agent.TableSchema) bool { return !kept(table.Name) })
	keyspace.Statements = slices.DeleteFunc(keyspace.Statements, func(one agent.SchemaStatement) bool { return !kept(one.Name) })
	for index, one := range keyspace.Statements {
		if one.Type == "view" {
			keyspace.Statements[index].Type = "materialized_view"
		}
	}
	return keyspace
}

// createSchema makes what was described, here or elsewhere. What is there is left as it is. Error codes, besides those of asControl:
// invalid-parameters, schema-differs, schema-refused, schema-disagreement.
func (e *Engine) createSchema(ctx context.Context, p agent.CreateSchemaParameters, report agent.Report) (agent.SchemaCreated, error) {
	made, err := cqlschema.Create(p.Keyspaces, report, func(keyspace agent.KeyspaceToCreate, statement agent.SchemaStatement) (existed bool, err error) {
		err = e.asControl(ctx, func(ctx context.Context, conn session) (err error) {
			existed, err = cqlschema.CreateOne(ctx, conn, keyspace, statement)
			return err
		})
		return existed, err
	})
	if err != nil {
		return made, err
	}
	return made, e.schemaAgreed(ctx)
}

// schemaAgreed waits until all living nodes have this node's schema. Error code: schema-disagreement.
func (e *Engine) schemaAgreed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, accessWithin)
	defer cancel()
	for {
		var ring agent.RingStatus
		if err := e.untilAnswered(ctx, func() (err error) {
			ring, err = e.readRing(ctx)
			return err
		}); err != nil {
			return err
		}
		err := ring.SchemaDisagreement()
		if err == nil || pause(ctx, retryPause) != nil {
			return err
		}
	}
}

// truncateParameters are those of the job truncate-tables.
type truncateParameters struct{ agent.TruncateTablesParameters }

func (p truncateParameters) check() error {
	for _, one := range p.Tables {
		if !cqlschema.IsName(one.Keyspace) || !cqlschema.IsName(one.Table) || cqlschema.IsSystem(one.Keyspace) {
			return agent.Errorf("invalid-parameters", "tables are names of a keyspace and of a table, not the engine's own")
		}
	}
	if len(p.Tables) == 0 {
		return agent.Errorf("invalid-parameters", "tables is empty")
	}
	return nil
}

// truncateTables empties tables on all nodes, which must all be up; the engine keeps a snapshot of its own of what was in them, unless
// its setting auto_snapshot says otherwise. Error codes, besides those of asControl: table-not-found, truncate-failed.
func (e *Engine) truncateTables(ctx context.Context, p truncateParameters, report agent.Report) (Nothing, error) {
	if err := e.asControl(ctx, func(ctx context.Context, conn session) error {
		_, err := existingTables(ctx, conn, p.Tables)
		return err
	}); err != nil {
		return Nothing{}, err
	}
	for index, one := range p.Tables {
		report(float64(index)/float64(len(p.Tables)+1), fmt.Sprintf("Emptying %s.%s", one.Keyspace, one.Table))
		err := e.asControl(ctx, func(ctx context.Context, conn session) error {
			_, err := conn.Query(ctx, cql.Quorum, "TRUNCATE TABLE "+cqlschema.Quoted(one.Keyspace)+"."+cqlschema.Quoted(one.Table))
			return err
		})
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return Nothing{}, err
			}
			return Nothing{}, agent.Errorf("truncate-failed", "%s.%s could not be emptied, which needs all nodes: %s", one.Keyspace, one.Table, shortened(err.Error()))
		}
	}
	return Nothing{}, nil
}

// digestTable reads every row of a table. Error codes, besides those of asControl: invalid-parameters, table-not-found.
func (e *Engine) digestTable(ctx context.Context, p agent.DigestTableParameters, report agent.Report) (agent.TableDigest, error) {
	if err := e.isRunning(); err != nil {
		return agent.TableDigest{}, err
	}
	return tabledigest.Table(ctx, p, report, func(ctx context.Context, do func(context.Context, tabledigest.Session) error) error {
		return untilPassed(ctx, func() error {
			conn, err := e.control(ctx, account{})
			if err != nil {
				return err
			}
			defer conn.Close()
			return do(ctx, conn)
		})
	})
}
