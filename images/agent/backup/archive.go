package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// Archive stores what the engine writes to its commit log. It links every segment into a folder of its own as soon as there is one,
// so that the engine can delete its own link whenever it likes and never waits; and it stores the sections that are new, whether or
// not their segment is closed.
type Archive struct {
	service *Service
	// logs is the engine's folder of segments, state this archive's own, on the same file system.
	logs, state string
	log         *slog.Logger
	limit       limit
	wake        chan struct{}

	mu    sync.Mutex
	order *archiveOrder
	now   archiveState
	// ends are how far whole sections go in each linked segment, as it was last looked at.
	ends map[int64]int64
	// starts are when this agent started the engine: its numbers jump there.
	starts []time.Time
	// looked is when the segments were last looked at, synced until when all that was written is in whole sections.
	looked, synced time.Time
	waiting        int64
	problem        string
	acknowledged   int64
}

// archiveOrder is what was asked for. It is secret, and kept as long as the archive is on.
type archiveOrder struct {
	Stream     string                     `json:"stream"`
	Parameters agent.SetArchiveParameters `json:"parameters"`
}

// archiveState is how far a stream is.
type archiveState struct {
	Stream   string    `json:"stream"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	Sequence int64     `json:"sequence"`
	// Last is the highest number of a segment that was linked; in one life of the engine they follow on each other.
	Last int64 `json:"last"`
	// Offsets are up to where each linked segment is stored; 0: nothing of it.
	Offsets map[int64]int64 `json:"offsets"`
}

const (
	usualInterval = 60 * time.Second
	lookEvery     = time.Second
	// pieceBytes is how much of a log goes into one object at most, and how much waits at most before the interval is over.
	pieceBytes = 16 << 20
	// markerLag is far above what the engine takes between choosing a marker's place and writing it.
	markerLag = 2 * time.Second
	// idleLag: the engine answers no writes when its log was not synced for 15 s (one and a half of its period of 10 s), and a sync writes
	// markers. So what is older than this is in whole sections although none was added.
	idleLag = 16 * time.Second
	// leastFree is the share of the disk below which what waits is dropped, the oldest first.
	leastFree = 0.1
)

// NewArchive goes on with what an earlier agent left.
func NewArchive(service *Service, logs, state string, log *slog.Logger) (*Archive, error) {
	a := &Archive{service: service, logs: logs, state: state, log: log, wake: make(chan struct{}, 1), ends: map[int64]int64{}}
	if err := os.MkdirAll(a.links(), 0o700); err != nil {
		return nil, err
	}
	var order archiveOrder
	switch err := statefile.ReadJSON(a.orderPath(), &order); {
	case errors.Is(err, fs.ErrNotExist):
		return a, nil
	case err != nil:
		return nil, err
	}
	if err := statefile.ReadJSON(a.statePath(), &a.now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if a.now.Stream != order.Stream {
		// The agent ended between writing the two.
		a.now = freshState(order.Stream)
	}
	// What was stored after the state was last written.
	entries, err := a.entries(a.now.Sequence, 0)
	if err != nil {
		return nil, err
	}
	for _, one := range entries {
		a.now.Sequence = max(a.now.Sequence, one.Sequence)
	}
	a.order = &order
	a.limit.set(order.Parameters.BytesPerSecond)
	return a, nil
}

func freshState(stream string) archiveState {
	now := time.Now().UTC()
	return archiveState{Stream: stream, From: now, Until: now, Offsets: map[int64]int64{}}
}

func (a *Archive) links() string       { return filepath.Join(a.state, "links") }
func (a *Archive) orderPath() string   { return filepath.Join(a.state, "order.json") }
func (a *Archive) statePath() string   { return filepath.Join(a.state, "state.json") }
func (a *Archive) journalPath() string { return filepath.Join(a.state, "entries.jsonl") }

// Set turns it on, off, or changes how it is done. Another store or key begins another stream. Error codes: invalid-parameters,
// store-unreachable, store-refused.
func (a *Archive) Set(_ context.Context, parameters agent.SetArchiveParameters, _ agent.Report) (agent.ArchiveSet, error) {
	if !parameters.On {
		return agent.ArchiveSet{}, a.stop()
	}
	const longest = 3600
	if parameters.Store == nil || parameters.Encryption == nil || parameters.IntervalSeconds < 0 || parameters.IntervalSeconds > longest {
		return agent.ArchiveSet{}, agent.Errorf("invalid-parameters", "an archive needs store and encryption; interval_seconds is 1 to %d", longest)
	}
	if parameters.BytesPerSecond < 0 || (parameters.BytesPerSecond > 0 && parameters.BytesPerSecond < 1<<10) {
		return agent.ArchiveSet{}, agent.Errorf("invalid-parameters", "bytes_per_second must be at least 1024, or left out")
	}
	if _, err := deriveKeys(*parameters.Encryption); err != nil {
		return agent.ArchiveSet{}, err
	}
	if _, err := a.service.openStore(*parameters.Store); err != nil {
		return agent.ArchiveSet{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	order := archiveOrder{Parameters: parameters}
	if before := a.order; before != nil && place(*before.Parameters.Store) == place(*parameters.Store) && *before.Parameters.Encryption == *parameters.Encryption {
		order.Stream = before.Stream
	}
	fresh := order.Stream == ""
	if fresh {
		var name [8]byte
		_, _ = rand.Read(name[:])
		order.Stream = hex.EncodeToString(name[:])
		if err := a.clear(); err != nil {
			return agent.ArchiveSet{}, err
		}
	}
	if err := statefile.WriteJSON(a.orderPath(), order); err != nil {
		return agent.ArchiveSet{}, err
	}
	a.order = &order
	a.limit.set(parameters.BytesPerSecond)
	if fresh {
		a.now = freshState(order.Stream)
		if err := a.begin(); err != nil {
			return agent.ArchiveSet{}, err
		}
	}
	return agent.ArchiveSet{Stream: order.Stream}, nil
}

// begin leaves out what is in the log already.
func (a *Archive) begin() error {
	if err := a.link(); err != nil {
		return err
	}
	for id := range a.now.Offsets {
		if err := a.openSegment(id, func(file *os.File, head []byte) error {
			end, err := sectionsEnd(file, id, int64(len(head)))
			a.now.Offsets[id], a.ends[id] = end, end
			return err
		}); err != nil {
			return err
		}
	}
	return statefile.WriteJSON(a.statePath(), a.now)
}

func (a *Archive) stop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.order = nil
	return a.clear()
}

// clear removes all that an archive has on this machine. The order goes first: nothing goes on by itself.
func (a *Archive) clear() error {
	a.now, a.ends, a.looked, a.synced, a.waiting, a.problem, a.acknowledged = archiveState{}, map[int64]int64{}, time.Time{}, time.Time{}, 0, "", 0
	for _, path := range []string{a.orderPath(), a.statePath(), a.journalPath(), a.links()} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.MkdirAll(a.links(), 0o700)
}

// BeforeStart links all that the engine left, before it deletes or numbers anything. Call it before every start of the engine.
func (a *Archive) BeforeStart() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.order == nil {
		return nil
	}
	err := a.link()
	a.starts = append(a.starts, time.Now())
	return err
}

// Run watches the engine's folder and stores what is new, until ctx ends.
func (a *Archive) Run(ctx context.Context) {
	go a.store(ctx)
	for pause(ctx, lookEvery) == nil {
		if err := a.look(); err != nil {
			a.log.Warn("the commit log cannot be archived", "error", err)
		}
	}
}

// look links what is new, and finds out how far the log is written.
func (a *Archive) look() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.order == nil {
		return nil
	}
	looked := time.Now()
	if err := a.link(); err != nil {
		return err
	}
	newest, moved, due := int64(0), false, int64(0)
	a.waiting = 0
	for _, id := range slices.Sorted(maps.Keys(a.now.Offsets)) {
		before := a.ends[id]
		err := a.openSegment(id, func(file *os.File, head []byte) error {
			info, err := file.Stat()
			if err != nil {
				return err
			}
			if end := max(before, int64(len(head))); end < info.Size() {
				if a.ends[id], err = sectionsEnd(file, id, end); err != nil {
					return err
				}
			}
			due += max(0, a.ends[id]-max(a.now.Offsets[id], int64(len(head))))
			if linkedOnce(info) {
				a.waiting += info.Size()
			}
			if a.ends[id] > int64(len(head)) {
				newest, moved = id, a.ends[id] > before
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if newest > 0 && moved && !a.looked.IsZero() {
		a.synced = later(a.synced, a.looked.Add(-markerLag))
	}
	a.synced, a.looked = later(a.synced, looked.Add(-idleLag)), looked
	if due >= pieceBytes {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
	return a.guard()
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// openSegment does something with a linked segment that has a head.
func (a *Archive) openSegment(id int64, do func(file *os.File, head []byte) error) error {
	file, err := os.Open(a.linkPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := readHead(file, id)
	if errors.Is(err, errNoHead) {
		return nil
	}
	if err != nil {
		return err
	}
	return do(file, head)
}

// linkedOnce tells whether the engine has deleted its own link: it writes no more to it.
func linkedOnce(info fs.FileInfo) bool {
	system, ok := info.Sys().(*syscall.Stat_t)
	return ok && system.Nlink == 1
}

// guard drops what waits when the disk is nearly full: a node that cannot write is worse than an archive with a gap.
func (a *Archive) guard() error {
	var disk unix.Statfs_t
	if err := unix.Statfs(a.state, &disk); err != nil {
		return err
	}
	if a.waiting == 0 || float64(disk.Bavail) >= leastFree*float64(disk.Blocks) {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.now.Offsets)) {
		info, err := os.Stat(a.linkPath(id))
		if err != nil || !linkedOnce(info) {
			continue
		}
		if a.ends[id] > a.now.Offsets[id] {
			if err := a.gap(a.now.Until, time.Now(), "the disk was nearly full, and what waited to be stored was dropped"); err != nil {
				return err
			}
		}
		return a.drop(id)
	}
	return nil
}

func (a *Archive) drop(id int64) error {
	delete(a.now.Offsets, id)
	delete(a.ends, id)
	if err := os.Remove(a.linkPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return statefile.WriteJSON(a.statePath(), a.now)
}

// Report tells what was archived after an entry. Whoever asks has all entries before it, which may then be forgotten here.
func (a *Archive) Report(after int64) (agent.ArchiveReport, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	report := agent.ArchiveReport{Entries: []agent.ArchiveEntry{}}
	if a.order == nil {
		return report, nil
	}
	const most = 500
	from, until := a.now.From, a.now.Until
	report.Stream, report.From, report.Until, report.WaitingBytes, report.Problem = a.order.Stream, &from, &until, a.waiting, a.problem
	entries, err := a.entries(after, most+1)
	if err != nil {
		return agent.ArchiveReport{}, err
	}
	if report.More = len(entries) > most; report.More {
		entries = entries[:most]
	}
	report.Entries = append(report.Entries, entries...)
	a.acknowledged = max(a.acknowledged, after)
	return report, nil
}

// entries of the journal after a sequence number; 0 at most: all.
func (a *Archive) entries(after int64, most int) ([]agent.ArchiveEntry, error) {
	var found []agent.ArchiveEntry
	err := readLines(a.journalPath(), 0, func(line []byte) (bool, error) {
		var one agent.ArchiveEntry
		// A line that was cut by a crash is of something that is stored again.
		if json.Unmarshal(line, &one) == nil && one.Sequence > after {
			found = append(found, one)
		}
		return most == 0 || len(found) < most, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return found, err
}
