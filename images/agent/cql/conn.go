// Package cql speaks as much of CQL's binary protocol (version 4) as an agent needs with the one engine beside it: log
// in over TLS and run one statement after another on one connection.
//
// A driver would find other nodes, keep pools and a control connection, and wait for schemas; here each of these costs a
// starting engine more than it gives.
package cql

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	protocolVersion = 0x04
	responseBit     = 0x80
	headerBytes     = 9
	// maxFrameBytes is far above any answer an agent asks for, and keeps a wrong length from taking the memory.
	maxFrameBytes = 16 << 20
)

type opcode byte

const (
	opError        opcode = 0x00
	opStartup      opcode = 0x01
	opReady        opcode = 0x02
	opAuthenticate opcode = 0x03
	opOptions      opcode = 0x05
	opSupported    opcode = 0x06
	opQuery        opcode = 0x07
	opResult       opcode = 0x08
	opAuthResponse opcode = 0x0F
	opAuthSuccess  opcode = 0x10
)

// Consistency is how many replicas must answer.
type Consistency uint16

// The consistencies an agent uses.
const (
	One         Consistency = 0x0001
	Quorum      Consistency = 0x0004
	All         Consistency = 0x0005
	LocalQuorum Consistency = 0x0006
	EachQuorum  Consistency = 0x0007
)

// Error is a refusal by the engine.
type Error struct {
	Code    int32
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("CQL error 0x%04X: %s", uint32(e.Code), e.Message) }

// Codes of Error.
const (
	CodeBadCredentials int32 = 0x0100
	CodeUnavailable    int32 = 0x1000
	CodeOverloaded     int32 = 0x1001
	CodeBootstrapping  int32 = 0x1002
	CodeWriteTimeout   int32 = 0x1100
	CodeReadTimeout    int32 = 0x1200
	CodeReadFailure    int32 = 0x1300
	CodeWriteFailure   int32 = 0x1500
	CodeUnauthorized   int32 = 0x2100
	CodeInvalid        int32 = 0x2200
	CodeConfiguration  int32 = 0x2300
	CodeAlreadyExists  int32 = 0x2400
)

// ErrTooLarge is why a connection is given up whose answer would take too much memory.
var ErrTooLarge = errors.New("the answer is too large")

// LineError is a failure of the connection, not of the engine: another connection may do better.
type LineError struct{ cause error }

func (e *LineError) Error() string { return "CQL connection: " + e.cause.Error() }

func (e *LineError) Unwrap() error { return e.cause }

// Code is the engine's code within err, or 0.
func Code(err error) int32 {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return 0
}

// Passing tells whether err may go away by itself: a node is not up yet, too busy, or was started anew.
func Passing(err error) bool {
	var line *LineError
	if errors.As(err, &line) {
		return true
	}
	switch Code(err) {
	case CodeUnavailable, CodeOverloaded, CodeBootstrapping, CodeWriteTimeout, CodeReadTimeout, CodeReadFailure, CodeWriteFailure:
		return true
	}
	return false
}

// Conn is one connection, logged in. It may be used from several goroutines, which take turns.
type Conn struct {
	turn   sync.Mutex
	socket *tls.Conn
	broken error
}

// Probe tells whether the engine takes CQL connections over TLS, without logging in.
func Probe(ctx context.Context, address string, config *tls.Config) error {
	conn, err := connect(ctx, netip.Addr{}, address, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, _, err := conn.ask(ctx, opOptions, nil)
	if err != nil {
		return err
	}
	if answer != opSupported {
		return fmt.Errorf("unexpected answer 0x%02X to OPTIONS", byte(answer))
	}
	return nil
}

// Dial connects and logs in. The error is *Error with CodeBadCredentials when the password is wrong.
func Dial(ctx context.Context, address string, config *tls.Config, username, password string) (*Conn, error) {
	return DialFrom(ctx, netip.Addr{}, address, config, username, password)
}

// DialFrom is Dial from one of this machine's addresses. Where nodes are loopback addresses, the system would choose
// 127.0.0.1 for all of them, and the engine could not tell them apart.
func DialFrom(ctx context.Context, from netip.Addr, address string, config *tls.Config, username, password string) (*Conn, error) {
	conn, err := connect(ctx, from, address, config)
	if err != nil {
		return nil, err
	}
	if err := conn.logIn(ctx, username, password); err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in as %s: %w", username, err)
	}
	return conn, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.socket.Close() }

// Broken is why the connection can no longer be used, or nil.
func (c *Conn) Broken() error {
	c.turn.Lock()
	defer c.turn.Unlock()
	return c.broken
}

