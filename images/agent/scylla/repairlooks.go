package scylla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/process"
	"ringmaster/agent/scyllaapi"
)

// answerWithin is how long a read may make its caller wait.
const answerWithin = 2 * time.Second

// Settings that tell what limits the engine, MiB per second, 0 for no limit.
const compactionLimit = "compaction_throughput_mb_per_sec"

// asking runs a read. Error codes: engine-not-running, management-unreachable, control-unknown.
func (e *Engine) asking(ctx context.Context, read func(ctx context.Context) error) error {
	if err := e.isRunning(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := read(ctx)
	var coded *agent.Error
	if err == nil || errors.As(err, &coded) || cql.Code(err) != 0 && !cql.Passing(err) {
		return err
	}
	return agent.Errorf("management-unreachable", "The engine does not answer: %v", err)
}

func (e *Engine) engineStartedAt() time.Time {
	started, _ := process.StartedAt(e.supervisor.Condition().Process)
	return started
}

// Repairs implements agent.Engine.
func (e *Engine) Repairs(ctx context.Context) (agent.RepairActivity, error) {
	told := agent.RepairActivity{Repairs: []agent.RunningRepair{}, EngineStartedAt: e.engineStartedAt()}
	return told, e.asking(ctx, func(ctx context.Context) error {
		values, err := e.configValues(ctx, "auto_repair_enabled_default")
		if err != nil {
			return err
		}
		told.Automatic = values["auto_repair_enabled_default"] == "true"
		config, err := e.configured()
		if err != nil {
			return err
		}
		tasks, err := e.repairTasks(ctx)
		if err != nil {
			return err
		}
		begun := e.begunRepairs()
		for _, task := range tasks {
			one := agent.RunningRepair{ID: task.ID, Keyspace: task.Keyspace, Tables: []string{}, State: strings.ToUpper(task.State)}
			if task.Table != "" {
				one.Tables = append(one.Tables, task.Table)
			}
			if !task.tablets {
				// Those of tablets are the cluster's, whoever was asked for them.
				one.Coordinator, one.Command = config.Address, int(task.Number)
			}
			for job, kept := range begun {
				if kept.Task == task.ID || !task.tablets && kept.Number == task.Number && task.Number != 0 {
					one.Job, one.Since = job, &kept.Begun
				}
			}
			told.Repairs = append(told.Repairs, one)
		}
		slices.SortFunc(told.Repairs, func(a, b agent.RunningRepair) int { return strings.Compare(a.ID, b.ID) })
		return nil
	})
}

// configValues are settings in effect, as the engine writes them.
func (e *Engine) configValues(ctx context.Context, names ...string) (map[string]string, error) {
	conn, err := e.control(ctx, account{})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	found := map[string]string{}
	for _, name := range names {
		rows, err := conn.Query(ctx, cql.One, "SELECT value FROM system.config WHERE name = ?", name)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[name] = strings.Trim(row.Text("value"), `"`)
		}
	}
	return found, nil
}

// throughput is what limits the engine now.
func (e *Engine) throughput(ctx context.Context) (told agent.Throughput, err error) {
	values, err := e.configValues(ctx, streamLimit, compactionLimit)
	if err != nil {
		return told, err
	}
	for name, into := range map[string]*int{streamLimit: &told.StreamMiBS, compactionLimit: &told.CompactionMiBS} {
		rate, err := strconv.ParseFloat(values[name], 64)
		if err != nil {
			return told, agent.Errorf("engine-refused", "The engine does not tell %s: %q", name, values[name])
		}
		*into = int(math.Ceil(rate))
	}
	return told, nil
}

// throughputParameters are those of the job set-throughput.
type throughputParameters struct{ agent.ThroughputParameters }

func (p throughputParameters) check() error {
	for _, value := range []*int{p.StreamMiBS, p.CompactionMiBS} {
		if value != nil && (*value < 0 || *value > 100_000) {
			return agent.Errorf("invalid-parameters", "stream_mib_s and compaction_mib_s must be between 0 and 100000, or null")
		}
	}
	return nil
}

