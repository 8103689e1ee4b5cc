package capture

import (
	"bytes"
	"encoding/binary"
	"time"
)

// file is what was captured, in the format of libpcap (draft-ietf-opsawg-pcap): packets from their IP header on.
type file struct {
	content bytes.Buffer
	// left out are packets for which there was no more room.
	leftOut int64
}

const (
	magic        = 0xa1b2c3d4
	rawIP        = 101
	recordHeader = 16
	// kept is how much of each packet is in the file: its headers, and how its payload begins.
	kept = 256
)

func newFile() *file {
	f := &file{}
	for _, value := range []any{uint32(magic), uint16(2), uint16(4), int32(0), uint32(0), uint32(kept), uint32(rawIP)} {
		// A buffer takes whatever has a fixed size.
		_ = binary.Write(&f.content, binary.LittleEndian, value)
	}
	return f
}

func (f *file) add(at time.Time, packet []byte, length int, most int) {
	short := packet[:min(len(packet), kept)]
	if f.content.Len()+recordHeader+len(short) > most {
		f.leftOut++
		return
	}
	header := []uint32{uint32(at.Unix()), uint32(at.Nanosecond() / 1000), uint32(len(short)), uint32(length)}
	_ = binary.Write(&f.content, binary.LittleEndian, header)
	f.content.Write(short)
}
