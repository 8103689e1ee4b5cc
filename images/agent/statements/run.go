package statements

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

const (
	// mostBytes of text that one answer has, and mostCell that one cell has.
	mostBytes = 1 << 20
	mostCell  = 64 << 10
	// beyond the statement's own time: signing in, and reading its trace.
	signInWithin = 10 * time.Second
	traceWithin  = 5 * time.Second
)

var consistencies = map[string]cql.Consistency{
	"ANY": cql.Any, "ONE": cql.One, "TWO": cql.Two, "THREE": cql.Three, "QUORUM": cql.Quorum, "ALL": cql.All, "LOCAL_QUORUM": cql.LocalQuorum,
	"EACH_QUORUM": cql.EachQuorum, "SERIAL": cql.Serial, "LOCAL_SERIAL": cql.LocalSerial, "LOCAL_ONE": cql.LocalOne,
}

var errTimedOut = errors.New("timed out")

func (s *Store) answer(ctx context.Context, request agent.StatementRequest) (*agent.StatementResult, *agent.SchemaTree, error) {
	signingIn, done := context.WithTimeout(ctx, signInWithin)
	defer done()
	session, err := s.engine.SignIn(signingIn, request.Role, request.Password)
	if err != nil {
		return nil, nil, err
	}
	defer session.Close()
	patience := time.Duration(request.TimeoutSeconds) * time.Second
	within, cancel := context.WithTimeoutCause(ctx, patience, errTimedOut)
	defer cancel()
	if request.Keyspace != "" {
		use := cql.Wish{Statement: `USE "` + request.Keyspace + `"`, Consistency: cql.One, Size: 1}
		if _, err := session.Run(within, use); err != nil {
			return nil, nil, err
		}
	}
	if request.Schema {
		tree, err := readSchema(within, session)
		return nil, tree, err
	}
	began := time.Now()
	page, err := session.Run(within, wishOf(request, request.PageSize))
	took := time.Since(began)
	if err != nil {
		return nil, nil, err
	}
	result := resultOf(page)
	if fitting := len(result.Rows); fitting < len(page.Rows) {
		if !request.MayRunAgain {
			result.NextPage = nil
			result.Warnings = append(result.Warnings, fmt.Sprintf("Only the first %d of %d rows are shown: they are too large.", fitting, len(page.Rows)))
		} else {
			// The engine's place for the next page is behind the last row of this one: so a page is asked for that fits.
			trace := page.Trace
			if page, err = session.Run(within, wishOf(request, fitting)); err != nil {
				return nil, nil, err
			}
			page.Trace = trace
			result = resultOf(page)
		}
	}
	result.Microseconds = took.Microseconds()
	if page.Trace != nil {
		if result.Trace, err = s.readTrace(ctx, page.Trace); err != nil {
			result.Warnings = append(result.Warnings, "The trace could not be read: "+err.Error())
		}
	}
	return result, nil, nil
}

func wishOf(request agent.StatementRequest, size int) cql.Wish {
	return cql.Wish{
		Statement: request.Statement, Consistency: consistencies[request.Consistency], Size: int32(size), State: request.PageState,
		Tracing: request.Tracing,
	}
}

// resultOf shows as many rows as fit, at least one.
func resultOf(page cql.Page) *agent.StatementResult {
	result := &agent.StatementResult{
		HasRows: page.Columns != nil, Columns: []agent.ResultColumn{}, Rows: [][]*string{}, Cut: []agent.CutCell{},
		NextPage: page.Next, Warnings: append([]string{}, page.Warnings...), Outcome: page.Outcome,
	}
	for _, column := range page.Columns {
		result.Columns = append(result.Columns, agent.ResultColumn{Keyspace: column.Keyspace, Table: column.Table, Name: column.Name, Type: column.Type.String()})
	}
	longest := min(mostCell, mostBytes/max(1, len(page.Columns)))
	left := mostBytes
	for index, row := range page.Rows {
		told := make([]*string, len(row))
		var cut []agent.CutCell
		for place, value := range row {
			if value == nil {
				continue
			}
			text := strings.ToValidUTF8(page.Columns[place].Type.Show(value), "\uFFFD")
			if len(text) > longest {
				cut = append(cut, agent.CutCell{Row: index, Column: place, Bytes: len(text)})
				text = shortened(text, longest)
			}
			left -= len(text)
			told[place] = &text
		}
		if left < 0 && index > 0 {
			break
		}
		result.Rows, result.Cut = append(result.Rows, told), append(result.Cut, cut...)
	}
	return result
}

// shortened is the beginning of a text that ends with a whole letter.
func shortened(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

var placeForm = regexp.MustCompile(`^line (\d+):(\d+) `)

var codes = map[int32]string{
	0x0000: "server-error", 0x000A: "protocol-error", cql.CodeBadCredentials: "bad-credentials", cql.CodeUnavailable: "unavailable",
	cql.CodeOverloaded: "overloaded", cql.CodeBootstrapping: "bootstrapping", 0x1003: "truncate-failed", cql.CodeWriteTimeout: "write-timeout",
	cql.CodeReadTimeout: "read-timeout", cql.CodeReadFailure: "read-failure", 0x1400: "function-failure", cql.CodeWriteFailure: "write-failure",
	0x2000: "syntax-error", cql.CodeUnauthorized: "unauthorized", cql.CodeInvalid: "invalid", cql.CodeConfiguration: "configuration",
	cql.CodeAlreadyExists: "already-exists",
}

// problemOf is why a statement failed, in the engine's words where it said some.
func problemOf(err error, request agent.StatementRequest) *agent.StatementProblem {
	var refusal *cql.Error
	var coded *agent.Error
	switch {
	case errors.As(err, &refusal):
		problem := &agent.StatementProblem{Code: codes[refusal.Code], Message: refusal.Message}
		if problem.Code == "" {
			problem.Code = "engine-refused"
		}
		if place := placeForm.FindStringSubmatch(refusal.Message); place != nil {
			line, _ := strconv.Atoi(place[1])
			column, _ := strconv.Atoi(place[2])
			problem.Line, problem.Column = &line, &column
		}
		return problem
	case errors.As(err, &coded):
		return &agent.StatementProblem{Code: coded.Code, Message: coded.Message}
	case errors.Is(err, errTimedOut):
		return &agent.StatementProblem{Code: "timed-out", Message: fmt.Sprintf("There was no answer within %d s. What a write has done by then stays done.", request.TimeoutSeconds)}
	case errors.Is(err, context.Canceled):
		return &agent.StatementProblem{Code: "cancelled", Message: "It was cancelled. What a write has done by then stays done."}
	case errors.Is(err, cql.ErrTooLarge):
		return &agent.StatementProblem{Code: "answer-too-large", Message: "The rows of a page have more than 16 MiB. Ask for fewer rows a page."}
	}
	return &agent.StatementProblem{Code: "engine-not-running", Message: "The engine does not take requests: " + err.Error()}
}