// setThroughput limits streams and compactions until the engine is started anew, and tells what was before.
func (e *Engine) setThroughput(ctx context.Context, p throughputParameters, _ agent.Report) (agent.Throughput, error) {
	config, err := e.configured()
	if err != nil {
		return agent.Throughput{}, err
	}
	var before agent.Throughput
	return before, e.asControl(ctx, func(ctx context.Context, conn session) error {
		if before, err = e.throughput(ctx); err != nil {
			return err
		}
		for name, wanted := range map[string]*int{streamLimit: p.StreamMiBS, compactionLimit: p.CompactionMiBS} {
			value := "0"
			if wanted != nil {
				value = strconv.Itoa(*wanted)
			} else if set, given := config.Settings[name]; given {
				value = fmt.Sprint(set)
			}
			if err := tell(ctx, conn, name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Load implements agent.Engine. The engine's API does not tell of dropped messages and hints.
func (e *Engine) Load(ctx context.Context) (agent.Load, error) {
	told := agent.Load{EngineStartedAt: e.engineStartedAt(), Disk: e.Machine(ctx).Disk}
	return told, e.asking(ctx, func(ctx context.Context) error {
		var pending int64
		var reads, writes scyllaapi.Requests
		var streams scyllaapi.Streaming
		var tables []scyllaapi.Table
		for _, ask := range []func() error{
			func() (err error) { pending, err = e.api.PendingCompactions(ctx); return err },
			func() (err error) { reads, err = e.api.RequestsOf(ctx, "read"); return err },
			func() (err error) { writes, err = e.api.RequestsOf(ctx, "write"); return err },
			func() (err error) { streams, err = e.api.Streaming(ctx); return err },
			func() (err error) { tables, err = e.api.Tables(ctx); return err },
			func() (err error) { told.Throughput, err = e.throughput(ctx); return err },
		} {
			if err := ask(); err != nil {
				return err
			}
		}
		told.PendingCompactions, told.Streams = int(pending), streams.Running
		told.ReadP99MS, told.WriteP99MS = float64(reads.P99Microseconds)/1000, float64(writes.P99Microseconds)/1000
		told.StreamedInBytes, told.StreamedOutBytes = streams.Received, streams.Sent
		for _, table := range tables {
			size, err := e.api.BytesOf(ctx, table)
			if err != nil && scyllaapi.Refusal(err) == nil {
				return err
			}
			told.LargestTableBytes = max(told.LargestTableBytes, size)
		}
		return nil
	})
}

// heldRange is a range with the addresses of those that hold it.
type heldRange struct {
	agent.TokenRange
	addresses []string
}

// ranges are those of a keyspace that is spread by tokens, or the tablets of a table, in the order of their ends. The engine leaves
// out the ring's end itself.
func (e *Engine) ranges(ctx context.Context, keyspace, table string) ([]heldRange, error) {
	told, err := e.api.Ranges(ctx, keyspace, table)
	if err != nil {
		return nil, err
	}
	ranges := make([]heldRange, len(told))
	ends := map[string]int64{}
	for index, one := range told {
		tokens := agent.TokenRange{Start: one.Start, End: one.End}
		if tokens.Start == "" {
			tokens.Start = strconv.FormatInt(math.MinInt64, 10)
		}
		if tokens.End == "" {
			tokens.End = strconv.FormatInt(math.MaxInt64, 10)
		}
		if ends[tokens.End], err = strconv.ParseInt(tokens.End, 10, 64); err != nil {
			return nil, err
		}
		ranges[index] = heldRange{TokenRange: tokens, addresses: one.Replicas}
	}
	slices.SortFunc(ranges, func(a, b heldRange) int { return cmp.Compare(ends[a.End], ends[b.End]) })
	return ranges, nil
}

// KeyspaceRing implements agent.Engine.
func (e *Engine) KeyspaceRing(ctx context.Context, keyspace, table string) (agent.KeyspaceRing, error) {
	told := agent.KeyspaceRing{Keyspace: keyspace, Nodes: []agent.RingNode{}, Ranges: []agent.ReplicaRange{}}
	return told, e.asking(ctx, func(ctx context.Context) error {
		config, err := e.configured()
		if err != nil {
			return err
		}
		keyspaces, err := e.api.Keyspaces(ctx, scyllaapi.Everyhow)
		if err != nil {
			return err
		}
		if !slices.Contains(keyspaces, keyspace) {
			return agent.Errorf("unknown-keyspace", "There is no keyspace %s that other nodes hold too.", keyspace)
		}
		ring, err := e.readRing(ctx)
		if err != nil {
			return err
		}
		told.Nodes = append(told.Nodes, agent.RingNode{HostID: ring.HostID, Address: config.Address, Datacenter: ring.Datacenter, Rack: ring.Rack})
		for _, peer := range ring.Peers {
			if peer.Status != "JOINING" {
				told.Nodes = append(told.Nodes, agent.RingNode{HostID: peer.HostID, Address: peer.Address, Datacenter: peer.Datacenter, Rack: peer.Rack})
			}
		}
		byTablets, err := e.api.Keyspaces(ctx, scyllaapi.ByTablets)
		if err != nil {
			return err
		}
		switch {
		case !slices.Contains(byTablets, keyspace):
			table = ""
		case table == "":
			return nil
		}
		ranges, err := e.ranges(ctx, keyspace, table)
		if err != nil {
			return withCode("table-not-found", err)
		}
		told.Ranges, err = agent.WithReplicas(told.Nodes, ranges, func(one heldRange) (agent.TokenRange, []string) { return one.TokenRange, one.addresses })
		return err
	})
}

// Tables implements agent.Engine. What was repaired, and change data capture, are not told.
func (e *Engine) Tables(ctx context.Context) (agent.Schema, error) {
	told := agent.Schema{Keyspaces: []agent.KeyspaceFacts{}, Tables: []agent.TableFacts{}}
	return told, e.asking(ctx, func(ctx context.Context) error {
		conn, err := e.control(ctx, account{})
		if err != nil {
			return err
		}
		defer conn.Close()
		shared, err := e.api.Keyspaces(ctx, scyllaapi.Everyhow)
		if err != nil {
			return err
		}
		keyspaces, err := e.readKeyspaces(ctx, conn)
		if err != nil {
			return err
		}
		for _, one := range keyspaces {
			if slices.Contains(shared, one.Name) {
				told.Keyspaces = append(told.Keyspaces, agent.KeyspaceFacts(one))
			}
		}
		views := map[string][]string{}
		for _, about := range []struct{ columns, table string }{
			{"view_name AS table_name, base_table_name", "views"}, {"table_name", "tables"},
		} {
			rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, id, compaction, default_time_to_live, gc_grace_seconds, "+about.columns+
				" FROM system_schema."+about.table)
			if err != nil {
				return err
			}
			for _, row := range rows {
				facts := tableFacts(row)
				if !slices.Contains(shared, facts.Keyspace) {
					continue
				}
				if facts.ViewOf != "" {
					views[facts.Keyspace+"."+facts.ViewOf] = append(views[facts.Keyspace+"."+facts.ViewOf], facts.Table)
				}
				facts.Views = append(facts.Views, views[facts.Keyspace+"."+facts.Table]...)
				metrics, err := e.api.MetricsOf(ctx, scyllaapi.Table{Keyspace: facts.Keyspace, Name: facts.Table})
				if err != nil && scyllaapi.Refusal(err) == nil {
					return err
				}
				facts.Bytes, facts.Partitions = metrics.Bytes, metrics.Partitions
				told.Tables = append(told.Tables, facts)
			}
		}
		slices.SortFunc(told.Tables, func(a, b agent.TableFacts) int {
			return cmp.Or(strings.Compare(a.Keyspace, b.Keyspace), strings.Compare(a.Table, b.Table))
		})
		return nil
	})
}

// tableFacts reads a row of the schema.
func tableFacts(row cql.Row) agent.TableFacts {
	compaction, _ := row["compaction"].(map[string]any)
	class, _ := compaction["class"].(string)
	ttl, _ := row["default_time_to_live"].(int32)
	grace, _ := row["gc_grace_seconds"].(int32)
	return agent.TableFacts{
		Keyspace: row.Text("keyspace_name"), Table: row.Text("table_name"), ID: row.Text("id"), Compaction: class[strings.LastIndexByte(class, '.')+1:],
		DefaultTTLSeconds: int64(ttl), GCGraceSeconds: int64(grace), ViewOf: row.Text("base_table_name"), Views: []string{},
	}
}
