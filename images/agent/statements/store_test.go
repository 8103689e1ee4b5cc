package statements

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// fakeEngine answers with what a test says; it takes the password sesame only.
type fakeEngine struct {
	answer func(ctx context.Context, wish cql.Wish) (cql.Page, error)
	mu     sync.Mutex
	wishes []cql.Wish
	open   atomic.Int32
}

type fakeSession struct{ engine *fakeEngine }

func (e *fakeEngine) SignIn(_ context.Context, role, password string) (Session, error) {
	if password != "sesame" {
		return nil, fmt.Errorf("log in as %s: %w", role, &cql.Error{Code: cql.CodeBadCredentials, Message: "Provided username and/or password are incorrect"})
	}
	e.open.Add(1)
	return fakeSession{e}, nil
}

func (e *fakeEngine) ReadTrace(context.Context, func(Session) error) error {
	return errors.New("there is none")
}

func (s fakeSession) Run(ctx context.Context, wish cql.Wish) (cql.Page, error) {
	s.engine.mu.Lock()
	s.engine.wishes = append(s.engine.wishes, wish)
	s.engine.mu.Unlock()
	return s.engine.answer(ctx, wish)
}

func (s fakeSession) Query(context.Context, cql.Consistency, string, ...any) (cql.Rows, error) {
	return nil, nil
}

func (s fakeSession) Close() { s.engine.open.Add(-1) }

// textRows are rows of one text each, as many as are asked for and there are.
func textRows(texts ...string) func(context.Context, cql.Wish) (cql.Page, error) {
	return func(_ context.Context, wish cql.Wish) (cql.Page, error) {
		page := cql.Page{Columns: []cql.Column{{Name: "t"}}, Rows: [][][]byte{}}
		for index, text := range texts {
			if index == int(wish.Size) {
				page.Next = []byte{byte(index)}
				break
			}
			page.Rows = append(page.Rows, [][]byte{[]byte(text)})
		}
		return page, nil
	}
}

func ask(statement string) agent.StatementRequest {
	return agent.StatementRequest{Role: "ann", Password: "sesame", Statement: statement, MayRunAgain: true}
}

func run(t *testing.T, engine *fakeEngine, request agent.StatementRequest) agent.Statement {
	t.Helper()
	store := New(t.Context(), engine, slog.New(slog.DiscardHandler))
	if err := store.Put("a", request); err != nil {
		t.Fatal(err)
	}
	told, err := store.Get(t.Context(), "a", 20*time.Second)
	if err != nil || told.State == agent.Running {
		t.Fatalf("%+v %v", told, err)
	}
	if engine.open.Load() != 0 {
		t.Error("a connection was left open")
	}
	return told
}

