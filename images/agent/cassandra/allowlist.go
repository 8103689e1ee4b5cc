package cassandra

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
)

// Groups of addresses, in the engine's own table of them. The control account is limited to the second, which holds the nodes. Roles
// of the customer are limited to both while there is a list: their statements in the console come from the nodes themselves.
const (
	allowGroup = "ringmaster_allowlist"
	nodesGroup = "ringmaster_nodes"
)

// mostCIDRs is how many an allowlist may have: the engine keeps them in memory and in one row.
const mostCIDRs = 500

// beforeLimiting is how long a job waits between telling the engine a group and limiting roles to it for the first
// time: the same job runs on the other nodes, whose engines would otherwise refuse everybody until they know the group.
const beforeLimiting = 2 * time.Second

// AllowlistParameters are those of the job allowlist.
type AllowlistParameters struct {
	// CIDRs are where roles may be used from, for example "10.0.0.0/8". None: from everywhere.
	CIDRs []string `json:"cidrs"`
}

func (p AllowlistParameters) check() error {
	_, err := p.list()
	return err
}

func (p AllowlistParameters) list() ([]netip.Prefix, error) {
	if p.CIDRs == nil || len(p.CIDRs) > mostCIDRs {
		return nil, agent.Errorf("invalid-parameters", "cidrs must be a list of at most %d; an empty one lets everybody in", mostCIDRs)
	}
	list := make([]netip.Prefix, 0, len(p.CIDRs))
	for _, text := range p.CIDRs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is4In6() {
			return nil, agent.Errorf("invalid-parameters", "%q is no CIDR such as 10.0.0.0/8 or 2001:db8::/32", text)
		}
		if prefix != prefix.Masked() {
			return nil, agent.Errorf("invalid-parameters", "%q has bits below its mask; %s was meant, or another mask", text, prefix.Masked())
		}
		list = append(list, prefix)
	}
	return widest(list), nil
}

