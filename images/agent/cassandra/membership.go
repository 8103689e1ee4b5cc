package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
)

// streaming is what must survive the agent while a long operation streams: where the engine's counter stood before it.
type streaming struct {
	Process process.ID `json:"process"`
	Base    int64      `json:"base"`
}

func (f folders) left() string               { return filepath.Join(f.root, "left.json") }
func (f folders) streaming(of string) string { return filepath.Join(f.root, of+".json") }

// hasLeft tells whether the node has left its ring for good.
func (e *Engine) hasLeft() bool {
	_, err := os.Stat(e.place.left())
	return err == nil
}

// watchFrom makes the watch of an operation that begins now, or began under an earlier agent and the same engine.
func (e *Engine) watchFrom(ctx context.Context, operation string, way direction, begins bool) (*streamWatch, error) {
	path, id := e.place.streaming(operation), e.supervisor.Condition().Process
	var kept streaming
	err := statefile.ReadJSON(path, &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if begins || kept.Process != id {
		kept = streaming{Process: id}
		if kept.Base, err = streamedSoFar(ctx, e.management, way); err != nil {
			return nil, err
		}
		if err := statefile.WriteJSON(path, kept); err != nil {
			return nil, err
		}
	}
	return &streamWatch{Base: kept.Base}, nil
}

// during runs a long operation and looks at it again and again. The engine goes on with it when ctx ends. The error is
// *jolokia.Error when the engine refused or failed; any other leaves open what became of it.
func (e *Engine) during(ctx context.Context, call jolokia.Call, into any, look func(context.Context)) error {
	ended := make(chan error, 1)
	go func() { ended <- e.management.Do(ctx, call, into) }()
	ticker := time.NewTicker(lookAtStreams)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
			look(ctx)
		}
	}
}

// attributes reads several attributes of the storage service in one go; into are pointers, in the same order.
func (e *Engine) attributes(ctx context.Context, names []string, into ...any) error {
	calls := make([]jolokia.Call, len(names))
	for index, name := range names {
		calls[index] = jolokia.Read(storageService, name)
	}
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	answers, err := e.management.Batch(within, calls)
	if err != nil {
		return err
	}
	for index, answer := range answers {
		if err := answer.Into(into[index]); err != nil {
			return err
		}
	}
	return nil
}

// withCode turns the engine's own refusal into an error with a code; whatever else went wrong stays what it is.
func withCode(code string, err error) error {
	if refusal := jolokia.Refusal(err); refusal != nil {
		return agent.Errorf(code, "%s", shortened(refusal.Message))
	}
	return err
}

// decommission makes the node hand its data to the others and leave. The engine is stopped afterwards and is never started
// again. Error code: decommission-failed.
func (e *Engine) decommission(ctx context.Context, _ Nothing, report agent.Report) (agent.Streamed, error) {
	var watch *streamWatch
	for ; ; _ = pause(ctx, lookAtStreams) {
		if ctx.Err() != nil {
			return agent.Streamed{}, ctx.Err()
		}
		if e.hasLeft() {
			return e.departed(ctx, watch)
		}
		if err := e.running(); err != nil {
			return agent.Streamed{}, err
		}
		var mode string
		var busy bool
		if err := e.attributes(ctx, []string{"OperationMode", "Decommissioning"}, &mode, &busy); err != nil {
			report(0.01, "Waiting for the engine to answer")
			continue
		}
		switch {
		case mode == "DECOMMISSIONED":
			if err := statefile.WriteJSON(e.place.left(), map[string]time.Time{"left_at": time.Now().UTC()}); err != nil {
				return agent.Streamed{}, err
			}
		case busy:
			// Begun under an earlier agent, or the line broke: look on.
			if watch == nil {
				watch, _ = e.watchFrom(ctx, "leaving", outward, false)
				continue
			}
			e.lookLeaving(ctx, watch, report)
		case slices.Contains([]string{"NORMAL", "LEAVING", "DECOMMISSION_FAILED"}, mode):
			var err error
			if watch, err = e.watchFrom(ctx, "leaving", outward, true); err != nil {
				continue
			}
			report(0.02, "Announcing that the node leaves")
			e.control.forget()
			err = e.during(ctx, jolokia.Exec(storageService, "decommission", false), nil, func(ctx context.Context) { e.lookLeaving(ctx, watch, report) })
			// A second call while one runs is no failure: its end is waited for above.
			if refusal := jolokia.Refusal(err); refusal != nil && !strings.Contains(refusal.Message, "still decommissioning") {
				return agent.Streamed{}, withCode("decommission-failed", err)
			}
		default:
			report(0.01, "Waiting while the engine is "+mode)
		}
	}
}

