// Package cqlschema is the resources ringmaster_keyspace and ringmaster_table: a schema as code, changed online only; and the data
// sources ringmaster_keyspaces and ringmaster_tables.
//
// Statements are run as those of people are: over the API, by the agent of a node, as the database role that the provider's settings
// name, once at most.
package cqlschema

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ringmaster/terraform-provider/client"
)

type statement struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Problem *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"problem"`
	Answer *struct {
		Rows [][]*string `json:"rows"`
	} `json:"answer"`
	More bool  `json:"more"`
	Tree *tree `json:"tree"`
}

// refused is what the database says.
type refused struct{ code, message string }

func (r *refused) Error() string {
	return fmt.Sprintf("the database refused: %s (%s)", r.message, r.code)
}

const (
	consistency = "LOCAL_ONE" // of the engine's own tables, which every node has
	rows        = 1000
)

// run does one statement as the provider's role. Several at once on a cluster take turns. Errors: *refused, those of calls.
func run(ctx context.Context, c *client.Client, clusterID, text string, writes bool) ([][]*string, error) {
	order := map[string]any{"statement": text, "allow_writes": writes, "consistency": consistency, "page_size": rows, "timeout_seconds": 60}
	now, err := ask(ctx, c, clusterID, text, func(session string, now *statement) error {
		order["session_id"] = session
		return c.Post(ctx, client.Path("clusters", clusterID, "cql", "statements"), order, now)
	})
	switch {
	case err != nil:
		return nil, err
	case now.Answer == nil:
		return nil, nil
	case now.More:
		return nil, fmt.Errorf("more than %d rows answer: %s", rows, text)
	}
	return now.Answer.Rows, nil
}

// ask sends something to the database in the session of the provider's role and waits until it is answered. Errors: *refused, those
// of calls.
func ask(ctx context.Context, c *client.Client, clusterID, text string, send func(session string, now *statement) error) (now statement, err error) {
	if c.CQLRole == "" || c.CQLPassword == "" {
		return now, errors.New("no database role: set cql_role and cql_password of the provider, or the variables RINGMASTER_CQL_ROLE and RINGMASTER_CQL_PASSWORD; keyspaces and tables are read and changed as that role")
	}
	defer c.Lock("cql " + clusterID)()
	session, err := open(ctx, c, clusterID, false)
	if err != nil {
		return now, err
	}
	if err = send(session, &now); client.HasCode(err, "session_not_found") {
		if session, err = open(ctx, c, clusterID, true); err != nil {
			return now, err
		}
		err = send(session, &now)
	}
	if err != nil {
		return now, err
	}
	for now.State == "waiting" || now.State == "running" {
		select {
		case <-ctx.Done():
			return now, fmt.Errorf("interrupted; what became of the statement is shown in the console: %s", text)
		case <-time.After(100 * time.Millisecond):
		}
		if err := c.Get(ctx, client.Path("clusters", clusterID, "cql", "statements", now.ID), &now); err != nil {
			return now, err
		}
	}
	switch {
	case now.Problem != nil:
		return now, &refused{now.Problem.Code, now.Problem.Message}
	case now.State != "answered":
		return now, fmt.Errorf("the statement was %s: %s", now.State, text)
	}
	return now, nil
}

// open is the session of the provider's role on a cluster; `anew` when the one that was opened before has ended.
func open(ctx context.Context, c *client.Client, clusterID string, anew bool) (string, error) {
	if found, is := c.Sessions.Load(clusterID); is && !anew {
		return found.(string), nil
	}
	var opened struct {
		ID string `json:"id"`
	}
	body := map[string]any{"role": c.CQLRole, "password": c.CQLPassword}
	if err := c.Post(ctx, client.Path("clusters", clusterID, "cql", "sessions"), body, &opened); err != nil {
		return "", err
	}
	c.Sessions.Store(clusterID, opened.ID)
	return opened.ID, nil
}

// agreed reads until what was changed is seen, since another node may answer than the one that changed it; at most ten seconds.
func agreed(ctx context.Context, read func() error, seen func() bool) error {
	until := time.Now().Add(10 * time.Second)
	for {
		err := read()
		if err == nil && seen() || time.Now().After(until) || err != nil && !client.Missing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// name quotes an identifier, text a string.
func name(of string) string { return `"` + strings.ReplaceAll(of, `"`, `""`) + `"` }
func text(of string) string { return `'` + strings.ReplaceAll(of, `'`, `''`) + `'` }

var entry = regexp.MustCompile(`'((?:[^']|'')*)'\s*:\s*'((?:[^']|'')*)'`)

// entries reads a map of texts as CQL writes it: {'class': 'SimpleStrategy', 'replication_factor': '1'}.
func entries(of string) map[string]string {
	found := map[string]string{}
	for _, pair := range entry.FindAllStringSubmatch(of, -1) {
		found[strings.ReplaceAll(pair[1], "''", "'")] = strings.ReplaceAll(pair[2], "''", "'")
	}
	return found
}

func value(of *string) string {
	if of == nil {
		return ""
	}
	return *of
}
