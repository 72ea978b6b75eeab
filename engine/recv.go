package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	// takeLooks is how often Recv looks at the ring for a caller that waits: for about as long as a
	// short message takes there and back, so that a receive that has to wait loses nothing.
	takeLooks = 1 << 10
	// takeMost bounds how many messages one Recv gives to receives that were posted before.
	takeMost = 16
	// takeRun is the number of messages that callers take in a row before one that computes next
	// waits briefly for the next message. To post a receive, and to collect what it has received,
	// takes several times as long as to take a message. Without that wait, a receiver that is as
	// fast as its sender, or waits for the first message of a window, would do both over and over.
	// A rank that sends more often than that may be what its peer waits for.
	takeRun = 16
	// vainLooks is how many looks of callers that compute next must find nothing, in a row, before
	// some are left out. Where a rank posts its receive, sends, and waits, they come too early, and
	// bring the cell of the ring here while the peer is about to write it.
	vainLooks = 8
	// lessLooks is how many are left out before the next one.
	lessLooks = 16
)

// Recv receives, without a message state object, a message of plain memory that is there: a short
// one that lies on the event queue or in the ring from its sender, of a wildcard from any, or for a
// caller that waits one of up to fetchMax bytes that is offered, which is fetched. It reports false
// if there is none, or if anything else is to be considered. Then nothing has happened, except that
// m.Buf may have changed, and Post is the way.
//
// If the caller waits, Recv looks at the ring for about a microsecond, or for Config.Yield where
// ranks share cores, and lets these run. If it computes next, Recv gives messages that lie before
// that one to the receives that were posted for them. So a caller that posts receives one after the
// other, while a peer sends, finds most messages there, and they need no queue and no second visit.
//
// A receive that has not been posted meets no other message in between: nothing arrives while the
// caller holds the progress right.
func (e *Engine) Recv(m *Message, next Intent) bool {
	if m.Any {
		return e.recvAny(m, next)
	}
	l := e.laneTo(m.Peer)
	switch {
	case l == nil || e.cfg.Progress != Assist || e.local.block.Armed.Load() != 0:
		return e.recvQueued(m, next)
	case next == Computes:
		return e.recvThere(l, m)
	}
	if e.patience() == 0 || e.right.State().HasLeft() || !e.tryRight() {
		return e.recvQueued(m, next)
	}
	e.noteWait()
	there := l.awaitFor(m)
	if !there && !l.queued || e.stopping.Load() || e.local.offers.shared.Load() != 0 {
		e.releaseOwn()
		return false
	}
	e.mu.Lock()
	ok := l.takeQueuedLocked(m) || there && (l.takeLocked(m) || l.fetchLocked(m))
	if ok {
		e.taken++
	}
	e.releaseTakenLocked(false)
	return ok
}

// recvQueued is Recv of what lies on the event queue, and no further.
func (e *Engine) recvQueued(m *Message, next Intent) bool {
	e.mu.Lock()
	if e.stopping.Load() || !e.core.TakeQueued(m) {
		e.mu.Unlock()
		return false
	}
	switch {
	case e.isIdleLocked() && (next != Computes || !e.rests):
		e.unlockIdle()
	case next == Computes:
		e.unlockPosted(done, nil)
	default:
		e.unlockPosted(returns, nil)
	}
	return true
}

// recvThere is Recv by a caller that computes next.
func (e *Engine) recvThere(l *lane, m *Message) (ok bool) {
	if l.isTooEarly() {
		return false
	}
	owed := e.right.State().Owed()
	if !e.tryRight() {
		return e.recvQueued(m, Computes)
	}
	there := l.isComing(m)
	if (there || l.queued) && !e.stopping.Load() && e.local.offers.shared.Load() == 0 {
		e.mu.Lock()
		ok = l.takeQueuedLocked(m) || there && l.takeBehindLocked(m)
		e.releaseTakenLocked(owed)
		if l.vain.Load() != 0 {
			l.vain.Store(0)
		}
		return ok
	}
	l.vain.Add(1)
	if e.right.Release().Missed() && !owed {
		e.attend(true)
	}
	return false
}

