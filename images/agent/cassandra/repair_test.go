package cassandra

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/statefile"
)

// engineThatRepairs is a JVM that started at a moment and knows some commands.
type engineThatRepairs struct {
	startedAt int64
	statuses  map[int][]string
	// silent: it dies before it answers a call to repair.
	silent bool
	called int
}

func (j *engineThatRepairs) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	var asked json.RawMessage
	_ = json.NewDecoder(request.Body).Decode(&asked)
	var calls []jolokia.Call
	alone := json.Unmarshal(asked, &calls) != nil
	if alone {
		calls = make([]jolokia.Call, 1)
		_ = json.Unmarshal(asked, &calls[0])
	}
	answers := []map[string]any{}
	for _, call := range calls {
		var value any
		switch {
		case call.Attribute == "StartTime":
			value = j.startedAt
		case call.Operation == repairedOperation:
			value = j.statuses[int(call.Arguments[0].(float64))]
		case call.Operation == repairOperation:
			j.called++
			if j.silent {
				panic(http.ErrAbortHandler)
			}
			value = j.called
			j.statuses[j.called] = []string{"IN_PROGRESS"}
		}
		answers = append(answers, map[string]any{"status": 200, "value": value})
	}
	if alone {
		_ = json.NewEncoder(response).Encode(answers[0])
		return
	}
	_ = json.NewEncoder(response).Encode(answers)
}

func repairOf(t *testing.T, jvm *engineThatRepairs) *oneRepair {
	t.Helper()
	server := httptest.NewServer(jvm)
	t.Cleanup(server.Close)
	engine := &Engine{place: folders{root: t.TempDir()}, log: slog.New(slog.DiscardHandler), management: jolokia.New(func() (jolokia.Login, error) {
		return jolokia.Login{Address: strings.TrimPrefix(server.URL, "http://")}, nil
	})}
	engine.control = newControlSession(engine.place, func(context.Context, Account) (*cql.Conn, error) { return nil, os.ErrNotExist })
	if err := os.MkdirAll(engine.place.repairs(), 0o700); err != nil {
		t.Fatal(err)
	}
	return &oneRepair{Engine: engine, path: engine.place.repair("job"), report: func(float64, string) {}, askedAt: time.Now(), parameters: repairParameters{
		agent.RepairParameters{Keyspace: "shop", Tables: []string{"orders"}, Mode: agent.RepairFull},
	}}
}

func TestTheEndOfAnotherRepairWithTheSameNumberIsNotTaken(t *testing.T) {
	jvm := &engineThatRepairs{startedAt: 1000, statuses: map[int][]string{}}
	one := repairOf(t, jvm)
	if ended, err := one.begin(t.Context()); ended || err != nil || one.kept.Command != 1 {
		t.Fatalf("%v %v %+v", ended, err, one.kept)
	}
	if ended, err := one.look(t.Context()); ended || err != nil {
		t.Fatal(ended, err)
	}
	// Started anew, it has done another repair with the number 1.
	jvm.startedAt, jvm.statuses[1] = 2000, []string{"COMPLETED", "Repair completed successfully"}
	if ended, err := one.look(t.Context()); ended || code(err) != "repair-lost" {
		t.Fatal(ended, err)
	}
	jvm.startedAt, jvm.statuses = 1000, map[int][]string{}
	if ended, err := one.look(t.Context()); ended || code(err) != "repair-lost" {
		t.Fatal("a number that the engine does not know:", ended, err)
	}
	jvm.statuses[1] = []string{"COMPLETED"}
	if ended, err := one.look(t.Context()); !ended || err != nil {
		t.Fatal(ended, err)
	}
}

func TestWhatIsBegunIsWrittenDownBeforeTheEngineIsAsked(t *testing.T) {
	jvm := &engineThatRepairs{startedAt: 1000, statuses: map[int][]string{}, silent: true}
	one := repairOf(t, jvm)
	if _, err := one.begin(t.Context()); err == nil || !passes(err) {
		t.Fatal(err)
	}
	var kept startedRepair
	if err := statefile.ReadJSON(one.path, &kept); err != nil || kept.EngineStartedAt != 1000 || kept.Command != 0 || kept.Begun.IsZero() {
		t.Fatalf("%+v %v", kept, err)
	}
	// It is not asked for a second one before it was looked for.
	if _, err := one.step(t.Context()); err == nil || jvm.called != 1 {
		t.Fatal(err, jvm.called)
	}
	jvm.startedAt = 2000
	if _, err := one.step(t.Context()); code(err) != "repair-lost" {
		t.Fatal(err)
	}
}

