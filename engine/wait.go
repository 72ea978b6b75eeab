package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Wait returns when m is done.
func (e *Engine) Wait(m *MSO) {
	if m.IsDone() {
		return
	}
	one := [1]*MSO{m}
	e.wait(1, one[:])
}

// WaitMany returns when need of ms are done; nil entries count as done.
func (e *Engine) WaitMany(need int, ms []*MSO) {
	if countDone(ms) < need {
		e.wait(need, ms)
	}
}

func countDone(ms []*MSO) int {
	n := 0
	for _, m := range ms {
		if m == nil || m.IsDone() {
			n++
		}
	}
	return n
}

// wait climbs the ladder: under assist poll while a core is free for it, then
// sleep; under caller drive, or sleep behind somebody who does.
func (e *Engine) wait(need int, ms []*MSO) {
	switch e.cfg.Progress {
	case Worker:
		e.spinWait(need, ms)
	case Assist:
		e.assistWait(need, ms)
	case Caller:
		e.driveWait(need, ms)
		return
	}
	if countDone(ms) < need {
		if e.cfg.Progress == Assist {
			e.attend()
		}
		e.park(need, ms)
	}
}

// spinWait tests the completion words for a while, if a core is free for that.
func (e *Engine) spinWait(need int, ms []*MSO) {
	if e.cfg.Spin == 0 {
		return
	}
	for end := sys.Nanotime() + int64(e.cfg.Spin); sys.Nanotime() < end; {
		for range 64 {
			if countDone(ms) >= need {
				return
			}
		}
	}
}

// assistWait takes the progress right and polls until ms are done or the time
// for spinning is over; then the worker goes on.
func (e *Engine) assistWait(need int, ms []*MSO) {
	if e.cfg.Spin == 0 {
		return
	}
	end := sys.Nanotime() + int64(e.cfg.Spin)
	if !e.claimRight(end, need, ms) {
		return
	}
	for i := 0; ; i++ {
		e.turn()
		if countDone(ms) >= need || i%16 == 15 && sys.Nanotime() > end {
			break
		}
	}
	e.releaseRight()
}

// claimRight gets the right, asking a sleeping worker for it, unless the wait is
// over before or the time is.
func (e *Engine) claimRight(end int64, need int, ms []*MSO) bool {
	if e.tryRight() {
		e.callers.Add(1)
		return true
	}
	e.want.Add(1)
	defer e.unwant()
	e.rouse()
	for sys.Nanotime() < end {
		if e.tryRight() {
			e.callers.Add(1)
			return true
		}
		if countDone(ms) >= need {
			return false
		}
	}
	return false
}

// unwant withdraws a wish for the right; the worker may have gone to sleep for it.
func (e *Engine) unwant() {
	e.want.Add(^uint32(0))
	if e.right.Load() == 0 {
		e.attend()
	}
}

// park sleeps until need of ms are done.
func (e *Engine) park(need int, ms []*MSO) {
	e.mu.Lock()
	w := e.getWaiterLocked()
	ok := e.core.Attach(w, need, ms...)
	e.unlock()
	if ok {
		<-w.C
	}
	e.mu.Lock()
	e.core.Detach(w, ms...)
	e.waiters = append(e.waiters, w)
	e.unlock()
}

// driveWait is the caller policy: the waiting caller drives if nobody else
// does, else it sleeps until its MSOs are done or the driver's seat is free.
func (e *Engine) driveWait(need int, ms []*MSO) {
	for countDone(ms) < need {
		if e.tryRight() {
			e.driveUntil(func() bool { return countDone(ms) >= need })
			e.releaseRight()
			continue
		}
		e.follow(need, ms)
	}
	if e.followers.Load() > 0 && e.right.Load() == 0 { // we may have taken the chance to drive from one of them
		e.offerLead()
	}
}

// driveUntil drives, spinning first, then sleeping in the poller.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) driveUntil(done func() bool) {
	last := sys.Nanotime()
	for !done() {
		if e.turn() || e.cfg.Spin > 0 && sys.Nanotime()-last < int64(e.cfg.Spin) {
			continue
		}
		if done() || e.stopping.Load() {
			return
		}
		e.sleep(false, 100*time.Millisecond)
		last = sys.Nanotime()
	}
}

// follow sleeps behind the caller that drives.
func (e *Engine) follow(need int, ms []*MSO) {
	e.mu.Lock()
	w := e.getWaiterLocked()
	ok := e.core.Attach(w, need, ms...)
	e.unlock()
	if ok {
		e.followers.Add(1)
		if e.right.Load() == 0 {
			e.offerLead()
		}
		select {
		case <-w.C:
			ok = false
		case <-e.lead:
		}
		e.followers.Add(-1)
	}
	e.mu.Lock()
	fired := e.core.Detach(w, ms...)
	e.unlock()
	if ok && fired {
		<-w.C
	}
	e.putWaiter(w)
}

// offerLead tells one follower that nobody drives.
func (e *Engine) offerLead() {
	select {
	case e.lead <- struct{}{}:
	default:
	}
}

// sleepRoom sleeps until room was given back in a buffer that w waits for.
func (e *Engine) sleepRoom(w *core.Waiter) {
	if e.cfg.Progress != Caller {
		<-w.C
		e.putWaiter(w)
		return
	}
	for {
		select {
		case <-w.C:
			e.putWaiter(w)
			return
		default:
		}
		if !e.tryRight() { // somebody drives, or nobody ever will again
			time.Sleep(100 * time.Microsecond)
			continue
		}
		if !e.turn() && len(w.C) == 0 {
			e.sleep(false, 10*time.Millisecond)
		}
		e.releaseRight()
	}
}

func (e *Engine) getWaiterLocked() *core.Waiter {
	if n := len(e.waiters); n > 0 {
		w := e.waiters[n-1]
		e.waiters = e.waiters[:n-1]
		return w
	}
	return &core.Waiter{C: make(chan struct{}, 1)}
}

func (e *Engine) putWaiter(w *core.Waiter) {
	e.mu.Lock()
	e.waiters = append(e.waiters, w)
	e.mu.Unlock()
}

// progressForTest gives messages a chance to move inside a call that tests
// something, under the policy that knows no other chance.
func (e *Engine) progressForTest() {
	if e.cfg.Progress == Caller && e.tryRight() {
		e.turn()
		e.releaseRight()
	}
}

// Test reports whether m is done: one atomic load, unless the policy is caller.
func (e *Engine) Test(m *MSO) bool {
	if !m.IsDone() {
		e.progressForTest()
	}
	return m.IsDone()
}
