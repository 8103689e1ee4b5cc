package cassandra

import (
	"context"
	"time"

	"ringmaster/agent"
)

const (
	samplingOperation = "samplePartitions(java.lang.String,int,int,int,java.util.List)"
	collectorBeans    = "java.lang:type=GarbageCollector,*"
	memoryBean        = "java.lang:type=Memory"
	threadingBean     = "java.lang:type=Threading"
)

// diagnosticBeans are what may be asked about how the engine is.
func diagnosticBeans() []managed {
	return []managed{
		{Name: storageService, Attributes: readable("LoadMapWithPort", "OwnershipWithPort"), Operations: []string{samplingOperation}},
		{Name: collectorBeans, Attributes: readable("CollectionCount", "CollectionTime")},
		{Name: memoryBean, Attributes: readable("HeapMemoryUsage", "NonHeapMemoryUsage")},
		{Name: threadingBean, Attributes: readable("ThreadCount", "PeakThreadCount")},
	}
}

type asker func(*Engine, context.Context, agent.DiagnoseParameters, agent.Report) (agent.Answer, error)

// askers are the questions that Cassandra answers.
var askers = map[agent.Question]asker{
	agent.AskStatus:          (*Engine).askStatus,
	agent.AskRing:            (*Engine).askRing,
	agent.AskTableStatistics: (*Engine).askTableStatistics,
	agent.AskThreadPools:     (*Engine).askThreadPools,
	agent.AskCompactions:     (*Engine).askCompactions,
	agent.AskStreams:         (*Engine).askStreams,
	agent.AskClients:         (*Engine).askClients,
	agent.AskMemory:          (*Engine).askMemory,
	agent.AskLog:             (*Engine).askLog,
	agent.AskSlowQueries:     (*Engine).askSlowQueries,
	agent.AskHotPartitions:   (*Engine).askHotPartitions,
	agent.AskFlameGraph:      (*Engine).askFlameGraph,
	agent.AskSSTables:        (*Engine).askSSTables,
	agent.AskCQLTraffic:      (*Engine).askCQLTraffic,
	agent.AskNodeTraffic:     (*Engine).askNodeTraffic,
}

// diagnose answers one question. Error codes: invalid-parameters, unknown-question, unknown-table, engine-not-running,
// control-unknown, management-unreachable, already-sampling, profiler-refused, table-not-found, snapshot-failed, engine-not-found,
// java-not-found, sstables-unreadable, capture-not-allowed.
func (e *Engine) diagnose(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	if err := parameters.Check(); err != nil {
		return agent.Answer{}, err
	}
	ask, known := askers[parameters.Question]
	if !known {
		return agent.Answer{}, agent.Errorf("unknown-question", "Cassandra cannot be asked %q.", parameters.Question)
	}
	ctx, cancel := context.WithTimeout(ctx, longest(parameters))
	defer cancel()
	answer, err := ask(e, ctx, parameters, report)
	answer.TakenAt = time.Now().UTC()
	return answer, reached(err)
}

// longest is how long an answer may take.
func longest(parameters agent.DiagnoseParameters) time.Duration {
	const beyondSampling, beyondReading = 20 * time.Second, 3 * time.Minute
	if parameters.Question == agent.AskSSTables {
		return time.Duration(parameters.Minutes)*time.Minute + beyondReading
	}
	return time.Duration(parameters.Seconds)*time.Second + beyondSampling
}

func column(title string, unit agent.Unit) agent.AnswerColumn {
	return agent.AnswerColumn{Title: title, Unit: unit}
}

func fact(label string, unit agent.Unit, value any) agent.AnswerFact {
	return agent.AnswerFact{Label: label, Unit: unit, Value: value}
}
