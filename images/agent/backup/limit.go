package backup

import (
	"context"
	"sync"
	"time"
)

// limit is how much all transfers of a node may move together. It plans one piece after the other, however many ask.
type limit struct {
	mu        sync.Mutex
	perSecond int64
	next      time.Time
}

// credit makes up for sleeps that took longer than asked for. It is all that may be moved at once after a pause.
const credit = 20 * time.Millisecond

// set changes it for everybody, at once; 0 is none.
func (l *limit) set(bytesPerSecond int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.perSecond = bytesPerSecond
}

// take waits until so many bytes more may be moved.
func (l *limit) take(ctx context.Context, bytes int) error {
	wait := l.plan(bytes)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (l *limit) plan(bytes int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perSecond <= 0 {
		return 0
	}
	now := time.Now()
	if earliest := now.Add(-credit); l.next.Before(earliest) {
		l.next = earliest
	}
	l.next = l.next.Add(time.Duration(float64(bytes) / float64(l.perSecond) * float64(time.Second)))
	return l.next.Sub(now)
}

// piece is how much is asked for at once: smaller for a low limit, so that no wait is long.
func (l *limit) piece() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	const longest, shortest = 256 << 10, 4 << 10
	if l.perSecond <= 0 {
		return longest
	}
	return int(max(shortest, min(longest, l.perSecond/20)))
}
