package scyllaapi_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/scyllaapi/scyllatest"
)

// everyCall makes each call of the client once.
func everyCall(ctx context.Context, c *scyllaapi.Client) error {
	table := scyllaapi.Table{Keyspace: "shop", Name: "orders"}
	var problems []error
	note := func(_ any, err error) { problems = append(problems, err) }
	note(c.Mode(ctx))
	note(c.Version(ctx))
	note(c.HostID(ctx))
	note(c.HostIDs(ctx))
	note(c.TokenOwners(ctx))
	note(c.Joining(ctx))
	note(c.Leaving(ctx))
	note(c.Moving(ctx))
	note(c.Down(ctx))
	note(c.SchemaVersion(ctx))
	note(c.Nodes(ctx))
	note(c.Ownership(ctx, "shop"))
	note(c.Replicas(ctx, "shop", "orders", "1"))
	note(c.Bytes(ctx))
	for _, spread := range []scyllaapi.Spread{scyllaapi.Everyhow, scyllaapi.ByTokens, scyllaapi.ByTablets} {
		note(c.Keyspaces(ctx, spread))
	}
	note(nil, c.Drain(ctx))
	note(nil, c.Decommission(ctx))
	note(nil, c.RemoveNode(ctx, "7c7f3b8c-0000-4000-8000-000000000001"))
	note(c.RemovalStatus(ctx))
	note(nil, c.Rebuild(ctx, "dc1"))
	note(nil, c.Cleanup(ctx, "shop"))
	note(nil, c.UpgradeSSTables(ctx, "shop"))
	note(nil, c.Flush(ctx, "shop"))
	note(c.Snapshots(ctx))
	note(nil, c.TakeSnapshot(ctx, "nightly", "shop", "orders"))
	note(nil, c.DeleteSnapshot(ctx, "nightly", "shop"))
	note(nil, c.LoadSSTables(ctx, "shop", "orders"))
	note(nil, c.SetBalancing(ctx, false))
	note(nil, c.Quiesce(ctx))
	note(c.StartRepair(ctx, scyllaapi.Repair{Keyspace: "shop", Table: "orders", Ranges: "1:2,2:3", Parallelism: 2}))
	note(c.RepairStatus(ctx, "shop", 7))
	note(c.ActiveRepairs(ctx))
	note(nil, c.EndRepairs(ctx))
	note(c.StartTabletRepair(ctx, scyllaapi.TabletRepair{Keyspace: "shop", Table: "orders", Tokens: "all", Hosts: "h1,h2", Mode: "incremental"}))
	note(c.Tasks(ctx, "repair"))
	note(c.TaskStatus(ctx, "t-1"))
	note(nil, c.AbortTask(ctx, "t-1"))
	note(c.Ranges(ctx, "shop", "orders"))
	note(c.BytesOf(ctx, scyllaapi.Table{Keyspace: "shop", Name: "orders"}))
	note(c.Streaming(ctx))
	note(c.Compactions(ctx))
	note(c.PendingCompactions(ctx))
	note(c.Tables(ctx))
	note(c.MetricsOf(ctx, table))
	for _, kind := range []string{"read", "write", "range"} {
		note(c.RequestsOf(ctx, kind))
	}
	return errors.Join(problems...)
}

func TestEveryCallExistsInScyllaDBsOwnDescription(t *testing.T) {
	server := scyllatest.New(t)
	if err := everyCall(t.Context(), scyllaapi.New(server.Address())); err != nil {
		t.Error(err)
	}
	called := slices.Compact(slices.Sorted(slices.Values(server.Called())))
	if !slices.Equal(called, server.Operations()) {
		t.Errorf("described, but not called by anybody: %v", without(server.Operations(), called))
	}
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(some, one) })
}

func TestTheClientHasNoCallThatIsNotTried(t *testing.T) {
	// Of everyCall: one more method needs one more line there.
	const tried = 45
	if methods := reflect.TypeFor[*scyllaapi.Client]().NumMethod(); methods != tried {
		t.Errorf("the client has %d methods, %d are tried", methods, tried)
	}
}