func (e *Engine) lookLeaving(ctx context.Context, watch *streamWatch, report agent.Report) {
	watch.look(ctx, e.management, outward)
	report(watch.between(0.1, 0.9), watch.words("Handing data to the other nodes"))
}

func (e *Engine) departed(ctx context.Context, watch *streamWatch) (agent.Streamed, error) {
	var kept streaming
	result := agent.Streamed{}
	if watch == nil && statefile.ReadJSON(e.place.streaming("leaving"), &kept) == nil {
		watch = &streamWatch{Base: kept.Base}
	}
	if watch != nil {
		// The last bytes may have gone after the last look.
		watch.look(ctx, e.management, outward)
		result.BytesStreamed = watch.Done
	}
	e.control.forget()
	return result, e.supervisor.Stop(ctx, stopGrace)
}

// RemoveNodeParameters are those of the job remove-node.
type RemoveNodeParameters struct {
	HostID string `json:"host_id"`
}

var hostIDForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (p RemoveNodeParameters) check() error {
	if !hostIDForm.MatchString(p.HostID) {
		return agent.Errorf("invalid-parameters", "host_id must be a host id of the ring, in small letters")
	}
	return nil
}

const noRemoval = "No token removals in process."

// removeNode makes the ring forget a dead node: the others fetch what it held from each other. Error code: remove-failed.
func (e *Engine) removeNode(ctx context.Context, parameters RemoveNodeParameters, report agent.Report) (Nothing, error) {
	for ; ; _ = pause(ctx, lookAtStreams) {
		if ctx.Err() != nil {
			return Nothing{}, ctx.Err()
		}
		if err := e.running(); err != nil {
			return Nothing{}, err
		}
		hosts, owners := map[string]string{}, map[string]string{}
		var removal string
		if err := e.attributes(ctx, []string{"HostIdToEndpoint", "TokenToEndpointMap", "RemovalStatus"}, &hosts, &owners, &removal); err != nil {
			report(0.01, "Waiting for the engine to answer")
			continue
		}
		if removal != noRemoval {
			report(0.5, removal)
			continue
		}
		address, known := hosts[parameters.HostID]
		if !known || !holds(owners, address) {
			return Nothing{}, nil
		}
		report(0.1, "Making the ring forget "+address)
		err := e.during(ctx, jolokia.Exec(storageService, "removeNode", parameters.HostID), nil, func(ctx context.Context) {
			if e.attributes(ctx, []string{"RemovalStatus"}, &removal) == nil && removal != noRemoval {
				report(0.5, removal)
			}
		})
		if refusal := jolokia.Refusal(err); refusal != nil && !strings.Contains(refusal.Message, "already processing a removal") {
			return Nothing{}, withCode("remove-failed", err)
		}
	}
}

func holds(owners map[string]string, address string) bool {
	for _, owner := range owners {
		if owner == address {
			return true
		}
	}
	return false
}

// RebuildParameters are those of the job rebuild.
type RebuildParameters struct {
	Datacenter string `json:"datacenter"`
}

func (p RebuildParameters) check() error {
	if !nameForm.MatchString(p.Datacenter) {
		return agent.Errorf("invalid-parameters", "datacenter must be that to fetch data from")
	}
	return nil
}

// rebuild fetches what the node should hold and never did from another data centre. What an earlier call fetched is not fetched
// again. Error code: rebuild-failed.
func (e *Engine) rebuild(ctx context.Context, parameters RebuildParameters, report agent.Report) (agent.Streamed, error) {
	if err := e.running(); err != nil {
		return agent.Streamed{}, err
	}
	var watch *streamWatch
	look := func(ctx context.Context) {
		if watch != nil {
			watch.look(ctx, e.management, inward)
			report(watch.between(0.05, 0.99), watch.words("Fetching data from "+parameters.Datacenter))
		}
	}
	for ; ; _ = pause(ctx, lookAtStreams) {
		if ctx.Err() != nil {
			return agent.Streamed{}, ctx.Err()
		}
		if err := e.running(); err != nil {
			return agent.Streamed{}, err
		}
		if watch == nil {
			watch, _ = e.watchFrom(ctx, "rebuilding", inward, false)
			if watch == nil {
				continue
			}
		}
		call := jolokia.Exec(storageService, rebuildOperation,
			parameters.Datacenter, nil, nil, nil, false)
		err := e.during(ctx, call, nil, look)
		refusal := jolokia.Refusal(err)
		switch {
		case err == nil:
			look(ctx)
			return agent.Streamed{BytesStreamed: watch.Done}, os.RemoveAll(e.place.streaming("rebuilding"))
		case refusal != nil && strings.Contains(refusal.Message, "still rebuilding"):
			look(ctx)
		case refusal != nil:
			return agent.Streamed{}, withCode("rebuild-failed", err)
		}
	}
}