// isTooEarly reports whether a look for a message that no row of messages makes due is left out.
func (l *lane) isTooEarly() bool {
	n := l.vain.Load()
	if n < vainLooks || l.flows.Load() {
		return false
	}
	if n++; n > vainLooks+lessLooks {
		n = vainLooks - 1 // a look that finds nothing is enough to go on so
	}
	l.vain.Store(n)
	return n >= vainLooks
}

// MovesNow reports whether it is worth a caller's while to do by Send and Recv what a schedule
// would be for. It is, if the rank shares memory with others, callers poll, no observer is to see
// when schedules begin, and nothing has failed that could end one.
func (e *Engine) MovesNow() bool {
	return e.local != nil && e.cfg.Progress == Assist && e.patience() > 0 && !e.stopping.Load() &&
		e.core.IsHealthy() && !e.core.SeesSchedules()
}

// laneTo is the lane to a peer, nil if there is none.
func (e *Engine) laneTo(id PeerID) *lane {
	if e.local == nil || int(id) >= len(e.local.byPeer) {
		return nil
	}
	return e.local.byPeer[id]
}

// awaitFor looks for a record for a while, unless the message that r asks for has come already.
//
// Preconditions:
//   - the caller holds the progress right, as for takeLocked.
func (l *lane) awaitFor(r *Message) bool {
	return l.isShowing() || !(l.queued && l.hasCome(r)) && l.await()
}

// hasCome reports whether the message that r asks for lies in the event queue.
func (l *lane) hasCome(r *Message) bool {
	e := l.n.e
	e.mu.Lock()
	defer e.mu.Unlock()
	l.queued = e.core.HasArrivals()
	return e.core.HasCome(r.Ctx, r.Peer, r.Tag)
}

// takeQueuedLocked takes the message that r asks for if it lies on the event queue.
func (l *lane) takeQueuedLocked(r *Message) bool {
	if !l.queued {
		return false
	}
	c := l.n.e.core
	ok := c.TakeQueued(r)
	l.queued = c.HasArrivals()
	return ok
}

// await looks for a record for a while.
func (l *lane) await() bool {
	if l.r == nil || l.rx.in || l.rx.headN != 0 {
		return false
	}
	if l.n.e.cfg.Spin == 0 {
		return l.awaitInTurns()
	}
	for range takeLooks {
		if l.r.Ready() {
			return true
		}
	}
	return false
}

// awaitInTurns is await where ranks share cores.
func (l *lane) awaitInTurns() bool {
	e := l.n.e
	for end := sys.Nanotime() + int64(e.yieldFor); !l.r.Ready(); {
		if e.yield(); sys.Nanotime() > end {
			return false
		}
	}
	return true
}

// takeLocked takes the next record if it is the message that r asks for.
func (l *lane) takeLocked(r *Message) bool {
	h, payload, ok := l.r.Headed()
	if !ok {
		return l.takeLongLocked(r)
	}
	w := wire.Words{First: h.A, Context: h.B, Length: h.C, ID: h.D}
	if !w.IsEager() || w.Length != uint64(len(payload)) || !l.n.e.core.Take(r, w) {
		return false
	}
	shm.CopyShort(r.Buf, payload)
	l.tookLocked(wire.HeaderLen + len(payload))
	return true
}

// takeLongLocked is takeLocked of a record that does not all lie in its cell.
func (l *lane) takeLongLocked(r *Message) bool {
	head, rest, ok := l.r.Next()
	if !ok {
		return false
	}
	w, ok := wire.ConsumeEager(head)
	if !ok || w.Length != uint64(len(head)+len(rest)-wire.HeaderLen) || !l.n.e.core.Take(r, w) {
		return false
	}
	n := copy(r.Buf, head[wire.HeaderLen:])
	copy(r.Buf[n:], rest)
	l.tookLocked(len(head) + len(rest))
	return true
}

