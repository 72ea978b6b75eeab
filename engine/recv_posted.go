package engine

import "github.com/fitmpi/fitmpi/engine/internal/progress"

// Recv takes a short message that no receive has been posted for. What follows is the same for a
// caller that waits for receives that it has posted, as a rank does that posts one, sends, and
// waits.

// takeAwaited ends the wait of a caller for short receives if the rings from their senders show the
// messages, or do so soon. It takes the mutex once for each, where a turn and what is about it take
// it three times. Messages that lie before them go to the receives that are posted for those. It
// reports false if the wait goes on; the right is the caller's then, and given back otherwise.
//
// Preconditions:
//   - the caller holds the progress right, and nothing is left to write or to run.
func (e *Engine) takeAwaited(l *lane, g *goal) bool {
	for ; l != nil && l.comesSoon() && !e.stopping.Load() && e.local.offers.shared.Load() == 0; l = e.awaitedLane(g) {
		now, n, passed, over := e.timeOfWait(), len(g.ms), 0, false
		e.mu.Lock()
		for !over && len(g.ms) == n && passed < takeMost && l.passLocked() {
			passed++
			over = g.met()
		}
		if now != 0 {
			e.habit.ComeLocked(now)
		}
		if over {
			e.taken++
			e.endAwaitedLocked()
			return true
		}
		if passed > 0 {
			e.right.Note(progress.State.Leave) // what is to be written for it, credit, or to be run
		}
		e.unlock()
		if len(g.ms) == n {
			return false // what lies there is for a turn
		}
	}
	return false
}

// endAwaitedLocked gives back the right, and releases the mutex, after a wait that is over. What is
// outstanding besides is left to the worker, as by releaseRight.
func (e *Engine) endAwaitedLocked() {
	if !e.core.IsBusy() {
		e.releaseTakenLocked(false)
		return
	}
	out := e.core.HasOutput()
	e.unlock()
	if out {
		e.drv.flushAll()
	}
	e.releaseRight()
}

// comesSoon reports whether the ring shows a record. Where a core is free for that it is waited for
// briefly.
func (l *lane) comesSoon() bool {
	return l.isShowing() || l.n.e.cfg.Spin > 0 && l.await()
}

// awaitedLane is the way that the message takes which a caller waits for, if that is one for a
// short receive from one peer of the host; else nil.
func (e *Engine) awaitedLane(g *goal) *lane {
	if e.local == nil || g.need != len(g.ms) {
		return nil
	}
	m := g.ms[len(g.ms)-1]
	if m == nil || m.Kind != KindRecv || m.Peer == AnyPeer || m.Layout != nil || m.Alloc != nil || len(m.Buf) > ringMax {
		return nil // the memory that Alloc gives comes while the engine has m: Buf is read after that
	}
	return e.laneTo(m.Peer)
}
