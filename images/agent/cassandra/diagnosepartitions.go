package cassandra

import (
	"context"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

// samplers are what the engine can watch in passing, with what they count.
var samplers = []struct {
	name, title, counts string
	unit                agent.Unit
}{
	{"READS", "Most read", "Reads", agent.Count},
	{"WRITES", "Most written", "Writes", agent.Count},
	{"READ_TOMBSTONE_COUNT", "Most tombstones read", "Tombstones", agent.Count},
	{"READ_SSTABLE_COUNT", "Most SSTables read", "SSTables", agent.Count},
	{"CAS_CONTENTIONS", "Most contended for by LWT", "Contentions", agent.Count},
	{"LOCAL_READ_TIME", "Slowest local reads", "Time", agent.Milliseconds},
	{"WRITE_SIZE", "Largest writes", "Size", agent.Bytes},
}

// askHotPartitions is what `nodetool profileload` tells: it watches what passes for some seconds.
func (e *Engine) askHotPartitions(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	const capacity, wanted = 256, 20
	names := make([]string, len(samplers))
	for index, sampler := range samplers {
		names[index] = sampler.name
	}
	var keyspace any
	if parameters.Keyspace != "" {
		keyspace = parameters.Keyspace
	}
	report(0, "Watching which partitions are asked for")
	var found map[string][]map[string]any
	err := e.exec(ctx, &found, storageService, samplingOperation, keyspace, parameters.Seconds*1000, capacity, wanted, names)
	if err != nil {
		if refusal := jolokia.Refusal(err); refusal != nil && strings.Contains(refusal.Message, "already running") {
			return agent.Answer{}, agent.Errorf("already-sampling", "Somebody else samples this node's partitions right now. Ask again when that is over.")
		}
		return agent.Answer{}, err
	}
	answer := agent.Answer{
		Facts: []agent.AnswerFact{fact("Watched for", agent.Seconds, parameters.Seconds)},
		Notes: []string{"Sampled on this node alone: a partition is asked for on each of its replicas. Counts of reads and writes are estimates."},
	}
	for _, sampler := range samplers {
		var rows [][]any
		for _, one := range found[sampler.name] {
			table, _ := one["table"].(string)
			if parameters.Table != "" && table != parameters.Table && !strings.HasSuffix(table, "."+parameters.Table) {
				continue
			}
			value, _ := number(one["count"])
			if sampler.unit == agent.Milliseconds {
				value /= 1000
			}
			rows = append(rows, []any{table, one["value"], value, one["error"]})
		}
		if len(rows) > 0 {
			answer.Tables = append(answer.Tables, agent.Told(sampler.title, []agent.AnswerColumn{
				column("Table", agent.Text), column("What", agent.Text), column(sampler.counts, sampler.unit), column("± at most", agent.Count),
			}, rows, wanted))
		}
	}
	if len(answer.Tables) == 0 {
		answer.Notes = append(answer.Notes, "Nothing was read or written here meanwhile.")
	}
	return answer, nil
}
