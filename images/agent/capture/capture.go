// Package capture looks at packets of one TCP port of this machine for a while, with Linux's own packet sockets.
package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotAllowed: the process may not look at packets (it needs CAP_NET_RAW).
var ErrNotAllowed = errors.New("packets may not be captured here")

// Wish says what to capture, and its bounds.
type Wish struct {
	Address     string
	Port        uint16
	For         time.Duration
	MostPackets int64
	// MostBytes is of the file; what does not fit is still counted.
	MostBytes int
}

// Captured is what was seen.
type Captured struct {
	Packets int64
	// LeftOut are packets that are counted but not in the file, Missed those that were too many to look at.
	LeftOut, Missed int64
	Flows           []Flow
	// Full: it ended early, with as many packets as were allowed.
	Full bool
	PCAP []byte
}

// Run captures until the time is over, there are as many packets as allowed, or ctx ends. Returns ErrNotAllowed.
func Run(ctx context.Context, wish Wish) (Captured, error) {
	own := net.ParseIP(wish.Address)
	if own == nil {
		return Captured{}, fmt.Errorf("%q is no address", wish.Address)
	}
	socket, err := open(wish.Port)
	if err != nil {
		return Captured{}, err
	}
	defer unix.Close(socket)
	loopback := -1
	if found, err := net.InterfaceByName("lo"); err == nil {
		loopback = found.Index
	}
	seen, kept := newFlows(), newFile()
	captured := Captured{}
	packet := make([]byte, 1<<16)
	until := time.Now().Add(wish.For)
	for ctx.Err() == nil && time.Now().Before(until) && !captured.Full {
		length, from, err := unix.Recvfrom(socket, packet, unix.MSG_TRUNC)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return Captured{}, err
		}
		// On the loopback interface each packet passes twice.
		if link, is := from.(*unix.SockaddrLinklayer); is && link.Ifindex == loopback && link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		content := packet[:min(length, len(packet))]
		one, wanted := parse(content, wish.Port)
		// The address tells nodes that share a machine apart.
		if local := one.receiver.Addr(); wanted && !one.in {
			local = one.source.Addr()
			wanted = own.Equal(local.Unmap().AsSlice())
		} else if wanted {
			wanted = own.Equal(local.Unmap().AsSlice())
		}
		if !wanted {
			continue
		}
		captured.Packets++
		seen.add(one)
		kept.add(time.Now(), content, length, wish.MostBytes)
		captured.Full = captured.Packets >= wish.MostPackets
	}
	if figures, err := unix.GetsockoptTpacketStats(socket, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		captured.Missed = int64(figures.Drops)
	}
	captured.Flows, captured.LeftOut, captured.PCAP = seen.told(), kept.leftOut, kept.content.Bytes()
	return captured, context.Cause(ctx)
}

// open makes a socket on which the kernel gives packets of the port only, without their link headers.
func open(port uint16) (int, error) {
	inNetworkOrder := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
	// Of no protocol until the filter is there: nothing else comes through.
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return 0, ErrNotAllowed
	}
	if err != nil {
		return 0, err
	}
	program := filter(port)
	const buffer = 4 << 20
	err = errors.Join(
		unix.SetsockoptSockFprog(socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000}),
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: inNetworkOrder}),
	)
	if err != nil {
		return 0, errors.Join(err, unix.Close(socket))
	}
	return socket, nil
}

// filter is a program for the kernel, from the IP header on: TCP of IPv4 on the port, and all of IPv6, which is rare.
func filter(port uint16) []unix.SockFilter {
	const (
		loadByte     = unix.BPF_LD | unix.BPF_B | unix.BPF_ABS
		loadHalf     = unix.BPF_LD | unix.BPF_H | unix.BPF_IND
		loadHeader   = unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH
		and          = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		jumpIfEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		give         = unix.BPF_RET | unix.BPF_K
		wholePackets = 1 << 16
	)
	return []unix.SockFilter{
		{Code: loadByte, K: 0},
		{Code: and, K: 0xf0},
		{Code: jumpIfEqual, K: 0x60, Jt: 8},
		{Code: jumpIfEqual, K: 0x40, Jf: 8},
		{Code: loadByte, K: 9},
		{Code: jumpIfEqual, K: tcp, Jf: 6},
		{Code: loadHeader, K: 0},
		{Code: loadHalf, K: 0},
		{Code: jumpIfEqual, K: uint32(port), Jt: 2},
		{Code: loadHalf, K: 2},
		{Code: jumpIfEqual, K: uint32(port), Jf: 1},
		{Code: give, K: wholePackets},
		{Code: give, K: 0},
	}
}
