package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/statefile"
)

// What a node misses while it is away the others keep as hints, for so long as the engine's settings say. What they keep no
// more the node has to fetch, and nobody but those others knows. The engine counts what it did not keep, for each node since its start.

const (
	droppedHintsEvery = 10 * time.Second
	// droppedHintsTold is how long it is told.
	droppedHintsTold = 48 * time.Hour
)

func (f folders) droppedHints() string { return filepath.Join(f.root, "dropped-hints.json") }

// droppedHints is what was counted last, and when it grew, by the other nodes' addresses. It outlives the agent: what has not grown
// meanwhile is not told as new.
type droppedHints struct {
	EngineStartedAt int64                `json:"engine_started_at"`
	Counts          map[string]int64     `json:"counts"`
	GrewAt          map[string]time.Time `json:"grew_at"`
}

// seen is what is known after another look. An engine that was started anew counts from 0.
func (d droppedHints) seen(started int64, counts map[string]int64, now time.Time) droppedHints {
	after := droppedHints{EngineStartedAt: started, Counts: map[string]int64{}, GrewAt: map[string]time.Time{}}
	if d.EngineStartedAt == started {
		maps.Copy(after.Counts, d.Counts)
	}
	for address, at := range d.GrewAt {
		if now.Sub(at) < droppedHintsTold {
			after.GrewAt[address] = at
		}
	}
	for address, count := range counts {
		if count > after.Counts[address] {
			after.Counts[address], after.GrewAt[address] = count, now
		}
	}
	return after
}

func (d droppedHints) equal(other droppedHints) bool {
	return d.EngineStartedAt == other.EngineStartedAt && maps.Equal(d.Counts, other.Counts) && maps.EqualFunc(d.GrewAt, other.GrewAt, time.Time.Equal)
}

// hintsWatch is the engine's counters as they were looked at last.
type hintsWatch struct {
	mu   sync.Mutex
	at   time.Time
	kept droppedHints
	read bool
}

// droppedAt is when this node last kept no hint for another one; nil: it is not known to have.
func (w *hintsWatch) droppedAt(address string) *time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, known := w.kept.GrewAt[address]; known {
		return &at
	}
	return nil
}

// watchDroppedHints looks at the counters from time to time.
func (e *Engine) watchDroppedHints(ctx context.Context, ring agent.RingStatus) {
	w := &e.hints
	if len(ring.Peers) == 0 || time.Since(w.at) < droppedHintsEvery {
		return
	}
	w.at = time.Now()
	if err := e.lookAtDroppedHints(ctx, w, ring); err != nil && ctx.Err() == nil {
		e.log.Warn("nobody knows whether hints were dropped", "error", err)
	}
}

func (e *Engine) lookAtDroppedHints(ctx context.Context, w *hintsWatch, ring agent.RingStatus) error {
	kept := w.kept
	if !w.read {
		if err := statefile.ReadJSON(e.place.droppedHints(), &kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	started, err := e.engineStartedAt(ctx)
	if err != nil {
		return err
	}
	var calls []jolokia.Call
	for _, peer := range ring.Peers {
		for _, bean := range notStored(peer.Address) {
			calls = append(calls, jolokia.Read(bean, "Count"))
		}
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	for index, answer := range answers {
		var count int64
		// Made by the first hint that is not kept.
		if err := answer.Into(&count); err != nil && !jolokia.Missing(err) {
			return err
		}
		counts[ring.Peers[index/len(notStored(""))].Address] += count
	}
	after := kept.seen(started, counts, time.Now().UTC())
	if !after.equal(kept) {
		if err := statefile.WriteJSON(e.place.droppedHints(), after); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept, w.read = after, true
	return nil
}

// notStored are the beans that may count what was not kept for a node. The engine writes into their names how it first heard of the
// address: alone, or as one of its seeds, whose name is the address.
func notStored(address string) [2]string {
	name := fmt.Sprintf("/%s.%d", address, internodePort)
	return [2]string{metric("HintsService", "Hints_not_stored-"+name), metric("HintsService", "Hints_not_stored-"+address+name)}
}
