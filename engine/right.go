package engine

import (
	"runtime"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// The progress right: its holder makes progress. A goroutine that gives it back sees to it that
// another attends to what is left. What that takes is decided in package progress, and done here.

func (e *Engine) tryRight() bool { return e.right.TryAcquire() }

// takeRight waits for the progress right. Only for rare operations.
func (e *Engine) takeRight() {
	for !e.tryRight() {
		e.right.Note(progress.State.Want)
		e.rouse()
		runtime.Gosched()
		e.perform(e.right.Do(progress.State.Unwant))
	}
}

// perform does what a transition of the right asks for.
func (e *Engine) perform(x progress.Effect) {
	if x&progress.WakeDozer != 0 {
		e.drv.wake(e.drv.doze)
	}
	if x&progress.WakeWorker != 0 {
		e.drv.wake(&e.drv.poller.Waiter)
	}
	if x&progress.Arm != 0 {
		e.drv.arm(&e.drv.poller.Waiter)
	}
	if x&progress.Rearm != 0 {
		e.rearm()
	}
}

// releaseRight gives the right back by a holder that has attended to whatever there was, and makes
// sure that a goroutine attends to what is left to do.
func (e *Engine) releaseRight() {
	if e.cfg.Progress == Caller {
		e.passRight()
		return
	}
	timed := e.isTimed()
	e.mu.Lock()
	e.releaseAllLocked(timed)
}

// releaseTimed is releaseRight by a caller whose wait is over if its goal is met.
func (e *Engine) releaseTimed(t *waitTimer, g *goal) {
	timed, now := e.isTimed(), int64(0)
	ends := t.since != 0 && g.met()
	if ends {
		now = sys.Nanotime()
	}
	e.mu.Lock()
	if ends {
		t.stopLocked(now, g.blamed())
	}
	e.releaseAllLocked(timed)
}

// isTimed reports whether there are deadlines, of which a worker that sleeps may not know.
func (e *Engine) isTimed() bool { return e.drv.timed > 0 || e.drv.takeFreshAck() }

// releaseAllLocked is releaseRight where there is a worker. It releases the mutex. A caller that
// posts after us finds the right free; what was posted before us we see.
func (e *Engine) releaseAllLocked(timed bool) {
	e.right.ReleaseAll()
	out := e.hasOutputLocked() || timed
	left := out || e.core.IsBusy()
	e.unlock()
	if left {
		e.attend(out)
	}
}

// releaseOwn gives back the right that a caller took for messages of its own only. Operations that
// are outstanding are not its business: either their callers wait for them and will take the right,
// or they are owed already.
func (e *Engine) releaseOwn() {
	fresh := e.drv.takeFreshAck()
	e.mu.Lock()
	e.releaseOwnLocked(fresh, true)
}

// releaseOwnLocked is releaseOwn by a caller that holds the mutex, and releases it; fresh says that
// there is a deadline of which a worker that sleeps may not know, heed that a worker that naps
// though something is owed is to be woken.
func (e *Engine) releaseOwnLocked(fresh, heed bool) {
	if !fresh && e.core.IsIdle() && len(e.cmds) == 0 {
		e.releaseIdleLocked(heed)
		return
	}
	needed := e.right.Release().Missed() && heed
	out := fresh || e.hasOutputLocked()
	left := out || e.core.IsOwed()
	if !left && e.settleLocked() {
		needed = false
	}
	e.unlock()
	if left || needed {
		e.attend(out)
	}
}

// releaseIdleLocked is releaseOwnLocked where nothing is left to do, as mostly after a short
// message.
func (e *Engine) releaseIdleLocked(heed bool) {
	needed := false
	if e.core.IsBusy() {
		needed = e.right.Release().Missed() && heed
	} else {
		e.right.ReleaseAll()
		e.settleLocked()
	}
	e.unlockIdle()
	if needed {
		e.attend(false)
	}
}

// settleLocked takes back what was owed, if nothing is outstanding: callers have done it
// themselves. One that leaves something has posted it before, with the mutex. It reports whether
// that is so.
//
// Preconditions:
//   - nothing is left to be written or run.
func (e *Engine) settleLocked() bool {
	if e.core.IsBusy() {
		return false
	}
	if e.right.State().Owed() {
		e.right.Note(progress.State.Settle)
	}
	if !e.rests && e.habit.IsPending() {
		e.habit.ComeLocked(sys.Nanotime())
	}
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
	if !e.rests || !e.mayRest() {
		e.perform(e.right.Attend(output, e.local != nil))
	}
}

// summon sees to it that the worker drives now, or when the holder of the right
// gives it back.
func (e *Engine) summon() {
	e.habit.Forget()
	e.perform(e.right.Do(progress.State.Summon))
}

// kick wakes the goroutine that sleeps in the poller; output says that there is something to send
// or to run.
func (e *Engine) kick(output bool) { e.perform(e.right.Kick(output)) }

// handOver is kick by a caller that leaves what it has posted to the worker (policy worker). One
// that sleeps is woken, and takes the core from a caller that computes. But one that polls for a
// caller that waits yields to it, on the same core perhaps. Then there is nothing to wake, and that
// caller would compute until its time slice ends, some milliseconds, before anything is sent.
func (e *Engine) handOver(output bool, next manner) {
	x := e.right.Kick(output)
	e.perform(x)
	if output && e.givesWay(next, x) {
		e.yield()
	}
}

// givesWay reports whether a caller whose kick had effect x offers its core to the worker: one that
// computes next does.
func (e *Engine) givesWay(next manner, x progress.Effect) bool {
	return e.cfg.Moderation > 0 && (next == leaves || next == done) && x&progress.WakeWorker == 0
}

// rouse wakes the goroutine that makes progress, whatever it sleeps in.
func (e *Engine) rouse() { e.perform(e.right.Do(progress.State.Rouse)) }
