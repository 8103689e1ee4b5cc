package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/supervise"
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
	// mode is the engine's own word for what it does, bytes the live data it holds.
	mode   string
	modeAt time.Time
	bytes  int64
}

func (l *lastLook) putMode(mode string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode, l.modeAt = mode, time.Now()
}

func (l *lastLook) getMode() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.modeAt) > ringLookGood {
		return ""
	}
	return l.mode
}

func (l *lastLook) putBytes(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes = bytes
}

func (l *lastLook) dataBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
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
		condition := e.supervisor.Condition()
		if !condition.Alive {
			continue
		}
		if !condition.Ready {
			e.lookAtMode(ctx)
			continue
		}
		within, cancel := context.WithTimeout(ctx, ringLookGood)
		if conn, err := e.control.again(within); err == nil {
			ring, err := e.readRing(within, conn)
			switch {
			case shutOut(err):
				// The next login sees to it.
				e.control.forget()
			case err == nil:
				e.keepFence(within, conn, ring)
				e.watchDroppedHints(within, ring)
			}
			if err != nil {
				e.lookAtMode(ctx)
			}
		} else {
			e.lookAtMode(ctx)
		}
		cancel()
	}
}

// lookAtMode asks the engine what it does. Over CQL a node tells it only while it serves.
func (e *Engine) lookAtMode(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, ringLookEvery)
	defer cancel()
	var mode string
	if e.management.Do(within, jolokia.Read(storageService, "OperationMode"), &mode) == nil {
		e.look.putMode(mode)
	}
}

// modeNow is empty when it is not known.
func (e *Engine) modeNow(condition supervise.Condition) string {
	switch {
	case condition.Alive:
		return e.look.getMode()
	case e.hasLeft():
		return "DECOMMISSIONED"
	}
	return ""
}

// gossipStatus is the engine's word for what gossip says of a node: its first part, with one word for each thing.
func gossipStatus(text string) string {
	first, _, _ := strings.Cut(text, ",")
	switch first {
	case "BOOT", "BOOT_REPLACE":
		return "JOINING"
	case "removing", "removed":
		return "REMOVING"
	}
	return strings.ToUpper(first)
}

// ownModes are what a node's own gossip means for its mode, where the two have different words.
var ownModes = map[string]string{"LEFT": "DECOMMISSIONED", "SHUTDOWN": "DRAINED"}

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
	asOf := time.Now()
	peers, err := conn.Query(ctx, cql.One, "SELECT peer, peer_port, host_id, data_center, rack, schema_version, tokens FROM system.peers_v2")
	if err != nil {
		return agent.RingStatus{}, err
	}
	gossip, err := conn.Query(ctx, cql.One, "SELECT address, generation, heartbeat, status_with_port, load, host_id, dc, rack, \"schema\" FROM system_views.gossip_info")
	if err != nil {
		return agent.RingStatus{}, err
	}
	ring := agent.RingStatus{Tokens: []int64{}, Peers: []agent.Peer{}}
	for _, row := range local {
		ring.HostID, ring.SchemaVersion = row.Text("host_id"), row.Text("schema_version")
		ring.Datacenter, ring.Rack = row.Text("data_center"), row.Text("rack")
		if ring.Tokens, err = tokensOf(row); err != nil {
			return agent.RingStatus{}, err
		}
	}
	ring.TokensDigest = agent.TokensDigest(ring.Tokens)
	now := time.Now()
	living, statuses := map[string]bool{}, map[string]string{}
	for _, row := range gossip {
		address, status := row.Text("address"), gossipStatus(row.Text("status_with_port"))
		generation, _ := row["generation"].(int32)
		version, _ := row["heartbeat"].(int32)
		moved := e.heartbeat.up(address, generation, version, now)
		living[address] = moved && status == "NORMAL"
		statuses[address] = status
		if row.Text("host_id") == ring.HostID {
			e.look.putMode(orElse(ownModes[status], status))
			if load, err := strconv.ParseFloat(row.Text("load"), 64); err == nil {
				e.look.putBytes(int64(load))
			}
		} else if status == "JOINING" {
			// No member yet, so it is not among the peers that the engine keeps.
			ring.Peers = append(ring.Peers, agent.Peer{
				Address: address, HostID: row.Text("host_id"), Datacenter: row.Text("dc"), Rack: row.Text("rack"),
				SchemaVersion: row.Text("schema"), Status: status, TokensDigest: agent.TokensDigest(nil),
			})
		}
	}
	kept := make([]keptPeer, len(peers))
	for index, row := range peers {
		tokens, err := tokensOf(row)
		if err != nil {
			return agent.RingStatus{}, err
		}
		port, _ := row["peer_port"].(int32)
		kept[index] = keptPeer{row: row, address: row.Text("peer"), port: port, tokens: tokens}
	}
	replaced := replacedPeers(kept, statuses, ring.Tokens)
	for _, peer := range kept {
		status, told := statuses[peer.address]
		if slices.Contains(replaced, peer.address) {
			err := forgetPeer(ctx, conn, peer, asOf)
			if err == nil {
				e.log.Info("the engine still listed a node whose tokens others have; it does no longer", "address", peer.address)
				continue
			}
			e.log.Warn("the engine lists a node whose tokens others have", "address", peer.address, "error", err)
		} else if !told || status == "JOINING" || len(peer.tokens) == 0 {
			// Members are in gossip also when they are dead.
			continue
		}
		ring.Peers = append(ring.Peers, agent.Peer{
			Address: peer.address, HostID: peer.row.Text("host_id"), Datacenter: peer.row.Text("data_center"), Rack: peer.row.Text("rack"),
			SchemaVersion: peer.row.Text("schema_version"), Up: living[peer.address], Status: status,
			TokensDigest: agent.TokensDigest(peer.tokens), HintsDroppedAt: e.hints.droppedAt(peer.address),
		})
	}
	slices.SortFunc(ring.Peers, func(a, b agent.Peer) int { return strings.Compare(a.Address, b.Address) })
	e.look.put(ring)
	return ring, nil
}

