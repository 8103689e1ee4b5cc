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
	"ringmaster/agent/cqlschema"
)

// analysisProgram reads SSTables with the engine's own classes. Java compiles it as it starts, as it does the replay.
//
//go:embed beside/Analysis.java
var analysisProgram []byte

const (
	// analysisHeap is for one analysis, beside the engine: it holds a buffer for each SSTable and the leaders.
	analysisHeap = "256m"
	// analysisRate is how much is read in a second, as it is unpacked: a fraction of what a node's disks and one core can do.
	analysisRate = 32 << 20
	// analysisLeaders is how many partitions are told of each kind.
	analysisLeaders = 25
)

// analysisOrder is what the program is told.
type analysisOrder struct {
	Keyspace       string   `json:"keyspace"`
	Table          string   `json:"table"`
	Statements     []string `json:"statements"`
	Folder         string   `json:"folder"`
	Top            int      `json:"top"`
	BytesPerSecond int64    `json:"bytes_per_second"`
	Seconds        int      `json:"seconds"`
}

// analysisSaid is a line that it says: how far it is, and last what it found.
type analysisSaid struct {
	Done    bool  `json:"done"`
	Partial bool  `json:"partial"`
	Read    int64 `json:"read"`
	Of      int64 `json:"of"`

	Partitions int64 `json:"partitions"`
	Rows       int64 `json:"rows"`
	Cells      int64 `json:"cells"`
	Expiring   int64 `json:"expiring"`
	Tombstones int64 `json:"tombstones"`
	Droppable  int64 `json:"droppable"`
	GCGrace    int64 `json:"gc_grace_seconds"`

	Largest  []analysedPartition `json:"largest"`
	Longest  []analysedPartition `json:"longest"`
	Deadest  []analysedPartition `json:"deadest"`
	ByBytes  []analysedBucket    `json:"by_bytes"`
	ByRows   []analysedBucket    `json:"by_rows"`
	SSTables []analysedSSTable   `json:"sstables"`
}

type analysedPartition struct {
	Key        string `json:"key"`
	Bytes      int64  `json:"bytes"`
	Rows       int64  `json:"rows"`
	Tombstones int64  `json:"tombstones"`
	Droppable  int64  `json:"droppable"`
	SSTables   int    `json:"sstables"`
}

type analysedBucket struct {
	UpTo       int64 `json:"up_to"`
	Partitions int64 `json:"partitions"`
}

// analysedSSTable has times of writing in microseconds since 1970, as clients gave them, and that of its repair in milliseconds.
type analysedSSTable struct {
	Name          string  `json:"name"`
	Format        string  `json:"format"`
	Level         int     `json:"level"`
	Bytes         int64   `json:"bytes"`
	Unpacked      int64   `json:"unpacked"`
	Partitions    int64   `json:"partitions"`
	Rows          int64   `json:"rows"`
	MinTimestamp  int64   `json:"min_timestamp"`
	MaxTimestamp  int64   `json:"max_timestamp"`
	MinTTL        int64   `json:"min_ttl"`
	MaxTTL        int64   `json:"max_ttl"`
	RepairedAt    int64   `json:"repaired_at"`
	PendingRepair bool    `json:"pending_repair"`
	Droppable     float64 `json:"droppable"`
}

// askSSTables reads a snapshot of a table beside the engine, slowly, and tells what is in it.
func (e *Engine) askSSTables(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	if cqlschema.IsSystem(parameters.Keyspace) {
		return agent.Answer{}, agent.Errorf("invalid-parameters", "%s is the engine's own; choose a keyspace of yours.", parameters.Keyspace)
	}
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	statements, err := e.analysedSchema(ctx, parameters.Keyspace, parameters.Table)
	if err != nil {
		return agent.Answer{}, err
	}
	tag := "analysis-" + agent.JobName(ctx)
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		// Should this fail, the engine removes it by itself when its time is over.
		if _, err := e.clearSnapshot(within, agent.ClearSnapshotParameters{Tag: tag}, func(float64, string) {}); err != nil {
			e.log.Warn("the snapshot of an analysis stays until its end", "tag", tag, "error", err)
		}
	}()
	report(0, "Taking a snapshot")
	if _, err := e.snapshot(ctx, agent.SnapshotParameters{
		Tag: tag, TTLSeconds: int64(longest(parameters).Seconds()), Tables: []agent.TableName{{Keyspace: parameters.Keyspace, Table: parameters.Table}},
	}, func(float64, string) {}); err != nil {
		return agent.Answer{}, err
	}
	folders, err := e.place.snapshotFolders(tag)
	if err != nil {
		return agent.Answer{}, err
	}
	began := time.Now()
	said := analysisSaid{}
	if len(folders) > 0 {
		said, err = e.runAnalysis(ctx, analysisOrder{
			Keyspace: parameters.Keyspace, Table: parameters.Table, Statements: statements, Folder: folders[0].Folder,
			Top: analysisLeaders, BytesPerSecond: analysisRate, Seconds: parameters.Minutes * 60,
		}, report)
	}
	if err != nil {
		return agent.Answer{}, err
	}
	return analysisAnswer(said, time.Since(began), parameters.Limit), nil
}