// widest leaves out what lies within another of the list, and sorts the rest.
func widest(list []netip.Prefix) []netip.Prefix {
	var kept []netip.Prefix
	for index, prefix := range list {
		within := slices.ContainsFunc(list, func(other netip.Prefix) bool {
			return other.Bits() < prefix.Bits() && other.Contains(prefix.Addr())
		})
		if !within && !slices.Contains(list[:index], prefix) {
			kept = append(kept, prefix)
		}
	}
	slices.SortFunc(kept, comparePrefixes)
	return kept
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// addressGroups are the rows of the engine's table, sorted.
type addressGroups map[string][]netip.Prefix

// wantedGroups are the rows for a list and the nodes' addresses. The engine goes by the narrowest entry that holds an
// address, whatever its group. So that a node's address is not hidden from the list by the entry that the node has for
// itself, it is entered in the list's group as well when the list holds it.
func wantedGroups(list []netip.Prefix, nodes []netip.Addr) addressGroups {
	groups := addressGroups{}
	for _, node := range nodes {
		single := netip.PrefixFrom(node, node.BitLen())
		groups[nodesGroup] = append(groups[nodesGroup], single)
		if slices.ContainsFunc(list, func(prefix netip.Prefix) bool { return prefix.Contains(node) && prefix != single }) {
			groups[allowGroup] = append(groups[allowGroup], single)
		}
	}
	if len(list) > 0 {
		groups[allowGroup] = append(groups[allowGroup], list...)
	}
	for name, entries := range groups {
		slices.SortFunc(entries, comparePrefixes)
		groups[name] = slices.Compact(entries)
	}
	return groups
}

// list is what the job allowlist was told, without entries that lie within others.
func (g addressGroups) list() []netip.Prefix { return widest(g[allowGroup]) }

// readGroups reads all rows of the engine's table.
func readGroups(ctx context.Context, conn *cql.Conn) (addressGroups, error) {
	rows, err := conn.Query(ctx, cql.LocalQuorum, "SELECT cidr_group, cidrs FROM system_auth.cidr_groups")
	if err != nil {
		return nil, err
	}
	groups := addressGroups{}
	for _, row := range rows {
		elements, _ := row["cidrs"].([]any)
		entries := make([]netip.Prefix, 0, len(elements))
		for _, element := range elements {
			content, _ := element.([]byte)
			prefix, err := decodePrefix(content)
			if err != nil {
				return nil, err
			}
			entries = append(entries, prefix)
		}
		slices.SortFunc(entries, comparePrefixes)
		groups[row.Text("cidr_group")] = entries
	}
	return groups, nil
}

// decodePrefix reads a tuple of address and number of bits, each with its length before it.
func decodePrefix(content []byte) (netip.Prefix, error) {
	var parts [2][]byte
	for index := range parts {
		if len(content) < 4 || int64(binary.BigEndian.Uint32(content)) > int64(len(content)-4) {
			return netip.Prefix{}, fmt.Errorf("unreadable CIDR %x", content)
		}
		length := binary.BigEndian.Uint32(content)
		parts[index], content = content[4:4+length], content[4+length:]
	}
	address, ok := netip.AddrFromSlice(parts[0])
	if !ok || len(parts[1]) != 2 {
		return netip.Prefix{}, fmt.Errorf("unreadable CIDR %x", parts)
	}
	return netip.PrefixFrom(address, int(binary.BigEndian.Uint16(parts[1]))), nil
}

// writeGroup replaces a row.
func writeGroup(ctx context.Context, conn *cql.Conn, name string, entries []netip.Prefix) error {
	tuples := make([]string, len(entries))
	for index, entry := range entries {
		tuples[index] = fmt.Sprintf("(%s, %d)", quotedText(entry.Addr().String()), entry.Bits())
	}
	_, err := conn.Query(ctx, cql.EachQuorum, fmt.Sprintf("UPDATE system_auth.cidr_groups SET cidrs = {%s} WHERE cidr_group = %s",
		strings.Join(tuples, ", "), quotedText(name)))
	return err
}

// cidrs are where a role may be used from, as the job roles tells it.
func (r role) cidrs(groups addressGroups) []string {
	var entries []netip.Prefix
	for _, group := range r.addressGroups {
		if group == nodesGroup {
			continue
		}
		entries = append(entries, groups[group]...)
	}
	texts := []string{}
	for _, entry := range widest(entries) {
		texts = append(texts, entry.String())
	}
	return texts
}

func limitTo(role string, groups ...string) string {
	if len(groups) == 0 {
		return "ALTER ROLE " + quotedName(role) + " WITH ACCESS FROM ALL CIDRS"
	}
	for index, group := range groups {
		groups[index] = quotedText(group)
	}
	return "ALTER ROLE " + quotedName(role) + " WITH ACCESS FROM CIDRS {" + strings.Join(groups, ", ") + "}"
}

// limitAddresses limits one role to the list there is, or to nothing when there is none.
func (e *Engine) limitAddresses(ctx context.Context, conn *cql.Conn, name string) error {
	roles, err := readRoles(ctx, conn)
	if err != nil {
		return err
	}
	groups, err := readGroups(ctx, conn)
	if err != nil {
		return err
	}
	statement := roles[name].limitation(len(groups[allowGroup]) > 0)
	if statement == "" {
		return nil
	}
	_, err = conn.Query(ctx, cql.LocalQuorum, statement)
	return err
}

// limitation is the statement that limits a role of the customer to the list or lets it go; empty when it is so already.
// Limits that somebody else set stay while there is no list.
func (r role) limitation(listed bool) string {
	wanted := []string{allowGroup, nodesGroup}
	is := slices.Equal(slices.Sorted(slices.Values(r.addressGroups)), wanted)
	switch {
	case !r.canLogin:
		return ""
	case listed && !is:
		return limitTo(r.name, wanted...)
	case !listed && slices.Contains(r.addressGroups, allowGroup):
		return limitTo(r.name)
	}
	return ""
}

func (e *Engine) allowlist(ctx context.Context, parameters AllowlistParameters, report agent.Report) (Nothing, error) {
	list, err := parameters.list()
	if err != nil {
		return Nothing{}, err
	}
	return Nothing{}, e.access(ctx, func(ctx context.Context, conn *cql.Conn, control string) error {
		report(0.1, "Reading roles and addresses")
		ring, err := e.readRing(ctx, conn)
		if err != nil {
			return err
		}
		self, err := e.ownAddress()
		if err != nil {
			return err
		}
		nodes, err := nodeAddresses(ring, self)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			report(0.2, "Putting roles and addresses on every node")
			if err := e.spreadAuth(ctx, conn, ring); err != nil {
				return err
			}
		}
		wanted := wantedGroups(list, nodes)
		before, err := readGroups(ctx, conn)
		if err != nil {
			return err
		}
		roles, err := readRoles(ctx, conn)
		if err != nil {
			return err
		}
		delete(roles, control)
		report(0.3, "Telling the engine the addresses")
		if len(list) > 0 {
			if err := e.putGroups(ctx, conn, before, wanted); err != nil {
				return err
			}
		}
		first := true
		for _, found := range roles {
			statement := found.limitation(len(list) > 0)
			if statement == "" {
				continue
			}
			if first && len(list) > 0 && !slices.Equal(before[allowGroup], wanted[allowGroup]) {
				report(0.5, "Letting the other nodes hear of it")
				if err := pause(ctx, beforeLimiting); err != nil {
					return err
				}
			}
			first = false
			if _, err := conn.Query(ctx, cql.LocalQuorum, statement); err != nil {
				return err
			}
		}
		if len(list) == 0 && len(before[allowGroup]) > 0 {
			// Only now: a role limited to a group that is gone could be used from nowhere.
			if _, err := conn.Query(ctx, cql.EachQuorum, "DELETE FROM system_auth.cidr_groups WHERE cidr_group = "+quotedText(allowGroup)); err != nil {
				return err
			}
			if err := e.reloadGroups(ctx); err != nil {
				return err
			}
		}
		report(0.8, "Looking after the control account")
		if err := e.fence(ctx, conn, ring); err != nil {
			return err
		}
		e.forgetRoles(ctx)
		return nil
	})
}

