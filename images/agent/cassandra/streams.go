package cassandra

import (
	"context"
	"fmt"
	"math"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

// direction of data, as this node sees it.
type direction int

const (
	inward direction = iota
	outward
)

// streamWatch follows what a node streams. The engine forgets a stream's figures when it ends, so bytes are counted by its
// counters, which only grow; what is still to come it tells of the streams that run.
type streamWatch struct {
	// Base is the counter before the operation; Done and Total are bytes of it.
	Base        int64
	Done, Total int64
	// first is when bytes were first seen to move.
	first      time.Time
	firstBytes int64
}

// plan is one running operation of the engine's stream manager. Composite values come as objects.
type plan struct {
	Description string  `json:"description"`
	CurrentRx   float64 `json:"currentRxBytes"`
	TotalRx     float64 `json:"totalRxBytes"`
	CurrentTx   float64 `json:"currentTxBytes"`
	TotalTx     float64 `json:"totalTxBytes"`
}

func streamCounter(way direction) string {
	if way == inward {
		return metric("Streaming", "TotalIncomingBytes")
	}
	return metric("Streaming", "TotalOutgoingBytes")
}

// streamedSoFar are the bytes since the engine started.
func streamedSoFar(ctx context.Context, management *jolokia.Client, way direction) (int64, error) {
	var count int64
	err := management.Do(ctx, jolokia.Read(streamCounter(way), "Count"), &count)
	if jolokia.Missing(err) {
		// Made by the first stream.
		return 0, nil
	}
	return count, err
}

// look asks the engine. An engine that does not answer leaves the figures as they are.
func (w *streamWatch) look(ctx context.Context, management *jolokia.Client, way direction) {
	answers, err := management.Batch(ctx, []jolokia.Call{
		jolokia.Read(streamManager, "CurrentStreams"), jolokia.Read(streamCounter(way), "Count"),
	})
	if err != nil {
		return
	}
	var plans []plan
	var count int64
	if answers[0].Into(&plans) != nil {
		return
	}
	if err := answers[1].Into(&count); err != nil && !jolokia.Missing(err) {
		return
	}
	w.note(plans, count, way, time.Now())
}

// note takes figures in.
func (w *streamWatch) note(plans []plan, count int64, way direction, now time.Time) {
	var left int64
	for _, running := range plans {
		if way == inward {
			left += int64(running.TotalRx - running.CurrentRx)
		} else {
			left += int64(running.TotalTx - running.CurrentTx)
		}
	}
	w.Done = max(w.Done, count-w.Base)
	w.Total = max(w.Total, w.Done+max(left, 0))
	if w.first.IsZero() && w.Done > 0 {
		w.first, w.firstBytes = now, w.Done
	}
}

// between is a progress from low to high, by bytes.
func (w *streamWatch) between(low, high float64) float64 {
	if w.Total <= 0 {
		return low
	}
	return low + (high-low)*float64(w.Done)/float64(w.Total)
}

// words tell bytes and, once there is a rate, seconds left.
func (w *streamWatch) words(doing string) string {
	if w.Total <= 0 {
		return doing
	}
	said := fmt.Sprintf("%s: %s of %s", doing, inMiB(w.Done), inMiB(w.Total))
	elapsed := time.Since(w.first)
	moved := w.Done - w.firstBytes
	if w.first.IsZero() || elapsed < time.Second || moved <= 0 {
		return said
	}
	left := time.Duration(float64(w.Total-w.Done) / float64(moved) * float64(elapsed))
	return fmt.Sprintf("%s, about %d s left", said, int(left.Round(time.Second).Seconds()))
}

func inMiB(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// StreamLimitParameters are those of the job stream-limit.
type StreamLimitParameters struct {
	// MiBPerSecond is for each of the engine's four limits; 0 lifts them, null means the configuration's own values.
	MiBPerSecond *int `json:"mib_per_second"`
}

func (p StreamLimitParameters) check() error {
	if p.MiBPerSecond != nil && (*p.MiBPerSecond < 0 || *p.MiBPerSecond > 100_000) {
		return agent.Errorf("invalid-parameters", "mib_per_second must be between 0 and 100000, or null")
	}
	return nil
}

// streamLimits are the engine's attributes, and the settings that give their values at a start.
var streamLimits = []struct{ attribute, setting string }{
	{"StreamThroughputMebibytesPerSec", "stream_throughput_outbound"},
	{"InterDCStreamThroughputMebibytesPerSec", "inter_dc_stream_throughput_outbound"},
	{"EntireSSTableStreamThroughputMebibytesPerSec", "entire_sstable_stream_throughput_outbound"},
	{"EntireSSTableInterDCStreamThroughputMebibytesPerSec", "entire_sstable_inter_dc_stream_throughput_outbound"},
}

// stockStreamLimit is the engine's own, MiB/s, for all four.
const stockStreamLimit = 24

// The engine's attributes that tell what limits it, MiB/s.
const (
	streamRate     = "StreamThroughputMebibytesPerSecAsDouble"
	compactionRate = "CompactionThroughtputMibPerSecAsDouble"
)

// stockCompactionLimit is the engine's own, MiB/s.
const stockCompactionLimit = 64

// limitStreams sets how much a second this node sends at most, until the engine is started anew.
func (e *Engine) limitStreams(ctx context.Context, parameters StreamLimitParameters, _ agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return Nothing{}, e.setStreamLimits(within, parameters.MiBPerSecond)
}

func (e *Engine) setStreamLimits(ctx context.Context, wanted *int) error {
	for _, limit := range streamLimits {
		value, err := e.rate(wanted, limit.setting, stockStreamLimit)
		if err != nil {
			return err
		}
		if err := e.management.Do(ctx, jolokia.Write(storageService, limit.attribute, value), nil); err != nil {
			return err
		}
	}
	return nil
}

// rate is what is wanted; when nothing is, what the configuration says, or else the engine's own.
func (e *Engine) rate(wanted *int, setting string, stock int) (int, error) {
	if wanted != nil {
		return *wanted, nil
	}
	config, err := e.configured()
	if err != nil {
		return 0, err
	}
	if set, given := config.Settings[setting]; given {
		return mebibytes(fmt.Sprint(set))
	}
	return stock, nil
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
func (e *Engine) setThroughput(ctx context.Context, parameters throughputParameters, _ agent.Report) (agent.Throughput, error) {
	if err := e.running(); err != nil {
		return agent.Throughput{}, err
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	compactions, err := e.rate(parameters.CompactionMiBS, "compaction_throughput", stockCompactionLimit)
	if err != nil {
		return agent.Throughput{}, err
	}
	var before agent.Throughput
	err = e.untilAnswered(within, func() error {
		answers, err := e.management.Batch(within, []jolokia.Call{jolokia.Read(storageService, streamRate), jolokia.Read(storageService, compactionRate)})
		if err != nil {
			return err
		}
		for index, into := range []*int{&before.StreamMiBS, &before.CompactionMiBS} {
			var rate float64
			if err := answers[index].Into(&rate); err != nil {
				return err
			}
			*into = int(math.Ceil(rate))
		}
		return nil
	})
	if err != nil {
		return agent.Throughput{}, err
	}
	if err := e.setStreamLimits(within, parameters.StreamMiBS); err != nil {
		return agent.Throughput{}, err
	}
	return before, e.management.Do(within, jolokia.Write(storageService, "CompactionThroughputMbPerSec", compactions), nil)
}

// mebibytes reads a rate as the engine's settings have it, for example 24MiB/s, and rounds it up to whole MiB/s.
func mebibytes(rate string) (int, error) {
	var number int64
	var unit string
	if _, err := fmt.Sscanf(rate, "%d%s", &number, &unit); err != nil {
		return 0, agent.Errorf("invalid-config", "%q is not a rate such as 24MiB/s", rate)
	}
	size, known := map[string]int64{"B/s": 1, "KiB/s": 1 << 10, "MiB/s": 1 << 20}[unit]
	if !known {
		return 0, agent.Errorf("invalid-config", "%q is not a rate such as 24MiB/s", rate)
	}
	return int((number*size + (1<<20 - 1)) >> 20), nil
}
