package scylla

import (
	"fmt"
	"testing"

	"ringmaster/agent"
)

func TestANodeIsAskedWhatItsAPIKnows(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	n.api.Answer("GET /column_family/metrics/live_disk_space_used/{name}", 5000)
	n.api.Answer("GET /column_family/metrics/live_ss_table_count/{name}", 3)
	n.api.Answer("GET /compaction_manager/metrics/pending_tasks", 7)
	n.api.Answer("GET /compaction_manager/compactions", []map[string]any{
		{"ks": "shop", "cf": "orders", "task_type": "COMPACTION", "unit": "keys", "completed": 25, "total": 100},
	})
	ask := func(parameters string) agent.Answer {
		t.Helper()
		result, err := n.do(t, agent.Diagnose, parameters)
		if err != nil {
			t.Fatalf("%s: %v", parameters, err)
		}
		return result.(agent.Answer)
	}
	status := ask(`{"question": "status"}`)
	if rows := status.Tables[0].Rows; len(rows) != 3 || rows[0][0] != own || rows[0][1] != true || status.TakenAt.IsZero() {
		t.Errorf("%+v", status)
	}
	compactions := ask(`{"question": "compactions"}`)
	if told := fmt.Sprint(compactions.Facts, compactions.Tables[0].Rows); told != "[{Pending count 7}] [[shop orders COMPACTION 0.25 25 100 keys]]" {
		t.Error(told)
	}
	statistics := ask(`{"question": "table-statistics", "keyspace": "shop"}`)
	if rows := statistics.Tables[0].Rows; len(rows) == 0 || rows[0][0] != "shop" || rows[0][2] != int64(5000) || rows[0][4] != int64(3) {
		t.Errorf("%+v", statistics.Tables)
	}
	if limited := ask(`{"question": "table-statistics", "limit": 1}`); len(limited.Tables[0].Rows) != 1 {
		t.Errorf("%+v", limited.Tables)
	}
	if ring := ask(`{"question": "ring", "keyspace": "shop"}`); len(ring.Tables[0].Rows) == 0 || ring.Tables[0].Rows[0][2] == "" {
		t.Errorf("%+v", ring.Tables)
	}
	if streams := ask(`{"question": "streams"}`); len(streams.Facts) != 3 {
		t.Errorf("%+v", streams)
	}
}

func TestWhatScyllaDBCannotBeAskedIsSaid(t *testing.T) {
	n := newNode(t, "first").run(t).inRing().withShop()
	for parameters, wanted := range map[string]string{
		`{"question": "flame-graph"}`:                                                  "not-supported",
		`{"question": "sstables", "keyspace": "shop", "table": "orders"}`:              "not-supported",
		`{"question": "cql-traffic"}`:                                                  "not-supported",
		`{"question": "log"}`:                                                          "not-supported",
		`{"question": "ring"}`:                                                         "invalid-parameters",
		`{"question": "ring", "keyspace": "nowhere"}`:                                  "unknown-keyspace",
		`{"question": "table-statistics", "keyspace": "nowhere"}`:                      "unknown-table",
		`{"question": "table-statistics", "keyspace": "shop", "table": "not_a_table"}`: "unknown-table",
	} {
		if _, err := n.do(t, agent.Diagnose, parameters); code(err) != wanted {
			t.Errorf("%s: %v, not %s", parameters, err, wanted)
		}
	}
	if _, err := newNode(t, "first").do(t, agent.Diagnose, `{"question": "status"}`); code(err) != "engine-not-running" {
		t.Error(err)
	}
}
