package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// takeMost bounds how many messages one TakeNow gives to receives that were posted before.
const takeMost = 16

// takeRun is the number of messages that callers take in a row before TakeNow waits briefly for the
// next one. To post a receive, and to collect what it has received, takes several times as long as
// to take a message. Without that wait, a receiver that is as fast as its sender, or waits for the
// first message of a window, would do both over and over. A rank that sends more often than that
// may be what its peer waits for.
const takeRun = 16

// TakeNow is RecvNow by a caller that does not wait: it receives a message that lies in the ring
// already. Messages before it go to the receives that were posted for them. It reports false if the
// message is not there, or if anything else is to be considered: then Post is the way.
//
// So a caller that posts receives one after the other, while a peer sends, finds most messages
// there, and they need no message state object, no queue and no second visit.
func (e *Engine) TakeNow(r *ShortReceipt) (ok bool) {
	l := e.laneTo(r.Peer)
	if l == nil || e.cfg.Progress != Assist || e.local.block.Armed.Load() != 0 {
		return false
	}
	owed := e.right.State().Owed()
	if !e.tryRight() {
		return false
	}
	if l.isComing(r) && !e.stopping.Load() && e.local.offers.shared.Load() == 0 {
		e.mu.Lock()
		ok = l.takeBehindLocked(r)
		e.releaseTakenLocked(owed)
		return ok
	}
	if e.right.Release().Missed() && !owed {
		e.attend(true)
	}
	return false
}

// isShowing reports whether a record lies in the ring, and nothing is half read.
//
// Preconditions:
//   - the caller holds the progress right, as for what follows.
func (l *lane) isShowing() bool { return l.r != nil && l.r.Ready() && !l.rx.in && l.rx.headN == 0 }

// isComing reports whether a record lies in the ring, or comes where messages come one after the
// other: it is waited for as long as a peer takes to answer, if a core is free for that.
func (l *lane) isComing(r *ShortReceipt) bool {
	if l.isShowing() {
		return true
	}
	e := l.n.e
	e.mu.Lock()
	waits := (l.flows || l.run >= takeRun) && e.cfg.Spin > 0 && !e.core.HasCome(r.Ctx, r.Peer, r.Tag)
	e.mu.Unlock()
	if !waits || l.await() {
		return waits
	}
	e.mu.Lock()
	l.flows, l.run = false, 0
	e.mu.Unlock()
	return false
}

// takeBehindLocked takes the message that r asks for, and gives those that lie before it to
// receives that are posted.
func (l *lane) takeBehindLocked(r *ShortReceipt) bool {
	for i := 0; !l.takeLocked(r); i++ {
		if i == takeMost || !l.passLocked() {
			return false
		}
	}
	l.run++
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
