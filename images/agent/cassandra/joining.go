package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
)

// A node that joins a ring with data computes from ring and schema what it must fetch. When it does so before it knows
// them it fetches nothing, becomes a member all the same and serves without data. So a new node is started without
// joining (held), and joins when it sees what the control plane says is there. A node that replaces a dead one cannot be
// held by the engine; it is watched instead, and killed before it computes anything if it has not seen enough by then.

const (
	// heldSetupDelay puts off the engine's look for a first role. A held node asks before it may know the ring's schema, and
	// must not find "no roles" for that reason.
	heldSetupDelay = time.Minute
	// holdWithin is how long a held node may take to see the ring; less than heldSetupDelay, so that it never looks for a
	// first role before it has seen the ring.
	holdWithin = 45 * time.Second
	// strangerAfter is how long a held node looks at a ring with another member than it was told of before it gives up:
	// that does not pass by itself.
	strangerAfter = 3 * time.Second
	lookWhileHeld = 150 * time.Millisecond
	lookAtStreams = 300 * time.Millisecond
)

// joining is what must survive agent and engine while a node joins.
type joining struct {
	// Stage is "" until the first start, then "held", then "begun": from there on an end of the engine leaves a half.
	// "unseen": it became a member while no agent watched, nobody knows with what.
	Stage string `json:"stage"`
}

const (
	stageHeld   = "held"
	stageBegun  = "begun"
	stageSeen   = "seen"
	stageUnseen = "unseen"
)

func (f folders) joining() string { return filepath.Join(f.root, "joining.json") }

func (e *Engine) joiningStage() (string, error) {
	var state joining
	if err := statefile.ReadJSON(e.place.joining(), &state); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return state.Stage, nil
}

func (e *Engine) setJoiningStage(stage string) error {
	return statefile.WriteJSON(e.place.joining(), joining{Stage: stage})
}

// chooseBoot says how the engine must be started now, and notes what an end of it would mean.
// Error code: join-unwatched.
func (e *Engine) chooseBoot(config Config, booted bool) (boot, error) {
	switch {
	case booted:
		return ordinary, nil
	case !config.FirstBoot.intoData():
		return fresh, nil
	}
	stage, err := e.joiningStage()
	if err != nil {
		return 0, err
	}
	switch stage {
	case stageUnseen:
		return 0, agent.Errorf("join-unwatched", "The node became a member while no agent watched; nobody knows with how much of its data. Replace it.")
	case stageBegun, stageSeen:
		return resumed, nil
	}
	if config.FirstBoot.ReplaceAddress != "" {
		// It goes on by itself from the start, so an end at any time leaves a half.
		return replacing, e.setJoiningStage(stageBegun)
	}
	return held, e.setJoiningStage(stageHeld)
}

// ringView is what a node that is about to join sees.
type ringView struct {
	Mode          string
	Initialized   bool
	BootstrapMode bool
	Schema        string
	Live, Joining []string
	Leaving       []string
	Moving        []string
	// Owners are the addresses that hold tokens.
	Owners map[string]bool
	// Schemas are the addresses by the version of the schema that they told when asked.
	Schemas map[string][]string
}

// viewRing asks the engine. What it says of itself (Mode, BootstrapMode) it says after the rest: if it had computed no
// ranges then, the rest was known before.
func (e *Engine) viewRing(ctx context.Context) (ringView, error) {
	var view ringView
	tokens := map[string]string{}
	questions := []struct {
		attribute string
		into      any
	}{
		{"SchemaVersion", &view.Schema},
		{"LiveNodes", &view.Live}, {"JoiningNodes", &view.Joining}, {"LeavingNodes", &view.Leaving}, {"MovingNodes", &view.Moving},
		{"TokenToEndpointMap", &tokens}, {"Initialized", &view.Initialized},
		{"BootstrapMode", &view.BootstrapMode}, {"OperationMode", &view.Mode},
	}
	calls := []jolokia.Call{jolokia.Read(storageProxy, "SchemaVersions")}
	for _, question := range questions {
		calls = append(calls, jolokia.Read(storageService, question.attribute))
	}
	answers, err := e.management.Batch(ctx, calls)
	if err != nil {
		return ringView{}, err
	}
	if err := answers[0].Into(&view.Schemas); err != nil {
		return ringView{}, err
	}
	for index, question := range questions {
		if err := answers[index+1].Into(question.into); err != nil {
			return ringView{}, err
		}
	}
	view.Owners = map[string]bool{}
	for _, address := range tokens {
		view.Owners[address] = true
	}
	return view, nil
}

