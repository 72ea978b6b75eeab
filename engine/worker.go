package engine

import (
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// How the holder of the progress right sleeps.
const (
	awake         uint32 = iota // it will look at the queues again by itself
	asleepHolding               // in a wait of the right kind: needs waking for output and commands only
	asleepIdle                  // in a wait without a P because nothing is outstanding: needs waking for any post
)

const (
	// holdWait bounds one wait that keeps the P: a stop of the world waits at
	// most so long for the worker where signals do not reach it.
	holdWait = time.Millisecond
	// linger is how long the worker keeps its P after the last operation has
	// completed, so that the next one need not wake it.
	linger = 2 * time.Millisecond
	// firstPark and lastPark bound the worker's naps while callers poll.
	firstPark = time.Millisecond
	lastPark  = 16 * time.Millisecond
)

func (e *Engine) tryRight() bool { return e.right.CompareAndSwap(0, 1) }

// takeRight waits for the progress right. Only for rare operations.
func (e *Engine) takeRight() {
	for !e.tryRight() {
		e.want.Add(1)
		e.rouse()
		runtime.Gosched()
		e.want.Add(^uint32(0))
	}
}

// releaseRight gives the right back and makes sure that what is left to do
// finds somebody.
func (e *Engine) releaseRight() {
	e.right.Store(0)
	if e.cfg.Progress == Caller {
		if e.followers.Load() > 0 {
			e.offerLead()
		}
		return
	}
	e.owed.Store(false) // before looking: who posts later says so again
	e.mu.Lock()
	left := e.core.IsBusy() || e.core.HasJobs() || len(e.cmds) > 0
	e.unlock()
	if left {
		e.attend()
	}
}

// releaseFlushed gives back the right that a caller took to write its own message
// only. Operations that are outstanding are not its business: either their callers
// wait for them and will take the right, or owed says otherwise.
func (e *Engine) releaseFlushed() {
	e.right.Store(0)
	e.mu.Lock()
	left := e.core.IsOwed() || len(e.cmds) > 0
	e.unlock()
	if left || e.owed.Load() {
		e.attend()
	}
}

// attend sees to it that the worker drives, now or when the holder of the right
// gives it back.
func (e *Engine) attend() {
	e.owed.Store(true)
	if e.right.Load() == 0 {
		e.resume()
	}
}

// kick wakes the holder of the right after a post; output says that there is
// something to send or to run.
func (e *Engine) kick(output bool) {
	switch s := e.asleep.Load(); {
	case s == awake || s == asleepHolding && !output:
	case e.asleep.CompareAndSwap(s, awake):
		e.drv.wake()
	}
}

// rouse wakes the holder of the right and the worker, whatever they sleep in.
func (e *Engine) rouse() {
	e.kick(true)
	e.resume()
}

// resume ends the worker's nap.
func (e *Engine) resume() {
	if e.parked.Load() == 1 && e.parked.CompareAndSwap(1, 0) {
		sys.FutexWake(&e.parked, 1)
	}
}

// work is the worker: it holds the progress right unless a caller does.
func (e *Engine) work() {
	// The thread is locked because it sleeps in system calls with the P kept
	// and must not be shared with goroutines that would then sleep along.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var seen uint64
	nap := firstPark
	for !e.stopping.Load() {
		c := e.callers.Load()
		polled := c != seen && !e.owed.Load() // callers attend to what there is
		if polled || !e.tryRight() {
			if !polled {
				e.owed.Store(true)
			}
			seen = c
			e.nap(nap)
			nap = min(2*nap, lastPark)
			continue
		}
		nap = firstPark
		e.owed.Store(false)
		e.drive()
		e.right.Store(0)
		seen = e.callers.Load() - uint64(min(e.want.Load(), 1)) // whoever wanted it gets a nap's time
	}
}

// nap parks the worker, without the right, while callers poll for themselves.
func (e *Engine) nap(d time.Duration) {
	e.parked.Store(1)
	if !e.stopping.Load() && !e.orphaned() {
		if e.cfg.KeepP {
			sys.FutexWaitHolding(&e.parked, 1, min(d, holdWait))
		} else {
			sys.FutexWait(&e.parked, 1, d)
		}
	}
	e.parked.Store(0)
}

// orphaned reports whether there is work that nobody attends to.
func (e *Engine) orphaned() bool {
	if e.right.Load() != 0 || e.want.Load() != 0 {
		return false
	}
	if e.owed.Load() {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.IsOwed() || len(e.cmds) > 0
}

// drive is the worker's turn with the right: until a caller wants it.
func (e *Engine) drive() {
	last := sys.Nanotime()
	for !e.stopping.Load() && e.want.Load() == 0 {
		if e.turn() {
			last = sys.Nanotime()
			continue
		}
		e.sleep(e.cfg.KeepP && sys.Nanotime()-last < int64(linger), -1)
	}
}

// sleep waits in the poller. While operations are outstanding, or hold asks for
// it, the wait is short and keeps the P: a worker that must first get a P back
// is late by milliseconds when every P computes (DESIGN.md, section 4). With
// nothing outstanding the wait is an ordinary system call of at most d (d < 0:
// for ever), and costs nothing.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) sleep(hold bool, d time.Duration) {
	mode := asleepIdle
	if hold || d < 0 && !e.cfg.KeepP {
		mode = asleepHolding
	}
	for {
		e.asleep.Store(mode)
		e.mu.Lock()
		busy := e.core.HasOutput() || e.core.HasJobs() || len(e.cmds) > 0
		active := e.core.IsBusy()
		e.mu.Unlock()
		if busy || e.stopping.Load() || e.want.Load() != 0 {
			e.asleep.Store(awake)
			return
		}
		if mode == asleepIdle && active && e.cfg.KeepP && d < 0 {
			mode, hold = asleepHolding, true
			continue
		}
		break
	}
	if hold {
		e.stats.waitsHolding.Add(1)
		e.drv.wait(holdWait, true)
	} else {
		e.stats.waitsBlocking.Add(1)
		e.drv.wait(d, false)
	}
	e.asleep.Store(awake)
}
