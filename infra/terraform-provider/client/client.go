// Package client speaks to Ringmaster's API: JSON, one body for every error, writes that may be sent again.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Client is one installation, spoken to as the owner of a token. Safe for use by several goroutines.
type Client struct {
	base         *url.URL
	token        string
	organisation string
	agent        string
	http         *http.Client
	locks        sync.Map
	// CQLRole and CQLPassword are of the database role as which schemas are read and changed; Sessions are its, by cluster.
	CQLRole, CQLPassword string
	Sessions             sync.Map
}

// Settings say whom to speak to.
type Settings struct {
	// URL is where the console is, too: https://ringmaster.example.
	URL   string
	Token string
	// Organisation is an id, or empty: the only one that the token's owner belongs to.
	Organisation string
	// CQLRole is a role of databases, as which schemas are read and changed. Empty: none.
	CQLRole, CQLPassword string
	// Agent is told to the server: the name and version of the program.
	Agent string
}

// New checks the settings, and speaks to nobody.
func New(settings Settings) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(settings.URL, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is no address; it begins with https:// (or http://)", settings.URL)
	}
	return &Client{
		base: base, token: settings.Token, organisation: settings.Organisation, agent: settings.Agent,
		http: &http.Client{Timeout: 60 * time.Second}, CQLRole: settings.CQLRole, CQLPassword: settings.CQLPassword,
	}, nil
}

// Problem is an answer that is not a success, in the server's words.
type Problem struct {
	Status    int     `json:"-"`
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	Hint      string  `json:"hint"`
	Field     string  `json:"field"`
	Fields    []Wrong `json:"fields"`
	RequestID string  `json:"request_id"`
	after     time.Duration
}

// Wrong is a field of a request that is not right.
type Wrong struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *Problem) Error() string {
	text := p.Message
	for _, wrong := range p.Fields[min(1, len(p.Fields)):] {
		text += "\n" + wrong.Field + ": " + wrong.Message
	}
	if p.Hint != "" {
		text += "\n" + p.Hint
	}
	return fmt.Sprintf("%s\n(%s, HTTP %d, request %s)", text, p.Code, p.Status, p.RequestID)
}

// Missing tells whether there is no such thing, or none that the token may see.
func Missing(err error) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Status == http.StatusNotFound
}

// HasCode tells whether the server refused with that code.
func HasCode(err error, code string) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Code == code
}

// Get reads what is below /api/v1.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.call(ctx, http.MethodGet, path, nil, out)
}

// Post sends a body, or none (nil).
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodPost, path, in, out)
}

// Put sends what is to be there.
func (c *Client) Put(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodPut, path, in, out)
}

// Patch sends what is to be otherwise.
func (c *Client) Patch(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodPatch, path, in, out)
}

// Delete may have a body (in) and an answer (out), or neither.
func (c *Client) Delete(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodDelete, path, in, out)
}

// Lock waits for what others of this program do to the same thing, and keeps them out until the function is called.
func (c *Client) Lock(name string) func() {
	found, _ := c.locks.LoadOrStore(name, &sync.Mutex{})
	lock := found.(*sync.Mutex)
	lock.Lock()
	return lock.Unlock
}

// Path joins words to a path, each as one segment, whatever it holds.
func Path(words ...string) string {
	path := ""
	for _, word := range words {
		path += "/" + url.PathEscape(word)
	}
	return path
}

const attempts = 6

// call sends a request until it is answered. One that is sent again carries the same key, so that it happens once.
// A write that was sent is heard to its end also when ctx ends meanwhile: its answer holds the id of what was made.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	key := newKey()
	sent := ctx
	if method != http.MethodGet {
		if err := ctx.Err(); err != nil {
			return err
		}
		sent = context.WithoutCancel(ctx)
	}
	for attempt := 1; ; attempt++ {
		err := c.once(sent, method, path, key, body, out)
		wait, again := retry(err, attempt)
		if !again || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

func (c *Client) once(ctx context.Context, method, path, key string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base.String()+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.agent)
	if c.organisation != "" {
		request.Header.Set("Ringmaster-Organisation", c.organisation)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet {
		request.Header.Set("Idempotency-Key", key)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return &unanswered{err}
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return &unanswered{err}
	}
	if answer.StatusCode >= 400 {
		return problem(answer, content)
	}
	if out == nil || len(content) == 0 {
		return nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("the answer of %s %s cannot be read; is it Ringmaster that answers at %s? %w", method, path, c.base, err)
	}
	return nil
}

func problem(answer *http.Response, content []byte) error {
	var body struct {
		Error *Problem `json:"error"`
	}
	if json.Unmarshal(content, &body) != nil || body.Error == nil {
		body.Error = &Problem{Code: "no_answer_of_ringmaster", Message: "The server answered " + answer.Status + "."}
	}
	body.Error.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		body.Error.after = time.Duration(seconds) * time.Second
	}
	return body.Error
}

// unanswered: it is not known what became of the request.
type unanswered struct{ error }

func (u *unanswered) Unwrap() error { return u.error }

// retry tells whether the same request may do better later, and when.
func retry(err error, attempt int) (time.Duration, bool) {
	wait := min(time.Second<<(attempt-1)/2, 10*time.Second)
	var nobody *unanswered
	if errors.As(err, &nobody) {
		return wait, !errors.Is(err, context.Canceled)
	}
	var told *Problem
	if !errors.As(err, &told) {
		return 0, false
	}
	switch told.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return max(wait, min(told.after, time.Minute)), true
	}
	return 0, false
}

func newKey() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return "tf-" + hex.EncodeToString(random[:])
}

// NotThere is what Missing recognises, for things that are only listed.
func NotThere(what string) error {
	return &Problem{Status: http.StatusNotFound, Code: "not_found", Message: "There is no " + what + "."}
}

// Every reads all pages of a list.
func Every[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	found := []T{}
	asked := url.Values{"limit": {"200"}}
	for name, values := range query {
		asked[name] = values
	}
	for {
		var page struct {
			Items      []T    `json:"items"`
			NextCursor string `json:"next_cursor"`
		}
		if err := c.Get(ctx, path+"?"+asked.Encode(), &page); err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
		if page.NextCursor == "" {
			return found, nil
		}
		asked.Set("cursor", page.NextCursor)
	}
}
