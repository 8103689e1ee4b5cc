package agent_test

import (
	"testing"

	"ringmaster/agent"
)

func TestARangeIsInsideAnother(t *testing.T) {
	within := func(start, end string) agent.TokenRange { return agent.TokenRange{Start: start, End: end} }
	for _, row := range []struct {
		inner, outer agent.TokenRange
		wanted       bool
	}{
		{within("10", "20"), within("10", "20"), true},
		{within("12", "20"), within("10", "20"), true},
		{within("10", "19"), within("10", "20"), true},
		{within("9", "20"), within("10", "20"), false},
		{within("10", "21"), within("10", "20"), false},
		{within("30", "40"), within("10", "20"), false},
		{within("20", "10"), within("10", "20"), false},
		// Over the ring's end.
		{within("100", "-100"), within("90", "-90"), true},
		{within("95", "99"), within("90", "-90"), true},
		{within("-99", "-95"), within("90", "-90"), true},
		{within("80", "-95"), within("90", "-90"), false},
		{within("95", "-80"), within("90", "-90"), false},
		{within("9223372036854775807", "-9223372036854775808"), within("90", "-90"), true},
		// One node with one token holds the whole ring.
		{within("5", "6"), within("0", "0"), true},
		{within("6", "0"), within("0", "0"), true},
		{within("0", "1"), within("0", "0"), true},
	} {
		if got := row.inner.Inside(row.outer); got != row.wanted {
			t.Errorf("%v in %v: %v", row.inner, row.outer, got)
		}
	}
}

func TestARepairThatCannotBeIsRefused(t *testing.T) {
	good := agent.RepairParameters{Keyspace: "shop", Tables: []string{"orders"}, Mode: agent.RepairFull, Ranges: []agent.TokenRange{{Start: "1", End: "2"}}}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*agent.RepairParameters){
		"no table":               func(p *agent.RepairParameters) { p.Tables = nil },
		"a table of CQL":         func(p *agent.RepairParameters) { p.Tables = []string{"orders; DROP"} },
		"two tables in one name": func(p *agent.RepairParameters) { p.Tables = []string{"orders,lines"} },
		"no mode":                func(p *agent.RepairParameters) { p.Mode = "" },
		"five threads":           func(p *agent.RepairParameters) { p.JobThreads = 5 },
		"a token that is none":   func(p *agent.RepairParameters) { p.Ranges = []agent.TokenRange{{Start: "1", End: "x"}} },
		"an empty range":         func(p *agent.RepairParameters) { p.Ranges = []agent.TokenRange{{Start: "1", End: "1"}} },
		"a host's name":          func(p *agent.RepairParameters) { p.Hosts = []string{"node-1"} },
		"other parallelism":      func(p *agent.RepairParameters) { p.Parallelism = "fast" },
		"a pull of one": func(p *agent.RepairParameters) {
			p.Mode, p.Hosts = agent.RepairPull, []string{"10.0.0.1"}
		},
		"a pull of everything": func(p *agent.RepairParameters) {
			p.Mode, p.Hosts, p.Ranges = agent.RepairPull, []string{"10.0.0.1", "10.0.0.2"}, nil
		},
		"an incremental with hosts": func(p *agent.RepairParameters) {
			p.Mode, p.Hosts = agent.RepairIncremental, []string{"10.0.0.1", "10.0.0.2"}
		},
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || agent.AsError(err).Code != "invalid-parameters" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
