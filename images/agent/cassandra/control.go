package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/statefile"
)

// Account is a name and a password for the engine.
type Account struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// controlSession is the one connection to the engine that is kept: logging in costs a password check and a handshake.
type controlSession struct {
	path string
	dial func(context.Context, Account) (*cql.Conn, error)

	mu      sync.Mutex
	account *Account
	conn    *cql.Conn
}

func newControlSession(place folders, dial func(context.Context, Account) (*cql.Conn, error)) *controlSession {
	return &controlSession{path: filepath.Join(place.root, "control.json"), dial: dial}
}

// use logs in with the account, unless that is done, and remembers it. The error is the engine's if it refuses.
func (s *controlSession) use(ctx context.Context, account Account) (*cql.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.account != nil && *s.account == account && s.conn.Broken() == nil {
		return s.conn, nil
	}
	conn, err := s.dial(ctx, account)
	if err != nil {
		return nil, err
	}
	if s.account == nil || *s.account != account {
		if err := statefile.WriteJSON(s.path, account); err != nil {
			conn.Close()
			return nil, err
		}
	}
	s.drop()
	s.conn, s.account = conn, &account
	return conn, nil
}

// again is use with the account remembered. Error code: control-unknown.
func (s *controlSession) again(ctx context.Context) (*cql.Conn, error) {
	account, err := s.remembered()
	if err != nil {
		return nil, err
	}
	return s.use(ctx, account)
}

func (s *controlSession) remembered() (Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != nil {
		return *s.account, nil
	}
	var account Account
	switch err := statefile.ReadJSON(s.path, &account); {
	case errors.Is(err, fs.ErrNotExist):
		return Account{}, agent.Errorf("control-unknown", "This agent does not know the control account yet; it learns it from the jobs secure and prove.")
	case err != nil:
		return Account{}, err
	}
	return account, nil
}

// forget ends the connection; the account is kept.
func (s *controlSession) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

func (s *controlSession) drop() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// dial logs in to the engine beside us as the control account.
func (e *Engine) dial(ctx context.Context, account Account) (*cql.Conn, error) {
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := e.connect(within, account)
	if err != nil {
		return nil, err
	}
	// The engine looks at the address with every statement, not at the login.
	if _, err := conn.Query(within, cql.One, "SELECT key FROM system.local WHERE key = 'local'"); !shutOut(err) {
		return conn, nil
	}
	e.log.Info("the engine does not know this node's address yet")
	if err := e.letIn(within); err != nil {
		conn.Close()
		return nil, fmt.Errorf("make the engine know this node's address: %w", err)
	}
	return conn, nil
}