func TestARepairIsKnownByWhatWasAskedFor(t *testing.T) {
	parameters := repairParameters{agent.RepairParameters{
		Keyspace: "shop", Tables: []string{"orders", "lines"}, Mode: agent.RepairFull, Ranges: []agent.TokenRange{{Start: "-10", End: "5"}, {Start: "7", End: "9"}},
	}}
	row := cql.Row{
		"keyspace_name": "shop", "options_column_families": []any{"lines", "orders"}, "options_ranges": []any{"(7,9]", "(-10,5]"},
		"options_subrange_repair": true, "options_hosts": []any{}, "options_pull_repair": false, "type": nil,
	}
	if !parameters.isOf(row) {
		t.Error("it does not know its own")
	}
	for column, other := range map[string]any{
		"keyspace_name": "shopping", "options_column_families": []any{"orders"}, "options_ranges": []any{"(7,9]"},
		"options_hosts": []any{"10.0.0.1"}, "options_pull_repair": true, "type": "incremental",
	} {
		changed := maps.Clone(row)
		changed[column] = other
		if parameters.isOf(changed) {
			t.Errorf("another %s is taken for its own", column)
		}
	}
	parameters.Ranges = nil
	if parameters.isOf(row) {
		t.Error("ranges are taken for all of them")
	}
}

func TestTheEngineIsToldWhatIsWanted(t *testing.T) {
	options := repairParameters{agent.RepairParameters{
		Keyspace: "shop", Tables: []string{"orders", "lines"}, Mode: agent.RepairPull, Hosts: []string{"10.0.0.1", "10.0.0.2"},
		Ranges: []agent.TokenRange{{Start: "-10", End: "5"}, {Start: "7", End: "9"}}, OptimiseStreams: true,
	}}.options()
	wanted := map[string]string{
		"parallelism": "parallel", "incremental": "false", "pullRepair": "true", "primaryRange": "false", "trace": "false", "jobThreads": "1",
		"columnFamilies": "orders,lines", "optimiseStreams": "false", "ranges": "-10:5,7:9", "hosts": "10.0.0.1,10.0.0.2",
	}
	if !maps.Equal(options, wanted) {
		t.Error(options)
	}
}

func TestRangesAreReadAsTheEngineWritesThem(t *testing.T) {
	ranges, err := parseRanges(map[string][]string{
		"[5, 10]": {"127.0.0.1:7000", "127.0.0.2:7000"}, "[-7, 5]": {"127.0.0.2:7000"}, "[10, -7]": {"127.0.0.3:7000"},
	})
	if err != nil || len(ranges) != 3 || ranges[0].Start != "10" || ranges[1].End != "5" || ranges[2].addresses[1] != "127.0.0.2" {
		t.Errorf("%+v %v", ranges, err)
	}
	if _, err := parseRanges(map[string][]string{"(1:2]": nil}); err == nil {
		t.Error("an odd range is read")
	}
	for text, wanted := range map[string]string{"host/127.0.0.1:7000": "127.0.0.1", "/127.0.0.1:7000": "127.0.0.1", "127.0.0.1:7000": "127.0.0.1"} {
		if got := addressOf(text); got != wanted {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestNotesOfRepairsThatAJobLeftGoWithTheirEngine(t *testing.T) {
	engine := &Engine{place: folders{root: t.TempDir()}}
	if err := os.MkdirAll(engine.place.repairs(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]startedRepair{
		"runs": {EngineStartedAt: 2, Command: 7}, "left": {EngineStartedAt: 2, Command: 8, Left: true}, "old": {EngineStartedAt: 1, Command: 9, Left: true},
		"begins": {EngineStartedAt: 2},
	} {
		if err := statefile.WriteJSON(engine.place.repair(name), kept); err != nil {
			t.Fatal(err)
		}
	}
	begun := engine.begunRepairs(2)
	if len(begun) != 2 || begun[7].job != "runs" || begun[8].job != "left" {
		t.Errorf("%+v", begun)
	}
	if left, _ := filepath.Glob(engine.place.repair("*")); len(left) != 3 {
		t.Error(left)
	}
}

func TestThousandsOfRangesAreLeftOutOfWhatTheEngineSays(t *testing.T) {
	said := "Repair session 1-2 for range [(-9,8], (3,4]] failed with error Endpoint /10.0.0.1:7000 died"
	if got := rangesForm.ReplaceAllString(said, "of its ranges"); got != "Repair session 1-2 of its ranges failed with error Endpoint /10.0.0.1:7000 died" {
		t.Error(got)
	}
}
