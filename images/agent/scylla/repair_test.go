package scylla

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/process"
	"ringmaster/agent/scyllaapi/scyllatest"
	"ringmaster/agent/statefile"
)

// withShop makes the API tell of two keyspaces, one of them of tablets, each with the table orders.
func (n node) withShop() node {
	n.api.AnswerBy("GET /storage_service/keyspaces", func(parameters map[string]string) (any, error) {
		switch parameters["replication"] {
		case "tablets":
			return []string{"store"}, nil
		case "vnodes":
			return []string{"shop"}, nil
		}
		return []string{"shop", "store"}, nil
	})
	n.api.Answer("GET /column_family/", []map[string]string{
		{"ks": "shop", "cf": "orders", "type": "ColumnFamilies"}, {"ks": "store", "cf": "orders", "type": "ColumnFamilies"},
	})
	n.api.Answer("GET /storage_service/range_to_endpoint_map/{keyspace}", []map[string][]string{
		{"key": {"", "-10"}, "value": {own, second}}, {"key": {"-10", "20"}, "value": {second, own}}, {"key": {"20", ""}, "value": {second, third}},
	})
	return n
}

// repair runs a job of a name.
func (n node) repair(t *testing.T, parameters string) (agent.Repaired, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(agent.WithJobName(t.Context(), "r-1"), 20*time.Second)
	defer cancel()
	result, err := n.Do(ctx, agent.Repair, json.RawMessage(parameters), func(float64, string) {})
	done, _ := result.(agent.Repaired)
	return done, err
}

const wholeShop = `{"keyspace": "shop", "tables": ["orders"], "mode": "full", "job_threads": 2, "ranges": [{"start": "-5", "end": "7"}, {"start": "7", "end": "20"}]}`

func TestARepairByTokensRunsToItsEnd(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	var asked map[string]string
	n.api.AnswerBy("POST /storage_service/repair_async/{keyspace}", func(parameters map[string]string) (any, error) {
		asked = parameters
		return 3, nil
	})
	looks := 0
	n.api.AnswerBy("GET /storage_service/repair_async/{keyspace}", func(parameters map[string]string) (any, error) {
		looks++
		if parameters["id"] != "3" {
			t.Errorf("it looks at %s", parameters["id"])
		}
		return map[bool]string{true: "RUNNING", false: "SUCCESSFUL"}[looks < 2], nil
	})
	done, err := n.repair(t, wholeShop)
	if err != nil || done.Outcome != agent.RepairCompleted || done.Command != 3 || done.EngineStartedAt.IsZero() {
		t.Errorf("%+v %v", done, err)
	}
	if asked["ranges"] != "-5:7,7:20" || asked["columnFamilies"] != "orders" || asked["ranges_parallelism"] != "2" {
		t.Errorf("%v", asked)
	}
	if left, _ := filepath.Glob(n.repairPath("*")); len(left) != 0 {
		t.Error(left)
	}
	n.api.Answer("GET /storage_service/repair_async/{keyspace}", "FAILED")
	if _, err := n.repair(t, wholeShop); code(err) != "repair-failed" {
		t.Error(err)
	}
	n.api.AnswerBy("GET /storage_service/repair_async/{keyspace}", func(map[string]string) (any, error) { return nil, errors.New("no such repair") })
	if _, err := n.repair(t, wholeShop); code(err) != "repair-lost" {
		t.Error(err)
	}
}

func TestARepairOfTabletsIsATaskOfTheCluster(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	var asked map[string]string
	n.api.AnswerBy("POST /storage_service/tablets/repair", func(parameters map[string]string) (any, error) {
		asked = parameters
		return map[string]string{"tablet_task_id": "t-9"}, nil
	})
	states := []map[string]any{{"state": "running", "progress_completed": 1.0, "progress_total": 4.0}, {"state": "done"}}
	n.api.AnswerBy("GET /task_manager/task_status/{task_id}", func(parameters map[string]string) (any, error) {
		now := states[0]
		if len(states) > 1 {
			states = states[1:]
		}
		return now, nil
	})
	parameters := `{"keyspace": "store", "tables": ["orders"], "mode": "incremental"}`
	if done, err := n.repair(t, parameters); err != nil || done.Outcome != agent.RepairCompleted {
		t.Errorf("%+v %v", done, err)
	}
	if asked["incremental_mode"] != "incremental" || asked["tokens"] != "all" || asked["ks"] != "store" {
		t.Errorf("%v", asked)
	}
	// Of ranges, all tablets are repaired that hold something of them.
	some := `{"keyspace": "store", "tables": ["orders"], "mode": "full", "ranges": [{"start": "-10", "end": "3"}, {"start": "19", "end": "21"}]}`
	if _, err := n.repair(t, some); err != nil || asked["tokens"] != "20,9223372036854775807" || asked["incremental_mode"] != "full" {
		t.Errorf("%v %v", asked, err)
	}
	states = []map[string]any{{"state": "failed", "error": "no replica answers"}}
	if _, err := n.repair(t, parameters); code(err) != "repair-failed" || !strings.Contains(err.Error(), "no replica answers") {
		t.Error(err)
	}
}