// stranger is a node in the ring that is no member, or empty.
func (v ringView) stranger(self string, members []string, replaced string) string {
	for _, address := range slices.Sorted(maps.Keys(v.Owners)) {
		if address != self && address != replaced && !slices.Contains(members, address) {
			return address
		}
	}
	return ""
}

// missing is what a node that is about to join does not see yet, empty when it may join: exactly the members, all up, with
// tokens, none of them on the move, and all of one schema, which is the node's own. No members named: all that it sees.
func (v ringView) missing(self string, members []string, replaced string) string {
	if stranger := v.stranger(self, members, replaced); stranger != "" && len(members) > 0 {
		return "it sees " + stranger + ", which is no member"
	}
	if len(members) == 0 {
		for _, address := range slices.Sorted(maps.Keys(v.Owners)) {
			if address != self && address != replaced {
				members = append(members, address)
			}
		}
		if len(members) == 0 {
			return "it sees no other node"
		}
	}
	if replaced == "" && v.Owners[self] {
		return "its own address already holds tokens"
	}
	if replaced != "" && slices.Contains(v.Live, replaced) {
		return "it sees " + replaced + ", which it is to replace, alive"
	}
	for _, moving := range slices.Concat(v.Joining, v.Leaving, v.Moving) {
		if moving != self && moving != replaced {
			return "it sees " + moving + " joining, leaving or moving"
		}
	}
	for _, member := range members {
		switch {
		case !v.Owners[member]:
			return "it does not see the tokens of " + member
		case !slices.Contains(v.Live, member):
			return "it sees " + member + " down"
		case !slices.Contains(v.Schemas[v.Schema], member):
			return "its schema differs from that of " + member
		}
	}
	return ""
}

// startIntoData starts a node that joins a ring with data, or goes on with such a start. It returns the bytes it was sent.
// Error codes: join-refused, join-failed, join-unwatched, and those of any start.
func (e *Engine) startIntoData(ctx context.Context, report agent.Report) (int64, error) {
	report(0.05, "Starting the engine")
	started := make(chan error, 1)
	go func() { started <- e.supervisor.Start(ctx) }()
	j := &joiner{engine: e, report: report}
	for done := false; !done; {
		var err error
		if done, err = j.step(ctx); err != nil {
			return 0, err
		}
		wait := lookAtStreams
		if j.waiting {
			wait = lookWhileHeld
		}
		select {
		case err := <-started:
			if err != nil {
				// It has ended for good, or was told to.
				return 0, err
			}
			done = true
			started <- nil
		case <-time.After(wait):
		}
	}
	if err := <-started; err != nil {
		return 0, err
	}
	return streamedSoFar(ctx, e.management, inward)
}

// joiner sees a node into a ring with data, from any point on and again after an end of agent or engine.
type joiner struct {
	engine *Engine
	report agent.Report
	// config is the stored one at the last look: a held node may be told of other members.
	config Config
	// waiting: it has not begun to fetch.
	waiting bool
	// looked is the engine's process that was seen, unready whether it was so before it was ready to join; the hold counts from
	// heldSince. let is the process that was told to join.
	looked, let process.ID
	unready     bool
	heldSince   time.Time
	// strangerSince is when the ring that cannot be joined was first seen.
	strangerSince time.Time
	streams       streamWatch
}

// step looks once and does what is due. It is done when the engine is a member and told to accept CQL.
func (j *joiner) step(ctx context.Context) (done bool, err error) {
	e := j.engine
	j.waiting = true
	condition := e.supervisor.Condition()
	if !condition.Alive {
		return false, nil
	}
	if j.config, err = e.configured(); err != nil {
		return false, err
	}
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	stage, err := e.joiningStage()
	if err != nil {
		return false, err
	}
	start := e.bootOf(condition.Process)
	view, err := e.viewRing(within)
	if err != nil {
		// Not far enough in its start to answer.
		return false, ctx.Err()
	}
	first := j.config.FirstBoot
	var members []string
	if first.Join != nil {
		members = first.Join.Members
	}
	missing := view.missing(j.config.Address, members, first.ReplaceAddress)
	switch view.Mode {
	case "STARTING":
		if start == held && condition.Process != j.let {
			return false, j.hold(ctx, condition.Process, view, missing, members)
		}
	case "JOINING":
		if start == replacing && stage == stageBegun {
			return false, j.watch(condition.Process, view, missing)
		}
		j.waiting = false
		j.streams.look(within, e.management, inward)
		j.report(j.streams.between(0.2, 0.95), j.streams.words("Fetching data"))
	case "JOINING_FAILED":
		return false, e.giveUp(ctx, "join-failed", "The node could not fetch its data: "+program{e}.LastWords())
	case "NORMAL":
		if start == replacing && stage == stageBegun {
			if err := e.setJoiningStage(stageUnseen); err != nil {
				return false, err
			}
			return false, e.giveUp(ctx, "join-unwatched", "The node became a member while no agent watched; nobody knows with how much of its data. Replace it.")
		}
		j.report(0.97, "Opening the node for clients")
		err := e.management.Do(within, jolokia.Exec(storageService, "startNativeTransport"), nil)
		// A member for a moment only, or the call was lost on the way: look again.
		return err == nil, ctx.Err()
	}
	return false, nil
}

