package capture

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

// sent makes a packet of IPv4 and TCP.
func sent(from, to string, sequence uint32, flags byte, payload []byte) []byte {
	source, receiver := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	packet := make([]byte, 40, 40+len(payload))
	packet[0], packet[9] = 0x45, tcp
	binary.BigEndian.PutUint16(packet[2:], uint16(40+len(payload)))
	copy(packet[12:], source.Addr().AsSlice())
	copy(packet[16:], receiver.Addr().AsSlice())
	binary.BigEndian.PutUint16(packet[20:], source.Port())
	binary.BigEndian.PutUint16(packet[22:], receiver.Port())
	binary.BigEndian.PutUint32(packet[24:], sequence)
	packet[32], packet[33] = 5<<4, flags
	return append(packet, payload...)
}

const (
	server, first, second = "10.0.0.1:9042", "10.0.0.7:40000", "10.0.0.7:40001"
	syn, reset            = 2, 4
)

func TestPacketsAreAddedUpByPeer(t *testing.T) {
	hello, data := []byte{22, 3, 1, 0, 10, 1, 0, 0}, []byte{23, 3, 3, 0, 10, 9, 9, 9}
	plain := []byte{4, 0, 0, 1, 5, 0, 0, 0, 0}
	seen := newFlows()
	for _, packet := range [][]byte{
		sent(first, server, 100, syn, nil),
		sent(first, server, 101, 0, hello),
		sent(server, first, 500, 0, data),
		sent(first, server, 109, 0, data),
		// Lost, and sent once more; then what came late.
		sent(first, server, 109, 0, data),
		// Keeping the connection alive.
		sent(first, server, 116, 0, []byte{0}),
		// What goes on of a record is no plain text.
		sent(first, server, 117, 0, []byte("the rest of it")),
		sent(second, server, 1, syn, nil),
		sent(second, server, 2, 0, plain),
		sent(server, second, 9, reset, nil),
		sent("10.0.0.8:5", server, 4294967290, 0, data),
		sent("10.0.0.8:5", server, 2, 0, data),
	} {
		one, is := parse(packet, 9042)
		if !is {
			t.Fatalf("%x is not taken", packet)
		}
		seen.add(one)
	}
	wanted := []Flow{
		{Peer: netip.MustParseAddr("10.0.0.7"), Connections: 2, PacketsIn: 8, PacketsOut: 2, BytesIn: 8*3 + 1 + 14 + 9, BytesOut: 8, Retransmitted: 1, Handshakes: 1, Resets: 1, Plain: 1},
		// Numbers begin anew after the largest.
		{Peer: netip.MustParseAddr("10.0.0.8"), Connections: 1, PacketsIn: 2, BytesIn: 16},
	}
	told := seen.told()
	if len(told) != len(wanted) || told[0] != wanted[0] || told[1] != wanted[1] {
		t.Errorf("%+v\nnot %+v", told, wanted)
	}
}

func TestOtherPacketsAreLeftOut(t *testing.T) {
	good := sent(first, server, 1, 0, []byte("x"))
	change := func(at int, value byte) []byte {
		packet := bytes.Clone(good)
		packet[at] = value
		return packet
	}
	for name, packet := range map[string][]byte{
		"nothing": nil, "short": good[:30], "of another port": sent(first, "10.0.0.1:22", 1, 0, nil), "UDP": change(9, 17),
		"a later fragment": change(7, 5), "another version": change(0, 0x15), "a header that is too short": change(0, 0x41),
		"an offset beyond it": change(32, 15<<4), "a header of TCP that is too short": change(32, 1<<4),
	} {
		if one, is := parse(packet, 9042); is {
			t.Errorf("%s is taken: %+v", name, one)
		}
	}
}

func TestPacketsOfIPv6AreRead(t *testing.T) {
	packet := append(make([]byte, 40), sent(first, server, 7, 0, []byte("abc"))[20:]...)
	packet[0], packet[6], packet[23], packet[39] = 0x60, tcp, 1, 2
	binary.BigEndian.PutUint16(packet[4:], 23)
	one, is := parse(packet, 9042)
	if !is || one.peer != netip.MustParseAddrPort("[::1]:40000") || string(one.payload) != "abc" || !one.in {
		t.Errorf("%v %+v", is, one)
	}
}

func TestTheFileHasHeadersOfPacketsAndALargestSize(t *testing.T) {
	kept := newFile()
	long := sent(first, server, 1, 0, bytes.Repeat([]byte{1}, 1000))
	for range 5 {
		kept.add(time.Unix(1795326307, 250_000_000), long, len(long), 24+3*(16+256))
	}
	content := kept.content.Bytes()
	if kept.leftOut != 2 || len(content) != 24+3*(16+256) || binary.LittleEndian.Uint32(content) != magic {
		t.Fatalf("%d left out, %d bytes", kept.leftOut, len(content))
	}
	var header [4]uint32
	if _, err := binary.Decode(content[24:], binary.LittleEndian, &header); err != nil || header != [4]uint32{1795326307, 250_000, 256, 1040} {
		t.Errorf("%v %v", header, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sent(first, server, 1, 0, []byte("x")))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if one, is := parse(packet, 9042); is && (one.length < 0 || len(one.payload) > one.length) {
			t.Errorf("%+v", one)
		}
	})
}
