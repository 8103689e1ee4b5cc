package statements

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

const (
	mostEvents = 500
	// The engine writes a trace down after it has answered: it is looked for until it says how long the whole took.
	lookEvery = 50 * time.Millisecond
	looksFor  = 2 * time.Second
	// settles is how long events of other nodes may come after that.
	settles = 100 * time.Millisecond
)

func (s *Store) readTrace(ctx context.Context, id []byte) (*agent.StatementTrace, error) {
	ctx, cancel := context.WithTimeout(ctx, traceWithin)
	defer cancel()
	trace := &agent.StatementTrace{ID: cql.UUID(id), Events: []agent.TraceEvent{}}
	err := s.engine.ReadTrace(ctx, func(session Session) error {
		if err := untilWritten(ctx, session, trace); err != nil {
			return err
		}
		// The id was made by the engine: it is no text of anybody's.
		page, err := session.Run(ctx, cql.Wish{
			Statement:   "SELECT event_id, activity, source, source_elapsed, thread FROM system_traces.events WHERE session_id = " + trace.ID,
			Consistency: cql.One, Size: mostEvents,
		})
		if err != nil {
			return err
		}
		trace.Events = eventsOf(page)
		return nil
	})
	return trace, err
}

// untilWritten waits for the session's row to say how long it took, and no longer than looksFor.
func untilWritten(ctx context.Context, session Session, trace *agent.StatementTrace) error {
	end := time.Now().Add(looksFor)
	for {
		rows, err := session.Query(ctx, cql.One, "SELECT coordinator, started_at, duration FROM system_traces.sessions WHERE session_id = "+trace.ID)
		if err != nil {
			return err
		}
		if len(rows) == 1 {
			trace.Coordinator = rows[0].Text("coordinator")
			if at, known := rows[0]["started_at"].(time.Time); known {
				trace.StartedAt = &at
			}
			if took, known := rows[0]["duration"].(int32); known {
				microseconds := int64(took)
				trace.Microseconds = &microseconds
				return pause(ctx, settles)
			}
		}
		if time.Now().After(end) {
			return nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// eventsOf puts events in the order in which they happened, by the nodes' clocks.
func eventsOf(page cql.Page) []agent.TraceEvent {
	const idBytes, eventID, activity, source, elapsed, thread = 16, 0, 1, 2, 3, 4
	events := []agent.TraceEvent{}
	for _, row := range page.Rows {
		if len(row) <= thread || len(row[eventID]) != idBytes {
			continue
		}
		show := func(place int) string {
			if row[place] == nil {
				return ""
			}
			return page.Columns[place].Type.Show(row[place])
		}
		event := agent.TraceEvent{Source: show(source), Activity: show(activity), Thread: show(thread), Offset: microsecondsOf(row[eventID])}
		if content := row[elapsed]; len(content) == 4 {
			since := int64(int32(binary.BigEndian.Uint32(content)))
			event.Elapsed = &since
		}
		events = append(events, event)
	}
	slices.SortStableFunc(events, func(a, b agent.TraceEvent) int { return cmp.Compare(a.Offset, b.Offset) })
	for index := len(events) - 1; index >= 0; index-- {
		events[index].Offset -= events[0].Offset
	}
	return events
}

// microsecondsOf is the time within an id of version 1: RFC 9562, 5.1, in units of 100 ns.
func microsecondsOf(id []byte) int64 {
	high := uint64(binary.BigEndian.Uint16(id[6:8]) & 0x0FFF)
	middle := uint64(binary.BigEndian.Uint16(id[4:6]))
	low := uint64(binary.BigEndian.Uint32(id[0:4]))
	return int64((high<<48 | middle<<32 | low) / 10)
}