// cleanup drops data that other nodes hold now. Error code: cleanup-failed.
func (e *Engine) cleanup(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	return Nothing{}, e.everyKeyspace(ctx, report, rewrite{
		doing: "Dropping data that others hold now", task: "Cleanup", code: "cleanup-failed",
		call: func(keyspace string) jolokia.Call {
			return jolokia.Exec(storageService, cleanupOperation, rewriteJobs, keyspace, []string{})
		},
	})
}

// upgradeSSTables rewrites what is in the format of an older version. Error code: upgrade-sstables-failed.
func (e *Engine) upgradeSSTables(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	return Nothing{}, e.everyKeyspace(ctx, report, rewrite{
		doing: "Rewriting data in the new format", task: "Upgrade sstables", code: "upgrade-sstables-failed",
		call: func(keyspace string) jolokia.Call {
			return jolokia.Exec(storageService, upgradeOperation, keyspace, true, rewriteJobs, []string{})
		},
	})
}

// rewriteJobs is how many tables are rewritten side by side, as the engine's own tools do.
const rewriteJobs = 2

// rewrite is an operation on the files of one keyspace after another.
type rewrite struct {
	doing string
	// task is the engine's name for it among its compactions.
	task, code string
	call       func(keyspace string) jolokia.Call
}

// compaction is one that runs. The engine tells numbers as text.
type compaction struct {
	Task      string `json:"taskType"`
	Unit      string `json:"unit"`
	Completed int64  `json:"completed,string"`
	Total     int64  `json:"total,string"`
}

// everyKeyspace does it for all that other nodes hold too. Doing it again where it is done costs little: files that need nothing
// are left alone.
func (e *Engine) everyKeyspace(ctx context.Context, report agent.Report, what rewrite) error {
	if err := e.running(); err != nil {
		return err
	}
	var keyspaces []string
	if err := e.untilAnswered(ctx, func() error {
		return e.attributes(ctx, []string{"NonLocalStrategyKeyspaces"}, &keyspaces)
	}); err != nil {
		return err
	}
	return e.rewriteKeyspaces(ctx, keyspaces, report, what)
}

// rewriteKeyspaces does it for these.
func (e *Engine) rewriteKeyspaces(ctx context.Context, keyspaces []string, report agent.Report, what rewrite) error {
	sizes := e.keyspaceSizes(ctx)
	var all, done int64
	for _, keyspace := range keyspaces {
		all += sizes[keyspace] + 1
	}
	for _, keyspace := range keyspaces {
		size := sizes[keyspace] + 1
		look := func(ctx context.Context) {
			share, said := 0.0, what.doing+": "+keyspace
			if running := e.compactions(ctx, what.task); len(running) > 0 {
				var completed, total int64
				for _, one := range running {
					completed, total = completed+one.Completed, total+one.Total
				}
				share = min(1, float64(completed)/float64(max(total, size)))
				said = fmt.Sprintf("%s, %s of %s", said, inMiB(completed), inMiB(max(total, size)))
			}
			report((float64(done)+share*float64(size))/float64(all), said)
		}
		look(ctx)
		// One that runs was begun under an earlier agent. Another would end it to begin anew.
		for len(e.compactions(ctx, what.task)) > 0 {
			look(ctx)
			if err := pause(ctx, lookAtStreams); err != nil {
				return err
			}
		}
		if err := e.untilAnswered(ctx, func() error {
			var status int
			err := e.during(ctx, what.call(keyspace), &status, look)
			if err == nil && status != 0 {
				return agent.Errorf(what.code, "The engine could not do it for all of %s (status %d); its log says why.", keyspace, status)
			}
			return withCode(what.code, err)
		}); err != nil {
			return err
		}
		done += size
	}
	return nil
}

// untilAnswered repeats what failed because nobody answered, for as long as the engine runs or is being started.
func (e *Engine) untilAnswered(ctx context.Context, do func() error) error {
	for {
		err := do()
		var coded *agent.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &coded) {
			return err
		}
		if stopped := e.running(); stopped != nil {
			return stopped
		}
		if err := pause(ctx, lookAtStreams); err != nil {
			return err
		}
	}
}

func (e *Engine) compactions(ctx context.Context, task string) []compaction {
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var running []compaction
	if e.management.Do(within, jolokia.Read(compactionManager, "Compactions"), &running) != nil {
		return nil
	}
	return slices.DeleteFunc(running, func(one compaction) bool { return one.Task != task })
}
