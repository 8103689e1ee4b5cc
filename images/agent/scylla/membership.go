package scylla

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/scyllaapi"
	"ringmaster/agent/statefile"
)

// direction of data, as this node sees it.
type direction int

const (
	inward direction = iota
	outward
)

// streamWatch follows what a node streams: bytes of the operation so far, and of all of it.
type streamWatch struct {
	Done, Total int64
	base        int64
	begun       bool
}

// look asks the engine and tells whether it answered; one that does not leaves the figures as they are.
func (w *streamWatch) look(ctx context.Context, api *scyllaapi.Client, way direction) bool {
	within, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	told, err := api.Streaming(within)
	if err != nil {
		return false
	}
	count, left := told.Received, told.Coming
	if way == outward {
		count, left = told.Sent, told.Going
	}
	if !w.begun {
		// Of a node that has just started the counter counts this operation's bytes alone.
		w.begun = true
		if way == outward {
			w.base = count
		}
	}
	w.Done = max(w.Done, count-w.base)
	w.Total = max(w.Total, w.Done+left)
	return true
}

// between is a progress from low to high, by bytes.
func (w *streamWatch) between(low, high float64) float64 {
	if w.Total <= 0 {
		return low
	}
	return low + (high-low)*float64(w.Done)/float64(w.Total)
}

func (w *streamWatch) words(doing string) string {
	if w.Total <= 0 {
		return doing
	}
	return fmt.Sprintf("%s: %.1f MiB of %.1f MiB", doing, float64(w.Done)/(1<<20), float64(w.Total)/(1<<20))
}

// withCode turns the engine's own refusal into an error with a code; whatever else went wrong stays what it is.
func withCode(code string, err error) error {
	if refusal := scyllaapi.Refusal(err); refusal != nil {
		return agent.Errorf(code, "%s", shortened(refusal.Message))
	}
	return err
}

