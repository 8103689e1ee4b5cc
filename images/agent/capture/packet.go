package capture

import (
	"encoding/binary"
	"net/netip"
)

// segment is one packet of TCP to or from a port of this machine.
type segment struct {
	peer netip.AddrPort
	// in: it is sent to the port.
	in               bool
	syn, reset       bool
	sequence         uint32
	length           int
	payload          []byte
	source, receiver netip.AddrPort
}

const tcp = 6

// parse reads a packet from its IP header on; false: it is none of TCP on the port, or a part of one.
func parse(packet []byte, port uint16) (segment, bool) {
	if len(packet) < 20 {
		return segment{}, false
	}
	var source, receiver netip.Addr
	var header, total int
	switch packet[0] >> 4 {
	case 4:
		header, total = int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
		fragment := binary.BigEndian.Uint16(packet[6:]) & 0x1fff
		if packet[9] != tcp || fragment != 0 {
			return segment{}, false
		}
		source, receiver = netip.AddrFrom4([4]byte(packet[12:16])), netip.AddrFrom4([4]byte(packet[16:20]))
	case 6:
		const fixed = 40
		// Extension headers are not followed: databases' traffic has none.
		if len(packet) < fixed || packet[6] != tcp {
			return segment{}, false
		}
		header, total = fixed, fixed+int(binary.BigEndian.Uint16(packet[4:]))
		source, receiver = netip.AddrFrom16([16]byte(packet[8:24])), netip.AddrFrom16([16]byte(packet[24:40]))
	default:
		return segment{}, false
	}
	if header < 20 || len(packet) < header+20 {
		return segment{}, false
	}
	if total == 0 {
		// A packet that the card parts later.
		total = len(packet)
	}
	part := packet[header:]
	from, to := binary.BigEndian.Uint16(part), binary.BigEndian.Uint16(part[2:])
	data := int(part[12]>>4) * 4
	if from != port && to != port || data < 20 || total < header+data {
		return segment{}, false
	}
	const finished, synchronize, reset = 1, 2, 4
	one := segment{
		in: to == port, syn: part[13]&synchronize != 0, reset: part[13]&reset != 0,
		sequence: binary.BigEndian.Uint32(part[4:]), length: total - header - data,
		source: netip.AddrPortFrom(source, from), receiver: netip.AddrPortFrom(receiver, to),
	}
	one.peer = one.receiver
	if one.in {
		one.peer = one.source
	}
	if len(part) > data {
		one.payload = part[data:min(len(part), data+one.length)]
	}
	return one, true
}
