package workload

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// engine remembers what it was told; it fails as often as `failures` says.
type engine struct {
	mu       sync.Mutex
	said     []string
	values   [][]any
	at       []time.Time
	failures []error
	open     int
	dialled  int
}

func (e *engine) dial(context.Context) (Session, error) {
	e.open++
	e.dialled++
	return e, nil
}

func (e *engine) Close() { e.open-- }

func (e *engine) Query(_ context.Context, consistency cql.Consistency, text string, values ...any) (cql.Rows, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if consistency != cql.LocalQuorum {
		return nil, errors.New("another consistency")
	}
	if len(e.failures) > 0 {
		failure := e.failures[0]
		e.failures = e.failures[1:]
		return nil, failure
	}
	e.said, e.values, e.at = append(e.said, text), append(e.values, values), append(e.at, time.Now())
	return nil, nil
}

func silent(float64, string) {}

var tableForm = regexp.MustCompile(`(?:FROM|INTO|UPDATE|EXISTS) ([a-z_]+(?:\.[a-z_]+)?)`)

// TestOnlyItsOwnKeyspaceIsTouched holds every statement against the one keyspace, and its question marks against its values.
func TestOnlyItsOwnKeyspaceIsTouched(t *testing.T) {
	dice, now := rand.New(rand.NewPCG(1, 2)), time.Now()
	for name, wanted := range kinds {
		all := []statement{}
		for _, text := range wanted.tables {
			all = append(all, write(text))
		}
		for index := range 300 {
			all = append(all, wanted.row(index, 300, now)...)
			all = append(all, wanted.next(dice, 300, now))
		}
		for _, one := range all {
			named := tableForm.FindAllStringSubmatch(one.text, -1)
			if len(named) == 0 {
				t.Errorf("%s names no table: %s", name, one.text)
			}
			for _, table := range named {
				if !strings.HasPrefix(table[1], Keyspace+".") {
					t.Errorf("%s touches %s: %s", name, table[1], one.text)
				}
			}
			if strings.Count(one.text, "?") != len(one.values) {
				t.Errorf("%s has %d values: %s", name, len(one.values), one.text)
			}
			if one.writes == strings.HasPrefix(one.text, "SELECT") {
				t.Errorf("%s is counted wrongly: %s", name, one.text)
			}
		}
	}
	for _, name := range agent.Workloads() {
		if _, there := kinds[name]; !there {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestWhatIsReadWasLoaded(t *testing.T) {
	now := time.Date(2026, 11, 22, 21, 30, 0, 0, time.UTC)
	for name, key := range map[agent.Workload]string{agent.KeyValue: getValue, agent.Orders: getOrder} {
		const rows = 40
		loaded := map[any]bool{}
		for index := range rows {
			loaded[kinds[name].row(index, rows, now)[0].values[0]] = true
		}
		dice, reads := rand.New(rand.NewPCG(3, 4)), 0
		for range 2000 {
			if one := kinds[name].next(dice, rows, now); one.text == key {
				reads++
				if !loaded[one.values[0]] {
					t.Fatalf("%s reads %v, which was not loaded", name, one.values[0])
				}
			}
		}
		if reads < 800 {
			t.Errorf("%s read %d times of 2000", name, reads)
		}
	}
}

func TestLoadingMakesKeyspaceTablesAndRows(t *testing.T) {
	behind := &engine{failures: []error{&cql.LineError{}}}
	p := agent.LoadWorkloadParameters{Workload: agent.Orders, Rows: 25, Replication: map[string]int{"aws-eu": 3, "aws-us": 2}}
	var progress float64
	synctest.Test(t, func(t *testing.T) {
		loaded, err := Load(t.Context(), p, behind.dial, func(now float64, _ string) { progress = now })
		if err != nil || loaded.Rows != 25 {
			t.Fatalf("%+v %v", loaded, err)
		}
	})
	want := "CREATE KEYSPACE IF NOT EXISTS test_drive WITH replication = {'class': 'NetworkTopologyStrategy', 'aws-eu': 3, 'aws-us': 2}"
	if behind.said[0] != want || len(behind.said) != 1+2+2*25 {
		t.Errorf("%d: %s", len(behind.said), behind.said[0])
	}
	if behind.open != 0 || behind.dialled != 2 || progress != 0 {
		t.Errorf("%d open, %d dialled", behind.open, behind.dialled)
	}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	of := map[string]int{"dc": 1}
	for name, p := range map[string]agent.LoadWorkloadParameters{
		"unknown":    {Workload: "chess", Rows: 1, Replication: of},
		"none":       {Workload: agent.Orders, Rows: 0, Replication: of},
		"too many":   {Workload: agent.Orders, Rows: MostRows + 1, Replication: of},
		"nowhere":    {Workload: agent.Orders, Rows: 1},
		"no replica": {Workload: agent.Orders, Rows: 1, Replication: map[string]int{"dc": 0}},
		"quoting":    {Workload: agent.Orders, Rows: 1, Replication: map[string]int{"dc': 1}; --": 1}},
	} {
		behind := &engine{}
		if _, err := Load(t.Context(), p, behind.dial, silent); code(err) != "invalid-parameters" || behind.dialled != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, rate := range []int{0, MostPerSecond + 1} {
		p := agent.RunWorkloadParameters{Workload: agent.Orders, Rows: 1, OperationsPerSecond: rate, Until: time.Now().Add(time.Hour)}
		if _, err := Run(t.Context(), p, (&engine{}).dial, silent); code(err) != "invalid-parameters" {
			t.Errorf("%d: %v", rate, err)
		}
	}
}

func TestItRunsAtItsPaceUntilTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := &engine{}
		p := agent.RunWorkloadParameters{Workload: agent.KeyValue, Rows: 100, OperationsPerSecond: 20, Until: time.Now().Add(time.Minute)}
		done, err := Run(t.Context(), p, behind.dial, silent)
		if err != nil {
			t.Fatal(err)
		}
		if all := done.Reads + done.Writes; all < 1200 || all > 1201 || done.Reads < 850 || done.Reads > 1050 || int(all) != len(behind.said) {
			t.Errorf("%+v, %d heard", done, len(behind.said))
		}
		inSecond := map[int64]int{}
		for _, at := range behind.at {
			inSecond[at.Unix()]++
		}
		for second, times := range inSecond {
			if times > 20 {
				t.Errorf("%d in the second %d", times, second)
			}
		}
		if behind.open != 0 || behind.dialled != 1 {
			t.Errorf("%d open, %d dialled", behind.open, behind.dialled)
		}
	})
}

func TestAnEngineThatIsAwayIsWaitedForAndNotCaughtUpWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := &engine{}
		for range 30 {
			behind.failures = append(behind.failures, &cql.Error{Code: cql.CodeUnavailable})
		}
		p := agent.RunWorkloadParameters{Workload: agent.KeyValue, Rows: 100, OperationsPerSecond: 10, Until: time.Now().Add(time.Minute)}
		done, err := Run(t.Context(), p, behind.dial, silent)
		if all := done.Reads + done.Writes; err != nil || all < 300 || all > 312 {
			t.Errorf("%+v %v", done, err)
		}
	})
}

