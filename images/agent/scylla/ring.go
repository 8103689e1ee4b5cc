package scylla

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/supervise"
)

// The ring is looked at every so often; a look older than lookGood is no longer told.
const (
	lookEvery = 2 * time.Second
	lookGood  = 10 * time.Second
)

// look is the ring as it was seen last. Who asks for the status is never made to wait for the engine.
type look struct {
	mu    sync.Mutex
	ring  *agent.RingStatus
	mode  string
	bytes int64
	// at is when the mode was seen, ringAt when the ring was.
	at, ringAt time.Time
}

func (l *look) put(mode string, bytes int64, ring *agent.RingStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode, l.at = mode, time.Now()
	if bytes > 0 {
		l.bytes = bytes
	}
	if ring != nil {
		l.ring, l.ringAt = ring, l.at
	}
}

func (l *look) get() (mode string, ring *agent.RingStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) <= lookGood {
		mode = l.mode
	}
	if time.Since(l.ringAt) <= lookGood {
		ring = l.ring
	}
	return mode, ring
}

func (l *look) dataBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// watchRing looks at the ring again and again. The engine's API needs no account, so that it tells from the start.
func (e *Engine) watchRing(ctx context.Context) {
	for pause(ctx, lookEvery) == nil {
		if !e.supervisor.Condition().Alive {
			continue
		}
		within, cancel := context.WithTimeout(ctx, lookGood)
		if mode, err := e.api.Mode(within); err == nil {
			bytes, _ := e.api.Bytes(within)
			ring, err := e.readRing(within)
			if err != nil {
				e.look.put(mode, bytes, nil)
			} else {
				e.look.put(mode, bytes, &ring)
			}
		}
		cancel()
	}
}

// modeNow is empty when it is not known.
func (e *Engine) modeNow(condition supervise.Condition) string {
	switch {
	case condition.Alive:
		mode, _ := e.look.get()
		return mode
	case e.hasLeft():
		return "DECOMMISSIONED"
	}
	return ""
}

// Ring implements agent.Engine.
func (e *Engine) Ring(context.Context) *agent.RingStatus {
	if !e.supervisor.Condition().Ready {
		return nil
	}
	_, ring := e.look.get()
	return ring
}

func (e *Engine) describeRing(ctx context.Context, _ Nothing, _ agent.Report) (agent.RingStatus, error) {
	if err := e.isRunning(); err != nil {
		return agent.RingStatus{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var ring agent.RingStatus
	return ring, e.untilAnswered(ctx, func() (err error) {
		ring, err = e.readRing(ctx)
		return err
	})
}

// ringFacts are the answers that the ring is put together from.
type ringFacts struct {
	own                    string
	ownHost, ownSchema     string
	hosts, owners          map[string]string
	joining, leaving, move []string
	nodes                  map[string]scyllaapi.NodeState
}

func (e *Engine) readRing(ctx context.Context) (agent.RingStatus, error) {
	config, err := e.configured()
	if err != nil {
		return agent.RingStatus{}, err
	}
	facts := ringFacts{own: config.Address}
	for _, ask := range []func() error{
		func() (err error) { facts.hosts, err = e.api.HostIDs(ctx); return err },
		func() (err error) { facts.owners, err = e.api.TokenOwners(ctx); return err },
		func() (err error) { facts.nodes, err = e.api.Nodes(ctx); return err },
		func() (err error) { facts.joining, err = e.api.Joining(ctx); return err },
		func() (err error) { facts.leaving, err = e.api.Leaving(ctx); return err },
		func() (err error) { facts.move, err = e.api.Moving(ctx); return err },
		func() (err error) { facts.ownHost, err = e.api.HostID(ctx); return err },
		func() (err error) { facts.ownSchema, err = e.api.SchemaVersion(ctx); return err },
	} {
		if err := ask(); err != nil {
			return agent.RingStatus{}, err
		}
	}
	ring, err := facts.ring()
	ring.Datacenter, ring.Rack = config.Datacenter, config.Rack
	return ring, err
}

// ring is what the facts come to. A peer is a member, which has tokens, or joins.
func (f ringFacts) ring() (agent.RingStatus, error) {
	tokens := map[string][]int64{}
	for text, address := range f.owners {
		token, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return agent.RingStatus{}, err
		}
		tokens[address] = append(tokens[address], token)
	}
	own := slices.Sorted(slices.Values(tokens[f.own]))
	if own == nil {
		own = []int64{}
	}
	ring := agent.RingStatus{
		HostID: f.ownHost, SchemaVersion: f.ownSchema, Tokens: own, TokensDigest: agent.TokensDigest(own), Peers: []agent.Peer{},
	}
	addresses := slices.Concat(slices.Collect(maps.Keys(f.hosts)), f.joining)
	slices.Sort(addresses)
	for _, address := range slices.Compact(addresses) {
		status, told := f.statusOf(address), f.nodes[address]
		if address == f.own || status == "NORMAL" && len(tokens[address]) == 0 {
			continue
		}
		host := f.hosts[address]
		if host == "" {
			host = told.HostID
		}
		ring.Peers = append(ring.Peers, agent.Peer{
			Address: address, HostID: host, Datacenter: told.Datacenter, Rack: told.Rack, SchemaVersion: told.SchemaVersion,
			Up: told.Up && status == "NORMAL", Status: status, TokensDigest: agent.TokensDigest(tokens[address]),
		})
	}
	return ring, nil
}

func (f ringFacts) statusOf(address string) string {
	switch {
	case slices.Contains(f.joining, address):
		return "JOINING"
	case slices.Contains(f.leaving, address):
		return "LEAVING"
	case slices.Contains(f.move, address):
		return "MOVING"
	}
	return "NORMAL"
}

// disagreement is empty when the node sees exactly the members, all up and of one schema; else the first difference.
func disagreement(ring agent.RingStatus, self string, members []string) string {
	known := map[string]agent.Peer{}
	for _, peer := range ring.Peers {
		known[peer.Address] = peer
		// One that joins holds nothing yet, and reads and writes do not depend on it.
		if peer.Status != "JOINING" && !slices.Contains(members, peer.Address) {
			return "it sees " + peer.Address + ", which is no member"
		}
	}
	for _, member := range members {
		peer, seen := known[member]
		switch {
		case member == self:
		case !seen:
			return "it does not see " + member
		case !peer.Up:
			return "it sees " + member + " down"
		case peer.SchemaVersion != ring.SchemaVersion:
			return "its schema differs from that of " + member
		}
	}
	return ""
}

// gone tells whether the ring knows no node with a host id.
func gone(hosts map[string]string, hostID string) bool {
	for _, known := range hosts {
		if strings.EqualFold(known, hostID) {
			return false
		}
	}
	return true
}
