package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// What a caller leaves to the worker when it computes next, and when the worker is not woken for it
// because the caller has the habit of waiting soon; see progress.Habit.

const (
	// habitWithin is within what time of its posts a caller comes to wait that has the habit.
	habitWithin = 30 * time.Microsecond
	withinEach  = time.Microsecond // and as much more for each post
	// withinShared stands in for habitWithin on a core that several ranks share: they may interrupt
	// the caller.
	withinShared = time.Millisecond
	// habitWait bounds the worker's sleep while callers have the habit of waiting soon.
	habitWait = time.Millisecond
)

// setHabit says how soon after a post a caller waits that has the habit.
func (e *Engine) setHabit() {
	h := &e.habit
	h.Within, h.Each, h.Rests = habitWithin, withinEach, e.rests
	switch {
	case e.rests:
		h.Within = withinResting
	case e.cfg.Spin == 0:
		h.Within = withinShared
	}
}

// leave sees to it that what a caller posted gets done while the caller computes. nth is the number
// of the post.
func (e *Engine) leave(output bool, nth uint32) {
	e.habit.Leave(nth, sys.Nanotime)
	if e.right.State().Place() != progress.Idle && e.waitsSoon() {
		e.right.Note(progress.State.Owe)
	} else {
		e.attend(output)
	}
}

// waitsSoon reports whether a caller that leaves something to the worker is expected to wait for it
// soon, by its habit.
func (e *Engine) waitsSoon() bool { return e.cfg.KeepP && e.habit.IsSet() }

// hold is how long the worker may sleep while operations are outstanding.
func (e *Engine) hold() time.Duration {
	if e.waitsSoon() {
		return habitWait
	}
	return holdWait
}

// freshFor is for how long the caller of what was left to the worker is still expected; 0 if it is
// not.
func (e *Engine) freshFor() time.Duration {
	if !e.habit.MayExpect() {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.habit.ExpectedLocked(sys.Nanotime())
}

// noteWait notes that a caller is about to wait and will drive.
func (e *Engine) noteWait() {
	if now := e.timeOfWait(); now != 0 {
		e.mu.Lock()
		e.habit.ComeLocked(now)
		e.mu.Unlock()
	}
}

// timeOfWait is when a caller begins to wait, 0 if it has left nothing.
func (e *Engine) timeOfWait() int64 {
	if !e.habit.IsPending() {
		return 0
	}
	return sys.Nanotime()
}