func TestADeletedJobAndAnEndingAgentAreNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		behind := &engine{}
		time.AfterFunc(3*time.Second, func() { cancel(agent.ErrJobDeleted) })
		p := agent.RunWorkloadParameters{Workload: agent.TimeSeries, Rows: 100, OperationsPerSecond: 10, Until: time.Now().Add(time.Hour)}
		if _, err := Run(ctx, p, behind.dial, silent); !errors.Is(err, agent.ErrJobDeleted) || behind.open != 0 {
			t.Errorf("%v, %d open", err, behind.open)
		}
		if len(behind.said) > 31 {
			t.Errorf("it went on: %d", len(behind.said))
		}
	})
}

func TestADroppedTableEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := &engine{failures: []error{&cql.Error{Code: cql.CodeInvalid, Message: "table orders does not exist"}}}
		p := agent.RunWorkloadParameters{Workload: agent.Orders, Rows: 10, OperationsPerSecond: 10, Until: time.Now().Add(time.Hour)}
		if _, err := Run(t.Context(), p, behind.dial, silent); code(err) != "load-refused" {
			t.Errorf("%v", err)
		}
	})
}

// TestItsParametersAreWhatTheControlPlaneSends: the words of provisioner/operations/test_drive.py.
func TestItsParametersAreWhatTheControlPlaneSends(t *testing.T) {
	var p agent.RunWorkloadParameters
	document := `{"workload": "key-value", "rows": 10, "operations_per_second": 5, "until": "2026-11-23T21:00:00.123456+00:00"}`
	if err := json.Unmarshal([]byte(document), &p); err != nil || p.Until.Unix() != 1795467600 {
		t.Errorf("%+v %v", p, err)
	}
}

func code(err error) string {
	var coded *agent.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}
