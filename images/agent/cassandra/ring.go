package cassandra

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// heartbeatSilence is how long a node's heartbeat may stand still until it counts as down. The engine itself, with its
// usual settings, convicts a node after some 18 s.
const heartbeatSilence = 10 * time.Second

// ringLookEvery is how often the ring is looked at; a look older than ringLookGood is no longer told.
const (
	ringLookEvery = 2 * time.Second
	ringLookGood  = 10 * time.Second
)

// heartbeats remembers when each node's heartbeat was last seen to move. The engine tells heartbeats over CQL, but not
// whom it holds for dead.
type heartbeats struct {
	mu   sync.Mutex
	seen map[string]heartbeat
}

type heartbeat struct {
	generation, version int32
	movedAt             time.Time
}

// up notes what gossip says of a node and tells whether it lives. A node never looked at before counts as living.
func (h *heartbeats) up(address string, generation, version int32, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[string]heartbeat{}
	}
	last, known := h.seen[address]
	if !known || last.generation != generation || last.version != version {
		h.seen[address] = heartbeat{generation: generation, version: version, movedAt: now}
		return true
	}
	return now.Sub(last.movedAt) < heartbeatSilence
}

// lastLook is the ring as it was seen last. Who asks for the status is never made to wait for the engine.
type lastLook struct {
	mu   sync.Mutex
	ring *agent.RingStatus
	at   time.Time
}

func (l *lastLook) put(ring agent.RingStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.at = &ring, time.Now()
}

func (l *lastLook) get() *agent.RingStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) > ringLookGood {
		return nil
	}
	return l.ring
}

// watchRing looks at the ring again and again, once the control account is known.
func (e *Engine) watchRing(ctx context.Context) {
	for pause(ctx, ringLookEvery) == nil {
		if condition := e.supervisor.Condition(); !condition.Ready {
			continue
		}
		within, cancel := context.WithTimeout(ctx, ringLookGood)
		if conn, err := e.control.again(within); err == nil {
			_, _ = e.readRing(within, conn)
		}
		cancel()
	}
}

// Ring implements agent.Engine.
func (e *Engine) Ring(context.Context) *agent.RingStatus {
	if condition := e.supervisor.Condition(); !condition.Ready {
		return nil
	}
	return e.look.get()
}

func (e *Engine) describeRing(ctx context.Context, _ Nothing, _ agent.Report) (agent.RingStatus, error) {
	if err := e.running(); err != nil {
		return agent.RingStatus{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var ring agent.RingStatus
	err := untilPassed(ctx, func() error {
		conn, err := e.control.again(ctx)
		if err == nil {
			ring, err = e.readRing(ctx, conn)
		}
		return err
	})
	return ring, err
}

func (e *Engine) readRing(ctx context.Context, conn *cql.Conn) (agent.RingStatus, error) {
	local, err := conn.Query(ctx, cql.One, "SELECT host_id, data_center, rack, schema_version, tokens FROM system.local WHERE key = 'local'")
	if err != nil {
		return agent.RingStatus{}, err
	}
	peers, err := conn.Query(ctx, cql.One, "SELECT peer, host_id, data_center, rack, schema_version FROM system.peers_v2")
	if err != nil {
		return agent.RingStatus{}, err
	}
	gossip, err := conn.Query(ctx, cql.One, "SELECT address, generation, heartbeat, status_with_port FROM system_views.gossip_info")
	if err != nil {
		return agent.RingStatus{}, err
	}
	ring := agent.RingStatus{Tokens: []int64{}, Peers: []agent.Peer{}}
	for _, row := range local {
		ring.HostID, ring.SchemaVersion = row.Text("host_id"), row.Text("schema_version")
		ring.Datacenter, ring.Rack = row.Text("data_center"), row.Text("rack")
		for _, text := range row.Texts("tokens") {
			token, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return agent.RingStatus{}, err
			}
			ring.Tokens = append(ring.Tokens, token)
		}
	}
	slices.Sort(ring.Tokens)
	now := time.Now()
	living := map[string]bool{}
	for _, row := range gossip {
		generation, _ := row["generation"].(int32)
		version, _ := row["heartbeat"].(int32)
		moved := e.heartbeat.up(row.Text("address"), generation, version, now)
		living[row.Text("address")] = moved && strings.HasPrefix(row.Text("status_with_port"), "NORMAL")
	}
	for _, row := range peers {
		ring.Peers = append(ring.Peers, agent.Peer{
			Address: row.Text("peer"), HostID: row.Text("host_id"), Datacenter: row.Text("data_center"), Rack: row.Text("rack"),
			SchemaVersion: row.Text("schema_version"), Up: living[row.Text("peer")],
		})
	}
	slices.SortFunc(ring.Peers, func(a, b agent.Peer) int { return strings.Compare(a.Address, b.Address) })
	e.look.put(ring)
	return ring, nil
}

// disagreement is empty when the node sees exactly the members, all up and of one schema; else the first difference.
func disagreement(ring agent.RingStatus, self string, members []string) string {
	known := map[string]agent.Peer{}
	for _, peer := range ring.Peers {
		known[peer.Address] = peer
		if !slices.Contains(members, peer.Address) {
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
