// Package supervise keeps one program running for as long as it is wanted, also across restarts of the agent: it starts
// it in a session of its own, finds it again, notices its end and starts it anew with growing pauses.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
)

// Program is what is supervised.
type Program interface {
	// Command is how to start it. firstBoot is true until it has once been ready.
	Command(firstBoot bool) (process.Spec, error)
	// Mark is a word of the command line that no other process carries.
	Mark() string
	// Ready is nil when the program serves. It is asked often and must be cheap.
	Ready(ctx context.Context) error
	// LastWords is what the program said of its end, one line.
	LastWords() string
}

// Timing is how patient a supervisor is.
type Timing struct {
	// ReadyPoll is the pause between two questions whether the program is ready.
	ReadyPoll time.Duration
	// FirstPause is how long to wait before a restart; it doubles each time, up to LongestPause.
	FirstPause, LongestPause time.Duration
	// Calm is how long a program must have been ready for its earlier ends to be forgotten.
	Calm time.Duration
	// Attempts is how often a program may end before it was ever ready until Start gives up.
	Attempts int
}

// DefaultTiming suits a database: an unexpected end is answered within a second, a crash loop settles at one a minute.
func DefaultTiming() Timing {
	return Timing{
		ReadyPoll: 50 * time.Millisecond, FirstPause: 500 * time.Millisecond, LongestPause: time.Minute, Calm: 5 * time.Minute,
		Attempts: 3,
	}
}

// state is what must survive the agent.
type state struct {
	Wanted  bool       `json:"wanted"`
	Process process.ID `json:"process"`
	// Booted: the program has been ready once, so its first boot is over.
	Booted    bool   `json:"booted"`
	Restarts  int    `json:"restarts"`
	LastError string `json:"last_error"`
}

// Supervisor supervises one program. Run must be running for the rest to have effect.
type Supervisor struct {
	program Program
	path    string
	timing  Timing
	log     *slog.Logger

	mu    sync.Mutex
	state state
	alive bool
	ready bool
	// failures counts ends in a row, failedStarts those among them before the program was ready.
	failures, failedStarts int
	// starters counts callers that wait in Start: somebody will hear of it when it is given up.
	starters              int
	readySince, notBefore time.Time
	// changed is closed and replaced whenever any of the above changes.
	changed chan struct{}
}

// New reads the state kept at path, if there is any.
func New(program Program, path string, timing Timing, log *slog.Logger) (*Supervisor, error) {
	s := &Supervisor{program: program, path: path, timing: timing, log: log, changed: make(chan struct{})}
	if err := statefile.ReadJSON(path, &s.state); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.attach(); err != nil {
		return nil, err
	}
	return s, nil
}

// Condition is how the program is at a moment.
type Condition struct {
	Wanted, Alive, Ready, Booted bool
	Process                      process.ID
	Restarts                     int
	LastError                    string
}

// Condition tells how the program is.
func (s *Supervisor) Condition() Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Condition{
		Wanted: s.state.Wanted, Alive: s.alive, Ready: s.ready, Booted: s.state.Booted, Process: s.state.Process,
		Restarts: s.state.Restarts, LastError: s.state.LastError,
	}
}

