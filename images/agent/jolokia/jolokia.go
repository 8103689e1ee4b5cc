// Package jolokia asks a JVM's management beans over HTTP, by way of the Jolokia agent inside it: read attributes, run
// operations, several of them in one request.
package jolokia

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxAnswerBytes is far above any answer an agent asks for.
const maxAnswerBytes = 32 << 20

// Login is where a Jolokia agent listens, and as whom to speak to it.
type Login struct {
	// Address is host:port.
	Address            string
	Username, Password string
}

// Call is one question: the value of an attribute, or the result of an operation. See Read, Write and Exec.
type Call struct {
	Type      string `json:"type"`
	MBean     string `json:"mbean"`
	Attribute string `json:"attribute,omitempty"`
	Value     any    `json:"value,omitempty"`
	Operation string `json:"operation,omitempty"`
	Arguments []any  `json:"arguments,omitempty"`
}

// Read asks for the value of an attribute.
func Read(bean, attribute string) Call { return Call{Type: "read", MBean: bean, Attribute: attribute} }

// Write sets an attribute.
func Write(bean, attribute string, value any) Call {
	return Call{Type: "write", MBean: bean, Attribute: attribute, Value: value}
}

// Exec runs an operation. One that is overloaded needs its full signature: name(type,type).
func Exec(bean, operation string, arguments ...any) Call {
	return Call{Type: "exec", MBean: bean, Operation: operation, Arguments: arguments}
}

// Error is a refusal: by the agent's policy, because the bean is not there (yet), or by the operation itself.
type Error struct {
	// Status is 403 for what the policy forbids, 404 for what is not there, 500 for what an operation threw.
	Status int
	// Type is the class of the Java exception, Message what it says.
	Type, Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Type, e.Status, e.Message) }

// Missing tells whether err is that the bean or attribute does not exist, as early in a JVM's start.
func Missing(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Status == http.StatusNotFound
}

// Refusal is the JVM's own refusal within err, or nil: then nobody answered, or the line broke, and it is not known whether
// the operation ran.
func Refusal(err error) *Error {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return nil
}

// Client speaks to one JVM, which may be started anew at any time. It may be used from several goroutines.
type Client struct {
	login func() (Login, error)
	http  *http.Client
}

// New makes a client. The login is asked for before every request: it changes when the JVM is started anew.
func New(login func() (Login, error)) *Client {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	return &Client{login: login, http: &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext,
		// One for a long operation and one to look at it; an idle one costs the JVM a socket only.
		MaxIdleConnsPerHost: 2,
		// Less than the half minute after which the JDK's server closes one, so that none is used as it is being closed.
		IdleConnTimeout: 20 * time.Second,
	}}}
}

// Do asks one question and puts the value into the variable that into points to; nil drops it. An operation may run for as
// long as ctx lasts, and goes on in the JVM when nobody waits for it any more.
func (c *Client) Do(ctx context.Context, call Call, into any) error {
	content, err := c.post(ctx, call)
	if err != nil {
		return err
	}
	var answered answer
	if err := json.Unmarshal(content, &answered); err != nil {
		return fmt.Errorf("unreadable answer of the JVM: %w", err)
	}
	return answered.take(call, into)
}

// Answer is what Batch got for one of its calls.
type Answer struct {
	call   Call
	answer answer
}

// Into puts the value into the variable that into points to, or returns why there is none.
func (a Answer) Into(into any) error { return a.answer.take(a.call, into) }

// Batch asks several questions at once; they are answered one after another, in order.
func (c *Client) Batch(ctx context.Context, calls []Call) ([]Answer, error) {
	content, err := c.post(ctx, calls)
	if err != nil {
		return nil, err
	}
	var answered []answer
	if err := json.Unmarshal(content, &answered); err != nil {
		return nil, fmt.Errorf("unreadable answer of the JVM: %w", err)
	}
	if len(answered) != len(calls) {
		return nil, fmt.Errorf("the JVM gave %d answers to %d questions", len(answered), len(calls))
	}
	all := make([]Answer, len(calls))
	for index := range calls {
		all[index] = Answer{call: calls[index], answer: answered[index]}
	}
	return all, nil
}

type answer struct {
	Status    int             `json:"status"`
	Value     json.RawMessage `json:"value"`
	ErrorType string          `json:"error_type"`
	Error     string          `json:"error"`
}

func (a answer) take(call Call, into any) error {
	if a.Status != http.StatusOK {
		// Its text begins with the class once more.
		message := strings.TrimPrefix(a.Error, a.ErrorType+" : ")
		return fmt.Errorf("%s %s%s: %w", call.MBean, call.Attribute, call.Operation,
			&Error{Status: a.Status, Type: a.ErrorType, Message: message})
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(a.Value, into); err != nil {
		return fmt.Errorf("%s %s%s: %w", call.MBean, call.Attribute, call.Operation, err)
	}
	return nil
}

func (c *Client) post(ctx context.Context, body any) ([]byte, error) {
	login, err := c.login()
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	// Without the stack of a Java exception, which would be most of an answer.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+login.Address+"/jolokia/?includeStackTrace=false&includeRequest=false", bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(login.Username, login.Password)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the JVM's management answered %s", response.Status)
	case len(said) > maxAnswerBytes:
		return nil, fmt.Errorf("the JVM's answer has more than %d bytes", maxAnswerBytes)
	}
	return said, nil
}
