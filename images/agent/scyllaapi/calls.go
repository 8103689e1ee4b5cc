package scyllaapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// pair is how the API writes an entry of a mapping.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func mapping(pairs []pair) map[string]string {
	found := make(map[string]string, len(pairs))
	for _, entry := range pairs {
		found[entry.Key] = entry.Value
	}
	return found
}

func (c *Client) word(ctx context.Context, path string, query text) (string, error) {
	var found string
	return found, c.get(ctx, path, query, &found)
}

func (c *Client) words(ctx context.Context, path string) ([]string, error) {
	found := []string{}
	return found, c.get(ctx, path, nil, &found)
}

func (c *Client) number(ctx context.Context, path string) (int64, error) {
	var found json.Number
	if err := c.get(ctx, path, nil, &found); err != nil || found == "" {
		return 0, err
	}
	exact, err := found.Int64()
	if err == nil {
		return exact, nil
	}
	rounded, err := found.Float64()
	return int64(rounded), err
}

// Mode is what the node does, in the engine's words: STARTING, JOINING, NORMAL, LEAVING, DECOMMISSIONED, DRAINED …
func (c *Client) Mode(ctx context.Context) (string, error) {
	return c.word(ctx, "/storage_service/operation_mode", nil)
}

// Version is the engine's, for example 2026.1.8.
func (c *Client) Version(ctx context.Context) (string, error) {
	return c.word(ctx, "/storage_service/scylla_release_version", nil)
}

// HostID is the node's own.
func (c *Client) HostID(ctx context.Context) (string, error) {
	return c.word(ctx, "/storage_service/hostid/local", nil)
}

// HostIDs are those of all members, by address.
func (c *Client) HostIDs(ctx context.Context) (map[string]string, error) {
	var found []pair
	err := c.get(ctx, "/storage_service/host_id", nil, &found)
	return mapping(found), err
}

// TokenOwners are the addresses of all members by the tokens they own.
func (c *Client) TokenOwners(ctx context.Context) (map[string]string, error) {
	var found []pair
	err := c.get(ctx, "/storage_service/tokens_endpoint", nil, &found)
	return mapping(found), err
}

// Joining are the addresses of nodes that are about to become members.
func (c *Client) Joining(ctx context.Context) ([]string, error) {
	return c.words(ctx, "/storage_service/nodes/joining")
}

// Leaving are the addresses of members that are handing over their data.
func (c *Client) Leaving(ctx context.Context) ([]string, error) {
	return c.words(ctx, "/storage_service/nodes/leaving")
}

// Moving are the addresses of members that are changing their tokens.
func (c *Client) Moving(ctx context.Context) ([]string, error) {
	return c.words(ctx, "/storage_service/nodes/moving")
}

// Down are the addresses of the nodes that this one sees down.
func (c *Client) Down(ctx context.Context) ([]string, error) {
	return c.words(ctx, "/gossiper/endpoint/down/")
}

// SchemaVersion is the node's own.
func (c *Client) SchemaVersion(ctx context.Context) (string, error) {
	return c.word(ctx, "/storage_service/schema_version", nil)
}

// NodeState is what gossip says of a node; what it has not said yet is empty.
type NodeState struct {
	// Up is this node's own view.
	Up                                      bool
	HostID, SchemaVersion, Datacenter, Rack string
}

// Numbers of what nodes tell of themselves, from gms/application_state.hh of ScyllaDB.
const (
	stateSchema     = 2
	stateDatacenter = 3
	stateRack       = 4
	stateHostID     = 12
)

// Nodes are all that this one has heard of, by address: members, those that join, and some that have left. No other node is asked,
// so that a dead one costs no time.
func (c *Client) Nodes(ctx context.Context) (map[string]NodeState, error) {
	var told []struct {
		Address string `json:"addrs"`
		Alive   bool   `json:"is_alive"`
		States  []struct {
			Number int    `json:"application_state"`
			Value  string `json:"value"`
		} `json:"application_state"`
	}
	err := c.get(ctx, "/failure_detector/endpoints/", nil, &told)
	found := make(map[string]NodeState, len(told))
	for _, node := range told {
		state := NodeState{Up: node.Alive}
		fields := map[int]*string{
			stateSchema: &state.SchemaVersion, stateDatacenter: &state.Datacenter, stateRack: &state.Rack, stateHostID: &state.HostID,
		}
		for _, one := range node.States {
			if into, wanted := fields[one.Number]; wanted {
				*into = one.Value
			}
		}
		found[node.Address] = state
	}
	return found, err
}

