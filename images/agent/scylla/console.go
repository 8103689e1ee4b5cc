package scylla

import (
	"context"
	"errors"

	"ringmaster/agent/cql"
	"ringmaster/agent/statements"
)

var _ statements.Engine = (*Engine)(nil)

// SignIn implements statements.Engine. Error codes: engine-not-running, and the engine's own.
func (e *Engine) SignIn(ctx context.Context, role, password string) (statements.Session, error) {
	if err := e.isRunning(); err != nil {
		return nil, err
	}
	conn, err := e.dial(ctx, role, password)
	if err != nil {
		return nil, err
	}
	return speaking(conn)
}

// ReadTrace implements statements.Engine: a trace is the control account's to read, whatever the role that it is of may read.
func (e *Engine) ReadTrace(ctx context.Context, do func(statements.Session) error) error {
	conn, err := e.control(ctx, account{})
	if err != nil {
		return err
	}
	defer conn.Close()
	spoken, err := speaking(conn)
	if err != nil {
		return err
	}
	return do(spoken)
}

// speaking is a session over which statements of people can be run, as every real connection is.
func speaking(conn session) (statements.Session, error) {
	if full, can := conn.(*cql.Conn); can {
		return full, nil
	}
	conn.Close()
	return nil, errors.New("this connection cannot run statements of people")
}
