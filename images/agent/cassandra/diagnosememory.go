package cassandra

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

// askMemory tells of the heap and of the collectors, and which pauses the engine logged.
func (e *Engine) askMemory(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	type usage struct{ Used, Committed, Max float64 }
	var heap, other usage
	var threads, peak, started float64
	collectors := map[string]map[string]float64{}
	reading := []struct {
		call jolokia.Call
		into any
	}{
		{jolokia.Read(memoryBean, "HeapMemoryUsage"), &heap}, {jolokia.Read(memoryBean, "NonHeapMemoryUsage"), &other},
		{jolokia.Read(threadingBean, "ThreadCount"), &threads}, {jolokia.Read(threadingBean, "PeakThreadCount"), &peak},
		{jolokia.Read(jvmRuntime, "StartTime"), &started},
	}
	var calls []jolokia.Call
	for _, one := range reading {
		calls = append(calls, one.call)
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return agent.Answer{}, err
	}
	for index, one := range reading {
		if err := answers[index].Into(one.into); err != nil {
			return agent.Answer{}, err
		}
	}
	for _, attribute := range []string{"CollectionCount", "CollectionTime"} {
		found := map[string]map[string]float64{}
		if err := e.management.Do(ctx, jolokia.Read(collectorBeans, attribute), &found); err != nil {
			return agent.Answer{}, err
		}
		for bean, values := range found {
			if collectors[bean] == nil {
				collectors[bean] = map[string]float64{}
			}
			maps.Copy(collectors[bean], values)
		}
	}
	up := time.Since(time.UnixMilli(int64(started))).Seconds()
	var rows [][]any
	for _, bean := range slices.Sorted(maps.Keys(collectors)) {
		spent := collectors[bean]["CollectionTime"] / 1000
		rows = append(rows, []any{beanName(bean), collectors[bean]["CollectionCount"], spent, spent / max(up, 1)})
	}
	pauses, err := loggedPauses(e.place.systemLog(), parameters.Limit)
	if err != nil {
		return agent.Answer{}, err
	}
	return agent.Answer{
		Facts: []agent.AnswerFact{
			fact("Heap in use", agent.Bytes, heap.Used), fact("Heap at most", agent.Bytes, heap.Max), fact("Other JVM memory", agent.Bytes, other.Used),
			fact("Threads", agent.Count, threads), fact("Threads at most so far", agent.Count, peak), fact("Running for", agent.Seconds, up),
		},
		Tables: []agent.AnswerTable{
			agent.Told("Collectors since the start", []agent.AnswerColumn{
				column("Collector", agent.Text), column("Collections", agent.Count), column("Time", agent.Seconds), column("Share of the time", agent.Ratio),
			}, rows, len(rows)),
			pauses,
		},
		Notes: []string{"The engine logs pauses of 200 ms and more; shorter ones are in the totals only."},
	}, nil
}

// beanName is the name of a bean such as java.lang:name=Copy,type=GarbageCollector.
func beanName(bean string) string {
	for part := range strings.SplitSeq(bean[strings.IndexByte(bean, ':')+1:], ",") {
		if name, found := strings.CutPrefix(part, "name="); found {
			return name
		}
	}
	return bean
}

var pauseInLog = regexp.MustCompile(`^(.+) GC in (\d+)ms`)

// loggedPauses are the longest pauses that the engine logged, with the time of each.
func loggedPauses(path string, limit int) (agent.AnswerTable, error) {
	var rows [][]any
	file, err := openLog(path)
	if err == nil {
		defer file.Close()
		err = readEntries(file, wholeFile, func(one entry) {
			if one.Source != "GCInspector" {
				return
			}
			if found := pauseInLog.FindStringSubmatch(one.Text); found != nil {
				milliseconds, _ := strconv.ParseFloat(found[2], 64)
				rows = append(rows, []any{one.At, found[1], milliseconds})
			}
		})
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.Reverse(rows)
	return agent.Told("Pauses in the log, the newest first", []agent.AnswerColumn{
		column("At", agent.Text), column("Collector", agent.Text), column("Pause", agent.Milliseconds),
	}, rows, limit), err
}
