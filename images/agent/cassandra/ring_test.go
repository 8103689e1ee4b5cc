package cassandra

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent"
)

func TestTheFirstDifferenceIsTold(t *testing.T) {
	members := []string{"127.1.0.1", "127.2.0.1"}
	agreed := agent.Peer{Address: "127.2.0.1", SchemaVersion: "s", Up: true}
	down, other, stranger := agreed, agreed, agreed
	down.Up, other.SchemaVersion, stranger.Address = false, "t", "127.9.0.1"
	for _, c := range []struct {
		peers []agent.Peer
		told  string
	}{
		{[]agent.Peer{agreed}, ""},
		{nil, "it does not see 127.2.0.1"},
		{[]agent.Peer{down}, "it sees 127.2.0.1 down"},
		{[]agent.Peer{other}, "its schema differs from that of 127.2.0.1"},
		{[]agent.Peer{agreed, stranger}, "it sees 127.9.0.1, which is no member"},
	} {
		if told := disagreement(agent.RingStatus{SchemaVersion: "s", Peers: c.peers}, "127.1.0.1", members); told != c.told {
			t.Errorf("%q, not %q", told, c.told)
		}
	}
}

func TestOnlyWhoIsUnheardOfAndHoldsNothingIsForgotten(t *testing.T) {
	own := []int64{1, 2}
	member := keptPeer{address: "127.2.0.1", tokens: []int64{3, 4}}
	heard := map[string]string{"127.1.0.1": "NORMAL", "127.2.0.1": "NORMAL"}
	for name, c := range map[string]struct {
		peer   keptPeer
		status string
		gone   bool
	}{
		"its tokens are another member's":      {keptPeer{address: "127.9.0.1", tokens: []int64{3, 4}}, "", true},
		"its tokens are this node's":           {keptPeer{address: "127.9.0.1", tokens: []int64{1, 2}}, "", true},
		"its tokens are several members'":      {keptPeer{address: "127.9.0.1", tokens: []int64{2, 3}}, "", true},
		"one of its tokens is nobody else's":   {keptPeer{address: "127.9.0.1", tokens: []int64{3, 5}}, "", false},
		"it has no tokens":                     {keptPeer{address: "127.9.0.1"}, "", false},
		"gossip calls it a member still":       {keptPeer{address: "127.9.0.1", tokens: []int64{3, 4}}, "NORMAL", false},
		"it is a member that is shut down":     {keptPeer{address: "127.9.0.1", tokens: []int64{5}}, "SHUTDOWN", false},
		"another such node holds its tokens":   {keptPeer{address: "127.9.0.1", tokens: []int64{7}}, "", false},
		"gossip knows it and not what it does": {keptPeer{address: "127.9.0.1", tokens: []int64{3}}, "none", false},
	} {
		statuses := maps.Clone(heard)
		switch c.status {
		case "":
		case "none":
			statuses[c.peer.address] = ""
		default:
			statuses[c.peer.address] = c.status
		}
		// Nobody gains tokens from one that is not in gossip itself.
		unheard := keptPeer{address: "127.8.0.1", tokens: []int64{7, 8}}
		if gone := replacedPeers([]keptPeer{member, c.peer, unheard}, statuses, own); slices.Contains(gone, c.peer.address) != c.gone || len(gone) > 1 {
			t.Errorf("%s: %v", name, gone)
		}
	}
}

func TestANodeWhoseHeartbeatStandsStillIsDown(t *testing.T) {
	var seen heartbeats
	start := time.Now()
	for _, look := range []struct {
		after               time.Duration
		generation, version int32
		up                  bool
	}{
		{0, 1, 10, true},
		{5 * time.Second, 1, 10, true},
		{11 * time.Second, 1, 10, false},
		{12 * time.Second, 1, 11, true},
		{30 * time.Second, 1, 11, false},
		{31 * time.Second, 2, 1, true},
	} {
		if up := seen.up("127.1.0.1", look.generation, look.version, start.Add(look.after)); up != look.up {
			t.Errorf("after %s: %v", look.after, up)
		}
	}
}

func TestLastWordsAreTheEnginesLastError(t *testing.T) {
	for _, c := range []struct{ printed, logged, told string }{
		{"Exception (ConfigurationException): bad token\n\tat org.x.Y(Z.java:1)\n", "ERROR earlier\n", "Exception (ConfigurationException): bad token"},
		{"", "INFO up\nERROR [main] address in use\nWARN Exception ignored\nINFO leaving\n", "ERROR [main] address in use"},
		{"Killed\n", "INFO up\n", "Killed"},
		{"WARNING: an old method\n", "INFO up\n", "it said nothing; it may have been killed"},
		{"", "", "it said nothing; it may have been killed"},
	} {
		place := folders{root: t.TempDir()}
		if err := place.make(); err != nil {
			t.Fatal(err)
		}
		write(t, place.output(), c.printed)
		write(t, place.systemLog(), c.logged)
		if told := (program{&Engine{place: place}}).LastWords(); told != c.told {
			t.Errorf("%q, not %q", told, c.told)
		}
	}
	place := folders{root: t.TempDir()}
	if err := place.make(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(place.logs(), "jvm.log"), strings.Repeat("x", 1<<20)+"\nERROR "+strings.Repeat("é", 5000))
	if told := (program{&Engine{place: place}}).LastWords(); len(told) > 500 || !strings.HasPrefix(told, "ERROR") {
		t.Errorf("%d bytes", len(told))
	}
	_ = os.Remove(place.output())
}

func TestOddRolesAndHashesNeverReachTheEngine(t *testing.T) {
	good := SecureParameters{
		AdminUsername: "admin", AdminPasswordHash: "$2a$10$" + strings.Repeat("a", 53), ControlUsername: "ringmaster",
		ControlPassword: "p", ControlPasswordHash: "$2a$04$" + strings.Repeat("b", 53), Datacenter: "local-1",
		SystemAuthReplication: 3, Replication: 3,
	}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*SecureParameters){
		"a quote in a name":      func(p *SecureParameters) { p.AdminUsername = "a'b" },
		"the default superuser":  func(p *SecureParameters) { p.AdminUsername = "cassandra" },
		"one name twice":         func(p *SecureParameters) { p.ControlUsername = "admin" },
		"a password, no hash":    func(p *SecureParameters) { p.AdminPasswordHash = "sesame" },
		"a hash with a quote":    func(p *SecureParameters) { p.AdminPasswordHash = "$2a$10$" + strings.Repeat("'", 53) },
		"a hash of another kind": func(p *SecureParameters) { p.AdminPasswordHash = "$2b$10$" + strings.Repeat("a", 53) },
		"a quote in datacenter":  func(p *SecureParameters) { p.Datacenter = "a': 1}" },
		"no replication":         func(p *SecureParameters) { p.Replication = 0 },
	} {
		spoiled := good
		spoil(&spoiled)
		if err := spoiled.check(); code(err) != "invalid-parameters" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