// Ownership is the share of a keyspace's data that each node holds, 0 to 1, by address.
func (c *Client) Ownership(ctx context.Context, keyspace string) (map[string]float64, error) {
	var told []pair
	if err := c.get(ctx, "/storage_service/ownership/"+keyspace, nil, &told); err != nil {
		return nil, err
	}
	found := make(map[string]float64, len(told))
	for _, entry := range told {
		share, err := strconv.ParseFloat(entry.Value, 64)
		if err != nil {
			return nil, err
		}
		found[entry.Key] = share
	}
	return found, nil
}

// Replicas are the addresses of the nodes that hold a row. The key is as CQL's text.
func (c *Client) Replicas(ctx context.Context, keyspace, table, key string) ([]string, error) {
	found := []string{}
	return found, c.get(ctx, "/storage_service/natural_endpoints/"+keyspace, text{"cf": table, "key": key}, &found)
}

// Bytes is the live data of the node.
func (c *Client) Bytes(ctx context.Context) (int64, error) {
	return c.number(ctx, "/storage_service/load")
}

// Spread is how the tables of a keyspace are divided among the nodes.
type Spread string

// The ways to divide.
const (
	Everyhow  Spread = "all"
	ByTokens  Spread = "vnodes"
	ByTablets Spread = "tablets"
)

// Keyspaces are the names of those that other nodes have too, spread in the way asked for.
func (c *Client) Keyspaces(ctx context.Context, spread Spread) ([]string, error) {
	found := []string{}
	return found, c.get(ctx, "/storage_service/keyspaces", text{"type": "non_local_strategy", "replication": string(spread)}, &found)
}

// Drain makes the node flush and take no more requests. It returns when that is done.
func (c *Client) Drain(ctx context.Context) error {
	return c.post(ctx, "/storage_service/drain", nil, nil)
}

// Decommission makes the node hand its data over and leave. It returns when that is done.
func (c *Client) Decommission(ctx context.Context) error {
	return c.post(ctx, "/storage_service/decommission", nil, nil)
}

// RemoveNode makes the ring forget a dead node; the others fetch what it held from each other. It returns when that is done.
func (c *Client) RemoveNode(ctx context.Context, hostID string) error {
	return c.post(ctx, "/storage_service/remove_node", text{"host_id": hostID}, nil)
}

// RemovalStatus says in words whether a removal goes on.
func (c *Client) RemovalStatus(ctx context.Context) (string, error) {
	return c.word(ctx, "/storage_service/removal_status", nil)
}

// Rebuild fetches what the node should hold from a data centre. It returns when that is done.
func (c *Client) Rebuild(ctx context.Context, datacenter string) error {
	return c.post(ctx, "/storage_service/rebuild", text{"source_dc": datacenter}, nil)
}

// Cleanup drops data of a keyspace that other nodes hold now. It returns when that is done.
func (c *Client) Cleanup(ctx context.Context, keyspace string) error {
	return c.post(ctx, "/storage_service/keyspace_cleanup/"+keyspace, nil, nil)
}

// UpgradeSSTables rewrites files of a keyspace that are in an older format. It returns when that is done.
func (c *Client) UpgradeSSTables(ctx context.Context, keyspace string) error {
	return c.get(ctx, "/storage_service/keyspace_upgrade_sstables/"+keyspace, text{"exclude_current_version": "true"}, nil)
}

// Flush writes to disk what a keyspace has in memory.
func (c *Client) Flush(ctx context.Context, keyspace string) error {
	return c.post(ctx, "/storage_service/keyspace_flush/"+keyspace, nil, nil)
}

// Snapshot is one table's part of a snapshot. Live are bytes that the table still has, Total all that the snapshot holds.
type Snapshot struct {
	Keyspace string `json:"ks"`
	Table    string `json:"cf"`
	Total    int64  `json:"total"`
	Live     int64  `json:"live"`
}

