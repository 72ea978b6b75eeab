package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// The caller policy: there is progress in calls only. One caller drives, the others follow.

// driveWait is the caller policy: the waiting caller drives if no other caller does. Else it sleeps
// until its MSOs are done or the right is free. A caller that stops the engine wants the right, and
// ends what the others wait for. With one P, callers that hand the right to each other would keep
// it from that caller forever.
func (e *Engine) driveWait(g *goal) {
	for !g.met() {
		if !e.stopping.Load() && e.tryRight() {
			e.driveUntil(func() bool { return g.met() })
			e.releaseRight()
			continue
		}
		e.follow(g)
	}
	if s := e.right.State(); s.Sleepers() > 0 && !s.Held() { // we may have taken the chance to drive from one of them
		e.offerLead()
	}
}

// driveOnce makes a turn for what a caller leaves, or has the caller that drives make it before
// that gives the right back: nothing else ever would (caller).
func (e *Engine) driveOnce() {
	if !e.right.Try(progress.State.Take) {
		e.kick(true)
		return
	}
	e.turn()
	e.releaseRight()
}

// passRight gives the right back, and with it the chance to drive (caller).
func (e *Engine) passRight() {
	for !e.right.Try(progress.State.Pass) {
		e.turn()
	}
	if e.right.State().Sleepers() > 0 {
		e.offerLead()
	}
}

// driveUntil drives, polling first, then sleeping in the poller.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) driveUntil(done func() bool) {
	for idle := int64(0); !done(); { // since when nothing has happened; 0 if something just has
		if e.turn() {
			idle = 0
			continue
		}
		now := sys.Nanotime()
		e.maybeBeat(now)
		if idle == 0 {
			idle = now
		}
		if now-idle < e.patience() {
			if e.cfg.Spin == 0 {
				e.yield()
			}
			continue
		}
		if done() || e.stopping.Load() {
			return
		}
		e.sleep(progress.Idle, e.drv.bounded(100*time.Millisecond))
		idle = 0
	}
}

// follow sleeps behind the caller that drives.
func (e *Engine) follow(g *goal) {
	e.mu.Lock()
	w := e.getWaiterLocked()
	ok := e.core.Attach(w, g.need, g.ms...)
	e.unlock()
	if ok {
		if s := e.right.Note(progress.State.Park); !s.Held() && !e.stopping.Load() {
			e.offerLead()
		}
		select {
		case <-w.C:
			ok = false
		case <-e.lead:
		}
		e.right.Note(progress.State.Unpark)
	}
	e.mu.Lock()
	fired := e.core.Detach(w, g.ms...)
	if fired {
		g.last = w.TakeLast()
	}
	e.unlock()
	if ok && fired {
		<-w.C
	}
	e.putWaiter(w)
}

// offerLead wakes one follower, as no caller drives.
func (e *Engine) offerLead() {
	select {
	case e.lead <- struct{}{}:
	default:
	}
}

// progressForTest lets messages move inside a call that tests something: under caller, which has no
// other occasion for that, and where the worker rests. Programs spin in such calls. So under
// caller, where nothing has moved and cores are shared, others run next: those that are waited for
// may be among them.
func (e *Engine) progressForTest() {
	if e.cfg.Progress != Caller && !e.rests {
		return
	}
	moved := false
	if e.tryRight() {
		moved = e.round(e.drv.socketsDue())
		e.releaseRight()
	}
	if !moved && e.cfg.Spin == 0 && e.cfg.Progress == Caller {
		e.yield()
	}
}

// testPause is how long programs that spin in tests are without a look at the sockets: the system
// call would be most of a test.
const testPause = 2 * time.Microsecond

// socketsDue reports whether a test is to look at the sockets, and notes that it does.
//
// Preconditions:
//   - the caller holds the progress right.
func (d *driver) socketsDue() bool {
	now := sys.Nanotime()
	if now-d.tested < int64(testPause) {
		return false
	}
	d.tested = now
	return true
}

// pollsPerYield is how many polls come before a rank that has a worker lets others run.
const pollsPerYield = 16

// Poll is for calls that have found nothing to wait for, but in which programs spin until another
// rank has done something. That may be a change of this rank's memory, for which the engine is not
// asked. Under caller, and where the worker rests, Poll makes a turn, so that this rank's services
// go on. Where cores are shared, others run now and then: nothing else makes the spinning rank
// leave its core before its time slice is over.
func (e *Engine) Poll() {
	switch {
	case e.cfg.Progress == Caller || e.rests && e.cfg.Spin > 0:
		e.progressForTest()
	case e.cfg.Spin == 0 && e.polls.Add(1)%pollsPerYield == 0:
		e.yield()
	}
}
