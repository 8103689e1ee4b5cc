package cassandra

import (
	"testing"
	"time"
)

func TestDroppedHintsAreToldOnceForEachTime(t *testing.T) {
	const there = "127.2.0.1"
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var known droppedHints
	for _, look := range []struct {
		what    string
		after   time.Duration
		started int64
		count   int64
		grewAt  time.Duration // negative: it is told of nothing
	}{
		{"nothing was dropped", 0, 1, 0, -1},
		{"some were", 10 * time.Second, 1, 5, 10 * time.Second},
		{"no more since", 20 * time.Second, 1, 5, 10 * time.Second},
		{"some more", 30 * time.Second, 1, 6, 30 * time.Second},
		{"the peer is unknown for a moment", 40 * time.Second, 1, 0, 30 * time.Second},
		{"and back", 50 * time.Second, 1, 6, 30 * time.Second},
		{"the engine was started anew", 60 * time.Second, 2, 0, 30 * time.Second},
		{"and dropped fewer than before", 70 * time.Second, 2, 1, 70 * time.Second},
		{"that is long ago", 49 * time.Hour, 2, 1, -1},
	} {
		known = known.seen(look.started, map[string]int64{there: look.count}, began.Add(look.after))
		at, told := known.GrewAt[there]
		if told != (look.grewAt >= 0) || told && !at.Equal(began.Add(look.grewAt)) {
			t.Errorf("%s: %v %v", look.what, told, at)
		}
	}
}
