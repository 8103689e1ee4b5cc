package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"strconv"
)

// A segment of the engine's commit log is a head, then sections. Each section begins with a marker of 8 bytes: where the next marker
// is, and a checksum over the segment's number and the marker's own place. The engine writes a marker when all before the next one is
// in the file, at least every 100 ms unless the log is compressed; it never changes a section after that. So what was archived is a
// chain of whole sections, wherever one stopped to read.

const markerBytes = 8

// segmentForm is the name of a segment. 7 is the format since Cassandra 4.0, 8 that of 5.0 when it need not be read by older ones.
var segmentForm = regexp.MustCompile(`^CommitLog-[78]-([0-9]{1,18})\.log$`)

// segmentID is the number of the segment of that name; 0 of other files.
func segmentID(name string) int64 {
	parts := segmentForm.FindStringSubmatch(name)
	if parts == nil {
		return 0
	}
	id, _ := strconv.ParseInt(parts[1], 10, 64)
	return id
}

// errNoHead: the engine has made the file and written nothing to it yet.
var errNoHead = errors.New("the segment has no head yet")

// readHead gives the bytes before the first marker.
func readHead(file io.ReaderAt, id int64) ([]byte, error) {
	var start [14]byte
	if _, err := file.ReadAt(start[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errNoHead
		}
		return nil, err
	}
	if int64(binary.BigEndian.Uint64(start[4:12])) != id {
		return nil, errNoHead
	}
	length := len(start) + int(binary.BigEndian.Uint16(start[12:14])) + 4
	head := make([]byte, length)
	if _, err := file.ReadAt(head, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errNoHead
		}
		return nil, err
	}
	sum := crc32.NewIEEE()
	sum.Write(head[:4])
	sum.Write(head[8:12])
	sum.Write(head[4:8])
	// The engine adds the length of its options as a number of four bytes.
	sum.Write(binary.BigEndian.AppendUint32(nil, uint32(binary.BigEndian.Uint16(head[12:14]))))
	sum.Write(head[14 : length-4])
	if sum.Sum32() != binary.BigEndian.Uint32(head[length-4:]) {
		return nil, errNoHead
	}
	return head, nil
}

func markerSum(id, at int64) uint32 {
	var parts [12]byte
	binary.BigEndian.PutUint32(parts[0:], uint32(id))
	binary.BigEndian.PutUint32(parts[4:], uint32(id>>32))
	binary.BigEndian.PutUint32(parts[8:], uint32(at))
	return crc32.ChecksumIEEE(parts[:])
}

// nextMarker is where the section that begins at a place ends; 0: it is not whole yet.
func nextMarker(content []byte, id, at int64) int64 {
	next := int64(binary.BigEndian.Uint32(content))
	if next <= at || binary.BigEndian.Uint32(content[4:]) != markerSum(id, at) {
		return 0
	}
	return next
}

// sectionsEnd follows the markers from one on: the place of the first that is not written yet. It reads a few bytes per section.
func sectionsEnd(file io.ReaderAt, id, from int64) (int64, error) {
	var marker [markerBytes]byte
	for at := from; ; {
		_, err := file.ReadAt(marker[:], at)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return 0, err
		}
		next := nextMarker(marker[:], id, at)
		if next == 0 {
			return at, nil
		}
		at = next
	}
}

// rebuild writes a segment of the sections that were at a place of another one: head, and the sections with markers for where they are now.
func rebuild(to io.Writer, head, sections []byte, id, from int64) error {
	if _, err := to.Write(head); err != nil {
		return err
	}
	written := int64(len(head))
	for at := int64(0); at < int64(len(sections)); {
		if int64(len(sections))-at < markerBytes {
			return fmt.Errorf("%w: a section is cut", errDamaged)
		}
		next := nextMarker(sections[at:], id, from+at) - from
		if next <= at || next > int64(len(sections)) {
			return fmt.Errorf("%w: a section is cut", errDamaged)
		}
		content := sections[at+markerBytes : next]
		var marker [markerBytes]byte
		binary.BigEndian.PutUint32(marker[:], uint32(written+next-at))
		binary.BigEndian.PutUint32(marker[4:], markerSum(id, written))
		if _, err := to.Write(marker[:]); err != nil {
			return err
		}
		if _, err := to.Write(content); err != nil {
			return err
		}
		written += next - at
		at = next
	}
	_, err := to.Write(make([]byte, markerBytes))
	return err
}
