package cassandra

import (
	"context"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

// askStatus is what `nodetool status` and `nodetool info` tell.
func (e *Engine) askStatus(ctx context.Context, _ agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.Answer{}, err
	}
	ring, err := e.readRing(ctx, conn)
	if err != nil {
		return agent.Answer{}, err
	}
	var mode string
	loads, owned := map[string]string{}, map[string]float64{}
	calls := []jolokia.Call{
		jolokia.Read(storageService, "OperationMode"), jolokia.Read(storageService, "LoadMapWithPort"), jolokia.Read(storageService, "OwnershipWithPort"),
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return agent.Answer{}, err
	}
	for index, into := range []any{&mode, &loads, &owned} {
		if err := answers[index].Into(into); err != nil {
			return agent.Answer{}, err
		}
	}
	own, err := e.ownAddress()
	if err != nil {
		return agent.Answer{}, err
	}
	status := e.Status(ctx)
	row := func(address string, up bool, word, datacenter, rack, hostID, schema string) []any {
		return []any{address, up, word, datacenter, rack, ofNode(loads, address), ofNode(owned, address), hostID, schema}
	}
	rows := [][]any{row(own.String(), true, mode, ring.Datacenter, ring.Rack, ring.HostID, ring.SchemaVersion)}
	for _, peer := range ring.Peers {
		rows = append(rows, row(peer.Address, peer.Up, peer.Status, peer.Datacenter, peer.Rack, peer.HostID, peer.SchemaVersion))
	}
	var started any
	if status.StartedAt != nil {
		started = status.StartedAt.UTC().Format(time.RFC3339)
	}
	facts := []agent.AnswerFact{
		fact("Mode", agent.Text, mode), fact("Version", agent.Text, status.Version), fact("Started", agent.Moment, started),
		fact("Tokens", agent.Count, len(ring.Tokens)), fact("Unexpected ends", agent.Count, status.Restarts),
		fact("Takes CQL", agent.Flag, status.CQLReady),
	}
	if disk := e.Machine(ctx).Disk; disk != nil {
		facts = append(facts, fact("Free on the disk", agent.Bytes, disk.FreeBytes), fact("Size of the disk", agent.Bytes, disk.TotalBytes))
	}
	columns := []agent.AnswerColumn{
		column("Address", agent.Text), column("Up", agent.Flag), column("State", agent.Text), column("Data centre", agent.Text), column("Rack", agent.Text),
		column("Load", agent.Text), column("Owns", agent.Ratio), column("Host id", agent.Text), column("Schema", agent.Text),
	}
	return agent.Answer{Facts: facts, Tables: []agent.AnswerTable{agent.Told("Ring as this node sees it", columns, rows, len(rows))}, Notes: []string{
		"Owns is the share of the ring's tokens, whatever the replication of a keyspace.",
	}}, nil
}

// ofNode is what a map by nodes, as the engine names them (/127.0.0.1:7000), tells of an address; nil: nothing.
func ofNode[V any](told map[string]V, address string) any {
	for name, value := range told {
		if addressOf(name) == address {
			return value
		}
	}
	return nil
}

// askRing is what `nodetool describering` tells.
func (e *Engine) askRing(ctx context.Context, parameters agent.DiagnoseParameters, _ agent.Report) (agent.Answer, error) {
	ring, err := e.KeyspaceRing(ctx, parameters.Keyspace, "")
	if err != nil {
		return agent.Answer{}, err
	}
	var rows [][]any
	for _, one := range ring.Ranges {
		var replicas, racks []string
		for _, index := range one.Replicas {
			replicas, racks = append(replicas, ring.Nodes[index].Address), append(racks, ring.Nodes[index].Rack)
		}
		rows = append(rows, []any{one.Start, one.End, strings.Join(replicas, ", "), strings.Join(racks, ", ")})
	}
	columns := []agent.AnswerColumn{column("Above", agent.Text), column("Up to", agent.Text), column("Replicas", agent.Text), column("Racks", agent.Text)}
	return agent.Answer{Tables: []agent.AnswerTable{agent.Told("Ranges of "+parameters.Keyspace, columns, rows, parameters.Limit)}}, nil
}
