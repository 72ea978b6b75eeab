package engine

import (
	"sync"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// How a peer of this host is notified that something has been put for it.

// maxVisits bounds the visits of one series; see delegated.
const maxVisits = 64

// visitJobs bounds the jobs that a visitor runs.
const visitJobs = 16

// delegated is a series of delegated visits: one thread makes them all. What one of them makes a
// rank of this process send, a later one delivers. So a collective of ranks that wait goes from
// rank to rank, and none of their threads wakes before its part is done.
type delegated struct {
	mu   sync.Mutex
	todo []*lane // guarded by mu: to peers that are to be visited
	open bool    // guarded by mu: the thread looks at todo again
}

// delegations recycles them.
var delegations = sync.Pool{New: func() any { return new(delegated) }}

// rouse sees to it that the peer, which sleeps, handles what was put for it. The thread of a peer
// in this process need not wake for that: the thread that has put it delivers it, or the one that
// visits us just now.
func (l *lane) rouse() {
	if l.thread == nil {
		l.wake()
		return
	}
	if x := l.n.e.delegated.Load(); x != nil && x.add(l) {
		return
	}
	x := delegations.Get().(*delegated)
	x.run(l)
	delegations.Put(x)
}

// wake is rouse without a visit.
func (l *lane) wake() {
	if l.block.Armed.Load() != 0 && l.block.Armed.Swap(0) != 0 {
		l.alarm()
	}
}

// run visits the peer of l, and the peers for which something is put meanwhile.
func (x *delegated) run(l *lane) {
	x.mu.Lock()
	x.open = true
	x.mu.Unlock()
	for n := 0; l != nil; n++ {
		if n >= maxVisits || !l.thread.visit(x) {
			l.wake()
		}
		l = x.next()
	}
}

// add leaves a visit to the thread that is about x, unless it is over or has enough to do.
func (x *delegated) add(l *lane) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.open || len(x.todo) == maxVisits {
		return false
	}
	x.todo = append(x.todo, l)
	return true
}

// next is the lane to the peer to visit next; nil if x is over.
func (x *delegated) next() *lane {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.todo) == 0 {
		x.open = false
		return nil
	}
	l := x.todo[0]
	x.todo = append(x.todo[:0], x.todo[1:]...)
	return l
}

// alarm wakes the goroutine that makes progress at the peer.
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
	l.missed.Store(true) // the goroutine that brings the bell rings it
	if !l.asked.Swap(true) {
		l.n.e.cfg.AskBell(l.index)
	}
	if b := l.bell.Load(); b != nil && l.missed.Swap(false) {
		b.Ring()
	}
}

// visit lets a peer's thread, which is about x, deliver into this rank's queues what has been put
// there, if no other goroutine makes progress here. It reports whether all is done.
func (e *Engine) visit(x *delegated) bool {
	if e.cfg.Progress == Caller {
		return false // a caller that sleeps there has the right; a call that failed to get it from us would sleep, and no caller would drive
	}
	if e.stopping.Load() || !e.tryRight() {
		return false
	}
	e.stats.visits.Add(1)
	begin, some := e.turnBegins(), false
	e.delegated.Store(x)
	for moved, work := true, false; moved; {
		if moved, work = e.local.poll(); work {
			e.runSmallJobs()
		}
		moved = e.local.unblock() || moved // the visitor may have come to say that there is room
		some = some || moved
	}
	if some {
		e.maybeTurned(begin)
	}
	if e.deliver() { // the end of a peer
		e.drv.flushAll()
	}
	e.delegated.Store(nil)
	e.releaseOwn()
	return true
}

// runSmallJobs runs what takes no longer than waking another goroutine for it.
func (e *Engine) runSmallJobs() {
	e.mu.Lock()
	for range visitJobs {
		j, ok := e.core.NextSmallJob()
		if !ok {
			break
		}
		e.runJob(&j)
	}
	e.drv.endAside()
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
	if e.local == nil || !e.local.threads || e.cfg.Spin != 0 || !e.tryRight() {
		return false
	}
	e.callers.Add(1)
	for e.turn() {
	}
	found := e.local.arm()
	e.releaseOwn()
	return !found
}
