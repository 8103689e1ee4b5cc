package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent/process"
	"ringmaster/agent/supervise"
	"ringmaster/agent/traffic"
)

const (
	// trafficEvery is how often the engine's counters are read: what it sends in that time before it breaks down is lost.
	trafficEvery = 30 * time.Second
	// trafficWithin is how long a reading may take once the collector is there.
	trafficWithin = 10 * time.Second
	// lastReadingWithin is how long an engine that is to stop is kept waiting for its last reading.
	lastReadingWithin = 2 * time.Second
)

func (f folders) traffic() string { return filepath.Join(f.root, "traffic.json") }

// watchTraffic reads the engine's counters again and again.
func (e *Engine) watchTraffic(ctx context.Context) {
	for pause(ctx, trafficEvery) == nil {
		condition := e.supervisor.Condition()
		if !condition.Alive || !condition.Ready {
			continue
		}
		within, cancel := context.WithTimeout(ctx, trafficWithin+collectorLoad)
		if err := e.readTraffic(within, condition); err != nil && ctx.Err() == nil {
			e.log.Warn("nobody knows what the node sent", "error", err)
		}
		cancel()
	}
}

// lastTraffic reads the counters of an engine that is about to stop, if they were read before. What it cannot read is lost.
func (e *Engine) lastTraffic(ctx context.Context) {
	condition := e.supervisor.Condition()
	if !condition.Ready || e.traffic.Status() == nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, lastReadingWithin)
	defer cancel()
	if err := e.readTraffic(within, condition); err != nil {
		e.log.Warn("what the node sent last is not known", "error", err)
	}
}

func (e *Engine) readTraffic(ctx context.Context, condition supervise.Condition) error {
	started, err := process.StartedAt(condition.Process)
	if err != nil {
		return err
	}
	var counts []traffic.Count
	err = e.collect(ctx, "only traffic\n", func(from io.Reader) error {
		counts, err = trafficOf(from)
		return err
	})
	if err != nil {
		return err
	}
	id := condition.Process
	return e.traffic.Note(fmt.Sprintf("%s/%d/%d", id.BootID, id.PID, id.StartTicks), counts, started.Before(e.born))
}

// trafficOf reads the collector's answer.
func trafficOf(from io.Reader) ([]traffic.Count, error) {
	said, err := io.ReadAll(io.LimitReader(from, longestAnswer))
	if err != nil {
		return nil, err
	}
	var counts []traffic.Count
	for line := range strings.Lines(string(said)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 1 && words[0] == "end":
			return counts, nil
		case len(words) == 6 && words[0] == "sent":
			for index, what := range []string{"messages", "streams"} {
				bytes, err := strconv.ParseInt(words[4+index], 10, 64)
				if err != nil {
					return nil, err
				}
				counts = append(counts, traffic.Count{Name: what + "/" + words[1], Bytes: bytes, Of: traffic.ToNode, Datacenter: words[2], Zone: words[3]})
			}
		case len(words) == 3 && words[0] == "clients":
			for index, of := range []traffic.Kind{traffic.FromClient, traffic.ToClient} {
				bytes, err := strconv.ParseInt(words[1+index], 10, 64)
				if err != nil {
					return nil, err
				}
				counts = append(counts, traffic.Count{Name: "clients/" + strconv.Itoa(index), Bytes: bytes, Of: of})
			}
		default:
			return nil, fmt.Errorf("the collector's answer cannot be read: %.80q", line)
		}
	}
	return nil, errors.New("the collector did not answer to the end")
}