// analysedSchema are the statements that make the types and tables of a keyspace. Error code: table-not-found.
func (e *Engine) analysedSchema(ctx context.Context, keyspace, table string) ([]string, error) {
	if _, err := e.existingTables(ctx, []agent.TableName{{Keyspace: keyspace, Table: table}}); err != nil {
		return nil, err
	}
	described, err := e.describeSchema(ctx, agent.DescribeSchemaParameters{Keyspaces: []string{keyspace}}, nil)
	if err != nil {
		return nil, err
	}
	statements, made := []string{}, false
	for _, one := range described.Keyspaces {
		for _, statement := range one.Statements {
			if statement.Type == "type" || statement.Type == "table" {
				statements = append(statements, cqlschema.Split(statement.Statement)...)
				made = made || statement.Type == "table" && statement.Name == table
			}
		}
	}
	if !made {
		return nil, agent.Errorf("table-not-found", "%s.%s is a view; ask for its base table.", keyspace, table)
	}
	return statements, nil
}

func (e *Engine) runAnalysis(ctx context.Context, order analysisOrder, report agent.Report) (analysisSaid, error) {
	config, err := e.configured()
	if err != nil {
		return analysisSaid{}, err
	}
	found, err := openTree(e.cache, config.Version)
	if err != nil {
		return analysisSaid{}, err
	}
	with, err := findJava()
	if err != nil {
		return analysisSaid{}, err
	}
	scratch, err := os.MkdirTemp(filepath.Join(e.place.root, "tmp"), "analysis-")
	if err != nil {
		return analysisSaid{}, err
	}
	defer os.RemoveAll(scratch)
	report(0, "Reading SSTables")
	var said analysisSaid
	program := besideEngine{
		name: "Analysis.java", source: analysisProgram, heap: analysisHeap, idleDisks: true, failure: "sstables-unreadable", what: "The SSTables",
	}
	err = program.run(ctx, found, with, scratch, order, func(line []byte) {
		if json.Unmarshal(line, &said) == nil && !said.Done {
			report(float64(said.Read)/float64(max(said.Of, 1)), fmt.Sprintf("Reading SSTables: %s of %s", inMiB(said.Read), inMiB(said.Of)))
		}
	})
	switch {
	case err != nil:
		return analysisSaid{}, err
	case !said.Done:
		return analysisSaid{}, agent.Errorf("sstables-unreadable", "The SSTables could not be read: the program ended without a result.")
	}
	return said, nil
}