// untilAnswered repeats what failed because nobody answered, for as long as the engine runs or is being started.
func (e *Engine) untilAnswered(ctx context.Context, do func() error) error {
	for {
		err := do()
		var coded *agent.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &coded) || scyllaapi.Refusal(err) != nil {
			return err
		}
		if stopped := e.isRunning(); stopped != nil {
			return stopped
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// drain makes the engine flush and take no more requests, so that its next start has nothing to replay. Error code: drain-failed.
func (e *Engine) drain(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	if err := e.isRunning(); err != nil {
		return Nothing{}, err
	}
	report(0.1, "Flushing")
	within, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if mode, err := e.api.Mode(within); err == nil && mode == "DRAINED" {
		return Nothing{}, nil
	}
	if err := e.api.Drain(within); err != nil {
		if ctx.Err() != nil {
			return Nothing{}, ctx.Err()
		}
		return Nothing{}, agent.Errorf("drain-failed", "The engine could not be drained: %s", shortened(err.Error()))
	}
	return Nothing{}, nil
}

// decommission makes the node hand its data to the others and leave. The engine is stopped afterwards and is never started
// again. Error code: decommission-failed.
func (e *Engine) decommission(ctx context.Context, _ Nothing, report agent.Report) (agent.Streamed, error) {
	var watch streamWatch
	for ; ; _ = pause(ctx, retryPause) {
		if ctx.Err() != nil {
			return agent.Streamed{}, ctx.Err()
		}
		if e.hasLeft() {
			return agent.Streamed{BytesStreamed: watch.Done}, e.supervisor.Stop(ctx, stopGrace)
		}
		if err := e.isRunning(); err != nil {
			return agent.Streamed{}, err
		}
		mode, err := e.api.Mode(ctx)
		if err != nil {
			report(0.01, "Waiting for the engine to answer")
			continue
		}
		watch.look(ctx, e.api, outward)
		switch mode {
		case "DECOMMISSIONED":
			if err := statefile.WriteJSON(e.leftPath(), map[string]time.Time{"left_at": time.Now().UTC()}); err != nil {
				return agent.Streamed{}, err
			}
		case "LEAVING":
			// Begun under an earlier agent, or the line broke: look on.
			report(watch.between(0.1, 0.9), watch.words("Handing data to the other nodes"))
			_ = pause(ctx, lookEvery)
		case "NORMAL":
			report(0.02, "Announcing that the node leaves")
			stop := e.whileRunning(ctx, func(ctx context.Context) {
				if watch.look(ctx, e.api, outward) {
					report(watch.between(0.1, 0.9), watch.words("Handing data to the other nodes"))
				}
			})
			err := e.api.Decommission(ctx)
			stop()
			if scyllaapi.Refusal(err) != nil {
				return agent.Streamed{}, withCode("decommission-failed", err)
			}
		default:
			report(0.01, "Waiting while the engine is "+mode)
		}
	}
}

// RemoveNodeParameters are those of the job remove-node.
type RemoveNodeParameters struct {
	HostID string `json:"host_id"`
}

func (p RemoveNodeParameters) check() error {
	if !hostIDForm.MatchString(p.HostID) {
		return agent.Errorf("invalid-parameters", "host_id must be a host id of the ring, in small letters")
	}
	return nil
}

// removeNode makes the ring forget a dead node: the others fetch what it held from each other. Error code: remove-failed.
func (e *Engine) removeNode(ctx context.Context, parameters RemoveNodeParameters, report agent.Report) (Nothing, error) {
	for ; ; _ = pause(ctx, retryPause) {
		if ctx.Err() != nil {
			return Nothing{}, ctx.Err()
		}
		if err := e.isRunning(); err != nil {
			return Nothing{}, err
		}
		hosts, err := e.api.HostIDs(ctx)
		if err != nil {
			report(0.01, "Waiting for the engine to answer")
			continue
		}
		if gone(hosts, parameters.HostID) {
			return Nothing{}, nil
		}
		report(0.1, "Making the ring forget "+parameters.HostID)
		stop := e.whileRunning(ctx, func(ctx context.Context) {
			if said, err := e.api.RemovalStatus(ctx); err == nil && said != "" {
				report(0.5, said)
			}
		})
		err = e.api.RemoveNode(ctx, parameters.HostID)
		stop()
		if scyllaapi.Refusal(err) != nil {
			return Nothing{}, withCode("remove-failed", err)
		}
	}
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

// rebuild fetches what the node should hold and never did from another data centre; of keyspaces with tablets the engine sees to
// that itself. Error code: rebuild-failed.
func (e *Engine) rebuild(ctx context.Context, parameters RebuildParameters, report agent.Report) (agent.Streamed, error) {
	if err := e.isRunning(); err != nil {
		return agent.Streamed{}, err
	}
	before, err := e.received(ctx)
	if err != nil {
		return agent.Streamed{}, err
	}
	watch := streamWatch{begun: true, base: before}
	stop := e.whileRunning(ctx, func(ctx context.Context) {
		if watch.look(ctx, e.api, inward) {
			report(watch.between(0.05, 0.99), watch.words("Fetching data from "+parameters.Datacenter))
		}
	})
	err = e.api.Rebuild(ctx, parameters.Datacenter)
	stop()
	if err != nil {
		return agent.Streamed{}, withCode("rebuild-failed", err)
	}
	watch.look(ctx, e.api, inward)
	return agent.Streamed{BytesStreamed: watch.Done}, nil
}

func (e *Engine) received(ctx context.Context) (bytes int64, err error) {
	return bytes, e.untilAnswered(ctx, func() error {
		told, err := e.api.Streaming(ctx)
		bytes = told.Received
		return err
	})
}

// cleanup drops data that other nodes hold now, of keyspaces that are spread by tokens: tablets leave nothing behind. Error code:
// cleanup-failed.
func (e *Engine) cleanup(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	return Nothing{}, e.everyKeyspace(ctx, report, scyllaapi.ByTokens, rewrite{
		doing: "Dropping data that others hold now", task: "CLEANUP", code: "cleanup-failed", call: e.api.Cleanup,
	})
}

// upgradeSSTables rewrites what is in the format of an older version. Error code: upgrade-sstables-failed.
func (e *Engine) upgradeSSTables(ctx context.Context, _ Nothing, report agent.Report) (Nothing, error) {
	return Nothing{}, e.everyKeyspace(ctx, report, scyllaapi.Everyhow, rewrite{
		doing: "Rewriting data in the new format", task: "UPGRADE", code: "upgrade-sstables-failed", call: e.api.UpgradeSSTables,
	})
}

// rewrite is an operation on the files of one keyspace after another.
type rewrite struct {
	doing string
	// task is part of the engine's name for it among its compactions.
	task, code string
	call       func(ctx context.Context, keyspace string) error
}

// everyKeyspace does it for all that other nodes hold too. Doing it again where it is done costs little.
func (e *Engine) everyKeyspace(ctx context.Context, report agent.Report, spread scyllaapi.Spread, what rewrite) error {
	if err := e.isRunning(); err != nil {
		return err
	}
	var keyspaces []string
	if err := e.untilAnswered(ctx, func() (err error) {
		keyspaces, err = e.api.Keyspaces(ctx, spread)
		return err
	}); err != nil {
		return err
	}
	slices.Sort(keyspaces)
	for index, keyspace := range keyspaces {
		low, high := float64(index)/float64(len(keyspaces)), float64(index+1)/float64(len(keyspaces))
		report(low, what.doing+": "+keyspace)
		stop := e.whileRunning(ctx, func(ctx context.Context) {
			if share, known := e.shareOf(ctx, keyspace, what.task); known {
				report(low+(high-low)*share, what.doing+": "+keyspace)
			}
		})
		err := e.untilAnswered(ctx, func() error { return what.call(ctx, keyspace) })
		stop()
		if err != nil {
			return withCode(what.code, err)
		}
	}
	return nil
}

// shareOf is how much of the running compactions of a keyspace is done.
func (e *Engine) shareOf(ctx context.Context, keyspace, task string) (share float64, known bool) {
	running, err := e.api.Compactions(ctx)
	if err != nil {
		return 0, false
	}
	var completed, total int64
	for _, one := range running {
		if one.Keyspace == keyspace && strings.Contains(strings.ToUpper(one.Type), task) {
			completed, total = completed+one.Completed, total+one.Total
		}
	}
	if total <= 0 {
		return 0, false
	}
	return min(1, float64(completed)/float64(total)), true
}

func (e *Engine) describeData(ctx context.Context, _ Nothing, report agent.Report) (agent.DataDescription, error) {
	if err := e.isRunning(); err != nil {
		return agent.DataDescription{}, err
	}
	told := agent.DataDescription{Tables: []agent.TableData{}}
	err := e.untilAnswered(ctx, func() error {
		told.Tables = []agent.TableData{}
		keyspaces, err := e.api.Keyspaces(ctx, scyllaapi.Everyhow)
		if err != nil {
			return err
		}
		tables, err := e.api.Tables(ctx)
		if err != nil {
			return err
		}
		for index, table := range tables {
			report(float64(index)/float64(len(tables)), "Looking at the tables")
			if !slices.Contains(keyspaces, table.Keyspace) {
				continue
			}
			metrics, err := e.api.MetricsOf(ctx, table)
			if scyllaapi.Refusal(err) != nil {
				// It was dropped in between.
				continue
			}
			if err != nil {
				return err
			}
			told.Tables = append(told.Tables, agent.TableData{
				Keyspace: table.Keyspace, Table: table.Name, Bytes: metrics.Bytes, Partitions: metrics.Partitions,
			})
		}
		return nil
	})
	return told, err
}

func (e *Engine) inspect(ctx context.Context, _ Nothing, _ agent.Report) (agent.Inspection, error) {
	if err := e.isRunning(); err != nil {
		return agent.Inspection{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var found agent.Inspection
	return found, e.untilAnswered(ctx, func() (err error) {
		found, err = e.inspectOnce(ctx)
		return err
	})
}

func (e *Engine) inspectOnce(ctx context.Context) (found agent.Inspection, err error) {
	var repairs []int64
	var pending int64
	var reads, ranges, writes scyllaapi.Requests
	for _, ask := range []func() error{
		func() (err error) { found.Mode, err = e.api.Mode(ctx); return err },
		func() (err error) { found.Unreachable, err = e.api.Down(ctx); return err },
		func() (err error) { found.Joining, err = e.api.Joining(ctx); return err },
		func() (err error) { found.Leaving, err = e.api.Leaving(ctx); return err },
		func() (err error) { found.Moving, err = e.api.Moving(ctx); return err },
		func() (err error) { repairs, err = e.api.ActiveRepairs(ctx); return err },
		func() (err error) { pending, err = e.api.PendingCompactions(ctx); return err },
		func() (err error) { reads, err = e.api.RequestsOf(ctx, "read"); return err },
		func() (err error) { ranges, err = e.api.RequestsOf(ctx, "range"); return err },
		func() (err error) { writes, err = e.api.RequestsOf(ctx, "write"); return err },
	} {
		if err := ask(); err != nil {
			return agent.Inspection{}, err
		}
	}
	found.RepairsRunning, found.PendingCompactions = len(repairs), int(pending)
	found.Client = agent.ClientRequests{
		Reads: reads.Count + ranges.Count, Writes: writes.Count,
		Timeouts: reads.Timeouts + ranges.Timeouts + writes.Timeouts, Unavailables: reads.Unavailables + ranges.Unavailables + writes.Unavailables,
		ReadP99MS: float64(reads.P99Microseconds) / 1000, WriteP99MS: float64(writes.P99Microseconds) / 1000,
	}
	return found, nil
}