// Snapshots are all, by tag.
func (c *Client) Snapshots(ctx context.Context) (map[string][]Snapshot, error) {
	var told []struct {
		Key   string     `json:"key"`
		Value []Snapshot `json:"value"`
	}
	err := c.get(ctx, "/storage_service/snapshots", nil, &told)
	found := make(map[string][]Snapshot, len(told))
	for _, entry := range told {
		found[entry.Key] = append(found[entry.Key], entry.Value...)
	}
	return found, err
}

// TakeSnapshot keeps the data of a keyspace, or of one of its tables, as it is now, under a tag.
func (c *Client) TakeSnapshot(ctx context.Context, tag, keyspace, table string) error {
	return c.post(ctx, "/storage_service/snapshots", text{"tag": tag, "kn": keyspace, "cf": table}, nil)
}

// DeleteSnapshot lets go of a keyspace's data under a tag.
func (c *Client) DeleteSnapshot(ctx context.Context, tag, keyspace string) error {
	return c.ask(ctx, "DELETE", "/storage_service/snapshots", text{"tag": tag, "kn": keyspace}, nil)
}

// LoadSSTables makes the engine load what is in the folder upload of a table, and send each row to all of its replicas. It returns when
// that is done, and the folder is empty then.
func (c *Client) LoadSSTables(ctx context.Context, keyspace, table string) error {
	return c.post(ctx, "/storage_service/sstables/"+keyspace, text{"cf": table, "load_and_stream": "true"}, nil)
}

// SetBalancing says whether the ring may move tablets among its nodes by itself.
func (c *Client) SetBalancing(ctx context.Context, enabled bool) error {
	return c.post(ctx, "/storage_service/tablets/balancing", text{"enabled": strconv.FormatBool(enabled)}, nil)
}

// Quiesce returns when every change of the ring that had begun has ended, such as tablets that move.
func (c *Client) Quiesce(ctx context.Context) error {
	return c.post(ctx, "/storage_service/quiesce_topology", nil, nil)
}

// Repair says what to repair of a keyspace that is spread by tokens.
type Repair struct {
	Keyspace, Table string
	// Ranges are "start:end", separated by commas; empty: all that this node holds.
	Ranges string
	// Hosts are addresses, separated by commas; empty: all replicas.
	Hosts string
	// Parallelism is how many ranges are repaired side by side; 0: as many as the engine likes.
	Parallelism int
}

// StartRepair begins a repair and returns its number.
func (c *Client) StartRepair(ctx context.Context, repair Repair) (int64, error) {
	query := text{"columnFamilies": repair.Table, "ranges": repair.Ranges, "hosts": repair.Hosts}
	if repair.Parallelism > 0 {
		query["ranges_parallelism"] = strconv.Itoa(repair.Parallelism)
	}
	var number int64
	return number, c.post(ctx, "/storage_service/repair_async/"+repair.Keyspace, query, &number)
}

// RepairStatus is RUNNING, SUCCESSFUL or FAILED.
func (c *Client) RepairStatus(ctx context.Context, keyspace string, number int64) (string, error) {
	return c.word(ctx, "/storage_service/repair_async/"+keyspace, text{"id": strconv.FormatInt(number, 10)})
}

// ActiveRepairs are the numbers of those that this node coordinates.
func (c *Client) ActiveRepairs(ctx context.Context) ([]int64, error) {
	found := []int64{}
	return found, c.get(ctx, "/storage_service/active_repair/", nil, &found)
}

// EndRepairs ends all repairs that this node coordinates.
func (c *Client) EndRepairs(ctx context.Context) error {
	return c.post(ctx, "/storage_service/force_terminate_repair", nil, nil)
}

// TabletRepair says what to repair of a table that is cut into tablets.
type TabletRepair struct {
	Keyspace, Table string
	// Tokens are one of each tablet, separated by commas, or "all".
	Tokens string
	// Hosts are host ids, separated by commas; empty: all replicas.
	Hosts string
	// Mode is "incremental", "full" or "disabled"; empty: the engine's own.
	Mode string
}

