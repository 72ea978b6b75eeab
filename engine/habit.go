package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// To wake the worker costs its caller a system call and the core a change of threads. That is
// wasted when the caller is about to wait and will drive for itself (assist). So callers that post
// and then wait at once, such as those that send a window of messages, leave the worker asleep.
// When a caller came to wait within habitWithin of its posts, habitEnough times in a row, the next
// posts do not wake the worker. Its sleep is bounded by habitWait then, and by holdWait if it had
// begun before. When the worker finds something that no caller came for, the caller computes after
// all, and the next post wakes the worker again.
const (
	habitEnough = 4
	habitWithin = 30 * time.Microsecond
	withinEach  = time.Microsecond // and as much more for each post: a caller that posts many comes later
	habitWait   = time.Millisecond
	// withinShared stands in for habitWithin on a core that several ranks share: they may interrupt
	// the caller.
	withinShared = time.Millisecond
)

// leave sees to it that what a caller posted gets done while the caller computes.
func (e *Engine) leave(output bool, nth uint32) {
	if e.postedAt.Load() == 0 {
		e.firstPost.Store(nth)
		e.postedAt.Store(sys.Nanotime())
	}
	if e.asleep.Load() != asleepIdle && e.waitsSoon() {
		if !e.owed.Load() { // the goroutine that clears it looks after that, and a store costs as much as a lock
			e.owed.Store(true)
		}
	} else {
		e.attend(output)
	}
}

// waitsSoon reports whether a caller that leaves something to the worker is expected to wait for it
// soon, by its habit.
func (e *Engine) waitsSoon() bool { return e.cfg.KeepP && e.habit.Load() >= habitEnough }

// hold is how long the worker may sleep while operations are outstanding.
func (e *Engine) hold() time.Duration {
	if e.waitsSoon() {
		return habitWait
	}
	return holdWait
}

// isFresh reports whether something was left to the worker so short a time ago
// that its caller is still expected; when it was longer ago, callers are not
// expected any more.
func (e *Engine) isFresh() bool { return e.freshFor() > 0 }

// freshFor is for how long its caller is still expected; 0 if it is not.
func (e *Engine) freshFor() time.Duration {
	t := e.postedAt.Load()
	if t == 0 || e.habit.Load() < habitEnough {
		return 0
	}
	e.mu.Lock()
	end := t + e.soonLocked()
	e.mu.Unlock()
	if left := end - sys.Nanotime(); left > 0 {
		return time.Duration(left)
	}
	e.habit.Store(0)
	return 0
}

// soonLocked is within how many ns a caller is expected, counted from the first of the posts that
// it has left to the worker.
func (e *Engine) soonLocked() int64 {
	within, each := e.within, withinEach
	if e.rests && e.habit.Load() < habitEnough { // counted from the last: see leaveResting
		each /= 10
	}
	return int64(within) + int64(e.posts-e.firstPost.Load())*int64(each)
}

// noteWait notes that a caller is about to wait and will drive.
func (e *Engine) noteWait() {
	if e.postedAt.Load() == 0 {
		return
	}
	now := sys.Nanotime()
	e.mu.Lock()
	e.noteWaitLocked(now)
	e.mu.Unlock()
}

func (e *Engine) noteWaitLocked(now int64) {
	t := e.postedAt.Load()
	if t == 0 {
		return
	}
	e.postedAt.Store(0)
	switch p := e.habit.Load(); {
	case now-t > e.soonLocked():
		e.habit.Store(0)
	case p < habitEnough:
		e.habit.Store(p + 1)
	}
}

// settleLocked takes back what was left to the worker where callers have done it themselves.
//
// Preconditions:
//   - nothing is left to be written or run.
func (e *Engine) settleLocked() {
	if e.core.IsBusy() {
		return
	}
	if e.owed.Load() {
		e.owed.Store(false) // a caller that leaves something has posted it before, with the mutex
	}
	if e.postedAt.Load() != 0 && !e.rests {
		e.noteWaitLocked(sys.Nanotime())
	}
}