func TestAskingTwiceIsRunningOnce(t *testing.T) {
	engine := &fakeEngine{answer: textRows("x")}
	store := New(t.Context(), engine, slog.New(slog.DiscardHandler))
	for range 3 {
		if err := store.Put("a", ask("SELECT")); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Get(t.Context(), "a", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if len(engine.wishes) != 1 {
		t.Fatalf("%+v", engine.wishes)
	}
	store.Delete("a")
	if _, err := store.Get(t.Context(), "a", 0); agent.AsError(err).Code != "statement-not-found" {
		t.Fatal(err)
	}
}

func TestNamesWithoutAKeyspaceAreOfTheOneGiven(t *testing.T) {
	engine := &fakeEngine{answer: textRows("x")}
	request := ask("SELECT * FROM t")
	request.Keyspace, request.Consistency = "Shop", "LOCAL_ONE"
	run(t, engine, request)
	if engine.wishes[0].Statement != `USE "Shop"` || engine.wishes[1].Consistency != cql.LocalOne || engine.wishes[1].Size != 100 {
		t.Fatalf("%+v", engine.wishes)
	}
}

func TestRowsThatAreTooLargeComeInSmallerPages(t *testing.T) {
	large := strings.Repeat("x", mostCell)
	texts := make([]string, 40)
	for index := range texts {
		texts[index] = large
	}
	engine := &fakeEngine{answer: textRows(texts...)}
	told := run(t, engine, ask("SELECT"))
	const fitting = mostBytes / mostCell
	if len(told.Result.Rows) != fitting || told.Result.NextPage == nil || told.Result.NextPage[0] != fitting || engine.wishes[1].Size != fitting {
		t.Fatalf("%d rows, next %v", len(told.Result.Rows), told.Result.NextPage)
	}
	once := ask("UPDATE")
	once.MayRunAgain = false
	told = run(t, &fakeEngine{answer: textRows(texts...)}, once)
	if len(told.Result.Rows) != fitting || told.Result.NextPage != nil || len(told.Result.Warnings) != 1 {
		t.Fatalf("%d rows, next %v", len(told.Result.Rows), told.Result.NextPage)
	}
}

func TestALongCellIsCutAndSaysSo(t *testing.T) {
	// A type without a name is shown in hexadecimal digits.
	told := run(t, &fakeEngine{answer: textRows("a", strings.Repeat("x", mostCell))}, ask("SELECT"))
	cut := told.Result.Cut
	if len(cut) != 1 || cut[0] != (agent.CutCell{Row: 1, Bytes: 2 + 2*mostCell}) || len(*told.Result.Rows[1][0]) != mostCell {
		t.Fatalf("%+v", cut)
	}
	if whole := shortened("aéé", 4); whole != "aé" {
		t.Fatal(whole)
	}
}

func TestFailuresAreToldInTheEnginesWords(t *testing.T) {
	refusing := func(err error) *fakeEngine {
		return &fakeEngine{answer: func(context.Context, cql.Wish) (cql.Page, error) { return cql.Page{}, err }}
	}
	wrong := ask("SELECT")
	wrong.Password = "guess"
	slow := ask("SELECT")
	slow.TimeoutSeconds = 1
	waiting := &fakeEngine{answer: func(ctx context.Context, _ cql.Wish) (cql.Page, error) {
		<-ctx.Done()
		return cql.Page{}, context.Cause(ctx)
	}}
	syntax := "line 2:7 no viable alternative at input 'FORM'"
	for _, each := range []struct {
		engine        *fakeEngine
		request       agent.StatementRequest
		code, message string
	}{
		{refusing(&cql.Error{Code: 0x2000, Message: syntax}), ask("SELECT"), "syntax-error", syntax},
		{refusing(&cql.Error{Code: cql.CodeUnauthorized, Message: "no"}), ask("SELECT"), "unauthorized", "no"},
		{refusing(&cql.Error{Code: 0x7777, Message: "odd"}), ask("SELECT"), "engine-refused", "odd"},
		{refusing(cql.ErrTooLarge), ask("SELECT"), "answer-too-large", "The rows of a page have more than 16 MiB. Ask for fewer rows a page."},
		{refusing(nil), wrong, "bad-credentials", "Provided username and/or password are incorrect"},
		{waiting, slow, "timed-out", "There was no answer within 1 s. What a write has done by then stays done."},
	} {
		problem := run(t, each.engine, each.request).Error
		if problem == nil || problem.Code != each.code || problem.Message != each.message {
			t.Errorf("%+v, not %s", problem, each.code)
		} else if each.code == "syntax-error" && (*problem.Line != 2 || *problem.Column != 7) {
			t.Errorf("line %d, column %d", *problem.Line, *problem.Column)
		}
	}
}

func TestANodeRunsOnlySoManyAtATimeAndForgetsThem(t *testing.T) {
	began := make(chan struct{}, atOnce)
	engine := &fakeEngine{answer: func(ctx context.Context, _ cql.Wish) (cql.Page, error) {
		began <- struct{}{}
		<-ctx.Done()
		return cql.Page{}, ctx.Err()
	}}
	store := New(t.Context(), engine, slog.New(slog.DiscardHandler))
	for index := range atOnce {
		if err := store.Put(fmt.Sprintf("s%d", index), ask("SELECT")); err != nil {
			t.Fatal(err)
		}
		<-began
	}
	if err := store.Put("more", ask("SELECT")); agent.AsError(err).Code != "too-many-statements" {
		t.Fatal(err)
	}
	for index := range atOnce {
		store.Delete(fmt.Sprintf("s%d", index))
	}
	if err := store.Put("more", ask("SELECT")); err != nil {
		t.Fatal(err)
	}
	store.mu.Lock()
	more := store.entries["more"]
	more.cancel()
	store.mu.Unlock()
	<-more.ended
	store.mu.Lock()
	more.endsAt = time.Now().Add(-2 * keptFor)
	store.mu.Unlock()
	if _, err := store.Get(t.Context(), "more", 0); agent.AsError(err).Code != "statement-not-found" {
		t.Fatal(err)
	}
}

func TestNothingOfAStatementIsLogged(t *testing.T) {
	var said bytes.Buffer
	store := New(t.Context(), &fakeEngine{answer: textRows("secret-row")}, slog.New(slog.NewTextHandler(&said, nil)))
	if err := store.Put("a", ask("SELECT 'secret-literal'")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), "a", 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if text := said.String(); strings.Contains(text, "secret") || strings.Contains(text, "sesame") || !strings.Contains(text, "role=ann") {
		t.Fatal(text)
	}
}

func TestWhatNoEngineCanDoIsRefused(t *testing.T) {
	store := New(t.Context(), &fakeEngine{answer: textRows()}, slog.New(slog.DiscardHandler))
	for name, change := range map[string]func(*agent.StatementRequest){
		"no role":     func(r *agent.StatementRequest) { r.Role = "" },
		"nothing":     func(r *agent.StatementRequest) { r.Statement = "" },
		"both":        func(r *agent.StatementRequest) { r.Schema = true },
		"consistency": func(r *agent.StatementRequest) { r.Consistency = "SOME" },
		"page":        func(r *agent.StatementRequest) { r.PageSize = 1001 },
		"patience":    func(r *agent.StatementRequest) { r.TimeoutSeconds = 61 },
		"injection":   func(r *agent.StatementRequest) { r.Keyspace = `a" ; DROP` },
		"long":        func(r *agent.StatementRequest) { r.Statement = strings.Repeat("x", 200<<10) },
	} {
		request := ask("SELECT")
		change(&request)
		if err := store.Put("a", request); agent.AsError(err).Code != "invalid-parameters" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := store.Put("../a", ask("SELECT")); agent.AsError(err).Code != "invalid-name" {
		t.Error(err)
	}
}