// StartTabletRepair begins to repair tablets of a table, on all nodes, and returns the task's id.
func (c *Client) StartTabletRepair(ctx context.Context, repair TabletRepair) (string, error) {
	var task struct {
		ID string `json:"tablet_task_id"`
	}
	query := text{
		"ks": repair.Keyspace, "table": repair.Table, "tokens": repair.Tokens, "await_completion": "false",
		"hosts_filter": repair.Hosts, "incremental_mode": repair.Mode,
	}
	return task.ID, c.post(ctx, "/storage_service/tablets/repair", query, &task)
}

// Task is one of the engine's long operations. Number is that of a repair of a keyspace that is spread by tokens. State is created,
// running, done or failed.
type Task struct {
	ID       string `json:"task_id"`
	Type     string `json:"type"`
	State    string `json:"state"`
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
	Number   int64  `json:"sequence_number"`
}

// Tasks are those of one of the engine's modules: "repair" or "tablets".
func (c *Client) Tasks(ctx context.Context, module string) ([]Task, error) {
	found := []Task{}
	return found, c.get(ctx, "/task_manager/list_module_tasks/"+module, nil, &found)
}

// TaskStatus is how a task stands. Completed and Total are in units of the engine's own.
type TaskStatus struct {
	State     string  `json:"state"`
	Error     string  `json:"error"`
	Completed float64 `json:"progress_completed"`
	Total     float64 `json:"progress_total"`
}

// TaskStatus asks for one.
func (c *Client) TaskStatus(ctx context.Context, id string) (TaskStatus, error) {
	var found TaskStatus
	return found, c.get(ctx, "/task_manager/task_status/"+id, nil, &found)
}

// AbortTask ends a task and what it has begun.
func (c *Client) AbortTask(ctx context.Context, id string) error {
	return c.post(ctx, "/task_manager/abort_task/"+id, nil, nil)
}

// Range is the tokens above Start up to and with End, and the addresses of those that hold it.
type Range struct {
	Start, End string
	Replicas   []string
}

// Ranges are those of a keyspace that is spread by tokens, or the tablets of a table.
func (c *Client) Ranges(ctx context.Context, keyspace, table string) ([]Range, error) {
	var told []struct {
		Key   []string `json:"key"`
		Value []string `json:"value"`
	}
	if err := c.get(ctx, "/storage_service/range_to_endpoint_map/"+keyspace, text{"cf": table}, &told); err != nil {
		return nil, err
	}
	found := make([]Range, 0, len(told))
	for _, one := range told {
		if len(one.Key) != 2 {
			return nil, fmt.Errorf("unreadable range %v", one.Key)
		}
		found = append(found, Range{Start: one.Key[0], End: one.Key[1], Replicas: one.Value})
	}
	return found, nil
}

// Streaming is what a node streams. Received and Sent are bytes since the engine started; Coming and Going those that the
// streams that run now have still to move; Running is how many they are.
type Streaming struct {
	Received, Sent, Coming, Going int64
	Running                       int
}

type streamFile struct {
	Value struct {
		Current int64 `json:"current_bytes"`
		Total   int64 `json:"total_bytes"`
	} `json:"value"`
}

// Streaming tells of data that moves between nodes.
func (c *Client) Streaming(ctx context.Context) (Streaming, error) {
	var streams []struct {
		Sessions []struct {
			Receiving []streamFile `json:"receiving_files"`
			Sending   []streamFile `json:"sending_files"`
		} `json:"sessions"`
	}
	if err := c.get(ctx, "/stream_manager/", nil, &streams); err != nil {
		return Streaming{}, err
	}
	told := Streaming{Running: len(streams)}
	left := func(files []streamFile) (bytes int64) {
		for _, file := range files {
			bytes += max(0, file.Value.Total-file.Value.Current)
		}
		return bytes
	}
	for _, stream := range streams {
		for _, session := range stream.Sessions {
			told.Coming += left(session.Receiving)
			told.Going += left(session.Sending)
		}
	}
	var err error
	if told.Received, err = c.number(ctx, "/stream_manager/metrics/incoming"); err != nil {
		return Streaming{}, err
	}
	told.Sent, err = c.number(ctx, "/stream_manager/metrics/outgoing")
	return told, err
}

