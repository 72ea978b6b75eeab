package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/shm"
)

// takeLooks is how often RecvNow looks at the ring: for about as long as a short message
// takes there and back, so that a receive that has to wait loses nothing.
const takeLooks = 1 << 10

// RecvNow receives, without a message state object, a message of plain memory that lies in the ring
// from its sender, or arrives there in the next microsecond. It takes a short one, or fetches an
// offered one of up to fetchMax bytes. It reports false if there is none, or if anything else is to
// be considered. Then nothing has happened, except that r.Buf may have changed, and PostBlocking is
// the way.
//
// A receive that has not been posted meets no other message in between: nothing
// arrives while the caller holds the progress right.
func (e *Engine) RecvNow(r *ShortReceipt) bool {
	l := e.laneTo(r.Peer)
	if l == nil || e.cfg.Progress != Assist || e.cfg.Spin == 0 || e.right.State().HasLeft() || e.local.block.Armed.Load() != 0 || !e.tryRight() {
		return false
	}
	e.noteWait()
	if !l.awaitFor(r) || e.stopping.Load() || e.local.offers.shared.Load() != 0 {
		e.releaseOwn()
		return false
	}
	e.mu.Lock()
	ok := l.takeLocked(r) || l.fetchLocked(r)
	if ok {
		e.taken++
	}
	e.releaseTakenLocked(false)
	return ok
}

// MovesNow reports whether it is worth a caller's while to do by SendLocal and RecvNow what a
// schedule would be for. It is, if the rank shares memory with others, a core is free to wait, no
// observer is to see when schedules begin, and nothing has failed that could end one.
func (e *Engine) MovesNow() bool {
	if e.local == nil || e.cfg.Progress != Assist || e.cfg.Spin == 0 || e.stopping.Load() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.IsHealthy() && !e.core.SeesSchedules()
}

// laneTo is the lane to a peer, nil if there is none.
func (e *Engine) laneTo(id PeerID) *lane {
	if e.local == nil {
		return nil
	}
	return e.local.byPeer[id]
}

// awaitFor looks for a record for a while, unless the message that r asks for has come already.
//
// Preconditions:
//   - the caller holds the progress right, as for takeLocked.
func (l *lane) awaitFor(r *ShortReceipt) bool {
	return l.isShowing() || !(l.queued && l.hasCome(r)) && l.await()
}

// hasCome reports whether the message that r asks for lies in the event queue.
func (l *lane) hasCome(r *ShortReceipt) bool {
	e := l.n.e
	e.mu.Lock()
	defer e.mu.Unlock()
	l.queued = e.core.HasArrivals()
	return e.core.HasCome(r.Ctx, r.Peer, r.Tag)
}

// await looks for a record for a while.
func (l *lane) await() bool {
	if l.r == nil || l.rx.in || l.rx.headN != 0 {
		return false
	}
	for range takeLooks {
		if l.r.Ready() {
			return true
		}
	}
	return false
}

// takeLocked takes the next record if it is the message that r asks for.
func (l *lane) takeLocked(r *ShortReceipt) bool {
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
func (l *lane) takeLongLocked(r *ShortReceipt) bool {
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
// it is fetched here. The record stays until that is done, for PostBlocking if it fails. The mutex
// is released meanwhile.
func (l *lane) fetchLocked(r *ShortReceipt) bool {
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
