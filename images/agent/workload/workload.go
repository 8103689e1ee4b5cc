// Package workload gives a test drive something to look at: it loads a data set, and reads and writes it at a steady pace. It touches
// no keyspace but its own.
package workload

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

const (
	// MostRows bounds what is loaded, MostPerSecond what a node is asked to do.
	MostRows      = 200_000
	MostPerSecond = 500

	statementWithin = 10 * time.Second
	againAfter      = time.Second
	reportEvery     = 2 * time.Second
)

// Session is a connection for the workload alone; *cql.Conn is one.
type Session interface {
	Query(ctx context.Context, consistency cql.Consistency, statement string, values ...any) (cql.Rows, error)
	Close()
}

// Open logs in.
type Open func(ctx context.Context) (Session, error)

var datacenterForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$`)

func checked(workload agent.Workload, rows int) (kind, error) {
	found, known := kinds[workload]
	switch {
	case !known:
		return kind{}, agent.Errorf("invalid-parameters", "There is no workload %q.", workload)
	case rows < 1 || rows > MostRows:
		return kind{}, agent.Errorf("invalid-parameters", "rows must be 1 to %d", MostRows)
	}
	return found, nil
}

// Load makes the tables and the data set. It can be repeated: rows that are there are written again. Error codes: invalid-parameters,
// load-refused.
func Load(ctx context.Context, p agent.LoadWorkloadParameters, open Open, report agent.Report) (agent.WorkloadLoaded, error) {
	wanted, err := checked(p.Workload, p.Rows)
	if err != nil {
		return agent.WorkloadLoaded{}, err
	}
	replicas, err := replication(p.Replication)
	if err != nil {
		return agent.WorkloadLoaded{}, err
	}
	line := &line{open: open}
	defer line.hangUp()
	keyspace := fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'NetworkTopologyStrategy', %s}", Keyspace, replicas)
	for _, text := range append([]string{keyspace}, wanted.tables...) {
		if err := line.untilDone(ctx, write(text)); err != nil {
			return agent.WorkloadLoaded{}, err
		}
	}
	now := time.Now()
	for index := range p.Rows {
		if index%100 == 0 {
			report(float64(index)/float64(p.Rows), fmt.Sprintf("Loaded %d of %d rows", index, p.Rows))
		}
		for _, one := range wanted.row(index, p.Rows, now) {
			if err := line.untilDone(ctx, one); err != nil {
				return agent.WorkloadLoaded{}, err
			}
		}
	}
	return agent.WorkloadLoaded{Rows: p.Rows}, nil
}

func replication(of map[string]int) (string, error) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if !datacenterForm.MatchString(name) || of[name] < 1 {
			return "", agent.Errorf("invalid-parameters", "replication must be at least 1 for each data centre")
		}
		parts = append(parts, fmt.Sprintf("'%s': %d", name, of[name]))
	}
	if len(parts) == 0 {
		return "", agent.Errorf("invalid-parameters", "replication must name a data centre")
	}
	return strings.Join(parts, ", "), nil
}

// Run reads and writes until the time is over, whatever becomes of the engine meanwhile. Error codes: invalid-parameters, load-refused.
func Run(ctx context.Context, p agent.RunWorkloadParameters, open Open, report agent.Report) (agent.WorkloadDone, error) {
	wanted, err := checked(p.Workload, p.Rows)
	if err != nil {
		return agent.WorkloadDone{}, err
	}
	if p.OperationsPerSecond < 1 || p.OperationsPerSecond > MostPerSecond {
		return agent.WorkloadDone{}, agent.Errorf("invalid-parameters", "operations_per_second must be 1 to %d", MostPerSecond)
	}
	over, cancel := context.WithDeadline(ctx, p.Until)
	defer cancel()
	line := &line{open: open}
	defer line.hangUp()
	pace := newPace(p.OperationsPerSecond, time.Now())
	dice := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	done, told := agent.WorkloadDone{}, time.Time{}
	for pause(over, time.Until(pace.next(time.Now()))) == nil {
		one := wanted.next(dice, p.Rows, time.Now())
		if err := line.untilDone(over, one); err != nil {
			if over.Err() != nil {
				break
			}
			return agent.WorkloadDone{}, err
		}
		if one.writes {
			done.Writes++
		} else {
			done.Reads++
		}
		if now := time.Now(); now.Sub(told) > reportEvery {
			told = now
			report(0, fmt.Sprintf("%d reads, %d writes", done.Reads, done.Writes))
		}
	}
	// The end of the time is the job's success; the agent's end and the job's deletion are not.
	if ctx.Err() != nil {
		return agent.WorkloadDone{}, fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return done, nil
}

// pace says when the next thing may be done. Who is late does not catch up more than a second's worth.
type pace struct {
	every time.Duration
	due   time.Time
}

func newPace(perSecond int, now time.Time) *pace {
	return &pace{every: time.Second / time.Duration(perSecond), due: now}
}

func (p *pace) next(now time.Time) time.Time {
	if late := now.Add(-time.Second); p.due.Before(late) {
		p.due = late
	}
	due := p.due
	p.due = due.Add(p.every)
	return due
}

// line is a session that is opened anew when it breaks.
type line struct {
	open    Open
	session Session
}

func (l *line) hangUp() {
	if l.session != nil {
		l.session.Close()
		l.session = nil
	}
}

// untilDone does it, again and again while the engine cannot: it may be restarted, or have too few replicas. Error code: load-refused.
func (l *line) untilDone(ctx context.Context, one statement) error {
	for {
		err := l.try(ctx, one)
		if err == nil {
			return nil
		}
		if refused(err) {
			return agent.Errorf("load-refused", "The engine does not take the workload of the test drive: %v", err)
		}
		l.hangUp()
		if waited := pause(ctx, againAfter); waited != nil {
			return fmt.Errorf("%w; last: %w", waited, err)
		}
	}
}

func (l *line) try(ctx context.Context, one statement) error {
	within, cancel := context.WithTimeout(ctx, statementWithin)
	defer cancel()
	if l.session == nil {
		session, err := l.open(within)
		if err != nil {
			return err
		}
		l.session = session
	}
	_, err := l.session.Query(within, cql.LocalQuorum, one.text, one.values...)
	return err
}

// refused: the tables are gone or other than ours, or the account may not touch them.
func refused(err error) bool {
	switch cql.Code(err) {
	case cql.CodeInvalid, cql.CodeUnauthorized, cql.CodeConfiguration, cql.CodeAlreadyExists:
		return true
	}
	return false
}

func pause(ctx context.Context, duration time.Duration) error {
	if duration <= 0 && ctx.Err() == nil {
		return nil
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}
