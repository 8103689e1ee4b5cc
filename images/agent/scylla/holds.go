package scylla

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/backup"
	"ringmaster/agent/cql"
	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/statefile"
)

// holds are why tablets do not move now, by the names of whoever asked for that. They outlive the agent: as long as one is in the
// file, this agent puts the balancing of tablets on again when the time of the last is over.
type holds struct {
	Until map[string]time.Time `json:"until"`
	// WasOff: somebody had put the balancing off before the first; so it stays.
	WasOff bool `json:"was_off"`
}

func (e *Engine) holdsPath() string { return filepath.Join(e.place.root, "tablets-held.json") }

func (e *Engine) readHolds() (holds, error) {
	found := holds{}
	err := statefile.ReadJSON(e.holdsPath(), &found)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if found.Until == nil {
		found.Until = map[string]time.Time{}
	}
	return found, err
}

// holdParameters are those of the job hold-tablets.
type holdParameters struct{ agent.HoldTabletsParameters }

func (p holdParameters) check() error {
	const longest = 24 * 3600
	if p.Seconds < 1 || p.Seconds > longest {
		return agent.Errorf("invalid-parameters", "seconds must be 1 to %d", longest)
	}
	return backup.CheckName("name", p.Name)
}

// holdTablets puts the balancing of tablets off for the whole ring, and waits until none moves. It is put on again by release-tablets,
// and at the latest when the time is over. Error codes, besides those of asControl: hold-failed.
func (e *Engine) holdTablets(ctx context.Context, p holdParameters, report agent.Report) (agent.TabletsHeld, error) {
	e.holding.Lock()
	defer e.holding.Unlock()
	held, err := e.readHolds()
	if err != nil {
		return agent.TabletsHeld{}, err
	}
	if len(held.Until) == 0 {
		if err := e.asControl(ctx, func(ctx context.Context, conn session) error {
			rows, err := conn.Query(ctx, cql.One, "SELECT tablet_balancing_enabled FROM system.topology WHERE key = 'topology'")
			held.WasOff = false
			for _, row := range rows {
				if on, told := row["tablet_balancing_enabled"].(bool); told {
					held.WasOff = !on
				}
			}
			return err
		}); err != nil {
			return agent.TabletsHeld{}, err
		}
	}
	held.Until[p.Name] = time.Now().UTC().Add(time.Duration(p.Seconds) * time.Second)
	// Noted first: whatever happens then, it is put on again.
	if err := statefile.WriteJSON(e.holdsPath(), held); err != nil {
		return agent.TabletsHeld{}, err
	}
	report(0.1, "Putting the balancing of tablets off")
	if err := e.api.SetBalancing(ctx, false); err != nil {
		return agent.TabletsHeld{}, withCode("hold-failed", err)
	}
	report(0.3, "Waiting until no tablet moves any more")
	// A version without the call has waited when it put the balancing off.
	if err := e.api.Quiesce(ctx); err != nil && !unknownCall(err) {
		return agent.TabletsHeld{}, withCode("hold-failed", err)
	}
	held.Until[p.Name] = time.Now().UTC().Add(time.Duration(p.Seconds) * time.Second)
	return agent.TabletsHeld{Until: held.Until[p.Name]}, statefile.WriteJSON(e.holdsPath(), held)
}

// unknownCall tells whether the engine's API does not have what was called.
func unknownCall(err error) bool {
	refusal := scyllaapi.Refusal(err)
	return refusal != nil && refusal.Status == http.StatusNotFound
}

// releaseParameters are those of the job release-tablets.
type releaseParameters struct{ agent.ReleaseTabletsParameters }

func (p releaseParameters) check() error { return backup.CheckName("name", p.Name) }

// releaseTablets ends a hold; with the last one the balancing is put on again. Error codes: engine-not-running, release-failed.
func (e *Engine) releaseTablets(ctx context.Context, p releaseParameters, _ agent.Report) (Nothing, error) {
	if err := e.isRunning(); err != nil {
		return Nothing{}, err
	}
	e.holding.Lock()
	defer e.holding.Unlock()
	held, err := e.readHolds()
	if err != nil {
		return Nothing{}, err
	}
	if _, known := held.Until[p.Name]; !known && !p.Anyway {
		return Nothing{}, nil
	}
	delete(held.Until, p.Name)
	return Nothing{}, e.untilAnswered(ctx, func() error { return e.balanceUnless(ctx, held) })
}

// balanceUnless puts the balancing on again when nothing holds tablets any more, and keeps what was changed.
func (e *Engine) balanceUnless(ctx context.Context, held holds) error {
	if len(held.Until) == 0 && !held.WasOff {
		if err := e.api.SetBalancing(ctx, true); err != nil {
			if refusal := scyllaapi.Refusal(err); refusal != nil {
				return agent.Errorf("release-failed", "The balancing of tablets could not be put on again: %s", shortened(refusal.Message))
			}
			return err
		}
	}
	return statefile.WriteJSON(e.holdsPath(), held)
}

// endHolds ends those whose time is over: whoever asked for them may be gone.
func (e *Engine) endHolds(ctx context.Context) {
	e.holding.Lock()
	defer e.holding.Unlock()
	held, err := e.readHolds()
	if err != nil || len(held.Until) == 0 {
		return
	}
	over := 0
	for name, until := range held.Until {
		if time.Now().After(until) {
			delete(held.Until, name)
			over++
		}
	}
	if over == 0 {
		return
	}
	if err := e.balanceUnless(ctx, held); err != nil {
		e.log.Warn("the balancing of tablets is still off", "why", err)
	}
}
