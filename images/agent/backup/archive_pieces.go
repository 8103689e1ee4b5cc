package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

func (a *Archive) linkPath(id int64) string {
	return filepath.Join(a.links(), fmt.Sprintf("CommitLog-%d.log", id))
}

// link makes links to segments that are new, and notes a gap where numbers are missing.
func (a *Archive) link() error {
	entries, err := os.ReadDir(a.logs)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	fresh := map[int64]string{}
	for _, entry := range entries {
		if id := segmentID(entry.Name()); id > a.now.Last {
			fresh[id] = entry.Name()
		}
	}
	for _, id := range slices.Sorted(maps.Keys(fresh)) {
		err := os.Link(filepath.Join(a.logs, fresh[id]), a.linkPath(id))
		if errors.Is(err, os.ErrNotExist) {
			continue // the engine was quicker; the next number tells
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if a.now.Last > 0 && id != a.now.Last+1 && !a.startedBetween(a.now.Last, id) {
			if err := a.gap(a.now.Until, time.Now(), "the agent did not run, and the engine deleted logs meanwhile"); err != nil {
				return err
			}
		}
		a.now.Last, a.now.Offsets[id] = id, 0
	}
	if len(fresh) == 0 {
		return nil
	}
	return statefile.WriteJSON(a.statePath(), a.now)
}

// startedBetween: the engine counts from the time of its start, in milliseconds, and this agent linked all there was before that.
func (a *Archive) startedBetween(before, after int64) bool {
	return slices.ContainsFunc(a.starts, func(start time.Time) bool { return before <= start.UnixMilli() && start.UnixMilli() <= after })
}

func (a *Archive) gap(from, to time.Time, reason string) error {
	a.log.Warn("the archive has a gap", "from", from, "to", to, "reason", reason)
	return a.write(agent.ArchiveEntry{Kind: agent.ArchiveGap, From: from, To: to, Reason: reason})
}

// write adds a line to the journal; it lasts when it returns.
func (a *Archive) write(entry agent.ArchiveEntry) error {
	entry.Sequence = a.now.Sequence + 1
	entry.From, entry.To = entry.From.UTC(), entry.To.UTC()
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(a.journalPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	// A line of its own even after one that was cut.
	if _, err := file.Write(append(append([]byte{'\n'}, line...), '\n')); err != nil {
		return err
	}
	a.now.Sequence = entry.Sequence
	return file.Sync()
}

// store uploads what is new, once in the interval or when much of it waits. After a failure it waits longer each time.
func (a *Archive) store(ctx context.Context) {
	failed := 0
	for {
		wait := a.interval()
		if failed > 0 {
			wait = min(wait, time.Duration(5<<min(failed, 6))*time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
			if failed > 0 && pause(ctx, wait) != nil {
				return
			}
		case <-time.After(wait):
		}
		err := a.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		a.mu.Lock()
		a.problem = ""
		if failed++; err == nil {
			failed = 0
		} else {
			a.problem = agent.AsError(err).Message
			a.log.Warn("the commit log could not be stored", "error", err)
		}
		a.mu.Unlock()
	}
}

func (a *Archive) interval() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.order == nil || a.order.Parameters.IntervalSeconds == 0 {
		return usualInterval
	}
	return time.Duration(a.order.Parameters.IntervalSeconds) * time.Second
}

// pass stores all whole sections that are not stored. When it succeeds the archive is complete until the time at which it began, less
// what the engine takes to end a section.
func (a *Archive) pass(ctx context.Context) error {
	a.mu.Lock()
	order, synced := a.order, a.synced
	offsets := maps.Clone(a.now.Offsets)
	a.mu.Unlock()
	if order == nil {
		return nil
	}
	with, err := deriveKeys(*order.Parameters.Encryption)
	if err != nil {
		return err
	}
	to, err := a.service.openStore(*order.Parameters.Store)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(offsets)) {
		if err := a.storeSegment(ctx, order, to, with, id, offsets[id]); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.order == nil || a.order.Stream != order.Stream {
		return nil
	}
	a.now.Until = later(a.now.Until, synced.UTC())
	if err := statefile.WriteJSON(a.statePath(), a.now); err != nil {
		return err
	}
	return a.forgetAcknowledged()
}

func (a *Archive) storeSegment(ctx context.Context, order *archiveOrder, to store, with keys, id, offset int64) error {
	file, err := os.Open(a.linkPath(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	// Before it is read: what the engine has deleted does not grow any more.
	info, err := file.Stat()
	if err != nil {
		return err
	}
	over := linkedOnce(info)
	head, err := readHead(file, id)
	if errors.Is(err, errNoHead) {
		return a.over(order, id, over)
	}
	if err != nil {
		return err
	}
	offset = max(offset, int64(len(head)))
	for {
		end, err := pieceEnd(file, id, offset)
		if err != nil {
			return err
		}
		read := time.Now()
		if end == offset {
			return a.over(order, id, over)
		}
		sections := make([]byte, end-offset)
		if _, err := file.ReadAt(sections, offset); err != nil {
			return err
		}
		if err := a.storePiece(ctx, order, to, with, piece{Segment: id, Offset: offset, Head: head, To: read.UTC()}, sections); err != nil {
			return err
		}
		offset = end
	}
}

// over drops the link to a segment that is stored and that the engine needs no more.
func (a *Archive) over(order *archiveOrder, id int64, over bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !over || a.order == nil || a.order.Stream != order.Stream {
		return nil
	}
	return a.drop(id)
}

// pieceEnd is the end of as many whole sections as go into a piece: at least one, if there is one.
func pieceEnd(file io.ReaderAt, id, from int64) (int64, error) {
	end := from
	for end-from < pieceBytes {
		var marker [markerBytes]byte
		_, err := file.ReadAt(marker[:], end)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		next := nextMarker(marker[:], id, end)
		if next == 0 {
			break
		}
		end = next
	}
	return end, nil
}

// piece is what an object of an archive says of itself.
type piece struct {
	Node    string    `json:"node"`
	Stream  string    `json:"stream"`
	Segment int64     `json:"segment"`
	Offset  int64     `json:"offset"`
	Bytes   int64     `json:"bytes"`
	Head    []byte    `json:"head"`
	From    time.Time `json:"begins_at"`
	To      time.Time `json:"ends_at"`
}

// pieceFormat and the names of its two files: an object of an archive is a bundle like any other.
const (
	pieceFormat   = "cl-zstd"
	pieceFacts    = "Piece.json"
	pieceSections = "Sections.zst"
)

func (a *Archive) storePiece(ctx context.Context, order *archiveOrder, to store, with keys, one piece, sections []byte) error {
	a.mu.Lock()
	one.Node, one.Stream, one.Bytes, one.From = a.service.nodeID, order.Stream, int64(len(sections)), a.now.Until
	a.mu.Unlock()
	facts, err := json.Marshal(one)
	if err != nil {
		return err
	}
	packed, err := pack(sections)
	if err != nil {
		return err
	}
	content := map[string][]byte{pieceFacts: facts, pieceSections: packed}
	of := header{Format: pieceFormat}
	var checks []uint32
	for _, name := range []string{pieceFacts, pieceSections} {
		sum := sha256.Sum256(content[name])
		of.Components = append(of.Components, component{Name: name, Size: int64(len(content[name])), SHA256: hex.EncodeToString(sum[:])})
		checks = append(checks, crc32.Checksum(content[name], castagnoli))
	}
	key := with.bundleKey(of)
	sealed := seal(with, of, checks, key, func(name string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content[name])), nil })
	defer sealed.Close()
	silent := &progress{report: func(float64, string) {}}
	if err := to.put(ctx, objectName(key), of.storedBytes(), &paced{ctx: ctx, in: sealed, limit: &a.limit, done: silent}); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.order == nil || a.order.Stream != order.Stream {
		return nil
	}
	err = a.write(agent.ArchiveEntry{
		Kind: agent.ArchivePiece, From: one.From, To: one.To, Segment: one.Segment, Bytes: of.bytes(),
		Key: key, StoredBytes: of.storedBytes(), SHA256: sealed.digest(),
	})
	if err != nil {
		return err
	}
	if _, linked := a.now.Offsets[one.Segment]; linked {
		a.now.Offsets[one.Segment] = one.Offset + one.Bytes
	}
	return statefile.WriteJSON(a.statePath(), a.now)
}

func pack(content []byte) ([]byte, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	return encoder.EncodeAll(content, nil), nil
}

// forgetAcknowledged makes the journal short again.
func (a *Archive) forgetAcknowledged() error {
	const long = 1 << 20
	info, err := os.Stat(a.journalPath())
	if err != nil || info.Size() < long {
		return nil
	}
	left, err := a.entries(a.acknowledged, 0)
	if err != nil {
		return err
	}
	return writeLines(a.journalPath(), func(yield func(any) error) error {
		for _, one := range left {
			if err := yield(one); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unpacked is a piece of an archive as a file that the engine would take for a segment.
type Unpacked struct {
	Path  string
	Bytes int64
}

// Pieces are the folders of those that were fetched for a restore, with the bytes that each will have. Error codes: invalid-parameters.
func (s *Service) Pieces(restore string) ([]string, error) {
	if err := checkName("restore", restore); err != nil {
		return nil, err
	}
	parent := s.tablePath(restore, agent.ArchiveKeyspace+"."+agent.ArchiveTable)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, entry := range entries {
		if validKey(entry.Name()) {
			found = append(found, filepath.Join(parent, entry.Name()))
		}
	}
	return found, err
}

// Unpack makes a file of a piece, below a folder.
func Unpack(from, folder string) (Unpacked, error) {
	var one piece
	if err := statefile.ReadJSON(filepath.Join(from, fetchedPieceName+pieceFacts), &one); err != nil {
		return Unpacked{}, err
	}
	packed, err := os.ReadFile(filepath.Join(from, fetchedPieceName+pieceSections))
	if err != nil {
		return Unpacked{}, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return Unpacked{}, err
	}
	defer decoder.Close()
	sections, err := decoder.DecodeAll(packed, make([]byte, 0, max(0, min(one.Bytes, 2*pieceBytes))))
	if err != nil || int64(len(sections)) != one.Bytes {
		return Unpacked{}, fmt.Errorf("%w: %s does not unpack", errDamaged, filepath.Base(from))
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Unpacked{}, err
	}
	if len(one.Head) < 4 {
		return Unpacked{}, fmt.Errorf("%w: %s has no head", errDamaged, filepath.Base(from))
	}
	// The engine compares the version in the name with that in the head.
	path := filepath.Join(folder, fmt.Sprintf("CommitLog-%d-%d.log", one.Head[3], one.Segment))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Unpacked{}, err
	}
	defer file.Close()
	return Unpacked{Path: path, Bytes: one.Bytes}, rebuild(file, one.Head, sections, one.Segment, one.Offset)
}

// fetchedPieceName is how the files of a fetched piece begin, as those of any bundle of that format.
const fetchedPieceName = "cl-1-zstd-"

// ReplayedName names the folder of an SSTable that was made for a restore: the same when it is made once more.
func ReplayedName(restore, table string, number int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "replayed %s %s %d", restore, table, number))
	return hex.EncodeToString(sum[:])
}