// keptPeer is a row of what the engine keeps of another node; tokens are sorted.
type keptPeer struct {
	row     cql.Row
	address string
	port    int32
	tokens  []int64
}

// replacedPeers are the addresses of nodes that are no members any more and that the engine keeps all the same. For about a minute after a
// node was replaced gossip still calls it a member. An engine that begins to gossip then writes it down and, having more than one
// token, does not take it out when it hears whose its tokens are. Drivers would be told of it for ever. Whoever is a member is in
// gossip, dead or alive, so nobody is touched who is there, nor whose tokens are not all others'.
func replacedPeers(kept []keptPeer, statuses map[string]string, own []int64) []string {
	held := map[int64]bool{}
	for _, token := range own {
		held[token] = true
	}
	var unheard []keptPeer
	for _, peer := range kept {
		if _, told := statuses[peer.address]; !told {
			unheard = append(unheard, peer)
			continue
		}
		for _, token := range peer.tokens {
			held[token] = true
		}
	}
	var replaced []string
	for _, peer := range unheard {
		if len(peer.tokens) > 0 && !slices.ContainsFunc(peer.tokens, func(token int64) bool { return !held[token] }) {
			replaced = append(replaced, peer.address)
		}
	}
	return replaced
}

// forgetPeer takes a node out of what the engine tells drivers of its peers. Of what was written after asOf nothing is taken: somebody
// new may have got the address.
func forgetPeer(ctx context.Context, conn *cql.Conn, peer keptPeer, asOf time.Time) error {
	for _, from := range []string{
		"system.peers_v2 USING TIMESTAMP %d WHERE peer = '%s' AND peer_port = " + strconv.Itoa(int(peer.port)),
		"system.peers USING TIMESTAMP %d WHERE peer = '%s'",
	} {
		if _, err := conn.Query(ctx, cql.One, fmt.Sprintf("DELETE FROM "+from, asOf.UnixMicro(), peer.address)); err != nil {
			return err
		}
	}
	return nil
}

// tokensOf are those of a row, sorted.
func tokensOf(row cql.Row) ([]int64, error) {
	tokens := []int64{}
	for _, text := range row.Texts("tokens") {
		token, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	return tokens, nil
}

// disagreement is empty when the node sees exactly the members, all up and of one schema; else the first difference.
func disagreement(ring agent.RingStatus, self string, members []string) string {
	known := map[string]agent.Peer{}
	for _, peer := range ring.Peers {
		known[peer.Address] = peer
		if peer.Status == "JOINING" {
			// It has no tokens yet, and reads and writes do not depend on it.
			continue
		}
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
