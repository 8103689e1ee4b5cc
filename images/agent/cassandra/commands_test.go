package cassandra

import (
	"testing"

	"ringmaster/agent"
)

func TestACommandLeavesRoomOnTheDisk(t *testing.T) {
	const mib = 1 << 20
	files := map[string]int64{"a": 10 * mib, "b": 30 * mib, "c": 20 * mib}
	for _, c := range []struct {
		command agent.Command
		free    int64
		refused bool
	}{
		// All 60 MiB may be there twice, and 50 of the 1000 MiB are to stay free.
		{agent.Compact, 110 * mib, false},
		{agent.Compact, 110*mib - 1, true},
		// The two largest.
		{agent.Rewrite, 100 * mib, false},
		{agent.Rewrite, 100*mib - 1, true},
		{agent.CleanUp, 100 * mib, false},
		{agent.CleanUp, 100*mib - 1, true},
		{agent.Flush, 0, false},
		{agent.Refresh, 0, false},
	} {
		err := checkRoom(agent.CommandParameters{Command: c.command, Keyspace: "shop", Table: "orders"}, files, &agent.DiskStatus{TotalBytes: 1000 * mib, FreeBytes: c.free})
		if (err != nil) != c.refused || err != nil && agent.AsError(err).Code != "no-space" {
			t.Errorf("%s with %d free: %v", c.command, c.free, err)
		}
	}
	if err := checkRoom(agent.CommandParameters{Command: agent.Compact}, nil, &agent.DiskStatus{TotalBytes: 1000 * mib}); err != nil {
		t.Errorf("of an empty table on a full disk: %v", err)
	}
}
