// Package scyllaapi asks a ScyllaDB engine over its REST API. The engine serves it on the machine's own loopback address,
// without passwords: whoever is on the machine may ask.
package scyllaapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxAnswerBytes is far above any answer an agent asks for.
const maxAnswerBytes = 32 << 20

// Error is the engine's own refusal or failure.
type Error struct {
	// Status is that of the HTTP answer: 400 for what was asked wrongly, 404, 500 for what failed.
	Status  int
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the engine's API answered %d: %s", e.Status, e.Message)
}

// Refusal is the engine's own refusal within err, or nil: then nobody answered, or the line broke, and it is not known
// whether the operation ran.
func Refusal(err error) *Error {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return nil
}

// Client speaks to one engine, which may be started anew at any time. It may be used from several goroutines. Every call
// fails with *Error when the engine refuses it.
type Client struct {
	address string
	http    *http.Client
}

// New makes the client of the engine whose API is at host:port.
func New(address string) *Client {
	return &Client{address: address, http: &http.Client{Transport: &http.Transport{
		// One that is kept by an engine that has ended would fail the next question.
		DisableKeepAlives: true,
	}}}
}

// text are parameters of the query.
type text map[string]string

func (c *Client) get(ctx context.Context, path string, query text, into any) error {
	return c.ask(ctx, http.MethodGet, path, query, into)
}

func (c *Client) post(ctx context.Context, path string, query text, into any) error {
	return c.ask(ctx, http.MethodPost, path, query, into)
}

// ask leaves out parameters that are empty.
func (c *Client) ask(ctx context.Context, method, path string, query text, into any) error {
	values := url.Values{}
	for name, value := range query {
		if value != "" {
			values.Set(name, value)
		}
	}
	where := url.URL{Scheme: "http", Host: c.address, Path: path, RawQuery: values.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, where.String(), nil)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return &Error{Status: answer.StatusCode, Message: messageOf(content)}
	}
	if into == nil || len(bytes.TrimSpace(content)) == 0 {
		return nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// messageOf is what an error's body says: {"message": "…", "code": 500}, or whatever it is.
func messageOf(content []byte) string {
	var told struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(content, &told) == nil && told.Message != "" {
		return told.Message
	}
	const longest = 400
	return string(content[:min(len(content), longest)])
}
