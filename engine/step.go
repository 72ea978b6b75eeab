package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/netpoll"
)

// How the driver is slept in, woken and polled besides in turns.

// wait sleeps in a waiter until something may have arrived, another goroutine wakes it or max has
// passed (max < 0: for ever).
func (d *driver) wait(s *netpoll.Waiter, max time.Duration, hold bool) {
	begin := d.e.turnBegins()
	var err error
	if hold {
		d.e.stats.waitsHolding.Add(1)
		err = s.WaitHolding(min(max, holdWait))
	} else {
		d.e.stats.waitsBlocking.Add(1)
		err = s.Wait(max)
	}
	if begin != 0 {
		d.e.slept(begin, s == &d.poller.Waiter)
	}
	d.woken(s)
	if err != nil {
		d.e.cfg.Logger.Error("poll failed", "rank", d.e.cfg.Rank, "err", err)
	}
}

// arm makes the wait in a waiter, or the next one, return when something arrives.
func (d *driver) arm(s *netpoll.Waiter) {
	if err := s.Arm(); err != nil {
		d.e.cfg.Logger.Error("arming the poller", "rank", d.e.cfg.Rank, "err", err)
	}
}

func (d *driver) wake(s *netpoll.Waiter) {
	d.calls(s)
	if err := s.Wake(); err == nil {
		d.e.stats.wakes.Add(1)
	}
}

// socketTurns is how many looks of a caller that takes turns on a core leave out the
// poller, where that has but the listener and the bell: a system call for nothing.
const socketTurns = 32

// step is what a caller that polls does for the i-th time: mostly a look at where
// something will come from, and now and then a whole turn. It reports whether
// anything happened.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) step(i int) (moved bool) {
	if e.cfg.Spin == 0 {
		return e.round(e.local == nil || e.drv.open.Load() != 0 || e.drv.timed > 0 || i%socketTurns == 0)
	}
	every, begin := 8, e.turnBegins()
	if e.local != nil {
		moved, work := e.local.poll()
		if work || e.drv.jobsLeft {
			e.drv.runJobs()
			moved = true
		}
		if moved || e.local.offers.help() { // what others fetch from us comes after what we fetch
			e.maybeTurned(begin)
			return true
		}
		if e.drv.open.Load() == 0 {
			every = 256 // there is but the listener to look at
		}
	}
	if i%every == 0 {
		return e.turn()
	}
	if c := e.drv.only(); c != nil {
		return e.peek(c)
	}
	return e.local == nil && e.turn()
}

// firstStep is the number of the first step of a caller that waits: a whole turn, unless
// its peers are of this host and nothing is to be written or run.
func (e *Engine) firstStep() int {
	switch {
	case e.local == nil:
		return 0
	case e.right.State().HasLeft():
		e.right.Note(progress.State.Resume)
		return 0
	case e.drv.open.Load() != 0:
		return 0
	}
	return 1
}

// peek reads from the only connection there is, which finds a message sooner than
// asking the poller first.
func (e *Engine) peek(c *conn) (moved bool) {
	before, begin := c.beat.in, e.turnBegins()
	c.receive()
	if moved = c.beat.in != before; moved {
		e.drv.runJobs()
		e.maybeTurned(begin)
	}
	return moved
}

// only is the open connection of a driver that has no other socket but its listener,
// nil if there is none.
func (d *driver) only() *conn {
	if d.open.Load() != 1 || d.timed > 0 {
		return nil
	}
	for i := range d.slots {
		if c := d.slots[i].c; c != nil && c.state == connOpen {
			return c
		}
	}
	return nil
}

// attendSelf is called by a caller that begins to poll: the worker need not look as well. But the
// worker must not sleep for good: from now on peers do not notify us of what they put. When no
// caller comes any more the worker, after its nap, makes them notify us again.
func (e *Engine) attendSelf() {
	if e.local != nil && !e.local.disarm() && e.drv.open.Load() == 0 {
		return
	}
	e.kick(true) // each arrival would wake the worker for nothing: let it nap
}

// armLocal makes peers that share memory notify us of what they put. It reports true if there is
// something already, another goroutine is looking, or the worker naps for our sake: then it is no
// time to sleep.
func (e *Engine) armLocal(holding bool) bool {
	if e.local == nil {
		return false
	}
	if holding {
		return e.local.arm()
	}
	e.local.block.Armed.Store(1) // before the right is tried: a goroutine that fails to get it from us finds us armed
	if !e.tryRight() {
		return true
	}
	found := e.local.arm()
	return e.right.Release().Missed() || found
}

// rearm is armLocal for a worker that sleeps, on behalf of a caller that leaves.
func (e *Engine) rearm() {
	if e.local != nil && e.local.block.Armed.Load() == 0 && e.armLocal(false) {
		e.perform(e.right.Do(progress.State.Stir))
	}
}

// isMidway reports whether a long payload is on its way in or out.
func (d *driver) isMidway() bool {
	for _, s := range d.slots {
		if c := s.c; c != nil && c.state == connOpen && (c.blocked || c.rx.direct() != nil) {
			return true
		}
	}
	return false
}
