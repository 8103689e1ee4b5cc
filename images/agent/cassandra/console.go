package cassandra

import (
	"context"
	"time"

	"ringmaster/agent/cql"
	"ringmaster/agent/statements"
)

var _ statements.Engine = (*Engine)(nil)

// SignIn implements statements.Engine. Error codes: engine-not-running, and the engine's own.
func (e *Engine) SignIn(ctx context.Context, role, password string) (statements.Session, error) {
	// On a node that just joined this makes the engine know the node's address, from which the role comes too.
	if _, err := e.asked(ctx); err != nil {
		return nil, err
	}
	return e.connect(ctx, Account{Username: role, Password: password})
}

// ReadTrace implements statements.Engine: a trace is the control account's to read, whatever the role that it is of may read.
func (e *Engine) ReadTrace(ctx context.Context, do func(statements.Session) error) error {
	conn, err := e.asked(ctx)
	if err != nil {
		return err
	}
	return do(conn)
}

// connect logs in to the engine beside us.
func (e *Engine) connect(ctx context.Context, account Account) (*cql.Conn, error) {
	address, err := e.cqlAddress()
	if err != nil {
		return nil, err
	}
	self, err := e.ownAddress()
	if err != nil {
		return nil, err
	}
	config, err := e.identity.Trust()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return cql.DialFrom(within, self, address, config, account.Username, account.Password)
}
