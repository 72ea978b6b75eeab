package engine

import (
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

// waitClock knows how long callers have waited. The engine's mutex guards it, which a caller that ends its wait takes
// anyway: a lock of its own was a third of what all this cost a round trip.
type waitClock struct {
	n      int           // callers that wait
	since  int64         // since when n is not 0
	any    time.Duration // how long n was not 0, until since
	byKind [numWaits]WaitStats
}

// waited is for how long, until now, at least one caller waited.
func (c *waitClock) waited(now int64) time.Duration {
	if c.n > 0 && now > c.since {
		return c.any + time.Duration(now-c.since)
	}
	return c.any
}

// waitTimer is one wait; its clock runs from begin, if that was called, to stop.
type waitTimer struct {
	e     *Engine
	kind  WaitKind
	since int64 // 0: not begun, or stopped
}

func (t *waitTimer) begin() {
	if t.since != 0 {
		return
	}
	t.since = sys.Nanotime()
	t.e.mu.Lock()
	c := &t.e.waits
	if c.n++; c.n == 1 {
		c.since = t.since
	}
	t.e.mu.Unlock()
}

func (t *waitTimer) stop() {
	if t.since == 0 {
		return
	}
	now := sys.Nanotime()
	t.e.mu.Lock()
	t.stopLocked(now)
	t.e.mu.Unlock()
}

func (t *waitTimer) stopLocked(now int64) {
	c := &t.e.waits
	w := &c.byKind[t.kind]
	w.Count++
	w.Time += time.Duration(now - t.since)
	if c.n--; c.n == 0 {
		c.any += time.Duration(now - c.since)
	}
	t.since = 0
}
