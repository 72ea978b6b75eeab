package engine

import (
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Wait returns when m is done.
func (e *Engine) Wait(m *MSO) {
	if m.IsOver() {
		return
	}
	one := [1]*MSO{m}
	e.wait(&goal{need: 1, ms: one[:]})
}

// WaitMany returns when need of ms are done; nil entries count as done.
func (e *Engine) WaitMany(need int, ms []*MSO) {
	if g := (goal{need: need, ms: ms}); !g.met() {
		e.wait(&g)
	}
}

// WaitBounded is WaitMany of operations that something other than a message may end by Abandon,
// such as a context that has a deadline. The wait is the same, but a watcher of the wait does not
// take it for one that only messages can end.
func (e *Engine) WaitBounded(need int, ms []*MSO) {
	if g := (goal{need: need, ms: ms, bounded: true}); !g.met() {
		e.wait(&g)
	}
}

// wait climbs the ladder: under assist poll while a core is free for it, then sleep; under caller
// drive, or sleep behind a caller that does.
func (e *Engine) wait(g *goal) {
	t := waitTimer{e: e, kind: g.kind()}
	if e.cfg.Progress != Assist || e.flights.up.Load() > 0 {
		t.begin(g) // else no clock is read in a wait that is over at once
	}
	e.climb(g, &t)
	t.stop(g.blamed())
}

func (e *Engine) climb(g *goal, t *waitTimer) {
	switch e.cfg.Progress {
	case Worker:
		e.spinWait(g)
	case Assist:
		e.assistWait(g, t)
	case Caller:
		e.driveWait(g)
		return
	}
	if !g.met() {
		e.right.Note(progress.State.Park) // before the worker is woken: it rests no more
		e.seat.setModest(never)           // it may take this core, and any
		if e.cfg.Progress == Assist && !e.leaveToVisitors() {
			e.summon()
		}
		t.begin(g)
		e.park(g)
		e.right.Note(progress.State.Unpark)
	}
}

// spinWait tests the completion words for a while. The core is the worker's too, which
// polls and yields as the caller does here: neither sleeps, so neither must be woken.
func (e *Engine) spinWait(g *goal) {
	if e.patience() == 0 {
		return
	}
	e.waiting.Add(1)
	for end := sys.Nanotime() + e.patience(); !g.met() && sys.Nanotime() < end; {
		sys.Yield()
	}
	e.waiting.Add(-1)
}

// assistWait takes the progress right and polls until the goal is met or nothing has
// happened for the time of spinning; then the worker goes on.
func (e *Engine) assistWait(g *goal, t *waitTimer) {
	long := int64(max(e.cfg.Spin, e.yieldFor+e.cfg.Doze))
	if long == 0 {
		return
	}
	l := e.awaitedLane(g)
	has := l != nil && !e.right.State().HasLeft() && e.tryRight()
	if has && e.takeAwaited(l, g) {
		return
	}
	e.noteWait()
	if !has && !e.claimRight(long, g, t) {
		return
	}
	e.callers.Add(1)
	if e.cfg.Spin > 0 {
		e.pollUntil(g, t)
	} else {
		e.takeTurns(g, t)
	}
	e.releaseTimed(t, g)
}

// pollUntil polls without a pause: a core is free for it.
//
// Preconditions:
//   - the caller holds the progress right, as for takeTurns and doze.
func (e *Engine) pollUntil(g *goal, t *waitTimer) {
	began := e.firstStep()
	busy, end := true, int64(0) // no clock is read in a wait that is over at once
	for i := began; ; i++ {
		moved := e.step(i)
		if g.met() {
			return
		}
		if i <= 1 {
			e.attendSelf()
		}
		if i == began {
			t.begin(g)
		}
		busy = busy || moved
		if i%16 == 15 {
			now := sys.Nanotime()
			if busy {
				busy, end = false, now+int64(e.cfg.Spin)
			}
			if now > end {
				return
			}
		}
	}
}

// takeTurns polls where ranks share the cores. A caller that finds nothing lets the others run,
// which costs less than to sleep and to be woken. When that has brought nothing for a while it
// sleeps, and after another while leaves the rest to the worker.
func (e *Engine) takeTurns(g *goal, t *waitTimer) {
	began := e.firstStep()
	idle := int64(0) // since when nothing has happened; 0 if something just has
	for i := began; ; i++ {
		moved := e.step(i)
		if g.met() {
			return
		}
		if i <= 1 {
			e.attendSelf()
		}
		if i == began {
			t.begin(g)
		}
		if moved {
			idle = 0
			continue
		}
		now := sys.Nanotime()
		if idle == 0 {
			idle = now
		}
		switch d := time.Duration(now - idle); {
		case d < e.yieldFor:
			e.yield()
		case d < e.yieldFor+e.cfg.Doze:
			e.doze()
			i = -1 // what woke it, a bell perhaps, is only heard by a whole turn
		default:
			return
		}
	}
}

// yield lets others that share the core run, other ranks of this process first.
func (e *Engine) yield() {
	if e.local != nil && e.local.mates {
		runtime.Gosched()
	}
	sys.Yield()
}

// doze sleeps in the poller with the P kept: where a core is not the rank's alone,
// the caller gives it away without a hop to the worker and back.
func (e *Engine) doze() {
	e.right.Note(progress.State.Doze)
	e.mu.Lock()
	busy := e.hasOutputLocked()
	e.mu.Unlock()
	if !busy && !e.stopping.Load() && !e.armLocal(true) {
		e.drv.arm(e.drv.doze)
		e.drv.wait(e.drv.doze, holdWait, true)
	}
	e.right.Note(progress.State.Undoze)
	if e.local != nil {
		e.local.disarm() // it looks for itself again
	}
}

// claimRight gets the right, asking the worker for it if need be, unless the wait
// is over before, or long has passed.
func (e *Engine) claimRight(long int64, g *goal, t *waitTimer) bool {
	if e.tryRight() {
		return true
	}
	t.begin(g)
	e.right.Note(progress.State.Want)
	defer e.unwant()
	for end := sys.Nanotime() + long; sys.Nanotime() < end; {
		if e.tryRight() {
			return true
		}
		if g.met() {
			return false
		}
		if e.cfg.Spin == 0 {
			sys.Yield()
		}
	}
	return false
}

// unwant withdraws a wish for the right; the worker may have gone to sleep for it.
func (e *Engine) unwant() {
	if x := e.right.Do(progress.State.Unwant); x != 0 {
		e.habit.Forget()
		e.perform(x)
	}
}

// park sleeps until the goal is met.
func (e *Engine) park(g *goal) {
	e.mu.Lock()
	w := e.getWaiterLocked()
	ok := e.core.Attach(w, g.need, g.ms...)
	e.unlock()
	if ok {
		<-w.C
	}
	e.mu.Lock()
	if e.core.Detach(w, g.ms...) {
		g.last = w.TakeLast()
	}
	e.waiters = append(e.waiters, w)
	e.unlock()
}

// patience is for how many ns a caller that waits polls: more where every rank has a core.
func (e *Engine) patience() int64 {
	if e.cfg.Spin > 0 {
		return int64(e.cfg.Spin)
	}
	return int64(e.yieldFor)
}

// Test reports whether m is done: one atomic load, unless the policy is caller or the worker rests.
func (e *Engine) Test(m *MSO) bool {
	if !m.IsDone() {
		e.progressForTest()
	}
	return m.IsDone()
}