// hold lets a held node join when it sees what it must.
func (j *joiner) hold(ctx context.Context, id process.ID, view ringView, missing string, members []string) error {
	e := j.engine
	if j.looked != id {
		j.looked, j.unready, j.heldSince, j.strangerSince = id, false, time.Time{}, time.Time{}
	}
	if !view.Initialized {
		j.unready = true
		return nil
	}
	if j.heldSince.IsZero() {
		j.heldSince = time.Now()
		started, err := process.StartedAt(id)
		if !j.unready && (err != nil || time.Since(started) > holdWithin) {
			// Held since nobody knows when, under an earlier agent. Another start costs seconds and leaves no question.
			e.log.Info("starting a held engine anew: it was held for too long")
			return signalled(id)
		}
	}
	if missing == "" {
		// From here on an end of the engine leaves a half, and no other start may hold it.
		if err := e.setJoiningStage(stageBegun); err != nil {
			return err
		}
		j.let = id
		j.report(0.2, "Joining")
		e.log.Info("the node sees the ring and joins", "members", len(members), "schema", view.Schema)
		// It takes as long as the data needs, and goes on by itself: what comes of it is seen in the engine's mode.
		go func() {
			err := e.management.Do(context.WithoutCancel(ctx), jolokia.Exec(storageService, "joinRing"), nil)
			if refusal := jolokia.Refusal(err); refusal != nil {
				e.log.Error("the engine did not join", "error", refusal)
				_ = signalled(id)
			}
		}()
		return nil
	}
	j.report(0.15, "Waiting until the node sees the ring: "+missing)
	if view.stranger(j.config.Address, members, "") == "" {
		j.strangerSince = time.Time{}
	} else if j.strangerSince.IsZero() {
		j.strangerSince = time.Now()
	}
	strange := !j.strangerSince.IsZero() && time.Since(j.strangerSince) > strangerAfter
	if strange || time.Since(j.heldSince) > holdWithin {
		return e.giveUp(ctx, "join-refused", "The node was not let into the ring: "+missing)
	}
	return nil
}

// signalled ends the engine at once; the supervisor starts it anew.
func signalled(id process.ID) error {
	if err := process.Signal(id, syscall.SIGKILL); err != nil && !errors.Is(err, process.ErrGone) {
		return err
	}
	return nil
}

// watch kills a node that replaces another when it is about to compute what to fetch and has not seen the ring.
func (j *joiner) watch(id process.ID, view ringView, missing string) error {
	switch {
	case !view.BootstrapMode && missing == "":
		j.report(0.2, "The node sees the ring; waiting until the engine believes the old one dead")
		return j.engine.setJoiningStage(stageSeen)
	case view.BootstrapMode:
		j.engine.log.Warn("killed the engine before it fetched by a wrong view of the ring", "missing", missing)
		j.report(0.1, "Starting again with longer waits: "+missing)
		return signalled(id)
	default:
		j.report(0.15, "Waiting until the node sees the ring: "+missing)
	}
	return nil
}

// giveUp stops the engine, so that no half of a node stays, and returns the error.
func (e *Engine) giveUp(ctx context.Context, code, message string) error {
	refusal := agent.Errorf(code, "%s", message)
	if err := e.supervisor.Stop(ctx, stopGrace); err != nil {
		return fmt.Errorf("%w; and it could not be stopped: %w", refusal, err)
	}
	return refusal
}

// bootOf tells how a process of the engine was started, from its command line: the files may be newer.
func (e *Engine) bootOf(id process.ID) boot {
	words, err := process.Arguments(id)
	if err != nil {
		return ordinary
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, prefix) })
	}
	switch {
	case has("-Dcassandra.join_ring=false"):
		return held
	case has("-Dcassandra.reset_bootstrap_progress=true"):
		return resumed
	case has("-Dcassandra.replace_address_first_boot="):
		return replacing
	}
	return ordinary
}
