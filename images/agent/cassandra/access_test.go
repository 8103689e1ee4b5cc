package cassandra

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/agent/cqlschema"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestNamesAreQuotedSoThatNoneEndsItsStatement(t *testing.T) {
	for name, quoted := range map[string]string{
		"ann": `"ann"`, "Ann-Marie": `"Ann-Marie"`, `x" WITH SUPERUSER = true; --`: `"x"" WITH SUPERUSER = true; --"`, "Müller": `"Müller"`,
	} {
		if err := checkRoleName("name", name); err != nil || quotedName(name) != quoted {
			t.Errorf("%s: %s %v", name, quotedName(name), err)
		}
	}
	for _, name := range []string{"", " ann", "ann ", "o'neil", "a/b", "a\nb", "a\x00b", "\xff", strings.Repeat("x", 129)} {
		if code(checkRoleName("name", name)) != "invalid-parameters" {
			t.Errorf("%q is accepted", name)
		}
	}
	if quotedText("it's") != "'it''s'" {
		t.Error(quotedText("it's"))
	}
}

func TestResourcesAreReadAndSaidInCQL(t *testing.T) {
	for text, statement := range map[string]string{
		"data": "ALL KEYSPACES", "data/Shop": `KEYSPACE "Shop"`, "data/shop/*": `ALL TABLES IN KEYSPACE "shop"`, "data/shop/orders": `TABLE "shop"."orders"`,
		"roles": "ALL ROLES", "roles/Ann Marie": `ROLE "Ann Marie"`, "functions": "ALL FUNCTIONS", "functions/shop": `ALL FUNCTIONS IN KEYSPACE "shop"`,
	} {
		if parsed, err := parseResource(text); err != nil || parsed.statement() != statement {
			t.Errorf("%s: %s %v", text, parsed.statement(), err)
		}
	}
	for _, text := range []string{"", "data/", "data/a b", `data/a"b`, "data/shop/orders/x", "data//orders", "roles/", "roles/a/b", "roles/a'b", "mbean", "functions/shop/f[int]", "keyspace"} {
		if _, err := parseResource(text); code(err) != "invalid-parameters" {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestPermissionsMustApplyToTheirResource(t *testing.T) {
	for _, row := range []struct {
		resource    string
		asked, want []string
		code        string
	}{
		{"data/shop/orders", []string{"SELECT", "MODIFY", "SELECT"}, []string{"MODIFY", "SELECT"}, ""},
		{"roles/ann", []string{"ALL"}, []string{"ALTER", "DROP", "AUTHORIZE", "DESCRIBE"}, ""},
		{"data/shop/orders", []string{"CREATE"}, nil, "permission-not-applicable"},
		{"roles", []string{"SELECT"}, nil, "permission-not-applicable"},
		{"functions", []string{"EXECUTE"}, []string{"EXECUTE"}, ""},
		{"data", []string{"SELECT ON ALL KEYSPACES TO x; --"}, nil, "permission-not-applicable"},
	} {
		parsed, err := parseResource(row.resource)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parsed.permissions(row.asked); code(err) != row.code || !slices.Equal(got, row.want) {
			t.Errorf("%s %v: %v %v", row.resource, row.asked, got, err)
		}
	}
}

func TestRolesAreChangedByOneStatement(t *testing.T) {
	yes, no := true, false
	hash := "$2a$04$" + strings.Repeat("x", 53)
	roles := map[string]role{
		"admin":      {name: "admin", superuser: true, canLogin: true},
		"ringmaster": {name: "ringmaster", superuser: true, canLogin: true},
		"ann":        {name: "ann", canLogin: true, hash: hash},
	}
	for _, row := range []struct {
		change    RoleChange
		statement string
		code      string
	}{
		{RoleChange{Action: "create", Name: "Bob-1", PasswordHash: hash, CanLogin: &yes}, `CREATE ROLE IF NOT EXISTS "Bob-1" WITH HASHED PASSWORD = '` + hash + `' AND LOGIN = true`, ""},
		{RoleChange{Action: "create", Name: "group"}, `CREATE ROLE IF NOT EXISTS "group"`, ""},
		{RoleChange{Action: "create", Name: "ann", PasswordHash: hash, CanLogin: &yes}, "", ""},
		{RoleChange{Action: "create", Name: "ann", CanLogin: &yes}, "", "role-exists"},
		{RoleChange{Action: "alter", Name: "ann", CanLogin: &no}, `ALTER ROLE "ann" WITH LOGIN = false`, ""},
		{RoleChange{Action: "alter", Name: "nobody", CanLogin: &no}, "", "unknown-role"},
		{RoleChange{Action: "drop", Name: "ann"}, `DROP ROLE IF EXISTS "ann"`, ""},
		{RoleChange{Action: "drop", Name: "nobody"}, "", ""},
		{RoleChange{Action: "alter", Name: "admin", PasswordHash: hash}, `ALTER ROLE "admin" WITH HASHED PASSWORD = '` + hash + `'`, ""},
		{RoleChange{Action: "drop", Name: "admin"}, "", "role-protected"},
		{RoleChange{Action: "alter", Name: "admin", IsSuperuser: &no}, "", "role-protected"},
		{RoleChange{Action: "alter", Name: "ringmaster", PasswordHash: hash}, "", "role-protected"},
		{RoleChange{Action: "create", Name: "cassandra"}, "", "role-protected"},
	} {
		if err := row.change.check(); err != nil {
			t.Errorf("%+v: %v", row.change, err)
		}
		if statement, err := row.change.statement(roles, "ringmaster"); statement != row.statement || code(err) != row.code {
			t.Errorf("%+v: %s %v", row.change, statement, err)
		}
	}
	roles["second"] = role{name: "second", superuser: true, canLogin: true}
	if _, err := (RoleChange{Action: "drop", Name: "admin"}).statement(roles, "ringmaster"); err != nil {
		t.Errorf("one of two administrators: %v", err)
	}
	if _, err := (RoleChange{Action: "drop", Name: "admin", Administrator: "admin"}).statement(roles, "ringmaster"); code(err) != "role-protected" {
		t.Errorf("the administrator that was named: %v", err)
	}
}

func TestMembershipsMakeNoCircle(t *testing.T) {
	roles := map[string]role{"a": {memberOf: []string{"b"}}, "b": {memberOf: []string{"c"}}, "c": {}}
	for _, row := range []struct {
		member, of string
		granting   bool
		statement  string
		code       string
	}{
		{"c", "a", true, "", "membership-cycle"}, {"a", "a", true, "", "membership-cycle"}, {"a", "b", true, "", ""}, {"a", "c", true, "", ""},
		{"c", "d", true, `GRANT "d" TO "c"`, ""}, {"a", "b", false, `REVOKE "b" FROM "a"`, ""}, {"a", "c", false, "", ""},
	} {
		statements, err := membership(roles, row.member, row.of, row.granting)
		if strings.Join(statements, ";") != row.statement || code(err) != row.code {
			t.Errorf("%+v: %v %v", row, statements, err)
		}
	}
}

func TestAnAllowlistIsChecked(t *testing.T) {
	for _, cidrs := range [][]string{nil, {"10.0.0.0"}, {"10.0.0.1/8"}, {"10.0.0.0/33"}, {"::ffff:10.0.0.0/104"}, {"x"}, make([]string, 501)} {
		if _, err := (AllowlistParameters{CIDRs: cidrs}).list(); code(err) != "invalid-parameters" {
			t.Errorf("%v is accepted", cidrs)
		}
	}
	list, err := AllowlistParameters{CIDRs: []string{"192.168.0.0/16", "10.1.0.0/16", "10.0.0.0/8", "10.0.0.0/8", "2001:db8::/32"}}.list()
	if err != nil || !slices.Equal(list, prefixes("10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32")) {
		t.Error(list, err)
	}
}

func TestANodesOwnEntryDoesNotHideItFromTheList(t *testing.T) {
	nodes := []netip.Addr{netip.MustParseAddr("127.1.2.3"), netip.MustParseAddr("10.0.0.7")}
	groups := wantedGroups(prefixes("127.0.0.0/8"), nodes)
	if !slices.Equal(groups[allowGroup], prefixes("127.0.0.0/8", "127.1.2.3/32")) || !slices.Equal(groups[nodesGroup], prefixes("10.0.0.7/32", "127.1.2.3/32")) {
		t.Errorf("%v", groups)
	}
	if list := groups.list(); !slices.Equal(list, prefixes("127.0.0.0/8")) {
		t.Errorf("%v", list)
	}
	if groups := wantedGroups(prefixes("127.1.2.3/32"), nodes); !slices.Equal(groups.list(), prefixes("127.1.2.3/32")) {
		t.Errorf("%v", groups)
	}
	if groups := wantedGroups(nil, nodes); len(groups[allowGroup]) != 0 {
		t.Errorf("%v", groups)
	}
}

func TestPrefixesAreReadFromTuples(t *testing.T) {
	if prefix, err := decodePrefix([]byte{0, 0, 0, 4, 10, 0, 0, 0, 0, 0, 0, 2, 0, 8}); err != nil || prefix != netip.MustParsePrefix("10.0.0.0/8") {
		t.Error(prefix, err)
	}
	for _, broken := range [][]byte{nil, {0, 0, 0, 4, 10}, {0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 2, 0, 8}, {255, 255, 255, 255, 0, 0, 0, 2, 0, 8}} {
		if prefix, err := decodePrefix(broken); err == nil {
			t.Errorf("%x is %s", broken, prefix)
		}
	}
}

func TestOnlyRolesThatLogInAreLimited(t *testing.T) {
	for _, row := range []struct {
		role      role
		listed    bool
		statement string
	}{
		{role{name: "Ann", canLogin: true}, true, `ALTER ROLE "Ann" WITH ACCESS FROM CIDRS {'ringmaster_allowlist', 'ringmaster_nodes'}`},
		{role{name: "Ann", canLogin: true, addressGroups: []string{allowGroup}}, true, `ALTER ROLE "Ann" WITH ACCESS FROM CIDRS {'ringmaster_allowlist', 'ringmaster_nodes'}`},
		{role{name: "Ann", canLogin: true, addressGroups: []string{allowGroup, nodesGroup}}, true, ""},
		{role{name: "Ann", canLogin: true, addressGroups: []string{allowGroup, nodesGroup}}, false, `ALTER ROLE "Ann" WITH ACCESS FROM ALL CIDRS`},
		{role{name: "Ann", canLogin: true, addressGroups: []string{allowGroup}}, false, `ALTER ROLE "Ann" WITH ACCESS FROM ALL CIDRS`},
		{role{name: "Ann", canLogin: true, addressGroups: []string{"own"}}, false, ""},
		{role{name: "Ann"}, true, ""},
	} {
		if statement := row.role.limitation(row.listed); statement != row.statement {
			t.Errorf("%+v: %s", row, statement)
		}
	}
}

func TestTheFenceIsLookedAtWhenTheRingChanges(t *testing.T) {
	one, two := []netip.Addr{netip.MustParseAddr("10.0.0.1")}, []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	var watch fenceWatch
	began := time.Now()
	for _, row := range []struct {
		after         time.Duration
		nodes         []netip.Addr
		look, settled bool
	}{
		{0, one, false, false}, {29 * time.Second, one, false, false}, {30 * time.Second, one, true, true}, {32 * time.Second, one, false, true},
		{40 * time.Second, two, true, false}, {42 * time.Second, two, false, false}, {71 * time.Second, two, true, true},
		{73 * time.Second, two, false, true}, {371 * time.Second, two, true, true},
	} {
		if look, settled := watch.due(row.nodes, began.Add(row.after)); look != row.look || settled != row.settled {
			t.Errorf("%+v: %t %t", row, look, settled)
		}
	}
}

func TestReplicationNeedsEnoughNodes(t *testing.T) {
	nodes := map[string]int{"east": 3, "west": 1}
	network := cqlschema.Replication{Class: networkTopology}
	for _, row := range []struct {
		found  cqlschema.Replication
		wanted map[string]int
		code   string
	}{
		{network, map[string]int{"east": 3, "west": 1}, ""}, {network, map[string]int{"east": 4}, "not-enough-nodes"},
		{network, map[string]int{"north": 1}, "unknown-datacenter"}, {cqlschema.Replication{Class: "LocalStrategy"}, map[string]int{"east": 1}, "keyspace-protected"},
		{cqlschema.Replication{Class: "SimpleStrategy"}, map[string]int{"east": 1}, ""},
	} {
		if err := (KeyspaceReplication{Name: "shop", Replication: row.wanted}).possible(row.found, nodes); code(err) != row.code {
			t.Errorf("%+v: %v", row, err)
		}
	}
	said := alterReplication(KeyspaceReplication{Name: "Shop", Replication: map[string]int{"west": 1, "east": 3}})
	if said != `ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'east': 3, 'west': 1}` {
		t.Error(said)
	}
	for _, wanted := range []KeyspaceReplication{{Name: "a b", Replication: map[string]int{"e": 1}}, {Name: "a"}, {Name: "a", Replication: map[string]int{"e": 0}}, {Name: "a", Replication: map[string]int{"e": -1, "w": 2}}, {Name: "a", Replication: map[string]int{"e'": 1}}} {
		if code((ReplicateParameters{Keyspaces: []KeyspaceReplication{wanted}}).check()) != "invalid-parameters" {
			t.Errorf("%+v is accepted", wanted)
		}
	}
	if read := cqlschema.ParseReplication(map[string]any{"replication": map[string]any{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "east": "3/1"}}); read.Class != networkTopology || read.Factors["east"] != 3 {
		t.Errorf("%+v", read)
	}
}

func TestRolesAreSpreadStepByStep(t *testing.T) {
	for _, row := range []struct {
		placed cqlschema.Replication
		want   map[string]int
	}{
		{cqlschema.Replication{Class: networkTopology, Factors: map[string]int{"east": 3}}, map[string]int{"east": 6, "west": 2}},
		{cqlschema.Replication{Class: networkTopology, Factors: map[string]int{"east": 6, "west": 3}}, map[string]int{"east": 8, "west": 3}},
		{cqlschema.Replication{Class: "SimpleStrategy", Factors: map[string]int{"replication_factor": 1}}, map[string]int{"east": 8, "west": 2}},
	} {
		if next := doubled(row.placed, map[string]int{"east": 8, "west": 2}); !maps.Equal(next.Replication, row.want) {
			t.Errorf("%+v: %v", row.placed, next.Replication)
		}
	}
}
