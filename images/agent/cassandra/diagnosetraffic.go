package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/capture"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
)

// mostPackets is after how many a capture ends, whatever its time.
const mostPackets = 500_000

// counts are what the engine has counted so far, by what it counts.
type counts map[string]float64

// difference tells what was counted in between, the most first.
func (c counts) difference(since counts) (names []string, grown counts) {
	grown = counts{}
	for name, value := range c {
		// What began anew meanwhile is counted from nothing.
		if more := value - since[name]; more > 0 {
			grown[name] = more
			names = append(names, name)
		} else if value < since[name] && value > 0 {
			grown[name] = value
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(grown[b], grown[a]), strings.Compare(a, b)) })
	return names, grown
}

// counter is one view or bean that is read before and after, and how its difference is told.
type counter struct {
	title, what, counted string
	unit                 agent.Unit
	read                 func(context.Context) (counts, error)
}

// watched reads the counters, captures the port's packets for the time, and reads them once more.
func (e *Engine) watched(ctx context.Context, parameters agent.DiagnoseParameters, port uint16, name string, counters []counter, report agent.Report) (agent.Answer, error) {
	if err := e.running(); err != nil {
		return agent.Answer{}, err
	}
	own, err := e.ownAddress()
	if err != nil {
		return agent.Answer{}, err
	}
	before := make([]counts, len(counters))
	for index, one := range counters {
		if before[index], err = one.read(ctx); err != nil {
			return agent.Answer{}, err
		}
	}
	report(0.1, fmt.Sprintf("Capturing for %d seconds", parameters.Seconds))
	seen, err := capture.Run(ctx, capture.Wish{
		Address: own.String(), Port: port, For: time.Duration(parameters.Seconds) * time.Second, MostPackets: mostPackets, MostBytes: agent.MostFileBytes,
	})
	if errors.Is(err, capture.ErrNotAllowed) {
		return agent.Answer{}, agent.Errorf("capture-not-allowed", "The agent may not look at packets on this machine: it needs the capability CAP_NET_RAW.")
	}
	if err != nil {
		return agent.Answer{}, err
	}
	answer := agent.Answer{
		Facts: []agent.AnswerFact{
			fact("Port", agent.Text, strconv.Itoa(int(port))), fact("Seconds", agent.Seconds, parameters.Seconds), fact("Packets", agent.Count, seen.Packets),
			fact("Packets in the file", agent.Count, seen.Packets-seen.LeftOut), fact("Packets that were too many to look at", agent.Count, seen.Missed),
		},
		Tables: []agent.AnswerTable{flowsTable(seen.Flows, parameters.Limit)},
		File:   &agent.AnswerFile{Name: name + ".pcap", MediaType: "application/vnd.tcpdump.pcap", Content: seen.PCAP},
		Notes: []string{
			"Traffic is encrypted, so packets tell who speaks how much, what is lost and what begins anew; kinds, tables and clients are from what the engine counted meanwhile. " +
				"The file has the first 256 bytes of each packet, 1 MiB in all.",
		},
	}
	if seen.Full {
		answer.Notes = append(answer.Notes, fmt.Sprintf("The capture ended early, after %d packets.", mostPackets))
	}
	for index, one := range counters {
		after, err := one.read(ctx)
		if err != nil {
			return agent.Answer{}, err
		}
		names, grown := after.difference(before[index])
		var rows [][]any
		for _, name := range names {
			rows = append(rows, []any{name, grown[name]})
		}
		answer.Tables = append(answer.Tables, agent.Told(one.title, []agent.AnswerColumn{column(one.what, agent.Text), column(one.counted, one.unit)}, rows, parameters.Limit))
	}
	return answer, nil
}

func flowsTable(flows []capture.Flow, limit int) agent.AnswerTable {
	var rows [][]any
	for _, one := range flows {
		rows = append(rows, []any{
			one.Peer.Unmap().String(), one.Connections, one.PacketsIn, one.PacketsOut, one.BytesIn, one.BytesOut, one.Retransmitted, one.Handshakes, one.Resets, one.Plain,
		})
	}
	return agent.Told("Packets by peer", []agent.AnswerColumn{
		column("Peer", agent.Text), column("Connections", agent.Count), column("Packets in", agent.Count), column("Packets out", agent.Count),
		column("Bytes in", agent.Bytes), column("Bytes out", agent.Bytes), column("Sent again", agent.Count), column("TLS begun", agent.Count),
		column("Resets", agent.Count), column("Not TLS", agent.Count),
	}, rows, limit)
}

