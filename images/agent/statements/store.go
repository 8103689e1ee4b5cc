// Package statements runs CQL of people on the engine beside the agent, each as a role of theirs over a connection of its own. Nothing
// of it is written down: an agent that ends forgets what ran and what was found.
package statements

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

const (
	// atOnce is how many statements a node runs at a time.
	atOnce = 16
	// keptFor is how long an answer waits to be fetched, keptAnswers how many do.
	keptFor     = time.Minute
	keptAnswers = 64
)

// Session is a connection to the engine; *cql.Conn is one.
type Session interface {
	Run(ctx context.Context, wish cql.Wish) (cql.Page, error)
	Query(ctx context.Context, consistency cql.Consistency, statement string, values ...any) (cql.Rows, error)
	Close()
}

// Engine is what statements are run on.
type Engine interface {
	// SignIn opens a connection as a role; the caller closes it. The error is *cql.Error when the engine refuses.
	SignIn(ctx context.Context, role, password string) (Session, error)
	// ReadTrace does something with a connection that may read every trace.
	ReadTrace(ctx context.Context, do func(Session) error) error
}

// Store holds the statements that run, and answers that were not fetched yet.
type Store struct {
	engine   Engine
	lifetime context.Context
	log      *slog.Logger

	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	told   agent.Statement
	ended  chan struct{}
	endsAt time.Time
	cancel context.CancelFunc
}

// New makes a store whose statements end with lifetime.
func New(lifetime context.Context, engine Engine, log *slog.Logger) *Store {
	return &Store{engine: engine, lifetime: lifetime, log: log, entries: map[string]*entry{}}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Put runs a statement, unless one of this name runs or has ended. Error codes: invalid-name, invalid-parameters, too-many-statements.
func (s *Store) Put(name string, request agent.StatementRequest) error {
	if !nameForm.MatchString(name) {
		return agent.Errorf("invalid-name", "A statement's name is 1 to 128 letters, digits, dots, hyphens and underscores.")
	}
	if err := request.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOld()
	if _, known := s.entries[name]; known {
		return nil
	}
	running := 0
	for _, other := range s.entries {
		if other.told.State == agent.Running {
			running++
		}
	}
	if running >= atOnce {
		return agent.Errorf("too-many-statements", "This node runs %d statements already.", running)
	}
	ctx, cancel := context.WithCancel(s.lifetime)
	fresh := &entry{told: agent.Statement{Name: name, State: agent.Running}, ended: make(chan struct{}), cancel: cancel}
	s.entries[name] = fresh
	go s.run(ctx, fresh, request)
	return nil
}

// Get returns the statement as soon as it has ended, or as it is when the wait is over. Error code: statement-not-found.
func (s *Store) Get(ctx context.Context, name string, wait time.Duration) (agent.Statement, error) {
	s.mu.Lock()
	s.forgetOld()
	found, known := s.entries[name]
	s.mu.Unlock()
	if !known {
		return agent.Statement{}, agent.Errorf("statement-not-found", "There is no statement %s.", name)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-found.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return found.told, nil
}

// Delete interrupts the statement if it runs, and forgets it. What a write has done by then stays done.
func (s *Store) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, known := s.entries[name]; known {
		found.cancel()
		delete(s.entries, name)
	}
}

func (s *Store) run(ctx context.Context, running *entry, request agent.StatementRequest) {
	defer close(running.ended)
	defer running.cancel()
	began := time.Now()
	result, tree, err := s.answer(ctx, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	running.endsAt = time.Now()
	if err != nil {
		running.told.State, running.told.Error = agent.Failed, problemOf(err, request)
	} else {
		running.told.State, running.told.Result, running.told.Schema = agent.Succeeded, result, tree
	}
	// Neither the text nor the role's password: only that there was one.
	s.log.Info("statement ended", "statement", running.told.Name, "role", request.Role, "state", running.told.State,
		"milliseconds", time.Since(began).Milliseconds())
}

// forgetOld forgets answers that nobody fetched. The caller holds mu.
func (s *Store) forgetOld() {
	for name, found := range s.entries {
		ended := found.told.State != agent.Running
		if ended && (time.Since(found.endsAt) > keptFor || len(s.entries) > keptAnswers+atOnce) {
			delete(s.entries, name)
		}
	}
}
