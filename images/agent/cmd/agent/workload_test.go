//go:build engine

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// workloadsRun loads each data set into a real engine, and lets each workload run for a while.
func workloadsRun(t *testing.T, b *backedUp) {
	const rows = 120
	for _, name := range agent.Workloads() {
		var loaded agent.WorkloadLoaded
		b.job(agent.LoadWorkload, map[string]any{"workload": name, "rows": rows, "replication": map[string]int{"local-1": 1}}, &loaded)
		if loaded.Rows != rows {
			t.Errorf("%s: %+v", name, loaded)
		}
		var done agent.WorkloadDone
		b.job(agent.RunWorkload, running(name, rows, time.Now().Add(2*time.Second)), &done)
		if done.Reads == 0 || done.Writes == 0 || done.Reads+done.Writes > 2*40+1 {
			t.Errorf("%s: %+v", name, done)
		}
	}
	for table, least := range map[string]int{"key_value": rows, "orders": rows, "orders_by_customer": rows, "measurements": rows} {
		found, err := b.conn.Query(t.Context(), cql.One, "SELECT count(*) FROM test_drive."+table)
		if err != nil || found[0]["count"].(int64) < int64(least) {
			t.Errorf("%s: %v %v", table, found, err)
		}
	}

	var job agent.Job
	request := func() agent.Job {
		b.ask(http.MethodGet, "/v1/jobs/test-drive?wait=0", nil, &job)
		return job
	}
	content, err := json.Marshal(running(agent.KeyValue, rows, time.Now().Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	b.ask(http.MethodPut, "/v1/jobs/test-drive?wait=0", agent.JobRequest{Kind: agent.RunWorkload, Parameters: content}, nil)
	b.killAgent()
	b.startAgent()
	b.reachable()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(request().Message, "reads"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the next agent does not go on: %+v", job)
		}
	}
	b.ask(http.MethodDelete, "/v1/jobs/test-drive", nil, nil)
	newest := func() any {
		found, err := b.conn.Query(t.Context(), cql.One, "SELECT max(writetime(value)) AS at FROM test_drive.key_value")
		if err != nil {
			t.Fatal(err)
		}
		return found[0]["at"]
	}
	before := newest()
	time.Sleep(time.Second)
	if after := newest(); after != before {
		t.Errorf("it goes on although it was deleted: %v, then %v", before, after)
	}
	b.say("DROP KEYSPACE test_drive")
	b.refuse("nothing-there", agent.RunWorkload, running(agent.Orders, rows, time.Now().Add(time.Hour)), "load-refused")
}

func running(name agent.Workload, rows int, until time.Time) map[string]any {
	return map[string]any{"workload": name, "rows": rows, "operations_per_second": 40, "until": until}
}