// askCQLTraffic watches the port of clients: packets by peer, and what the engine counts of requests.
func (e *Engine) askCQLTraffic(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	return e.watched(ctx, parameters, cqlPort, "cql", []counter{
		{"Requests by kind", "Kind", "Requests", agent.Count, e.counted("type=ClientRequest,name=Latency,*", "scope", "")},
		{"Statements by kind", "Kind", "Statements", agent.Count, e.counted("type=CQL,*", "name", "Executed")},
		{"Reads that this node coordinated", "Table", "Reads", agent.Count, e.summed("coordinator_read_latency", "count", "keyspace_name", "table_name")},
		{"Writes that this node coordinated", "Table", "Writes", agent.Count, e.summed("coordinator_write_latency", "count", "keyspace_name", "table_name")},
		{"Requests by client", "Client", "Requests", agent.Count, e.summed("clients", "request_count", "address", "username", "driver_name")},
	}, report)
}

// askNodeTraffic watches the port of other nodes: packets by peer, and what the engine counts of messages.
func (e *Engine) askNodeTraffic(ctx context.Context, parameters agent.DiagnoseParameters, report agent.Report) (agent.Answer, error) {
	return e.watched(ctx, parameters, internodePort, "nodes", []counter{
		{"Messages received by kind", "Kind", "Messages", agent.Count, e.counted("type=Messaging,*", "name", "-WaitLatency")},
		{"Messages sent by node", "Node", "Messages", agent.Count, e.summed("internode_outbound", "sent_count", "address", "dc")},
		{"Bytes sent by node", "Node", "Bytes", agent.Bytes, e.summed("internode_outbound", "sent_bytes", "address", "dc")},
		{"Messages received by node", "Node", "Messages", agent.Count, e.summed("internode_inbound", "received_count", "address", "dc")},
		{"Bytes received by node", "Node", "Bytes", agent.Bytes, e.summed("internode_inbound", "received_bytes", "address", "dc")},
	}, report)
}

// summed reads a virtual table and adds a column up by others. What has no values is left out.
func (e *Engine) summed(view, of string, by ...string) func(context.Context) (counts, error) {
	return func(ctx context.Context) (counts, error) {
		conn, err := e.asked(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := conn.Query(ctx, cql.One, "SELECT "+strings.Join(append([]string{of}, by...), ", ")+" FROM system_views."+view)
		if err != nil {
			return nil, err
		}
		found := counts{}
		for _, row := range rows {
			var names []string
			for _, column := range by {
				if text := fmt.Sprint(plainValue(row, viewColumn{name: column, unit: agent.Text})); text != "" && text != "<nil>" {
					names = append(names, text)
				}
			}
			separator := ", "
			if by[0] == "keyspace_name" {
				separator = "."
			}
			value, _ := number(row[of])
			found[strings.Join(names, separator)] += value
		}
		return found, nil
	}
}

// counted reads the count of each metric that a pattern matches, by a part of its name that has this ending.
func (e *Engine) counted(pattern, part, ending string) func(context.Context) (counts, error) {
	return func(ctx context.Context) (counts, error) {
		var beans map[string]map[string]float64
		if err := e.management.Do(ctx, jolokia.Read("org.apache.cassandra.metrics:"+pattern, "Count"), &beans); err != nil {
			return nil, err
		}
		found := counts{}
		for bean, values := range beans {
			if name, is := strings.CutSuffix(partOf(bean, part), ending); is {
				found[name] = values["Count"]
			}
		}
		return found, nil
	}
}

// partOf is the value of a part of a bean's name; empty: it has none.
func partOf(bean, part string) string {
	_, parts, _ := strings.Cut(bean, ":")
	for one := range strings.SplitSeq(parts, ",") {
		if value, found := strings.CutPrefix(one, part+"="); found {
			return value
		}
	}
	return ""
}
