package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Where every core computes, a worker that runs at each arrival takes a core from a computation
// each time: two switches of threads, and more than the message itself costs. So the worker rests,
// as a network card moderates its interrupts. While it rests it takes a core only where one is idle
// (seat.go). It hears each arrival as long as there was one in time when it last looked. Else it
// leaves sockets and rings alone for Config.Moderation, and looks again. Rests are long, as to end
// one costs the computation some 40 us, whatever the worker finds then (docs/decisions/0075). What
// a caller posts meanwhile the caller writes itself. Nothing is lost by that. Bytes between ranks
// of a host move by the cores that compute in any case, and a short message may lie where it has
// arrived until it is asked for. The worker does not rest while another rank may wait for this
// one, or a caller sleeps here: that has left its core to the worker.
const (
	// withinResting stands in for habitWithin. A caller that computes for longer than that has had
	// time to write its message.
	withinResting = 5 * time.Microsecond
	// betweenHosts is which part of a rest is enough where a network brings a long message while
	// the cores compute.
	betweenHosts = 10
)

// isToRest reports whether the worker, which has looked, is not to take a core from a computation
// for the next arrival.
func (e *Engine) isToRest() bool {
	return e.rests && e.right.State().Sleepers() == 0 && e.urgency() != core.Waiting
}

func (e *Engine) urgency() core.Urgency {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Urgency()
}

// isToNap reports whether a worker that rests is to look now and then, though no core be idle:
// where a network brings a long message while the cores compute.
func (e *Engine) isToNap() bool {
	return e.drv.abroad.Load() > 0 && e.urgency() == core.Bulk
}

// sitBack is for a worker that sleeps, or is about to: when it wakes it is to preempt those that
// compute, or not. A caller calls it that begins what lets the worker rest no more.
func (e *Engine) sitBack() {
	if e.rests {
		e.seat.setModest(func() bool { return e.isToRest() && !e.isToNap() })
	}
}

// rest is one rest of the worker. It returns how long the next nap may be.
func (e *Engine) rest() time.Duration {
	if d := e.deafFor(e.seat.wasLate()); d > 0 {
		return e.nap(d)
	}
	e.sleep(progress.Holding, e.hold())
	return firstPark
}

// deafFor is for how long a worker that rests leaves what arrives alone, 0 if it does not; late
// says that no core was idle for it.
func (e *Engine) deafFor(late bool) time.Duration {
	switch {
	case e.isToNap():
		return e.cfg.Moderation / betweenHosts
	case late:
		return e.cfg.Moderation
	default:
		return 0
	}
}

// leaveToCallers is a sleep of the worker while callers attend to what there is. Where they poll
// without a pause it may rest: they need no look of it, but may compute at any time. Callers that
// yield their core in between would yield it to the worker, at each arrival.
func (e *Engine) leaveToCallers(nap time.Duration) time.Duration {
	s := e.right.State()
	if e.cfg.Spin == 0 || s.Held() || s.Wanted() || e.freshFor() > 0 || !e.isToRest() {
		return e.nap(nap)
	}
	return e.rest()
}

// mayRest reports whether the worker rests, or will, and looks in time at what is left to it.
func (e *Engine) mayRest() bool {
	if s := e.right.State(); s.Place() == progress.Holding || s.Place() == progress.Idle || s.Sleepers() > 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.isPromptLocked() && e.core.Urgency() != core.Waiting
}

// leaveResting is leave where the worker rests. The caller writes what it has posted, unless it is
// expected to wait at once. Then it has its writes together, and the worker looks after a rest.
// out says that there is something to write, jobs that there is long work.
func (e *Engine) leaveResting(out, jobs bool, nth uint32) {
	soon := e.waitsSoon() && e.right.State().Place() != progress.Idle
	switch {
	case soon && (out || jobs):
		e.right.Note(func(s progress.State) progress.State { return s.Leave().Owe() })
	case soon:
		e.right.Note(progress.State.Owe)
	case !out:
		e.attend(jobs)
	case e.tryRight():
		e.drv.flushAll()
		e.releaseOwn()
	default:
		e.summon()
	}
	if soon {
		e.habit.Leave(nth, sys.Nanotime)
	} else { // the time that counts is that after the last post
		e.habit.LeaveAgain(nth, sys.Nanotime)
	}
}
