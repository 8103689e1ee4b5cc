package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ringmaster/agent"
)

// Node is what the engine of this node tells of its files.
type Node struct {
	// Snapshot lists the folders of a snapshot; none when there is no such snapshot.
	Snapshot func(tag string) ([]TableFolder, error)
	// Restores is a folder for bundles that are fetched, on the file system of the engine's data.
	Restores string
}

// Service does the jobs about bundles and objects, for every engine. Its methods may be called again after a crash at any
// point, and from several goroutines.
type Service struct {
	node   Node
	nodeID string
	state  string
	limit  limit
	// buffers are what all uploads of this node hold in memory.
	buffers  chan []byte
	indexing sync.Mutex
	fetching fetching
}

// New makes the service of a node that keeps its state in a folder.
func New(state, nodeID string, node Node) (*Service, error) {
	s := &Service{node: node, nodeID: nodeID, state: state, buffers: make(chan []byte, buffers)}
	for range buffers {
		s.buffers <- nil
	}
	for _, folder := range []string{s.folder("snapshots"), s.folder("sessions")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Service) folder(name string) string { return filepath.Join(s.state, name) }
func (s *Service) knownPath() string         { return s.folder("known.jsonl") }
func (s *Service) indexPath(tag string) string {
	return filepath.Join(s.folder("snapshots"), tag+".jsonl")
}
func (s *Service) journalPath(tag string) string {
	return filepath.Join(s.folder("snapshots"), tag+".stored")
}
func (s *Service) restorePath(name string) string { return filepath.Join(s.node.Restores, name) }
func (s *Service) tablePath(name, table string) string {
	return filepath.Join(s.restorePath(name), table)
}

// nameForm is that of tags and restores; they become names of files.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CheckName refuses what cannot name a snapshot or a restore. Error code: invalid-parameters.
func CheckName(what, name string) error { return checkName(what, name) }

func checkName(what, name string) error {
	if !nameForm.MatchString(name) {
		return agent.Errorf("invalid-parameters", "%s must be 1 to 100 letters, digits, dots, hyphens and underscores", what)
	}
	return nil
}

const (
	mostParallel  = 16
	usualParallel = 2
)

// transfer takes the settings that all jobs about stores have. Error code: invalid-parameters.
func (s *Service) transfer(bytesPerSecond int64, parallel int) (int, error) {
	switch {
	case bytesPerSecond < 0 || (bytesPerSecond > 0 && bytesPerSecond < 1<<10):
		return 0, agent.Errorf("invalid-parameters", "bytes_per_second must be at least 1024, or left out")
	case parallel < 0 || parallel > mostParallel:
		return 0, agent.Errorf("invalid-parameters", "parallel must be 1 to %d", mostParallel)
	}
	s.limit.set(bytesPerSecond)
	if parallel == 0 {
		parallel = usualParallel
	}
	return parallel, nil
}

// progress tells how far a job is, from several goroutines.
type progress struct {
	report agent.Report
	doing  string
	total  int64
	done   atomic.Int64
}

func (p *progress) add(bytes int64) {
	done := p.done.Add(bytes)
	p.report(0.01+0.98*float64(done)/float64(max(p.total, 1)), p.doing+": "+of(done, p.total))
}

// of is how much of how much, in words.
func of(done, total int64) string {
	const mib = 1 << 20
	return fmt.Sprintf("%.1f of %.1f MiB", float64(done)/mib, float64(total)/mib)
}

// freeBytes is what an ordinary user may still write to a file system.
func freeBytes(path string) (int64, error) {
	var system unix.Statfs_t
	if err := unix.Statfs(path, &system); err != nil {
		return 0, err
	}
	return int64(system.Bavail) * system.Bsize, nil
}
