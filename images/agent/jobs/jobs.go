// Package jobs keeps named jobs: asking twice is asking once, and what runs when the agent ends is gone on with by the
// next one.
package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// Run does one job to its end. It may be called again for a job that an earlier agent began.
type Run func(ctx context.Context, kind agent.JobKind, parameters json.RawMessage, report agent.Report) (any, error)

// keptFinished is how many finished jobs are remembered; the oldest are forgotten first.
const keptFinished = 500

// file is a job as stored. Parameters may be secret: they are dropped as soon as they are not needed.
type file struct {
	Job        agent.Job       `json:"job"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Traceparent is that of the call which ordered the job; empty: of no trace.
	Traceparent string `json:"traceparent,omitempty"`
}

type entry struct {
	file
	cancel context.CancelCauseFunc
	// ended is closed when the job has ended, or when the agent ends.
	ended chan struct{}
}

// Store holds the jobs of one agent.
type Store struct {
	folder string
	run    Run
	log    *slog.Logger
	// lifetime ends with the agent: jobs stop where they are and stay running on disk.
	lifetime context.Context
	working  sync.WaitGroup

	mu      sync.Mutex
	entries map[string]*entry
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Open reads the jobs in folder and goes on with those that were running.
func Open(lifetime context.Context, folder string, run Run, log *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	s := &Store{folder: folder, run: run, log: log, lifetime: lifetime, entries: map[string]*entry{}}
	found, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		stored := &entry{ended: make(chan struct{})}
		if err := statefile.ReadJSON(path, &stored.file); err != nil {
			return nil, err
		}
		s.entries[stored.Job.Name] = stored
		if stored.Job.State == agent.Running {
			log.Info("going on with a job", "job", stored.Job.Name, "kind", stored.Job.Kind)
			s.begin(stored)
		} else {
			close(stored.ended)
		}
	}
	return s, nil
}

// Put starts the job unless it runs or has succeeded. Error codes: invalid-name, unknown-kind, job-differs.
func (s *Store) Put(ctx context.Context, name string, request agent.JobRequest) (agent.Job, error) {
	if !nameForm.MatchString(name) {
		return agent.Job{}, agent.Errorf("invalid-name", "A job's name is 1 to 128 letters, digits, dots, hyphens and underscores.")
	}
	if !slices.Contains(agent.JobKinds(), request.Kind) {
		return agent.Job{}, agent.Errorf("unknown-kind", "There is no job of the kind %q.", request.Kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if existing, exists := s.entries[name]; exists && existing.Job.State != agent.Failed {
		if existing.Job.Kind != request.Kind {
			return agent.Job{}, agent.Errorf("job-differs", "The job %s exists and is of the kind %s.", name, existing.Job.Kind)
		}
		return existing.Job, nil
	}
	fresh := &entry{ended: make(chan struct{}), file: file{
		Job:        agent.Job{Name: name, Kind: request.Kind, State: agent.Running, Result: json.RawMessage("{}"), StartedAt: time.Now().UTC()},
		Parameters: request.Parameters, Traceparent: agent.Traceparent(ctx),
	}}
	if err := statefile.WriteJSON(s.path(name), fresh.file); err != nil {
		return agent.Job{}, err
	}
	s.entries[name] = fresh
	s.forgetOldest()
	s.begin(fresh)
	return fresh.Job, nil
}

// Get returns the job as soon as it has ended, or as it is when the wait is over. Error code: job-not-found.
func (s *Store) Get(ctx context.Context, name string, wait time.Duration) (agent.Job, error) {
	s.mu.Lock()
	found, exists := s.entries[name]
	s.mu.Unlock()
	if !exists {
		return agent.Job{}, notFound(name)
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-found.ended:
		case <-timer.C:
		case <-ctx.Done():
		case <-s.lifetime.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return found.Job, nil
}

// List returns all jobs, the newest first.
func (s *Store) List() []agent.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]agent.Job, 0, len(s.entries))
	for _, found := range s.entries {
		all = append(all, found.Job)
	}
	slices.SortFunc(all, func(a, b agent.Job) int {
		if order := b.StartedAt.Compare(a.StartedAt); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Delete interrupts the job if it runs, and forgets it. Deleting what is not there is success.
func (s *Store) Delete(name string) error {
	s.mu.Lock()
	found, exists := s.entries[name]
	if exists && found.cancel != nil {
		found.cancel(agent.ErrJobDeleted)
	}
	s.mu.Unlock()
	if !exists {
		return nil
	}
	<-found.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[name] == found {
		return s.forget(name)
	}
	return nil
}

// Close waits for the work to stop, once lifetime has ended.
func (s *Store) Close() { s.working.Wait() }

// begin runs the job in the background. The caller holds mu, or nobody else knows the entry yet.
func (s *Store) begin(started *entry) {
	ctx, cancel := context.WithCancelCause(agent.WithTraceparent(agent.WithJobName(s.lifetime, started.Job.Name), started.Traceparent))
	started.cancel = cancel
	kind, parameters := started.Job.Kind, started.Parameters
	s.working.Go(func() {
		defer close(started.ended)
		defer cancel(nil)
		began := time.Now()
		result, err := s.run(ctx, kind, parameters, func(progress float64, message string) { s.report(started, progress, message) })
		if s.lifetime.Err() != nil && err != nil {
			return
		}
		s.end(started, result, err)
		s.log.Info("job ended", "job", started.Job.Name, "kind", kind, "state", started.Job.State,
			"error", started.Job.Error, "milliseconds", time.Since(began).Milliseconds())
	})
}

func (s *Store) report(running *entry, progress float64, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running.Job.Progress = max(running.Job.Progress, min(progress, 1))
	running.Job.Message = message
}

func (s *Store) end(running *entry, result any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UTC()
	job := &running.Job
	job.FinishedAt, job.State, job.Progress, job.Message = &now, agent.Succeeded, 1, ""
	running.Parameters = nil
	if err == nil {
		job.Result, err = json.Marshal(result)
	}
	if err != nil {
		job.State, job.Error, job.Result = agent.Failed, agent.AsError(err), json.RawMessage("{}")
		if errors.Is(err, context.Canceled) {
			job.Error = agent.Errorf("interrupted", "The job was deleted while it ran.")
		}
	}
	if err := statefile.WriteJSON(s.path(job.Name), running.file); err != nil {
		s.log.Error("could not store a job's end; after a restart it runs again", "job", job.Name, "error", err)
	}
}

func (s *Store) forgetOldest() {
	var finished []*entry
	for _, found := range s.entries {
		if found.Job.FinishedAt != nil {
			finished = append(finished, found)
		}
	}
	if len(finished) <= keptFinished {
		return
	}
	slices.SortFunc(finished, func(a, b *entry) int { return a.Job.FinishedAt.Compare(*b.Job.FinishedAt) })
	for _, old := range finished[:len(finished)-keptFinished] {
		if err := s.forget(old.Job.Name); err != nil {
			s.log.Error("could not forget an old job", "job", old.Job.Name, "error", err)
		}
	}
}

func (s *Store) forget(name string) error {
	delete(s.entries, name)
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget job %s: %w", name, err)
	}
	return nil
}

func (s *Store) path(name string) string { return filepath.Join(s.folder, name+".json") }

func notFound(name string) error {
	return agent.Errorf("job-not-found", "There is no job %s.", name)
}
