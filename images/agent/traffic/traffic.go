// Package traffic adds up what a node sends and receives. Engines count since their start; what is kept here outlives them and the agent,
// so that nothing counts twice and all that is missing is what an engine counted between its last reading and its end.
package traffic

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"ringmaster/agent"
	"ringmaster/agent/metrics"
	"ringmaster/agent/statefile"
)

// Count is one counter of the engine as it was read.
type Count struct {
	// Name tells it from the others.
	Name  string
	Bytes int64
	// Of is what the bytes are.
	Of Kind
	// Datacenter and Zone are where they were sent to, of ToNode.
	Datacenter, Zone string
}

// Kind is what bytes are.
type Kind int

// The kinds of traffic.
const (
	ToNode Kind = iota
	ToClient
	FromClient
)

// kept is what survives the agent.
type kept struct {
	Traffic agent.TrafficStatus `json:"traffic"`
	// Engine names the process that was read, Counts are its counters then.
	Engine string           `json:"engine"`
	Counts map[string]int64 `json:"counts"`
}

// with is what is known after another reading. A process that was started anew, or a counter that went back, counts from nothing.
// first: nothing was ever read of an engine that had run before anybody could read it, so only what comes after this is counted.
func (k kept) with(engine string, read []Count, first bool) kept {
	after := kept{Traffic: k.Traffic, Engine: engine, Counts: map[string]int64{}}
	after.Traffic.ToNodes = slices.Clone(k.Traffic.ToNodes)
	for _, one := range read {
		after.Counts[one.Name] = one.Bytes
		grown := one.Bytes
		if before := k.Counts[one.Name]; k.Engine == engine && before <= one.Bytes {
			grown -= before
		}
		if first {
			grown = 0
		}
		after.add(one, grown)
	}
	return after
}

func (k *kept) add(one Count, bytes int64) {
	switch one.Of {
	case ToClient:
		k.Traffic.ToClients += bytes
	case FromClient:
		k.Traffic.FromClients += bytes
	case ToNode:
		for index := range k.Traffic.ToNodes {
			if to := &k.Traffic.ToNodes[index]; to.Datacenter == one.Datacenter && to.Zone == one.Zone {
				to.Bytes += bytes
				return
			}
		}
		k.Traffic.ToNodes = append(k.Traffic.ToNodes, agent.TrafficToNodes{Datacenter: one.Datacenter, Zone: one.Zone, Bytes: bytes})
		slices.SortFunc(k.Traffic.ToNodes, func(a, b agent.TrafficToNodes) int {
			return strings.Compare(a.Datacenter+"\x00"+a.Zone, b.Datacenter+"\x00"+b.Zone)
		})
	}
}

// Meter keeps a node's traffic in a file. The zero value with a path is ready; it may be used from several goroutines.
type Meter struct {
	Path string

	mu     sync.Mutex
	kept   kept
	opened bool
}

// Note takes a reading of the engine's counters in. engine names its process. ranBefore: it was started before this agent was, so if
// nothing is kept yet its counters hold what was before there was anybody to read them.
func (m *Meter) Note(engine string, read []Count, ranBefore bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.open(); err != nil {
		return err
	}
	before := m.kept
	isFirst := before.Traffic.Epoch == ""
	if isFirst {
		before.Traffic.Epoch = rand.Text()
	}
	after := before.with(engine, read, isFirst && ranBefore)
	if after.Engine == m.kept.Engine && maps.Equal(after.Counts, m.kept.Counts) {
		return nil
	}
	// What is not on disk is not told: told bytes must not be counted once more after a crash.
	if err := statefile.WriteJSON(m.Path, after); err != nil {
		return err
	}
	m.kept = after
	return nil
}

func (m *Meter) open() error {
	if m.opened {
		return nil
	}
	if err := statefile.ReadJSON(m.Path, &m.kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.opened = true
	return nil
}

// Status is nil as long as nothing was read.
func (m *Meter) Status() *agent.TrafficStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open() != nil || m.kept.Traffic.Epoch == "" {
		return nil
	}
	told := m.kept.Traffic
	told.ToNodes = append([]agent.TrafficToNodes{}, told.ToNodes...)
	return &told
}

// Metrics adds what is known to a page.
func (m *Meter) Metrics(page *metrics.Page) {
	told := m.Status()
	if told == nil {
		return
	}
	for _, to := range told.ToNodes {
		page.Family("ringmaster_node_internode_sent_bytes_total").Add(metrics.Labels("to_datacenter", to.Datacenter, "to_zone", to.Zone), float64(to.Bytes))
	}
	clients := page.Family("ringmaster_node_client_bytes_total")
	clients.Add(metrics.Labels("direction", "in"), float64(told.FromClients))
	clients.Add(metrics.Labels("direction", "out"), float64(told.ToClients))
}
