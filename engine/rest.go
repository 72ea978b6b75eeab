package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Where every core computes, a worker that hears each arrival takes a core from a computation
// each time: two switches of threads, and more than the message itself costs. So the worker
// rests, as a network card moderates its interrupts. It hears the first arrival after a time of
// quiet (linger). Then it leaves the sockets and rings alone for Config.Moderation, and looks
// again, until there is quiet again. Rests are long, as the timer that ends one costs the
// computation some 40 us, whatever the worker finds then (docs/decisions/0075). What a caller
// posts meanwhile the caller writes itself. Nothing is lost by that. Bytes between ranks of a
// host move by the cores that compute in any case, and a short message may lie where it has
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

// isToRest reports whether the worker, which has looked, is not to hear the next arrival at once.
func (e *Engine) isToRest() bool {
	return e.rests && e.right.State().Sleepers() == 0 && e.urgency() != core.Waiting
}

func (e *Engine) urgency() core.Urgency {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Urgency()
}

// longestRest is for how long the worker rests at most.
func (e *Engine) longestRest() time.Duration {
	if e.drv.abroad.Load() > 0 && e.urgency() == core.Bulk {
		return e.cfg.Moderation / betweenHosts
	}
	return e.cfg.Moderation
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