// Start wants the program running and returns when it is ready. It is an *agent.Error with the code engine-exited when
// the program ends again and again before it is ready; then it is not wanted any more.
func (s *Supervisor) Start(ctx context.Context) error {
	s.mu.Lock()
	if !s.state.Wanted || !s.alive {
		s.state.Wanted = true
		s.state.Restarts = 0
		s.state.LastError = ""
		s.failures, s.failedStarts, s.notBefore = 0, 0, time.Time{}
		if err := s.keep(); err != nil {
			s.mu.Unlock()
			return err
		}
	}
	s.starters++
	defer func() {
		s.starters--
		s.mu.Unlock()
	}()
	for !s.ready {
		if !s.state.Wanted {
			if s.failedStarts >= s.timing.Attempts {
				return agent.Errorf("engine-exited", "The engine ended while it started: %s", s.state.LastError)
			}
			return agent.Errorf("engine-stopped", "The engine was told to stop while it started.")
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// Stop wants the program ended, asks it to end, and after grace makes it. It returns when it has ended.
func (s *Supervisor) Stop(ctx context.Context, grace time.Duration) error {
	s.mu.Lock()
	s.state.Wanted = false
	id := s.state.Process
	err := s.keep()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := process.Signal(id, signal); err != nil {
			if errors.Is(err, process.ErrGone) {
				return s.noted(ctx)
			}
			return err
		}
		within, cancel := context.WithTimeout(ctx, grace)
		err := process.Wait(within, id)
		cancel()
		if err == nil {
			return s.noted(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.log.Warn("the engine does not end when asked", "pid", id.PID, "signal", signal.String())
	}
	return fmt.Errorf("process %d does not end, not even by SIGKILL", id.PID)
}

// noted waits until Run has taken note of the end, so that the condition tells of it too.
func (s *Supervisor) noted(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.alive && ctx.Err() == nil {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		}
		s.mu.Lock()
	}
	return ctx.Err()
}

// Run watches until ctx ends. The program is left as it is.
func (s *Supervisor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		id, alive, wanted, changed := s.state.Process, s.alive, s.state.Wanted, s.changed
		pause := time.Until(s.notBefore)
		s.mu.Unlock()
		switch {
		case alive:
			if err := s.watch(ctx, id); err != nil && ctx.Err() == nil {
				return err
			}
		case wanted && pause <= 0:
			if err := s.spawn(); err != nil {
				s.ended(err.Error())
			}
		default:
			if !wanted {
				pause = time.Hour
			}
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(pause):
			}
		}
	}
	return nil
}

// attach finds the program that an earlier agent started, also one it had no time to note.
func (s *Supervisor) attach() error {
	s.alive = process.Alive(s.state.Process)
	if s.alive {
		return nil
	}
	id, err := process.Find(s.program.Mark())
	if errors.Is(err, process.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	s.state.Process, s.alive = id, true
	return s.keep()
}

func (s *Supervisor) spawn() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, err := s.program.Command(!s.state.Booted)
	if err != nil {
		return err
	}
	id, err := process.Start(spec)
	if err != nil {
		return err
	}
	s.log.Info("started the engine", "pid", id.PID, "first_boot", !s.state.Booted)
	s.state.Process, s.alive, s.ready = id, true, false
	return s.keep()
}

// watch returns when the process has ended, or with the error of ctx.
func (s *Supervisor) watch(ctx context.Context, id process.ID) error {
	polling, stop := context.WithCancel(ctx)
	defer stop()
	go s.pollReady(polling, id)
	if err := process.Wait(ctx, id); err != nil {
		return err
	}
	s.ended(s.program.LastWords())
	return nil
}

func (s *Supervisor) pollReady(ctx context.Context, id process.ID) {
	ticker := time.NewTicker(s.timing.ReadyPoll)
	defer ticker.Stop()
	for s.program.Ready(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Process != id || !s.alive {
		return
	}
	s.ready, s.readySince, s.failedStarts = true, time.Now(), 0
	s.state.Booted = true
	if err := s.keep(); err != nil {
		s.log.Error("could not keep the engine's state", "error", err)
	}
}

// ended takes note of an end and decides when the next start may be.
func (s *Supervisor) ended(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasReady := s.ready
	s.alive, s.ready = false, false
	if s.state.Wanted {
		if wasReady && time.Since(s.readySince) > s.timing.Calm {
			s.failures = 0
		}
		if !wasReady {
			s.failedStarts++
		}
		pause := min(s.timing.FirstPause<<min(s.failures, 16), s.timing.LongestPause)
		s.failures++
		s.notBefore = time.Now().Add(pause)
		s.state.Restarts++
		s.state.LastError = words
		if s.starters > 0 && s.failedStarts >= s.timing.Attempts {
			s.state.Wanted = false
		}
		s.log.Warn("the engine ended unexpectedly", "pid", s.state.Process.PID, "last_words", words, "restart_in", pause.String())
	}
	if err := s.keep(); err != nil {
		s.log.Error("could not keep the engine's state", "error", err)
	}
}

// keep stores the state and tells everybody who waits. The caller holds mu.
func (s *Supervisor) keep() error {
	close(s.changed)
	s.changed = make(chan struct{})
	return statefile.WriteJSON(s.path, s.state)
}