func analysisAnswer(said analysisSaid, took time.Duration, limit int) agent.Answer {
	var onDisk int64
	for _, one := range said.SSTables {
		onDisk += one.Bytes
	}
	all := said.Cells + said.Tombstones
	answer := agent.Answer{
		Facts: []agent.AnswerFact{
			fact("Partitions", agent.Count, said.Partitions), fact("Rows", agent.Count, said.Rows), fact("Living cells", agent.Count, said.Cells),
			fact("Of them with a TTL", agent.Count, said.Expiring), fact("Tombstones", agent.Count, said.Tombstones),
			fact("Of them past gc_grace", agent.Count, said.Droppable), fact("Droppable share of all cells", agent.Ratio, shareOf(said.Droppable, all)),
			fact("gc_grace_seconds", agent.Seconds, said.GCGrace), fact("SSTables", agent.Count, len(said.SSTables)),
			fact("Size on the disk", agent.Bytes, onDisk), fact("Read, unpacked", agent.Bytes, said.Read), fact("To read", agent.Bytes, said.Of),
			fact("Took", agent.Seconds, took.Seconds()),
		},
		Tables: []agent.AnswerTable{
			leadersTable("Largest partitions", said.Largest), leadersTable("Partitions with the most rows", said.Longest),
			leadersTable("Partitions with the most tombstones", said.Deadest),
			bucketsTable("Partitions by size", agent.Bytes, said.ByBytes, said.Partitions),
			bucketsTable("Partitions by rows", agent.Count, said.ByRows, said.Partitions),
			filesTable(said.SSTables, limit),
		},
		Notes: []string{
			"This node's own files, from a snapshot; what is in several SSTables is merged as a read would. Sizes of partitions are before compression, and sums over SSTables.",
			"Tombstones are deleted or expired cells, rows, ranges and partitions, each counted once. The droppable share of an SSTable is the engine's estimate.",
		},
	}
	if said.Partial {
		note := fmt.Sprintf("Only a part was read when its time was over: %s of %s, in the order of tokens. Figures are of that part; ask for more minutes.", inMiB(said.Read), inMiB(said.Of))
		answer.Notes = append([]string{note}, answer.Notes...)
	}
	return answer
}

func shareOf(part, all int64) any {
	if all == 0 {
		return nil
	}
	return float64(part) / float64(all)
}

func leadersTable(title string, found []analysedPartition) agent.AnswerTable {
	var rows [][]any
	for _, one := range found {
		rows = append(rows, []any{one.Key, one.Bytes, one.Rows, one.Tombstones, one.Droppable, one.SSTables})
	}
	return agent.Told(title, []agent.AnswerColumn{
		column("Partition key", agent.Text), column("Size", agent.Bytes), column("Rows", agent.Count), column("Tombstones", agent.Count),
		column("Past gc_grace", agent.Count), column("SSTables", agent.Count),
	}, rows, len(rows))
}

// bucketsTable is a histogram. Each bucket goes up to twice what the one before it does.
func bucketsTable(title string, unit agent.Unit, found []analysedBucket, all int64) agent.AnswerTable {
	var rows [][]any
	var below int64
	for _, one := range found {
		below += one.Partitions
		rows = append(rows, []any{one.UpTo, one.Partitions, shareOf(one.Partitions, all), shareOf(below, all)})
	}
	return agent.Told(title, []agent.AnswerColumn{
		column("Up to", unit), column("Partitions", agent.Count), column("Share", agent.Ratio), column("Share so far", agent.Ratio),
	}, rows, len(rows))
}

func filesTable(found []analysedSSTable, limit int) agent.AnswerTable {
	var rows [][]any
	for _, one := range found {
		var repaired any
		if one.RepairedAt > 0 {
			repaired = time.UnixMilli(one.RepairedAt).UTC().Format(time.RFC3339)
		}
		rows = append(rows, []any{
			one.Name, one.Format, one.Level, one.Bytes, one.Unpacked, one.Partitions, one.Rows, writtenAt(one.MinTimestamp), writtenAt(one.MaxTimestamp),
			ttl(one.MinTTL), ttl(one.MaxTTL), repaired, one.PendingRepair, one.Droppable,
		})
	}
	return agent.Told("SSTables", []agent.AnswerColumn{
		column("SSTable", agent.Text), column("Format", agent.Text), column("Level", agent.Count), column("Size", agent.Bytes), column("Unpacked", agent.Bytes),
		column("Partitions", agent.Count), column("Rows", agent.Count), column("Oldest write", agent.Moment), column("Newest write", agent.Moment),
		column("Least TTL", agent.Seconds), column("Greatest TTL", agent.Seconds), column("Repaired at", agent.Moment),
		column("In a repair", agent.Flag), column("Droppable", agent.Ratio),
	}, rows, limit)
}

// writtenAt is a time that a client gave; nil: it cannot be one.
func writtenAt(microseconds int64) any {
	const year9999 = 253402300799
	if seconds := microseconds / 1e6; microseconds <= 0 || seconds > year9999 {
		return nil
	}
	return time.UnixMicro(microseconds).UTC().Format(time.RFC3339)
}

// ttl is nil where nothing expires: the engine has 0 for that, or its largest number.
func ttl(seconds int64) any {
	const longestTTL = 20 * 365 * 24 * 3600
	if seconds <= 0 || seconds > longestTTL {
		return nil
	}
	return seconds
}
