package cassandra

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// The control account is a superuser, so it may be used from the nodes' own addresses only. The agents see to that: each
// compares now and then what the engine's tables say with the ring it sees, and puts right what differs. All agents want
// the same, so it does not matter which of them is first.

// fenceEvery is how often it is looked at when nothing seems to have changed. A change of the ring is looked at at once,
// but a node that went counts as gone only after fenceSettled: until then agents may see different rings.
const (
	fenceEvery   = 5 * time.Minute
	fenceSettled = 30 * time.Second
)

// fenceWatch remembers when the fence was looked at, and for which nodes.
type fenceWatch struct {
	mu        sync.Mutex
	nodes     []netip.Addr
	changedAt time.Time
	lookedAt  time.Time
}

// due tells whether to look, and whether the nodes have been the same for long enough to take others out.
func (w *fenceWatch) due(nodes []netip.Addr, now time.Time) (look, settled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.nodes == nil
	if changed := !slices.Equal(w.nodes, nodes); changed {
		w.nodes, w.changedAt = nodes, now
		// A young ring is left in peace until it has come together.
		look = !first
	}
	settled = now.Sub(w.changedAt) >= fenceSettled
	if settled && (w.lookedAt.Before(w.changedAt.Add(fenceSettled)) || now.Sub(w.lookedAt) >= fenceEvery) {
		look = true
	}
	if look {
		w.lookedAt = now
	}
	return look, settled
}

// failed makes it due again soon.
func (w *fenceWatch) failed(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookedAt = now.Add(fenceSettled - fenceEvery)
}

// keepFence looks after the fence when it is due.
func (e *Engine) keepFence(ctx context.Context, conn *cql.Conn, ring agent.RingStatus) {
	self, err := e.ownAddress()
	if err != nil {
		return
	}
	nodes, err := nodeAddresses(ring, self)
	if err != nil {
		return
	}
	slices.SortFunc(nodes, netip.Addr.Compare)
	look, settled := e.fenceWatch.due(nodes, time.Now())
	if !look {
		return
	}
	if err := e.fenceFor(ctx, conn, ring, nodes, settled); err != nil {
		e.fenceWatch.failed(time.Now())
		e.log.Warn("the control account's addresses could not be looked after", "error", err)
	}
}

// fence limits the control account to the nodes now.
func (e *Engine) fence(ctx context.Context, conn *cql.Conn, ring agent.RingStatus) error {
	self, err := e.ownAddress()
	if err != nil {
		return err
	}
	nodes, err := nodeAddresses(ring, self)
	if err != nil {
		return err
	}
	return e.fenceFor(ctx, conn, ring, nodes, false)
}

// fenceFor makes the groups hold the nodes and limits the control account to them. While some node has no copy of
// system_auth it lets the account go instead: that node's engine would refuse it.
func (e *Engine) fenceFor(ctx context.Context, conn *cql.Conn, ring agent.RingStatus, nodes []netip.Addr, settled bool) error {
	account, err := e.control.remembered()
	if err != nil {
		return err
	}
	if err := strongEnough(ctx, conn, account.Username); err != nil {
		if agent.AsError(err).Code == "control-too-weak" {
			return nil
		}
		return err
	}
	roles, err := readRoles(ctx, conn)
	if err != nil {
		return err
	}
	limited := slices.Equal(roles[account.Username].addressGroups, []string{nodesGroup})
	lacking, err := authLacking(ctx, conn, nodesByDatacenter(ring, true))
	switch {
	case err != nil:
		return err
	case lacking != "" && limited:
		_, err := conn.Query(ctx, cql.LocalQuorum, limitTo(account.Username))
		return err
	case lacking != "":
		return nil
	}
	groups, err := readGroups(ctx, conn)
	if err != nil {
		return err
	}
	if !settled {
		for _, entry := range groups[nodesGroup] {
			if !slices.Contains(nodes, entry.Addr()) {
				nodes = append(nodes, entry.Addr())
			}
		}
	}
	if err := e.putGroups(ctx, conn, groups, wantedGroups(groups.list(), nodes)); err != nil {
		return err
	}
	if limited {
		return nil
	}
	_, err = conn.Query(ctx, cql.LocalQuorum, limitTo(account.Username, nodesGroup))
	return err
}

// ownAddress is where this node listens and where its agent connects from.
func (e *Engine) ownAddress() (netip.Addr, error) {
	config, err := e.configured()
	if err != nil {
		return netip.Addr{}, err
	}
	return netip.ParseAddr(config.Address)
}

// shutOut tells whether the engine refused a statement because of the address it came from.
func shutOut(err error) bool {
	var refusal *cql.Error
	return errors.As(err, &refusal) && refusal.Code == cql.CodeUnauthorized && strings.Contains(refusal.Message, "from this IP")
}

// letIn makes the engine beside us accept this node's address when it does not know it yet, as on a node that just
// joined: first it reads its table anew, then, if the address is missing there, it is made to write it.
func (e *Engine) letIn(ctx context.Context) error {
	self, err := e.ownAddress()
	if err != nil {
		return err
	}
	if err := e.reloadGroups(ctx); err != nil {
		return err
	}
	groups, err := e.groupsOf(ctx, self)
	if err != nil || slices.Contains(groups, nodesGroup) {
		return err
	}
	var entries []string
	if err := e.exec(ctx, &entries, addressGroupsBean, "getCidrsOfCidrGroupAsStrings", nodesGroup); err != nil {
		return err
	}
	entries = append(entries, netip.PrefixFrom(self, self.BitLen()).String())
	if err := e.exec(ctx, nil, addressGroupsBean, "updateCidrGroup", nodesGroup, entries); err != nil {
		return err
	}
	return e.reloadGroups(ctx)
}

// reloadGroups makes the engine read its table of groups anew.
func (e *Engine) reloadGroups(ctx context.Context) error {
	return e.exec(ctx, nil, addressGroupsBean, "loadCidrGroupsCache")
}

// groupsOf are the groups that the running engine finds an address in.
func (e *Engine) groupsOf(ctx context.Context, address netip.Addr) ([]string, error) {
	var groups []string
	err := e.exec(ctx, &groups, addressGroupsBean, "getCidrGroupsOfIP", address.String())
	return groups, err
}

// forgetRoles makes this engine look at roles, permissions and passwords anew. It does so by itself within five seconds,
// as the other nodes do, unless their keeping was set longer; so a failure is only told.
func (e *Engine) forgetRoles(ctx context.Context) {
	for _, cache := range roleCaches {
		if err := e.exec(ctx, nil, roleCacheBean(cache), "invalidate"); err != nil {
			e.log.Info("the engine keeps what it knows of roles a little longer", "cache", cache, "error", err)
			return
		}
	}
}
