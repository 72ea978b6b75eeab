package engine

import (
	"errors"
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	// holdWait bounds one wait that keeps the P: a stop of the world waits at
	// most so long for the worker where signals do not reach it. Each costs the
	// computation beside it some 10 us.
	holdWait = 4 * time.Millisecond
	// linger is how long the worker keeps its P after the last operation has
	// completed, so that the next one need not wake it.
	linger = 10 * time.Millisecond
	// firstPark and lastPark bound the worker's naps while callers poll.
	firstPark = time.Millisecond
	lastPark  = 16 * time.Millisecond
	// bulkPoll is how long the worker polls for the next part of a long payload
	// before it sleeps. The parts follow each other in a few microseconds, and to be
	// woken for each costs both sides more than that.
	bulkPoll = 20 * time.Microsecond
	// workerSlice is the scheduling slice of the worker's thread: a short one lets
	// it run soon after it wakes beside threads that compute.
	workerSlice = 100 * time.Microsecond
	// workerSlack is the timer slack of the worker's thread: Linux's default. Its creator's may be
	// far more.
	workerSlack = 50 * time.Microsecond
	workerHaste = 5 // less nice than the process by so much
)

// work is the worker. It holds the progress right for one turn at a time, and not
// while it sleeps: a caller that wants it then need not ask.
func (e *Engine) work() {
	// The thread is locked because it sleeps in system calls with the P kept
	// and must not be shared with goroutines that would then sleep along.
	runtime.LockOSThread()
	defer e.restoreNice()
	defer e.drv.endWorkersAside()
	if e.cfg.Moderation > 0 {
		e.seat.begin(e.cfg.WorkerCPUs, e.rests && e.cfg.Spin > 0)
		defer e.seat.end()
	}
	e.urgent()
	e.stats.worker.begin()
	defer e.stats.worker.end()
	var seen uint64 // callers, when the worker looked last
	nap, last := firstPark, int64(0)
	for !e.stopping.Load() {
		c := e.attended()
		if c != seen {
			last = sys.Nanotime() // there will be more to do
		}
		s := e.right.State()
		polled := c != seen && !s.Owed() || s.Wanted() || e.freshFor() > 0 // callers attend to what there is
		seen = c
		if polled || !e.right.Try(progress.State.Take) {
			nap = e.leaveToCallers(nap)
			e.askBeat()
			continue
		}
		if !e.rests {
			nap = firstPark
		}
		roused := e.roused.Load()
		e.habit.Forget()
		e.drv.byWorker = true
		beats := e.stats.beatsIn.Load()
		busy := e.turn()
		now := sys.Nanotime()
		e.maybeBeat(now)
		e.drv.byWorker = false
		bound, bulk := e.drv.bounded(-1), !busy && !e.rests && e.drv.isMidway()
		e.right.Release()
		if e.cfg.KeepP && e.roused.Load() != roused {
			runtime.Gosched()
		}
		if busy && !e.heardOnly(beats) {
			last = now
		}
		switch {
		case !bulk && (busy || e.attended() != c || now-last < int64(linger)) && e.isToRest():
			seen = e.attended()
			nap = e.rest()
		case busy:
		case bulk && now-last < int64(bulkPoll):
		case e.waiting.Load() > 0 && now-last < e.patience():
			sys.Yield()
		case e.cfg.KeepP && now-last < int64(linger):
			e.sleep(progress.Holding, e.hold())
		default:
			nap = firstPark
			e.sleep(progress.Idle, bound)
		}
		if c = e.attended(); c != seen {
			seen, last = c, sys.Nanotime()
		}
	}
}

// heardOnly reports whether a peer has shown that it lives since beats heartbeats had come, and
// nothing is outstanding: then nothing is expected to follow. To linger after each would cost an
// idle rank ten times as much as the heartbeats do.
func (e *Engine) heardOnly(beats uint64) bool {
	if e.stats.beatsIn.Load() == beats {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.core.IsBusy()
}

// attended counts what callers have attended to.
func (e *Engine) attended() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.callers.Load() + e.taken
}

