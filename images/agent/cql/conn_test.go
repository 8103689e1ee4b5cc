package cql

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"ringmaster/agent/agenttest"
)

// fakeEngine answers frames over TLS, one connection at a time.
type fakeEngine struct {
	address string
	config  *tls.Config
}

type answer struct {
	op      opcode
	flags   byte
	content []byte
}

func newFakeEngine(t *testing.T, answers func(opcode, []byte) *answer) fakeEngine {
	t.Helper()
	authority := agenttest.NewAuthority(t, "cluster")
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{authority.Pair("engine")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer socket.Close()
				for {
					header := make([]byte, headerBytes)
					if _, err := io.ReadFull(socket, header); err != nil {
						return
					}
					body := make([]byte, binary.BigEndian.Uint32(header[5:]))
					if _, err := io.ReadFull(socket, body); err != nil {
						return
					}
					if said := answers(opcode(header[4]), body); said != nil {
						frame := []byte{protocolVersion | responseBit, said.flags, 0, 1, byte(said.op)}
						_, _ = socket.Write(append(binary.BigEndian.AppendUint32(frame, uint32(len(said.content))), said.content...))
					}
				}
			}()
		}
	}()
	return fakeEngine{address: listener.Addr().String(), config: &tls.Config{RootCAs: authority.Pool()}}
}

func refusal(code int32, message string) *answer {
	return &answer{op: opError, content: appendString(binary.BigEndian.AppendUint32(nil, uint32(code)), message)}
}

// rowsAnswer has one column of each of the types given, in one row.
func rowsAnswer(types [][]byte, cells [][]byte) []byte {
	content := binary.BigEndian.AppendUint32(nil, 2)
	content = binary.BigEndian.AppendUint32(content, 1)
	content = binary.BigEndian.AppendUint32(content, uint32(len(types)))
	content = appendString(appendString(content, "ks"), "t")
	for index, kind := range types {
		content = append(appendString(content, string(rune('a'+index))), kind...)
	}
	content = binary.BigEndian.AppendUint32(content, 1)
	for _, cell := range cells {
		if cell == nil {
			content = binary.BigEndian.AppendUint32(content, 0xFFFFFFFF)
		} else {
			content = appendBytes(content, cell)
		}
	}
	return content
}

func everyType() []byte {
	texts := appendBytes(appendBytes([]byte{0, 0, 0, 2}, []byte("x")), []byte("y"))
	pairs := appendBytes(appendBytes([]byte{0, 0, 0, 1}, []byte("dc")), []byte("3"))
	return rowsAnswer(
		[][]byte{{0, typeText}, {0, typeBigint}, {0, typeInt}, {0, typeBool}, {0, typeUUID}, {0, typeInet}, {0, typeSet, 0, typeText}, {0, typeMap, 0, typeText, 0, typeText}, {0, typeText}, {0, typeStamp}},
		[][]byte{[]byte("é"), {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE}, {0, 0, 0, 7}, {1}, []byte("0123456789abcdef"), {127, 1, 2, 3}, texts, pairs, nil, {0, 0, 0, 0, 0, 0, 0, 1}})
}

func TestRowsOfEveryTypeAreRead(t *testing.T) {
	rows, err := decodeResult(everyType())
	if err != nil {
		t.Fatal(err)
	}
	wanted := Rows{{
		"a": "é", "b": int64(-2), "c": int32(7), "d": true, "e": "30313233-3435-3637-3839-616263646566",
		"f": netip.MustParseAddr("127.1.2.3"), "g": []any{"x", "y"}, "h": map[string]any{"dc": "3"}, "i": nil,
		"j": time.UnixMilli(1).UTC(),
	}}
	if !reflect.DeepEqual(rows, wanted) {
		t.Fatalf("%#v", rows)
	}
	if row := rows[0]; row.Text("f") != "127.1.2.3" || row.Text("i") != "" || !row.Bool("d") || len(row.Texts("g")) != 2 {
		t.Fatalf("%#v", row)
	}
}

func TestAnAnswerThatIsCutOffIsAnErrorNotACrash(t *testing.T) {
	whole := everyType()
	for length := range whole {
		if _, err := decodeResult(whole[:length]); err == nil && length > 4 {
			t.Fatalf("%d of %d bytes are taken for whole", length, len(whole))
		}
	}
}

func TestLoggingInAndAsking(t *testing.T) {
	engine := newFakeEngine(t, func(op opcode, body []byte) *answer {
		switch op {
		case opStartup:
			return &answer{op: opAuthenticate, content: appendString(nil, "PasswordAuthenticator")}
		case opAuthResponse:
			if string(body[4:]) == "\x00ann\x00sesame" {
				return &answer{op: opAuthSuccess, content: []byte{0xFF, 0xFF, 0xFF, 0xFF}}
			}
			return refusal(CodeBadCredentials, "wrong")
		case opQuery:
			if strings.Contains(string(body), "nowhere") {
				return refusal(CodeUnavailable, "no replicas")
			}
			warnings := appendString([]byte{0, 1}, "mind the gap")
			return &answer{op: opResult, flags: 0x08, content: append(warnings, everyType()...)}
		}
		return &answer{op: opSupported}
	})
	ctx := t.Context()
	if err := Probe(ctx, engine.address, engine.config); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(ctx, engine.address, engine.config, "ann", "guess"); Code(err) != CodeBadCredentials {
		t.Fatal(err)
	}
	conn, err := Dial(ctx, engine.address, engine.config, "ann", "sesame")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Query(ctx, All, "SELECT nowhere"); !Passing(err) || conn.Broken() != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(ctx, All, "SELECT ?", "x", int64(1), time.Now())
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
}

func TestAnAnswerThatIsTooLateNeverAnswersTheNextQuestion(t *testing.T) {
	engine := newFakeEngine(t, func(op opcode, _ []byte) *answer {
		if op == opStartup {
			return &answer{op: opReady}
		}
		return nil
	})
	conn, err := Dial(t.Context(), engine.address, engine.config, "ann", "sesame")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := conn.Query(ctx, One, "SELECT"); !Passing(err) || conn.Broken() == nil {
		t.Fatal(err)
	}
	if _, err := conn.Query(t.Context(), One, "SELECT"); err == nil {
		t.Fatal("a broken connection was used again")
	}
}

func TestAnotherAuthoritysEngineGetsNoPassword(t *testing.T) {
	engine := newFakeEngine(t, func(op opcode, _ []byte) *answer {
		t.Errorf("asked 0x%02X", byte(op))
		return nil
	})
	wrong := &tls.Config{RootCAs: agenttest.NewAuthority(t, "another").Pool()}
	if _, err := Dial(t.Context(), engine.address, wrong, "ann", "sesame"); err == nil {
		t.Fatal("trusted")
	}
}