// putGroups writes the rows that differ, and makes this engine use all of them: it looks by itself only once a minute.
func (e *Engine) putGroups(ctx context.Context, conn *cql.Conn, before, wanted addressGroups) error {
	for name, entries := range wanted {
		if slices.Equal(before[name], entries) {
			continue
		}
		if err := writeGroup(ctx, conn, name, entries); err != nil {
			return err
		}
	}
	// The engine reads its own copy, which a write that was answered by others reaches a moment later.
	for {
		if err := e.reloadGroups(ctx); err != nil {
			return err
		}
		missing, err := e.unknownEntry(ctx, wanted)
		if err != nil || missing == "" {
			return err
		}
		if err := pause(ctx, retryPause); err != nil {
			return fmt.Errorf("%w; the engine does not know %s", err, missing)
		}
	}
}

// unknownEntry is an entry that the running engine does not go by, or empty. The narrowest of each group is looked at.
func (e *Engine) unknownEntry(ctx context.Context, wanted addressGroups) (string, error) {
	for name, entries := range wanted {
		narrowest := slices.MaxFunc(entries, func(a, b netip.Prefix) int { return cmp.Compare(a.Bits(), b.Bits()) })
		groups, err := e.groupsOf(ctx, narrowest.Addr())
		if err != nil {
			return "", err
		}
		if !slices.Contains(groups, name) {
			return fmt.Sprintf("%s as %s", narrowest, name), nil
		}
	}
	return "", nil
}

// nodeAddresses are those of all nodes of the ring, this one's too.
func nodeAddresses(ring agent.RingStatus, self netip.Addr) ([]netip.Addr, error) {
	addresses := []netip.Addr{self}
	for _, peer := range ring.Peers {
		address, err := netip.ParseAddr(peer.Address)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// authLacking is empty when every node holds all of system_auth; else it tells what is missing. The engine reads groups of
// addresses from its own copy only, and a node without one would let nobody in.
func authLacking(ctx context.Context, conn *cql.Conn, nodes map[string]int) (string, error) {
	placed, err := cqlschema.ReadReplication(ctx, conn, "system_auth")
	if err != nil {
		return "", err
	}
	for datacenter, there := range nodes {
		if factor := placed.Factors[datacenter]; placed.Class != networkTopology || factor < there {
			return fmt.Sprintf("system_auth is on %d of the %d nodes of %s", factor, there, datacenter), nil
		}
	}
	return "", nil
}

// spreadAuth puts system_auth on every node, where it is not. The number of replicas is at most doubled at a time, and all
// rows are then read at ALL, which gives every replica what it lacks: so a quorum of the new replicas always holds every
// role. Error code: auth-not-everywhere.
func (e *Engine) spreadAuth(ctx context.Context, conn *cql.Conn, ring agent.RingStatus) error {
	nodes := nodesByDatacenter(ring, false)
	for {
		lacking, err := authLacking(ctx, conn, nodes)
		if err != nil || lacking == "" {
			return err
		}
		placed, err := cqlschema.ReadReplication(ctx, conn, "system_auth")
		if err != nil {
			return err
		}
		if _, err := conn.Query(ctx, cql.Quorum, alterReplication(doubled(placed, nodes))); err != nil {
			return err
		}
		if err := e.schemaAgreed(ctx, conn); err != nil {
			return err
		}
		tables, err := conn.Query(ctx, cql.One, "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'system_auth'")
		if err != nil {
			return err
		}
		for _, row := range tables {
			if _, err := conn.Query(ctx, cql.All, "SELECT * FROM system_auth."+quotedName(row.Text("table_name"))); err != nil {
				return agent.Errorf("auth-not-everywhere", "%s. The engine takes addresses from its own copy only, and the others could not be "+
					"brought up to date: %v", lacking, err)
			}
		}
	}
}

// doubled is system_auth on up to twice as many nodes of each data centre, on all of one that had none of it.
func doubled(r cqlschema.Replication, nodes map[string]int) KeyspaceReplication {
	next := KeyspaceReplication{Name: "system_auth", Replication: map[string]int{}}
	if r.Class == networkTopology {
		maps.Copy(next.Replication, r.Factors)
	}
	for datacenter, there := range nodes {
		if has := next.Replication[datacenter]; has == 0 {
			next.Replication[datacenter] = there
		} else if has < there {
			next.Replication[datacenter] = min(there, 2*has)
		}
	}
	return next
}