// Compaction is one that runs. Completed and Total are in Unit.
type Compaction struct {
	Keyspace  string `json:"ks"`
	Table     string `json:"cf"`
	Type      string `json:"task_type"`
	Unit      string `json:"unit"`
	Completed int64  `json:"completed"`
	Total     int64  `json:"total"`
}

// Compactions are those that run.
func (c *Client) Compactions(ctx context.Context) ([]Compaction, error) {
	found := []Compaction{}
	return found, c.get(ctx, "/compaction_manager/compactions", nil, &found)
}

// PendingCompactions is how many wait.
func (c *Client) PendingCompactions(ctx context.Context) (int64, error) {
	return c.number(ctx, "/compaction_manager/metrics/pending_tasks")
}

// Table names a table.
type Table struct {
	Keyspace string `json:"ks"`
	Name     string `json:"cf"`
}

// Tables are all, the engine's own too.
func (c *Client) Tables(ctx context.Context) ([]Table, error) {
	found := []Table{}
	return found, c.get(ctx, "/column_family/", nil, &found)
}

// TableMetrics are this node's part of a table. Bytes are live data on disk and in memory; reads and writes count since the
// engine started; Partitions is an estimate.
type TableMetrics struct {
	Bytes, Partitions, Reads, Writes, PendingCompactions, Files int64
}

// MetricsOf tells of one table.
func (c *Client) MetricsOf(ctx context.Context, table Table) (TableMetrics, error) {
	var found TableMetrics
	var onDisk, inMemory int64
	for _, figure := range []struct {
		name string
		into *int64
	}{
		{"live_disk_space_used", &onDisk}, {"all_memtables_live_data_size", &inMemory}, {"read", &found.Reads}, {"write", &found.Writes},
		{"pending_compactions", &found.PendingCompactions}, {"live_ss_table_count", &found.Files},
	} {
		value, err := c.number(ctx, "/column_family/metrics/"+figure.name+"/"+table.Keyspace+":"+table.Name)
		if err != nil {
			return TableMetrics{}, err
		}
		*figure.into = value
	}
	found.Bytes = onDisk + inMemory
	partitions, err := c.partitions(ctx, table)
	found.Partitions = partitions
	return found, err
}

// BytesOf are this node's live bytes of a table on disk.
func (c *Client) BytesOf(ctx context.Context, table Table) (int64, error) {
	return c.number(ctx, "/column_family/metrics/live_disk_space_used/"+table.Keyspace+":"+table.Name)
}

// partitions adds up: the engine's description says that the count is a list, engines before it answered with a number.
func (c *Client) partitions(ctx context.Context, table Table) (int64, error) {
	var told json.RawMessage
	if err := c.get(ctx, "/column_family/metrics/estimated_row_count/"+table.Keyspace+":"+table.Name, nil, &told); err != nil {
		return 0, err
	}
	var parts []float64
	if json.Unmarshal(told, &parts) != nil {
		parts = []float64{0}
		if err := json.Unmarshal(told, &parts[0]); err != nil {
			return 0, err
		}
	}
	var sum float64
	for _, part := range parts {
		sum += part
	}
	return int64(sum), nil
}

// Requests are those of one kind that the node coordinated since the engine started. P99Microseconds is of the last ones.
type Requests struct{ Count, Timeouts, Unavailables, P99Microseconds int64 }

// RequestsOf tells of the kinds "read", "write" and "range".
func (c *Client) RequestsOf(ctx context.Context, kind string) (Requests, error) {
	var latencies struct {
		Count  int64   `json:"count"`
		Sample []int64 `json:"sample"`
	}
	path := "/storage_proxy/metrics/" + kind
	if err := c.get(ctx, path+"/histogram", nil, &latencies); err != nil {
		return Requests{}, err
	}
	found := Requests{Count: latencies.Count}
	if count := len(latencies.Sample); count > 0 {
		slices.Sort(latencies.Sample)
		found.P99Microseconds = latencies.Sample[(count-1)*99/100]
	}
	var err error
	if found.Timeouts, err = c.number(ctx, path+"/timeouts"); err != nil {
		return Requests{}, err
	}
	found.Unavailables, err = c.number(ctx, path+"/unavailables")
	return found, err
}