// Query runs a statement. Values are bound to its question marks; see encode for their types.
func (c *Conn) Query(ctx context.Context, consistency Consistency, statement string, values ...any) (Rows, error) {
	body := appendLongString(nil, statement)
	body = binary.BigEndian.AppendUint16(body, uint16(consistency))
	const withValues = 0x01
	if len(values) == 0 {
		body = append(body, 0)
	} else {
		body = append(body, withValues)
		body = binary.BigEndian.AppendUint16(body, uint16(len(values)))
		for _, value := range values {
			encoded, err := encode(value)
			if err != nil {
				return nil, err
			}
			body = appendBytes(body, encoded)
		}
	}
	answer, content, err := c.ask(ctx, opQuery, body)
	if err != nil {
		return nil, err
	}
	if answer != opResult {
		return nil, fmt.Errorf("unexpected answer 0x%02X to QUERY", byte(answer))
	}
	return decodeResult(content)
}

func connect(ctx context.Context, from netip.Addr, address string, config *tls.Config) (*Conn, error) {
	dialer := tls.Dialer{Config: config}
	if from.IsValid() {
		dialer.NetDialer = &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	}
	socket, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &LineError{err}
	}
	secured, ok := socket.(*tls.Conn)
	if !ok {
		return nil, errors.New("not a TLS connection")
	}
	return &Conn{socket: secured}, nil
}

func (c *Conn) logIn(ctx context.Context, username, password string) error {
	startup := binary.BigEndian.AppendUint16(nil, 1)
	startup = appendString(startup, "CQL_VERSION")
	startup = appendString(startup, "3.0.0")
	answer, _, err := c.ask(ctx, opStartup, startup)
	if err != nil {
		return err
	}
	if answer == opAuthenticate {
		token := append([]byte{0}, username...)
		token = append(append(token, 0), password...)
		if answer, _, err = c.ask(ctx, opAuthResponse, appendBytes(nil, token)); err != nil {
			return err
		}
	}
	if answer != opReady && answer != opAuthSuccess {
		return fmt.Errorf("unexpected answer 0x%02X to the login", byte(answer))
	}
	return nil
}

// reply is one answer to a request.
type reply struct {
	op      opcode
	content []byte
	// trace is the id of the session in which the request was traced; nil: it was not.
	trace    []byte
	warnings []string
}

// ask sends one request and waits for its answer. After a failure of the line the connection is of no more use: the
// answer to one question must not be taken for that to the next.
func (c *Conn) ask(ctx context.Context, request opcode, body []byte) (opcode, []byte, error) {
	answer, err := c.askWith(ctx, request, 0, body)
	if err == nil && answer.trace != nil {
		err = errors.New("unreadable answer: traced without being asked to")
	}
	if err != nil {
		return 0, nil, err
	}
	return answer.op, answer.content, nil
}

func (c *Conn) askWith(ctx context.Context, request opcode, flags byte, body []byte) (reply, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.broken != nil {
		return reply{}, c.broken
	}
	stop := context.AfterFunc(ctx, func() { _ = c.socket.SetDeadline(time.Unix(1, 0)) })
	answer, err := c.exchange(request, flags, body)
	if !stop() {
		// The deadline is in the past now, so the connection is of no use even if the answer came in time.
		err = context.Cause(ctx)
	}
	if err != nil {
		c.broken = &LineError{err}
		_ = c.socket.Close()
		return reply{}, c.broken
	}
	if answer.op == opError {
		return reply{}, decodeError(answer.content)
	}
	return answer, nil
}

// Flags of frames.
const (
	flagTracing = 0x02
	flagPayload = 0x04
	flagWarning = 0x08
)

func (c *Conn) exchange(request opcode, asked byte, body []byte) (reply, error) {
	frame := append(make([]byte, 0, headerBytes+len(body)), protocolVersion, asked, 0, 1, byte(request))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(body)))
	if _, err := c.socket.Write(append(frame, body...)); err != nil {
		return reply{}, err
	}
	var header [headerBytes]byte
	if _, err := io.ReadFull(c.socket, header[:]); err != nil {
		return reply{}, err
	}
	length := binary.BigEndian.Uint32(header[5:])
	if header[0] != protocolVersion|responseBit {
		return reply{}, fmt.Errorf("unreadable answer: version 0x%02X, %d bytes", header[0], length)
	}
	if length > maxFrameBytes {
		return reply{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, length)
	}
	content := make([]byte, length)
	if _, err := io.ReadFull(c.socket, content); err != nil {
		return reply{}, err
	}
	answer := reply{op: opcode(header[4])}
	flags := header[1]
	if flags&flagPayload != 0 {
		return reply{}, fmt.Errorf("unreadable answer: flags 0x%02X", flags)
	}
	in := &reader{rest: content}
	if flags&flagTracing != 0 {
		answer.trace = in.take(16)
	}
	if flags&flagWarning != 0 {
		for range in.uint16() {
			answer.warnings = append(answer.warnings, in.string())
		}
	}
	if in.failed {
		return reply{}, io.ErrUnexpectedEOF
	}
	answer.content = in.rest
	return answer, nil
}
