package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/callsite"
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

// WaitStats is how often, and for how long all in all, callers waited. Waits that were over within
// two looks, or for short receives within those of takeLooks, are not among them: to read a clock
// for those would cost more than they last.
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
	return kindOf(m)
}

// kindOf is what a caller that waits for m waits for.
func kindOf(m *MSO) WaitKind {
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

// waitClock knows how long callers have waited. The engine's mutex guards it, which a caller that
// ends its wait takes anyway: a lock of its own was a third of what all this cost a round trip.
type waitClock struct {
	n       int           // callers that wait
	bounded int           // those of them whose wait something else may end than messages
	since   int64         // since when n is not 0
	any     time.Duration // how long n was not 0, until since
	byKind  [numWaits]WaitStats
	byPeer  []PeerWait // by rank
	sites   waitSites
	slots   []wait  // callers that wait, in no order, and room for others
	free    []int32 // the slots that no wait uses
}

// PeerWait is for how long callers waited for messages to a peer and from it: for those alone, or
// for several of which they were the last. Receives from any source are not in it.
type PeerWait struct {
	Sending, Receiving time.Duration
}

// add notes a wait for m.
func (w *PeerWait) add(m *MSO, d time.Duration) {
	switch m.Kind {
	case KindSend:
		w.Sending += d
	case KindRecv, KindProbe, KindMprobe:
		w.Receiving += d
	}
}

const (
	// callDepth is how many calls above begin are noted: more than there are between a call of the
	// user's and it.
	callDepth = 20
	// notedMSOs is how many operations are noted of those that a caller waits for.
	notedMSOs = 256
)

// wait is what is known of a caller that waits. Its memory is used again.
type wait struct {
	since   int64              // as waitTimer.since
	pcs     [callDepth]uintptr // where it was called from, see callsite.Callers; 0 ends it if there are fewer
	need    int                // how many of ms, and of those that are not noted, must complete
	ms      []*MSO             // what it waits for, at most notedMSOs
	more    int                // operations that are not noted
	bounded bool               // see goal
}

// enterLocked takes a slot.
func (c *waitClock) enterLocked(since int64, g *goal) int32 {
	if len(c.free) == 0 {
		c.free = append(c.free, int32(len(c.slots)))
		c.slots = append(c.slots, wait{ms: make([]*MSO, 0, 1)})
	}
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	w := &c.slots[i]
	if n := callsite.Callers(w.pcs[:]); n < callDepth {
		w.pcs[n] = 0
	}
	last := max(len(g.ms)-notedMSOs, 0)
	w.since, w.need, w.ms, w.more, w.bounded = since, g.need, append(w.ms, g.ms[last:]...), last, g.bounded
	if w.bounded {
		c.bounded++
	}
	return i
}

// blamed is the operation that the caller waits for now, as far as that is known, if all are
// needed; else nil.
func (w *wait) blamed() *MSO {
	if w.need != len(w.ms)+w.more {
		return nil
	}
	for i := len(w.ms) - 1; i >= 0; i-- {
		if m := w.ms[i]; m != nil && !m.IsDone() {
			return m
		}
	}
	return nil
}

// leaveLocked gives a slot back, holding on to nothing.
func (c *waitClock) leaveLocked(i int32) {
	w := &c.slots[i]
	if w.bounded {
		c.bounded--
	}
	clear(w.ms)
	w.since, w.ms = 0, w.ms[:0]
	c.free = append(c.free, i)
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
	slot  int32 // in waitClock.slots, of a wait that has begun
	since int64 // 0: not begun, or stopped
}

// begin starts the clock, unless it runs. The goal is the caller's: to keep it in t would move it
// to the heap.
func (t *waitTimer) begin(g *goal) {
	if t.since != 0 {
		return
	}
	t.since = sys.Nanotime()
	t.e.mu.Lock()
	c := &t.e.waits
	if c.n++; c.n == 1 {
		c.since = t.since
	}
	t.slot = c.enterLocked(t.since, g)
	t.e.mu.Unlock()
}

// stop ends a wait that m ended, nil if that is not known.
func (t *waitTimer) stop(m *MSO) {
	if t.since == 0 {
		return
	}
	now := sys.Nanotime()
	t.e.mu.Lock()
	t.stopLocked(now, m)
	t.e.mu.Unlock()
}

func (t *waitTimer) stopLocked(now int64, m *MSO) {
	c := &t.e.waits
	w := &c.byKind[t.kind]
	d := time.Duration(now - t.since)
	w.Count++
	w.Time += d
	if m != nil && m.Peer >= 0 {
		c.byPeer[m.Peer].add(m, d)
	}
	c.sites.note(&c.slots[t.slot].pcs, t.kind, m, d)
	if t.kind == WaitCollective {
		ms := c.slots[t.slot].ms
		ms[len(ms)-1].Waited += int64(d)
	}
	if c.n--; c.n == 0 {
		c.any += time.Duration(now - c.since)
	}
	c.leaveLocked(t.slot)
	t.since = 0
}

// Waiting is how many callers wait until messages end their wait, and how many for operations that
// may end otherwise: see WaitBounded. Waits that WaitStats leaves out are not among them. It may be
// called at any time.
func (e *Engine) Waiting() (blocked, bounded int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waits.n - e.waits.bounded, e.waits.bounded
}
