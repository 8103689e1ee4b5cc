package backup

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
)

// segment is a log as the engine writes it.
type segment struct {
	t       *testing.T
	id      int64
	path    string
	at      int64
	entries [][]byte
}

const segmentSize = 1 << 20

func newSegment(t *testing.T, folder string, id int64) *segment {
	t.Helper()
	head := binary.BigEndian.AppendUint32(nil, 7)
	head = binary.BigEndian.AppendUint64(head, uint64(id))
	head = append(binary.BigEndian.AppendUint16(head, 2), "{}"...)
	sum := crc32.NewIEEE()
	sum.Write(head[:4])
	sum.Write(head[8:12])
	sum.Write(head[4:8])
	sum.Write([]byte{0, 0, 0, 2})
	sum.Write([]byte("{}"))
	head = binary.BigEndian.AppendUint32(head, sum.Sum32())
	s := &segment{t: t, id: id, path: filepath.Join(folder, fmt.Sprintf("CommitLog-7-%d.log", id)), at: int64(len(head))}
	if err := os.WriteFile(s.path, append(head, make([]byte, segmentSize-len(head))...), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *segment) put(at int64, content []byte) {
	file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(content, at); err != nil {
		s.t.Fatal(err)
	}
}

// write is a write without a marker; mark ends the section that all writes since the last mark are in.
func (s *segment) write(content []byte) {
	written := 0
	for _, one := range s.entries {
		written += len(one)
	}
	s.put(s.at+markerBytes+int64(written), content)
	s.entries = append(s.entries, content)
}

func (s *segment) mark() {
	next := s.at + markerBytes
	for _, one := range s.entries {
		next += int64(len(one))
	}
	marker := binary.BigEndian.AppendUint32(nil, uint32(next))
	s.put(s.at, binary.BigEndian.AppendUint32(marker, markerSum(s.id, s.at)))
	s.at, s.entries = next, nil
}

// contents are those of all sections of a file, without markers.
func contents(t *testing.T, path string, id int64) []byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, err := readHead(bytes.NewReader(file), id)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for at := int64(len(head)); ; {
		next := nextMarker(file[at:], id, at)
		if next == 0 {
			return all
		}
		all = append(all, file[at+markerBytes:next]...)
		at = next
	}
}

