package cassandra

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/cqlschema"
)

// replayProgram reads segments of a commit log with the engine's own classes. Java compiles it as it starts: there is nothing to install,
// and it fits whatever version of the engine is there.
//
//go:embed beside/Replay.java
var replayProgram []byte

const (
	// replayHeap is for one replay, beside the engine; replayBuffer is what it gathers before it writes an SSTable.
	replayHeap   = "512m"
	replayBuffer = 24 << 20
	// replayAtOnce is how much of a log is on the disk, unpacked, at a time.
	replayAtOnce = 1 << 30
)

// replayOrder is what the program is told.
type replayOrder struct {
	Keyspaces []replayKeyspace  `json:"keyspaces"`
	Tables    []agent.TableName `json:"tables"`
	Logs      string            `json:"logs"`
	Out       string            `json:"out"`
	// Until is in microseconds since 1970, Since in milliseconds.
	Until       int64 `json:"until"`
	Since       int64 `json:"since"`
	BufferBytes int64 `json:"buffer_bytes"`
}

type replayKeyspace struct {
	Name       string   `json:"name"`
	Statements []string `json:"statements"`
}

// replaySaid is the last line that it says.
type replaySaid struct {
	Mutations int64 `json:"mutations"`
	Kept      int64 `json:"kept"`
	Later     int64 `json:"later"`
	SSTables  int   `json:"sstables"`
	Truncated []struct {
		Keyspace string `json:"keyspace"`
		Table    string `json:"table"`
		At       int64  `json:"at"`
	} `json:"truncated"`
	Unreadable []string `json:"unreadable"`
}

// replayArchive makes SSTables of the pieces that were fetched for a restore. Neither the engine nor its data is touched. Error codes:
// invalid-parameters, restore-not-found, not-configured, engine-not-found, java-not-found, no-space, archive-unreadable, table-emptied.
func (e *Engine) replayArchive(ctx context.Context, parameters agent.ReplayArchiveParameters, report agent.Report) (agent.Replayed, error) {
	if err := checkReplay(parameters); err != nil {
		return agent.Replayed{}, err
	}
	pieces, err := e.backups.Pieces(parameters.Restore)
	if err != nil {
		return agent.Replayed{}, err
	}
	config, err := e.configured()
	if err != nil {
		return agent.Replayed{}, err
	}
	found, err := openTree(e.cache, config.Version)
	if err != nil {
		return agent.Replayed{}, err
	}
	with, err := findJava()
	if err != nil {
		return agent.Replayed{}, err
	}
	restore := filepath.Join(e.place.restores(), parameters.Restore)
	scratch := filepath.Join(restore, "replay")
	// What an earlier agent did not finish.
	if err := os.RemoveAll(scratch); err != nil {
		return agent.Replayed{}, err
	}
	defer os.RemoveAll(scratch)
	order := replayOrder{
		Tables: parameters.Tables, Logs: filepath.Join(scratch, "logs"), Out: filepath.Join(scratch, "out"),
		Until: parameters.Until.UnixMicro(), Since: parameters.Since.UnixMilli(), BufferBytes: replayBuffer,
	}
	for _, keyspace := range parameters.Keyspaces {
		statements := []string{}
		for _, one := range keyspace.Statements {
			statements = append(statements, cqlschema.Split(one.Statement)...)
		}
		order.Keyspaces = append(order.Keyspaces, replayKeyspace{Name: keyspace.Name, Statements: statements})
	}
	done := agent.Replayed{}
	for len(pieces) > 0 {
		count, err := unpackSome(pieces, order.Logs)
		if err != nil {
			return agent.Replayed{}, err
		}
		report(float64(done.Pieces)/float64(done.Pieces+len(pieces)+1), fmt.Sprintf("Reading the commit log: %d pieces are left", len(pieces)))
		said, err := e.runReplay(ctx, order, scratch, found, with)
		if err != nil {
			return agent.Replayed{}, err
		}
		pieces = pieces[count:]
		done.Pieces += count
		done.Mutations, done.Kept, done.Later = done.Mutations+said.Mutations, done.Kept+said.Kept, done.Later+said.Later
		if err := gatherReplayed(order.Out, filepath.Join(scratch, "done"), done.SSTables); err != nil {
			return agent.Replayed{}, err
		}
		done.SSTables += said.SSTables
		if err := os.RemoveAll(order.Logs); err != nil {
			return agent.Replayed{}, err
		}
	}
	done.Bytes, err = placeReplayed(filepath.Join(scratch, "done"), restore, parameters.Restore)
	return done, err
}

