package engine

import (
	"runtime"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// The progress right: its holder makes progress. A goroutine that gives it back sees to it that
// another attends to what is left.

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

// releaseRight gives the right back and makes sure that a goroutine attends to what is left to do.
func (e *Engine) releaseRight() {
	if e.cfg.Progress == Caller {
		e.passRight()
		return
	}
	e.releaseToWorker(nil, nil)
}

// releaseTimed is releaseRight by a caller whose wait is over if its goal is met.
func (e *Engine) releaseTimed(t *waitTimer, g *goal) {
	if t.since == 0 || !g.met() {
		t = nil
	}
	e.releaseToWorker(t, g.blamed())
}

// releaseToWorker is releaseRight where there is a worker; t, if it is not nil, is stopped: m has
// ended that wait.
func (e *Engine) releaseToWorker(t *waitTimer, m *MSO) {
	timed := e.drv.timed > 0 || e.drv.takeFreshAck() // the worker may sleep without knowing of a deadline that is new
	e.right.Store(0)
	if e.owed.Load() {
		e.owed.Store(false) // before looking: a caller that posts later says so again
	}
	now := int64(0)
	if t != nil {
		now = sys.Nanotime()
	}
	e.mu.Lock()
	if t != nil {
		t.stopLocked(now, m)
	}
	out := e.hasOutputLocked() || timed
	left := out || e.core.IsBusy()
	e.unlock()
	if left {
		e.attend(out)
	}
}

// releaseFlushed gives back the right that a caller took to write its own message
// only. Operations that are outstanding are not its business: either their callers
// wait for them and will take the right, or owed says otherwise.
func (e *Engine) releaseFlushed() {
	fresh := e.drv.takeFreshAck()
	e.right.Store(0)
	e.mu.Lock()
	out := e.hasOutputLocked() || fresh
	left := out || e.core.IsOwed()
	if !left {
		e.settleLocked()
	}
	e.unlock()
	if left || e.owed.Load() {
		e.attend(out)
	}
}

// releaseLocked is releaseRight by a caller that holds the mutex, and releases it.
func (e *Engine) releaseLocked() {
	timed := e.drv.timed > 0
	if !timed && e.releaseIdleLocked() {
		return
	}
	e.right.Store(0) // a caller that posts after us finds it free, what was posted before us we see
	out := e.hasOutputLocked() || timed
	left := out || e.core.IsBusy()
	e.unlock()
	if left {
		e.attend(out)
	}
}

// releaseIdleLocked gives back the right and the mutex if nothing is left to do and nothing is
// under way, as mostly after a short message. Else it reports false, and nothing has happened.
func (e *Engine) releaseIdleLocked() bool {
	if !e.core.IsIdle() || len(e.cmds) > 0 || e.core.IsBusy() {
		return false
	}
	e.right.Store(0)
	e.unlockIdle()
	return true
}

// hasOutputLocked reports whether there is something that a turn would do without
// anything arriving.
func (e *Engine) hasOutputLocked() bool {
	return e.isPromptLocked() || e.core.HasJobs()
}

// isPromptLocked is hasOutputLocked without long work, which may be done after a rest.
func (e *Engine) isPromptLocked() bool {
	return e.core.HasOutput() || len(e.cmds) > 0 || e.core.HasNotices()
}

// attend sees to it that the worker drives, now or when the holder of the right gives it back.
// output says that there is something to send or to run. Without it, it is enough that the worker
// hears what arrives.
func (e *Engine) attend(output bool) {
	if e.rests && e.mayRest() {
		return
	}
	e.owed.Store(true)
	if output {
		e.disturb()
	}
	switch e.asleep.Load() {
	case awake:
	case napping:
		switch {
		case e.right.Load() != 0:
		case output || e.local != nil: // it must look at the rings before it sleeps
			e.resume()
		default:
			e.drv.arm(&e.drv.poller.Waiter)
		}
	default:
		e.kick(output)
		e.rearm()
	}
}

// summon sees to it that the worker drives now, or when the holder of the right
// gives it back.
func (e *Engine) summon() {
	e.owed.Store(true)
	e.postedAt.Store(0)
	e.rouse()
}

// disturb wakes the caller that dozes while it holds the right.
func (e *Engine) disturb() {
	if e.dozing.Load() && e.dozing.CompareAndSwap(true, false) {
		e.drv.wake(e.drv.doze)
	}
}

// kick wakes the goroutine that sleeps in the poller; output says that there is something to send
// or to run.
func (e *Engine) kick(output bool) {
	switch s := e.asleep.Load(); {
	case s == awake || s == napping || s == asleepHolding && !output:
	case e.asleep.CompareAndSwap(s, awake):
		e.drv.wake(&e.drv.poller.Waiter)
	}
}

// resume ends the worker's nap.
func (e *Engine) resume() {
	if e.asleep.CompareAndSwap(napping, awake) {
		e.drv.wake(&e.drv.poller.Waiter)
	}
}

// rouse wakes the goroutine that makes progress, whatever it sleeps in.
func (e *Engine) rouse() {
	e.disturb()
	e.kick(true)
	e.resume()
}