// fetchLocked takes the next record if it offers the message that r asks for, and that is not long:
// it is fetched here. The record stays until that is done, for Post if it fails. The mutex
// is released meanwhile.
func (l *lane) fetchLocked(r *Message) bool {
	e := l.n.e
	h, more, ok := l.r.Headed()
	w := wire.Words{First: h.A, Context: h.B, Length: h.C, ID: h.D}
	if !ok || len(more) > 0 || !w.IsOffer() || w.Length > fetchMax || !e.core.MayTake(r, w) {
		return false
	}
	e.mu.Unlock()
	ok = l.fetchAll(w.ID, r.Buf[:w.Length])
	e.mu.Lock()
	if ok {
		l.tookLocked(wire.HeaderLen)
		e.core.Took(r, w)
	}
	return ok
}

// tookLocked is done with the record of n bytes that the ring has shown.
func (l *lane) tookLocked(n int) {
	c := &l.n.e.counts
	l.row = 0
	c.framesIn[l.peer]++
	c.ringIn += uint64(n)
	if l.r.Release() {
		l.n.tellLocked(l)
	}
}

// isShowing reports whether a record lies in the ring, and nothing is half read.
//
// Preconditions:
//   - the caller holds the progress right, as for what follows.
func (l *lane) isShowing() bool { return l.r != nil && l.r.Ready() && !l.rx.in && l.rx.headN == 0 }

// isComing reports whether a record lies in the ring, or comes where messages come one after the
// other: it is waited for as long as a peer takes to answer. A wait in vain is the last of its row.
func (l *lane) isComing(r *Message) bool {
	if l.isShowing() {
		return true
	}
	if !l.isDue(r) {
		return false
	}
	if l.await() {
		return true
	}
	e := l.n.e
	e.mu.Lock()
	l.rowLocked(0, false)
	e.mu.Unlock()
	return false
}

// rowLocked says how many messages callers have taken one after the other, and whether that makes
// the next one due.
func (l *lane) rowLocked(run int, flows bool) {
	if l.run = run; l.flows.Load() != flows {
		l.flows.Store(flows)
	}
}

// isDue reports whether a caller that computes next waits for the message that r asks for, which is
// not there: a core is free for that, and messages come one after the other.
func (l *lane) isDue(r *Message) bool {
	e := l.n.e
	if !l.flows.Load() || e.cfg.Spin == 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.core.HasCome(r.Ctx, r.Peer, r.Tag)
}

// takeBehindLocked takes the message that r asks for, and gives those that lie before it to
// receives that are posted.
func (l *lane) takeBehindLocked(r *Message) bool {
	for i := 0; !l.takeLocked(r); i++ {
		if i == takeMost || !l.passLocked() {
			return false
		}
	}
	l.rowLocked(l.run+1, l.flows.Load() || l.run+1 >= takeRun)
	l.n.e.taken++
	return true
}

// passLocked handles the next record if it is a short message that a receive is posted for.
func (l *lane) passLocked() bool {
	head, rest, ok := l.r.Next()
	if !ok {
		return false
	}
	c, from := l.n.e.core, l.peer
	var h wire.Header
	if wire.ConsumeHeader(head, &h) <= 0 || !core.IsWhole(&h, len(head)+len(rest)-wire.HeaderLen) || !c.IsAwaited(from, &h) ||
		c.OnWhole(from, &h, head[wire.HeaderLen:], rest) != nil { // a fault is found again by the next turn
		return false
	}
	l.tookLocked(len(head) + len(rest))
	return true
}

// releaseTakenLocked gives back the right, and releases the mutex, after messages were taken. What
// is to be written for them, credit, is written first. Where something was owed already when the
// caller took the right, a worker that naps sleeps on, and looks after that: callers that take
// messages come often.
func (e *Engine) releaseTakenLocked(owed bool) {
	if e.core.HasOutput() {
		e.unlock()
		e.drv.flushAll()
		e.mu.Lock()
	}
	e.releaseOwnLocked(false, !owed)
}
