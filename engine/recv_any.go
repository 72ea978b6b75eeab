package engine

import "github.com/fitmpi/fitmpi/internal/sys"

// anyRun is how many messages a rank takes in a row, from whichever peers, before one receive of
// any peer goes the way of Post. That way sees what the rings do not show: connections, and peers
// that have just begun to write.
const anyRun = 1 << 10

// recvAny is Recv of a message of any peer. It takes the ways of a receive that names its peer:
// from the event queue, then from a ring. Rings are looked at in turn, from the one behind that
// from which the last such message came: no peer that sends all the time keeps another out.
func (e *Engine) recvAny(m *Message, next Intent) bool {
	n := e.local
	if n == nil || e.cfg.Progress != Assist || n.block.Armed.Load() != 0 {
		return e.recvQueued(m, next)
	}
	if next == Computes {
		return e.recvAnyThere(m)
	}
	if e.patience() == 0 || e.right.State().HasLeft() || !e.tryRight() {
		return e.recvQueued(m, next)
	}
	e.noteWait()
	l, come := n.showing(), false
	if l == nil {
		if come = e.hasComeAny(m); !come {
			l = n.awaitAny()
		}
	}
	if l == nil && !come || !n.mayTakeAny() {
		e.releaseOwn()
		return false
	}
	e.mu.Lock()
	ok := e.core.TakeQueued(m) || l != nil && l.takeAnyLocked(m)
	if ok {
		e.taken++
	}
	e.releaseTakenLocked(false)
	return ok
}

// recvAnyThere is recvAny by a caller that computes next.
func (e *Engine) recvAnyThere(m *Message) bool {
	n := e.local
	owed := e.right.State().Owed()
	if !e.tryRight() {
		return e.recvQueued(m, Computes)
	}
	if l := n.showing(); (l != nil || e.hasComeAny(m)) && n.mayTakeAny() {
		e.mu.Lock()
		ok := e.core.TakeQueued(m) || l != nil && l.takeAnyLocked(m)
		e.releaseTakenLocked(owed)
		return ok
	}
	if e.right.Release().Missed() && !owed {
		e.attend(true)
	}
	return false
}

// mayTakeAny reports whether a message may be taken, and not one in so many goes the way of Post.
func (n *local) mayTakeAny() bool {
	if n.anyTaken++; n.anyTaken < anyRun {
		return !n.e.stopping.Load() && n.offers.shared.Load() == 0
	}
	n.anyTaken = 0
	return false
}

// hasComeAny reports whether the message that r asks for lies in the event queue.
func (e *Engine) hasComeAny(r *Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.HasCome(r.Ctx, AnyPeer, r.Tag)
}

// showing is the next lane, in their turn, whose ring shows a record; nil if there is none.
//
// Preconditions:
//   - the caller holds the progress right, as for what follows.
func (n *local) showing() *lane {
	first := min(n.turnOf, len(n.inputs))
	for i, l := range n.inputs[first:] {
		if l.isShowing() {
			n.turnOf = first + i + 1
			return l
		}
	}
	for i, l := range n.inputs[:first] {
		if l.isShowing() {
			n.turnOf = i + 1
			return l
		}
	}
	return nil
}

// awaitAny looks at the rings for a while.
func (n *local) awaitAny() *lane {
	if n.e.cfg.Spin == 0 {
		for end := sys.Nanotime() + int64(n.e.yieldFor); ; {
			if l := n.showing(); l != nil || sys.Nanotime() > end {
				return l
			}
			n.e.yield()
		}
	}
	for range takeLooks / max(len(n.inputs), 1) {
		if l := n.showing(); l != nil {
			return l
		}
	}
	return nil
}

// takeAnyLocked is takeLocked, or fetchLocked, of a receive of any peer. The one that it is from
// stands in it then.
func (l *lane) takeAnyLocked(r *Message) bool {
	r.Peer = l.peer
	if l.takeLocked(r) || l.fetchLocked(r) {
		return true
	}
	r.Peer = AnyPeer
	return false
}