// urgent lets the worker's thread run soon after it wakes beside threads that
// compute, as far as the kernel (a short slice from 6.12) and the user's privileges
// (a nice value) permit. Under worker, caller and worker yield the core to each
// other, which works between equals only.
func (e *Engine) urgent() {
	err := errors.Join(sys.SetThreadSlice(workerSlice), sys.SetTimerSlack(workerSlack))
	if e.cfg.Progress == Assist {
		err = errors.Join(err, sys.HurryThread(workerHaste))
	}
	if err != nil {
		e.cfg.Logger.Debug("the worker's thread is scheduled like any other", "rank", e.cfg.Rank, "err", err)
	}
}

// restoreNice undoes urgent, so that threads and processes that the thread starts later do not
// inherit its priority. If that fails the thread stays locked, and ends with its goroutine.
func (e *Engine) restoreNice() {
	err := sys.SetThreadSlice(0)
	if e.cfg.Progress == Assist {
		err = errors.Join(err, sys.HurryThread(0))
	}
	if err == nil {
		runtime.UnlockOSThread()
	}
}

// nap parks the worker while callers poll for themselves. It returns how long the
// next nap may be.
func (e *Engine) nap(d time.Duration) time.Duration {
	long := e.napFor(d)
	e.sitBack()
	expected := e.freshFor()
	if expected > 0 {
		long = expected // if its caller does not come, the worker must
	}
	if !e.right.Nap(expected > 0) {
		return min(2*d, lastPark)
	}
	if !e.stopping.Load() && !e.isNeeded() {
		e.drv.wait(&e.drv.poller.Waiter, long, e.cfg.KeepP)
	}
	e.right.Sit(progress.Awake)
	return min(2*d, lastPark)
}

// napFor is how long the next nap takes at most, if d is how long the worker would like it to be.
func (e *Engine) napFor(d time.Duration) time.Duration {
	d = min(d, e.hold())
	if e.isToRest() {
		d = min(d, e.deafFor(true))
	}
	return d
}

// isNeeded reports whether there is something to write or to run that no goroutine attends to.
func (e *Engine) isNeeded() bool {
	s := e.right.State()
	if s.Held() || s.Wanted() || e.freshFor() > 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isPromptLocked() || !e.rests && e.core.IsOwed()
}

// sleep waits in the poller until something arrives, another goroutine wakes it, or d has passed.
// While operations are outstanding, or the mode asks for it, the wait is short and keeps the P: a
// worker that must first get a P back is late by milliseconds when every P computes. With nothing
// outstanding the wait is an ordinary system call, and costs nothing.
func (e *Engine) sleep(mode progress.Place, d time.Duration) {
	if mode == progress.Idle && e.cfg.Progress != Caller && !e.cfg.KeepP {
		mode = progress.Holding // it waits the ordinary way, but need not be notified of receives
	}
	e.sitBack()
	for {
		e.right.Sit(mode)
		e.mu.Lock()
		busy, active := e.hasOutputLocked(), e.core.IsBusy()
		e.mu.Unlock()
		if busy || e.stopping.Load() || e.right.State().Wanted() {
			e.right.Sit(progress.Awake)
			return
		}
		if mode != progress.Idle || !active || !e.cfg.KeepP || e.cfg.Progress == Caller {
			break
		}
		mode, d = progress.Holding, e.hold()
	}
	if e.armLocal(e.cfg.Progress == Caller) {
		e.right.Sit(progress.Awake)
		return
	}
	e.drv.arm(&e.drv.poller.Waiter)
	e.drv.wait(&e.drv.poller.Waiter, e.drv.heart.untilBeat(d), mode == progress.Holding && e.cfg.KeepP)
	e.right.Sit(progress.Awake)
	if e.local != nil {
		e.local.disarm()
	}
}
