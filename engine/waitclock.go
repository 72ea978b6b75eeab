package engine

import (
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// WaitKind is what a blocked caller waits for.
type WaitKind uint8

// The kinds of waits, as indices of Stats.Waits.
const (
	WaitSend WaitKind = iota
	WaitReceive
	WaitProbe
	WaitCollective
	WaitOther // several operations of which not all are needed, partitioned messages, generalised requests
	numWaits
)

func (k WaitKind) String() string {
	return [...]string{"send", "receive", "probe", "collective", "other"}[k]
}

// WaitStats is how often, and for how long all in all, callers waited. Waits that were over within two looks are not
// among them: to read a clock for those would cost more than they last.
type WaitStats struct {
	Count uint64
	Time  time.Duration
}

// kind is what the goal's caller waits for: that of several operations which is looked at first.
func (g *goal) kind() WaitKind {
	m := g.ms[len(g.ms)-1]
	if m == nil {
		return WaitOther
	}
	switch m.Kind {
	case KindSend:
		return WaitSend
	case KindRecv:
		return WaitReceive
	case KindProbe, KindMprobe:
		return WaitProbe
	case kindSched:
		return WaitCollective
	default:
		return WaitOther
	}
}

// waitClock knows how long callers have waited.
type waitClock struct {
	mu     sync.Mutex
	n      int           // guarded by mu: callers that wait
	since  int64         // guarded by mu: since when n is not 0
	any    time.Duration // guarded by mu: how long n was not 0, until since
	byKind [numWaits]WaitStats
}

// waitTimer is one wait; its clock runs from begin, if that was called, to stop.
type waitTimer struct {
	clock *waitClock
	kind  WaitKind
	since int64 // 0: not begun
}

func (c *waitClock) timer(k WaitKind) waitTimer { return waitTimer{clock: c, kind: k} }

// start returns a timer that has begun.
func (c *waitClock) start(k WaitKind) waitTimer {
	t := c.timer(k)
	t.begin()
	return t
}

func (t *waitTimer) begin() {
	if t.since != 0 {
		return
	}
	c := t.clock
	t.since = sys.Nanotime()
	c.mu.Lock()
	if c.n++; c.n == 1 {
		c.since = t.since
	}
	c.mu.Unlock()
}

func (t *waitTimer) stop() {
	if t.since == 0 {
		return
	}
	c, now := t.clock, sys.Nanotime()
	c.mu.Lock()
	w := &c.byKind[t.kind]
	w.Count++
	w.Time += time.Duration(now - t.since)
	if c.n--; c.n == 0 {
		c.any += time.Duration(now - c.since)
	}
	c.mu.Unlock()
}

// waited is for how long, until now, at least one caller waited.
func (c *waitClock) waited(now int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n > 0 && now > c.since {
		return c.any + time.Duration(now-c.since)
	}
	return c.any
}

func (c *waitClock) stats() [numWaits]WaitStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byKind
}
