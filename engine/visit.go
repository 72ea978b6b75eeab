package engine

import "github.com/fitmpi/fitmpi/internal/sys"

// How a peer of this host is told that something has been put for it.

// maxVisits bounds how deep visits may nest: a visit may make the peer send.
const maxVisits = 2

// visitJobs bounds the jobs that a visitor runs.
const visitJobs = 16

// rouse sees to it that the peer, who sleeps, handles what was put for it. The
// thread of a peer in this process need not wake for that: whoever has put it
// delivers it.
func (l *lane) rouse() {
	if l.thread != nil && l.thread.visit(l.n) {
		return
	}
	if l.block.Armed.Load() != 0 && l.block.Armed.Swap(0) != 0 {
		l.alarm()
	}
}

// alarm wakes whoever makes progress at the peer.
func (l *lane) alarm() {
	if l.thread != nil {
		l.thread.rouse()
		return
	}
	l.n.e.stats.bells.Add(1)
	l.block.Rung.Store(uint64(sys.Monotonic()))
	if b := l.bell.Load(); b != nil {
		b.Ring()
		return
	}
	l.missed.Store(true) // whoever brings the bell rings it
	if !l.asked.Swap(true) {
		l.n.e.cfg.AskBell(l.index)
	}
	if b := l.bell.Load(); b != nil && l.missed.Swap(false) {
		b.Ring()
	}
}

// visit lets a peer's thread deliver into this rank's queues what it has put, if
// nobody else makes progress here. It reports whether all is done.
func (e *Engine) visit(from *near) bool {
	if e.cfg.Progress == Caller {
		return false // who sleeps there has the right; a call that failed to get it from us would sleep behind nobody
	}
	depth := int(from.e.visiting.Load())
	if depth >= maxVisits || e.stopping.Load() || !e.tryRight() {
		return false
	}
	e.stats.visits.Add(1)
	begin, some := e.turnBegins(), false
	e.visiting.Store(int32(depth + 1))
	for moved, work := true, false; moved; {
		if moved, work = e.near.poll(); work {
			e.runSmallJobs()
		}
		moved = e.near.unblock() || moved // the visitor may have come to say that there is room
		some = some || moved
	}
	if some {
		e.maybeTurned(begin)
	}
	if e.deliver() { // the end of a peer
		e.drv.flushAll()
	}
	e.visiting.Store(0)
	e.releaseFlushed()
	return true
}

// runSmallJobs runs what takes no longer than waking somebody for it.
func (e *Engine) runSmallJobs() {
	e.mu.Lock()
	for range visitJobs {
		j, ok := e.core.NextSmallJob()
		if !ok {
			break
		}
		e.runJob(&j)
	}
	out := e.core.HasOutput()
	e.unlock()
	if out {
		e.drv.flushAll()
	}
}

// leaveToVisitors is what the caller of a thread rank does before it parks, when no
// core is free for polling: what can be done now it does, and for what comes later
// the threads of its peers will visit. It reports false if the worker is needed.
func (e *Engine) leaveToVisitors() bool {
	if e.near == nil || !e.near.threads || e.cfg.Spin != 0 || !e.tryRight() {
		return false
	}
	e.callers.Add(1)
	for e.turn() {
	}
	found := e.near.arm()
	e.releaseFlushed()
	return !found
}