func TestSectionsAreReadAsFarAsTheyAreWhole(t *testing.T) {
	s := newSegment(t, t.TempDir(), 1795299182777)
	end := func() int64 {
		file, err := os.Open(s.path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		head, err := readHead(file, s.id)
		if err != nil {
			t.Fatal(err)
		}
		found, err := sectionsEnd(file, s.id, int64(len(head)))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := s.at
	s.write([]byte("one"))
	if end() != first {
		t.Error("what has no marker was read")
	}
	s.mark()
	s.write([]byte("two"))
	if end() != s.at {
		t.Errorf("%d, not %d", end(), s.at)
	}
	// The engine writes the place before the checksum.
	s.put(s.at, binary.BigEndian.AppendUint32(nil, uint32(s.at+20)))
	if end() != s.at {
		t.Error("a marker without its checksum was believed")
	}
}

func TestAFileThatIsNoSegmentYetIsLeftAlone(t *testing.T) {
	for name, content := range map[string][]byte{"empty": {}, "zeros": make([]byte, 100), "short": {0, 0, 0, 7}} {
		if _, err := readHead(bytes.NewReader(content), 5); !errors.Is(err, errNoHead) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, id := range map[string]int64{"CommitLog-7-12.log": 12, "CommitLog-8-12.log": 12, "CommitLog-7-12_cdc.idx": 0, "CommitLog-9-1.log": 0} {
		if segmentID(name) != id {
			t.Errorf("%s: %d", name, segmentID(name))
		}
	}
}

// logged is a node whose engine writes to a log.
type logged struct {
	*machine
	archive *Archive
	logs    string
	order   agent.SetArchiveParameters
}

func newLogged(t *testing.T) *logged {
	m := newMachine(t)
	l := &logged{machine: m, logs: filepath.Join(m.root, "commitlog"), order: agent.SetArchiveParameters{On: true, Store: &m.store, Encryption: &m.with}}
	if err := os.MkdirAll(l.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	l.again()
	return l
}

// again is what the next agent has.
func (l *logged) again() {
	var err error
	if l.archive, err = NewArchive(l.service, l.logs, filepath.Join(l.root, "archive"), slog.New(slog.DiscardHandler)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *logged) set() string {
	l.t.Helper()
	made, err := l.archive.Set(l.t.Context(), l.order, silent)
	if err != nil {
		l.t.Fatal(err)
	}
	return made.Stream
}

// stored looks and stores what is new, and tells all entries.
func (l *logged) stored() []agent.ArchiveEntry {
	l.t.Helper()
	if err := l.archive.look(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.archive.pass(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	report, err := l.archive.Report(0)
	if err != nil {
		l.t.Fatal(err)
	}
	return report.Entries
}

// replay fetches all pieces and joins what is in them, by segment and then in the order of the entries.
func (l *logged) replay(entries []agent.ArchiveEntry) []byte {
	l.t.Helper()
	var bundles []agent.BundleToFetch
	for _, one := range entries {
		if one.Kind == agent.ArchivePiece {
			bundles = append(bundles, agent.BundleToFetch{
				StoredObject: agent.StoredObject{Key: one.Key, Bytes: one.StoredBytes, SHA256: one.SHA256},
				Keyspace:     agent.ArchiveKeyspace, Table: agent.ArchiveTable,
			})
		}
	}
	name := fmt.Sprintf("r-%d", rand.IntN(1_000_000))
	if _, err := l.service.Fetch(l.t.Context(), agent.FetchBundlesParameters{Restore: name, Store: l.store, Encryption: l.with, Bundles: bundles}, silent); err != nil {
		l.t.Fatal(err)
	}
	folders, err := l.service.Pieces(name)
	if err != nil || len(folders) != len(bundles) {
		l.t.Fatalf("%d pieces, not %d: %v", len(folders), len(bundles), err)
	}
	var all []byte
	for index, bundle := range bundles {
		made, err := Unpack(folders[slices.IndexFunc(folders, func(folder string) bool { return filepath.Base(folder) == bundle.Key })],
			filepath.Join(l.t.TempDir(), fmt.Sprint(index)))
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, contents(l.t, made.Path, segmentID(filepath.Base(made.Path)))...)
	}
	return all
}

func gaps(entries []agent.ArchiveEntry) int {
	count := 0
	for _, one := range entries {
		if one.Kind == agent.ArchiveGap {
			count++
		}
	}
	return count
}

func TestEveryWholeSectionIsStoredOnceWhateverIsKilled(t *testing.T) {
	l := newLogged(t)
	before := newSegment(t, l.logs, 100)
	before.write([]byte("written before it was turned on;"))
	before.mark()
	stream := l.set()
	var wanted []byte
	current := before
	for number := range 200 {
		content := fmt.Appendf(nil, "write %d %s;", number, strings.Repeat("x", rand.IntN(300)))
		current.write(content)
		wanted = append(wanted, content...)
		if rand.IntN(3) == 0 {
			current.mark()
		}
		if rand.IntN(20) == 0 {
			current.mark()
			full := current
			current = newSegment(t, l.logs, full.id+1)
			if err := l.archive.look(); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(full.path); err != nil {
				t.Fatal(err)
			}
		}
		if rand.IntN(10) == 0 {
			l.stored()
		}
		if rand.IntN(25) == 0 {
			l.again()
		}
	}
	current.mark()
	entries := l.stored()
	if got := l.replay(entries); !bytes.Equal(got, wanted) || gaps(entries) != 0 {
		t.Errorf("%d bytes, not %d; %d gaps", len(got), len(wanted), gaps(entries))
	}
	for index, one := range entries {
		if one.Sequence != int64(index)+1 || one.To.Before(one.From) {
			t.Errorf("%+v", one)
		}
	}
	if again := l.set(); again != stream {
		t.Error("the same order began another stream")
	}
	links, _ := os.ReadDir(filepath.Join(l.root, "archive", "links"))
	if len(links) != 1 {
		t.Errorf("%d links are left although the engine needs one", len(links))
	}
}

func TestASegmentThatWasMissedIsAGapAndAStartOfTheEngineIsNone(t *testing.T) {
	l := newLogged(t)
	newSegment(t, l.logs, 100)
	l.set()
	newSegment(t, l.logs, 102)
	if entries := l.stored(); gaps(entries) != 1 {
		t.Errorf("%+v", entries)
	}
	if err := l.archive.BeforeStart(); err != nil {
		t.Fatal(err)
	}
	newSegment(t, l.logs, time.Now().UnixMilli()+1)
	if entries := l.stored(); gaps(entries) != 1 {
		t.Errorf("%+v", entries)
	}
}

func TestWhatIsCompleteIsToldOnlyWhenItIsStored(t *testing.T) {
	l := newLogged(t)
	s := newSegment(t, l.logs, 100)
	l.set()
	s.write([]byte("x"))
	s.mark()
	folder := l.store.Folder
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	if err := l.archive.look(); err != nil {
		t.Fatal(err)
	}
	before, _ := l.archive.Report(0)
	if err := l.archive.pass(t.Context()); err == nil {
		t.Fatal("it was stored nowhere")
	}
	if after, _ := l.archive.Report(0); !after.Until.Equal(*before.Until) || len(after.Entries) != 0 {
		t.Errorf("%+v", after)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if entries := l.stored(); string(l.replay(entries)) != "x" {
		t.Errorf("%+v", entries)
	}
}

func TestAnOrderIsChecked(t *testing.T) {
	l := newLogged(t)
	good := l.order
	other := agent.Encryption{Key: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))}
	for name, wrong := range map[string]func(*agent.SetArchiveParameters){
		"no store":     func(p *agent.SetArchiveParameters) { p.Store = nil },
		"no key":       func(p *agent.SetArchiveParameters) { p.Encryption = nil },
		"a short key":  func(p *agent.SetArchiveParameters) { p.Encryption = &agent.Encryption{Key: "c2hvcnQ="} },
		"an interval":  func(p *agent.SetArchiveParameters) { p.IntervalSeconds = 4000 },
		"a small rate": func(p *agent.SetArchiveParameters) { p.BytesPerSecond = 5 },
	} {
		l.order = good
		wrong(&l.order)
		_, err := l.archive.Set(t.Context(), l.order, silent)
		if agent.AsError(err).Code != "invalid-parameters" {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.order = good
	stream := l.set()
	l.order.Encryption = &other
	if l.set() == stream {
		t.Error("another key goes on with the same stream")
	}
	l.order = agent.SetArchiveParameters{}
	if l.set() != "" {
		t.Error("it is not off")
	}
	left, _ := filepath.Glob(filepath.Join(l.root, "archive", "*.json*"))
	if len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