func TestWhatScyllaDBCannotRepairIsRefused(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	for parameters, wanted := range map[string]string{
		`{"keyspace": "nowhere", "tables": ["orders"], "mode": "full"}`:                                        "unknown-keyspace",
		`{"keyspace": "shop", "tables": ["lines"], "mode": "full"}`:                                            "table-not-found",
		`{"keyspace": "shop", "tables": ["orders"], "mode": "incremental"}`:                                    "repair-not-possible",
		`{"keyspace": "store", "tables": ["orders", "lines"], "mode": "full"}`:                                 "table-not-found",
		`{"keyspace": "shop", "tables": ["orders"], "mode": "full", "ranges": [{"start": "-20", "end": "2"}]}`: "not-a-replica",
		`{"keyspace": "shop", "tables": ["orders"], "mode": "full", "ranges": [{"start": "30", "end": "40"}]}`: "not-a-replica",
		`{"keyspace": "shop", "tables": ["orders"], "mode": "full", "hosts": ["10.1.0.1"]}`:                    "not-a-replica",
		`{"keyspace": "shop", "tables": [], "mode": "full"}`:                                                   "invalid-parameters",
		strings.Replace(wholeShop, `"full"`, `"pull", "hosts": ["10.2.0.1", "10.1.0.1"]`, 1):                   "repair-not-possible",
	} {
		if _, err := n.repair(t, parameters); code(err) != wanted {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	for _, name := range n.api.Called() {
		if strings.HasPrefix(name, "POST") {
			t.Errorf("it called %s", name)
		}
	}
}

func TestARepairOfAnEarlierProcessIsLost(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	path := n.repairPath("r-1")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := statefile.WriteJSON(path, startedRepair{Process: process.ID{PID: 1}, Begun: time.Now(), Number: 3}); err != nil {
		t.Fatal(err)
	}
	n.api.Answer("GET /storage_service/repair_async/{keyspace}", "SUCCESSFUL")
	if _, err := n.repair(t, wholeShop); code(err) != "repair-lost" {
		t.Error(err)
	}
}

func TestARepairWhoseAnswerWasLostIsFound(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	path := n.repairPath("r-1")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	begun := startedRepair{Process: n.supervisor.Condition().Process, Begun: time.Now(), Before: []string{"t-1"}}
	if err := statefile.WriteJSON(path, begun); err != nil {
		t.Fatal(err)
	}
	task := func(id, keyspace string, number int) map[string]any {
		return map[string]any{"task_id": id, "keyspace": keyspace, "state": "running", "sequence_number": number}
	}
	n.api.AnswerBy("GET /task_manager/list_module_tasks/{module}", func(parameters map[string]string) (any, error) {
		if parameters["module"] == tokenRepairs {
			return []any{task("t-1", "shop", 1), task("t-2", "other", 2), task("t-3", "shop", 5)}, nil
		}
		return []any{}, nil
	})
	n.api.AnswerBy("GET /storage_service/repair_async/{keyspace}", func(parameters map[string]string) (any, error) {
		if parameters["id"] != "5" {
			t.Errorf("it looks at %s", parameters["id"])
		}
		return "SUCCESSFUL", nil
	})
	if done, err := n.repair(t, wholeShop); err != nil || done.Command != 5 {
		t.Errorf("%+v %v", done, err)
	}
}

func TestADeletedRepairIsEndedOnlyWhenItIsAlone(t *testing.T) {
	for name, row := range map[string]struct {
		active []int
		ended  bool
	}{"alone": {[]int{3}, true}, "beside another": {[]int{3, 4}, false}} {
		n := newNode(t, "first").run(t).inRing().withShop()
		n.api.Answer("POST /storage_service/repair_async/{keyspace}", 3)
		n.api.Answer("GET /storage_service/repair_async/{keyspace}", "RUNNING")
		n.api.Answer("GET /storage_service/active_repair/", row.active)
		ctx, cancel := context.WithCancelCause(agent.WithJobName(t.Context(), "r-1"))
		time.AfterFunc(300*time.Millisecond, func() { cancel(agent.ErrJobDeleted) })
		if _, err := n.Do(ctx, agent.Repair, json.RawMessage(wholeShop), func(float64, string) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if ended := called(n.api, "POST /storage_service/force_terminate_repair"); ended != row.ended {
			t.Errorf("%s: ended %v", name, ended)
		}
		if left := n.begunRepairs(); row.ended != (len(left) == 0) {
			t.Errorf("%s: %+v", name, left)
		}
	}
}

func called(server *scyllatest.Server, operation string) bool {
	for _, name := range server.Called() {
		if name == operation {
			return true
		}
	}
	return false
}

func TestANodeTellsOfRepairsRangesTablesAndLoad(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop().knowsControl(t)
	n.said.answer = func(statement string, values []any) (cql.Rows, error) {
		switch {
		case strings.Contains(statement, "system.config"):
			return cql.Rows{{"value": map[any]string{"auto_repair_enabled_default": "true", streamLimit: "0", compactionLimit: "16"}[values[0]]}}, nil
		case strings.Contains(statement, "system_schema.keyspaces"):
			replication := map[string]any{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "test-region-1": "3"}
			return cql.Rows{{"keyspace_name": "shop", "replication": replication}, {"keyspace_name": "store", "replication": replication}}, nil
		case strings.Contains(statement, "system_schema.views"):
			return cql.Rows{{"keyspace_name": "shop", "table_name": "by_day", "base_table_name": "orders"}}, nil
		case strings.Contains(statement, "system_schema.tables"):
			return cql.Rows{{
				"keyspace_name": "shop", "table_name": "orders", "id": "u-1", "gc_grace_seconds": int32(864000), "default_time_to_live": int32(60),
				"compaction": map[string]any{"class": "TimeWindowCompactionStrategy"},
			}, {"keyspace_name": "system", "table_name": "local"}}, nil
		}
		return nil, nil
	}
	n.api.AnswerBy("GET /task_manager/list_module_tasks/{module}", func(parameters map[string]string) (any, error) {
		if parameters["module"] == tabletRepairs {
			return []any{
				map[string]any{"task_id": "t-2", "keyspace": "store", "table": "orders", "state": "running", "type": "user_repair"},
				map[string]any{"task_id": "t-3", "keyspace": "store", "table": "orders", "state": "running", "type": "migration"},
			}, nil
		}
		return []any{map[string]any{"task_id": "t-1", "keyspace": "shop", "state": "running", "sequence_number": 4}}, nil
	})
	activity, err := n.Repairs(t.Context())
	if err != nil || !activity.Automatic || len(activity.Repairs) != 2 || activity.Repairs[0].Command != 4 || activity.Repairs[1].Tables[0] != "orders" {
		t.Errorf("%+v %v", activity, err)
	}
	ring, err := n.KeyspaceRing(t.Context(), "shop", "")
	if err != nil || len(ring.Nodes) != 3 || len(ring.Ranges) != 3 || ring.Ranges[0].Start != "-9223372036854775808" || ring.Ranges[2].End != "9223372036854775807" {
		t.Errorf("%+v %v", ring, err)
	}
	if ring, err := n.KeyspaceRing(t.Context(), "store", ""); err != nil || len(ring.Ranges) != 0 || len(ring.Nodes) != 3 {
		t.Errorf("%+v %v", ring, err)
	}
	if _, err := n.KeyspaceRing(t.Context(), "nowhere", ""); code(err) != "unknown-keyspace" {
		t.Error(err)
	}
	n.api.Answer("GET /column_family/metrics/live_disk_space_used/{name}", 5000)
	schema, err := n.Tables(t.Context())
	if err != nil || len(schema.Tables) != 2 || schema.Tables[0].ViewOf != "orders" || schema.Tables[1].Views[0] != "by_day" || schema.Tables[1].Bytes != 5000 ||
		schema.Tables[1].DefaultTTLSeconds != 60 || !schema.Keyspaces[1].Tablets {
		t.Errorf("%+v %v", schema, err)
	}
	n.api.Answer("GET /compaction_manager/metrics/pending_tasks", 7)
	load, err := n.Load(t.Context())
	if err != nil || load.PendingCompactions != 7 || load.LargestTableBytes != 5000 || load.Throughput != (agent.Throughput{CompactionMiBS: 16}) {
		t.Errorf("%+v %v", load, err)
	}
	before, err := n.do(t, agent.SetThroughput, `{"stream_mib_s": 50, "compaction_mib_s": null}`)
	if err != nil || before != (agent.Throughput{CompactionMiBS: 16}) {
		t.Errorf("%+v %v", before, err)
	}
	if said := strings.Join(n.said.said(), ";"); !strings.Contains(said, "UPDATE system.config") {
		t.Error(said)
	}
}
