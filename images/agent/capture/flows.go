package capture

import (
	"cmp"
	"net/netip"
	"slices"
)

// Flow is what was seen between this machine's port and one other machine. In is towards the port.
type Flow struct {
	Peer                  netip.Addr
	Connections           int
	PacketsIn, PacketsOut int64
	// BytesIn and BytesOut are of the payload of TCP, as often as it was sent.
	BytesIn, BytesOut int64
	Retransmitted     int64
	// Handshakes are those of TLS that began, Plain segments with a payload that is no TLS.
	Handshakes, Resets, Plain int64
}

// connection is one of TCP, and how far each side has sent.
type connection struct {
	peer netip.AddrPort
	// next is the number after the last byte that was seen; of what comes before, all is sent once more.
	next [2]uint32
	seen [2]bool
	// tls tells that a record of TLS was seen, so that what goes on in a later segment is none of its own.
	tls bool
}

// flows adds up packets by peer.
type flows struct {
	byPeer      map[netip.Addr]*Flow
	connections map[netip.AddrPort]*connection
}

func newFlows() *flows {
	return &flows{byPeer: map[netip.Addr]*Flow{}, connections: map[netip.AddrPort]*connection{}}
}

// The first byte of a record of TLS, from ChangeCipherSpec to ApplicationData.
const (
	firstRecord, handshakeRecord, lastRecord = 20, 22, 23
	clientHello                              = 1
)

func (f *flows) add(one segment) {
	flow := f.byPeer[one.peer.Addr()]
	if flow == nil {
		flow = &Flow{Peer: one.peer.Addr()}
		f.byPeer[one.peer.Addr()] = flow
	}
	known := f.connections[one.peer]
	if known == nil || one.syn && one.in {
		known = &connection{peer: one.peer}
		f.connections[one.peer] = known
		flow.Connections++
	}
	side := 0
	size := int64(one.length)
	if one.in {
		flow.PacketsIn, flow.BytesIn = flow.PacketsIn+1, flow.BytesIn+size
	} else {
		side = 1
		flow.PacketsOut, flow.BytesOut = flow.PacketsOut+1, flow.BytesOut+size
	}
	if one.reset {
		flow.Resets++
	}
	if one.length == 0 {
		return
	}
	// A probe that keeps a connection alive sends one old byte: it is no loss.
	end := one.sequence + uint32(one.length)
	again := known.seen[side] && int32(end-known.next[side]) <= 0
	if again && one.length > 1 {
		flow.Retransmitted++
	}
	if !again {
		known.next[side], known.seen[side] = end, true
	}
	f.look(flow, known, one, again)
}

// look tells TLS from other payloads by how records begin.
func (f *flows) look(flow *Flow, known *connection, one segment, again bool) {
	const header = 6
	if again || len(one.payload) < header {
		return
	}
	record := one.payload[0] >= firstRecord && one.payload[0] <= lastRecord && one.payload[1] == 3 && one.payload[2] <= 4
	switch {
	case record && one.payload[0] == handshakeRecord && one.payload[5] == clientHello:
		flow.Handshakes++
		known.tls = true
	case record:
		known.tls = true
	case !known.tls:
		flow.Plain++
	}
}

// told are the flows, the busiest first.
func (f *flows) told() []Flow {
	var all []Flow
	for _, flow := range f.byPeer {
		all = append(all, *flow)
	}
	slices.SortFunc(all, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.BytesIn+b.BytesOut, a.BytesIn+a.BytesOut), a.Peer.Compare(b.Peer))
	})
	return all
}