func checkReplay(parameters agent.ReplayArchiveParameters) error {
	if err := checkTables(parameters.Tables); err != nil {
		return err
	}
	if len(parameters.Tables) == 0 || parameters.Until.IsZero() || !parameters.Since.Before(parameters.Until) {
		return agent.Errorf("invalid-parameters", "a replay has tables, and since comes before until")
	}
	for _, one := range parameters.Keyspaces {
		if !keyspaceForm.MatchString(one.Name) || cqlschema.IsSystem(one.Name) {
			return agent.Errorf("invalid-parameters", "%q is not the name of a keyspace, or is the engine's own", one.Name)
		}
		for _, statement := range one.Statements {
			if statement.Type != "type" && statement.Type != "table" {
				return agent.Errorf("invalid-parameters", "only types and tables matter to a replay, not %q", statement.Type)
			}
		}
	}
	return nil
}

// unpackSome makes files of the first pieces, as many as may be on the disk at once, and tells how many.
func unpackSome(pieces []string, folder string) (int, error) {
	var total int64
	for index, from := range pieces {
		made, err := backup.Unpack(from, filepath.Join(folder, fmt.Sprintf("%06d", index)))
		if err != nil {
			return 0, err
		}
		if total += made.Bytes; total > replayAtOnce {
			return index + 1, nil
		}
	}
	return len(pieces), nil
}

func (e *Engine) runReplay(ctx context.Context, order replayOrder, scratch string, found tree, with java) (replaySaid, error) {
	last := ""
	program := besideEngine{name: "Replay.java", source: replayProgram, heap: replayHeap, failure: "archive-unreadable", what: "The commit log"}
	if err := program.run(ctx, found, with, scratch, order, func(line []byte) { last = string(line) }); err != nil {
		return replaySaid{}, err
	}
	var said replaySaid
	if err := json.Unmarshal([]byte(last), &said); err != nil {
		return replaySaid{}, fmt.Errorf("the replay said nothing that can be read: %w", err)
	}
	return said, replayRefused(said)
}

// replayRefused says what makes the result something else than the tables at that moment.
func replayRefused(said replaySaid) error {
	if len(said.Truncated) > 0 {
		one := said.Truncated[0]
		return agent.Errorf("table-emptied", "%s.%s was emptied at %s, between the backup and the moment that was chosen. Choose a backup after that, "+
			"a moment before it, or leave the table out.", one.Keyspace, one.Table, time.UnixMilli(one.At).UTC().Format(time.RFC3339))
	}
	if len(said.Unreadable) > 0 {
		return agent.Errorf("archive-unreadable", "Some writes cannot be read with the tables as they were when the backup was made, perhaps because a column "+
			"was added or changed since. Choose a backup after that, or a moment before it. The engine says: %s", shortened(said.Unreadable[0]))
	}
	return nil
}

// gatherReplayed gives the SSTables of one run of the program names that no other run gives.
func gatherReplayed(from, to string, before int) error {
	folders, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		var number int
		if _, err := fmt.Sscanf(filepath.Base(folder), "%d", &number); err != nil {
			return err
		}
		table := filepath.Join(to, filepath.Base(filepath.Dir(folder)))
		if err := os.MkdirAll(table, 0o700); err != nil {
			return err
		}
		if err := os.Rename(folder, filepath.Join(table, fmt.Sprint(before+number))); err != nil {
			return err
		}
	}
	return os.RemoveAll(from)
}

// placeReplayed puts them where fetched bundles are. After a crash in the middle all are made again, and those that are there stay.
func placeReplayed(from, restore, name string) (int64, error) {
	folders, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return 0, err
	}
	var total int64
	for _, folder := range folders {
		table := filepath.Base(filepath.Dir(folder))
		var number int
		if _, err := fmt.Sscanf(filepath.Base(folder), "%d", &number); err != nil {
			return 0, err
		}
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			return 0, err
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				total += info.Size()
			}
		}
		target := filepath.Join(restore, table, backup.ReplayedName(name, table, number))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return 0, err
		}
		if _, err := os.Stat(target); err == nil {
			continue
		}
		if err := os.Rename(folder, target); err != nil {
			return 0, err
		}
	}
	return total, nil
}