func TestAnswersAreUnderstood(t *testing.T) {
	server := scyllatest.New(t)
	client, ctx := scyllaapi.New(server.Address()), t.Context()
	server.Answer("GET /storage_service/host_id", []map[string]string{{"key": "10.0.0.1", "value": "h1"}, {"key": "10.0.0.2", "value": "h2"}})
	if hosts, err := client.HostIDs(ctx); err != nil || !reflect.DeepEqual(hosts, map[string]string{"10.0.0.1": "h1", "10.0.0.2": "h2"}) {
		t.Errorf("%v, %v", hosts, err)
	}
	state := func(number int, value string) map[string]any {
		return map[string]any{"application_state": number, "value": value, "version": 1}
	}
	server.Answer("GET /failure_detector/endpoints/", []map[string]any{{"addrs": "10.0.0.1", "is_alive": true, "generation": 5, "version": 9,
		"application_state": []any{state(0, "NORMAL,1"), state(2, "v1"), state(3, "dc1"), state(4, "r1"), state(12, "h1")}}, {"addrs": "10.0.0.2"}})
	nodes, err := client.Nodes(ctx)
	known := scyllaapi.NodeState{Up: true, HostID: "h1", SchemaVersion: "v1", Datacenter: "dc1", Rack: "r1"}
	if err != nil || !reflect.DeepEqual(nodes, map[string]scyllaapi.NodeState{"10.0.0.1": known, "10.0.0.2": {}}) {
		t.Errorf("%v, %v", nodes, err)
	}
	file := func(current, total int) map[string]any {
		return map[string]any{"key": "f", "value": map[string]any{"file_name": "f", "current_bytes": current, "total_bytes": total}}
	}
	server.Answer("GET /stream_manager/", []map[string]any{{"description": "bootstrap", "sessions": []map[string]any{
		{"peer": "10.0.0.2", "state": "STREAMING", "receiving_files": []any{file(10, 30), file(5, 5)}, "sending_files": []any{file(0, 7)}},
	}}})
	server.Answer("GET /stream_manager/metrics/incoming", 15)
	if told, err := client.Streaming(ctx); err != nil || told != (scyllaapi.Streaming{Received: 15, Coming: 20, Going: 7, Running: 1}) {
		t.Errorf("%+v, %v", told, err)
	}
	server.Answer("GET /column_family/metrics/live_disk_space_used/{name}", 4096)
	server.Answer("GET /column_family/metrics/all_memtables_live_data_size/{name}", 100)
	server.Answer("GET /column_family/metrics/estimated_row_count/{name}", []int{3, 4})
	if told, err := client.MetricsOf(ctx, scyllaapi.Table{Keyspace: "shop", Name: "orders"}); err != nil || told.Bytes != 4196 || told.Partitions != 7 {
		t.Errorf("%+v, %v", told, err)
	}
	sample := make([]int, 200)
	for index := range sample {
		sample[index] = 200 - index
	}
	server.Answer("GET /storage_proxy/metrics/read/histogram", map[string]any{"count": 1000, "sample": sample})
	server.Answer("GET /storage_proxy/metrics/read/timeouts", 2)
	if told, err := client.RequestsOf(ctx, "read"); err != nil || told != (scyllaapi.Requests{Count: 1000, Timeouts: 2, P99Microseconds: 198}) {
		t.Errorf("%+v, %v", told, err)
	}
	server.Answer("GET /storage_service/ownership/{keyspace}", []map[string]string{{"key": "10.0.0.1", "value": "0.25"}})
	if shares, err := client.Ownership(ctx, "shop"); err != nil || shares["10.0.0.1"] != 0.25 {
		t.Errorf("%v, %v", shares, err)
	}
}

func TestARefusalIsToldFromSilence(t *testing.T) {
	server := scyllatest.New(t)
	client := scyllaapi.New(server.Address())
	server.AnswerBy("POST /storage_service/decommission", func(map[string]string) (any, error) { return nil, errors.New("zero replica after the removal") })
	err := client.Decommission(t.Context())
	if refusal := scyllaapi.Refusal(err); refusal == nil || refusal.Status != 500 || !strings.Contains(refusal.Message, "zero replica") {
		t.Errorf("%v", err)
	}
	if err := scyllaapi.New("127.0.0.1:1").Drain(t.Context()); err == nil || scyllaapi.Refusal(err) != nil {
		t.Errorf("%v", err)
	}
}
