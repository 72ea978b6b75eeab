package progress

import (
	"sync/atomic"
	"time"
)

// Habit predicts whether a caller that has posted something comes soon to wait for it.
//
// To wake the worker costs its caller a system call and the core a change of threads. That is
// wasted when the caller is about to wait and will drive for itself (assist). So callers that post
// and then wait at once, such as those that send a window of messages, leave the worker asleep.
// When a caller came to wait within Within of its posts, enough times in a row, the next posts do
// not wake the worker. Its sleep is bounded then. When the worker finds something that no caller
// came for, the caller computes after all, and the next post wakes the worker again.
//
// What is guarded is guarded by the engine's mutex. The rest is read by anyone, and written by
// those that post, wait or find something left.
type Habit struct {
	posts  uint32        // guarded: operations that callers have left to the worker, or to themselves for later; it wraps
	since  atomic.Int64  // when something was first left since a caller last waited, or last where the worker rests; 0 if nothing was
	first  atomic.Uint32 // goes with since: which of the posts that was
	streak atomic.Int32  // how often in a row a caller waited soon for what it had left; up to Enough

	Within time.Duration // immutable, as those below, after the engine has set them: how soon after a post a caller that has the habit waits
	Each   time.Duration // immutable: and as much more for each post: a caller that posts many comes later
	Rests  bool          // immutable: the worker rests. Until there is a habit the time counts from the last post
}

// Enough is how often in a row a caller must have waited soon, for that to be its habit.
const Enough = 4

// IsSet reports whether a caller that leaves something is expected to wait for it soon.
func (h *Habit) IsSet() bool { return h.streak.Load() >= Enough }

// Set makes it a habit, or none, as if callers had come soon or late until now.
func (h *Habit) Set(on bool) {
	if h.streak.Store(0); on {
		h.streak.Store(Enough)
	}
}

// IsPending reports whether something is left for which no caller has come to wait.
func (h *Habit) IsPending() bool { return h.since.Load() != 0 }

// PostLocked counts an operation that a caller posts.
func (h *Habit) PostLocked() { h.posts++ }

// PostsLocked is the number of the last of them.
func (h *Habit) PostsLocked() uint32 { return h.posts }

// Leave notes that the caller of post nth leaves it and goes on; clock tells the time. Where the
// worker rests and there is a habit, some posts show whether it lasts: to tell the time twice costs
// a tenth of what a short message does, and the worker looks at what is left in any case.
func (h *Habit) Leave(nth uint32, clock func() int64) {
	if h.Rests && h.IsSet() && !isSample(nth) {
		return
	}
	if h.since.Load() == 0 {
		h.first.Store(nth)
		h.since.Store(clock())
	}
}

// isSample picks one of eight posts, however many a caller makes before it waits: the products of
// numbers at equal distances with this one, 2^32 by the golden ratio, are spread evenly.
func isSample(nth uint32) bool { return nth*0x9e3779b9>>29 == 0 }

// LeaveAgain is Leave where the time counts from the last post.
func (h *Habit) LeaveAgain(nth uint32, clock func() int64) {
	if h.since.Load() == 0 {
		h.first.Store(nth)
	}
	h.since.Store(clock())
}

// Forget: the worker attends to what is left, and no caller is expected.
func (h *Habit) Forget() { h.since.Store(0) }

// ComeLocked notes that a caller waits at now for what was left.
func (h *Habit) ComeLocked(now int64) {
	t := h.since.Load()
	if t == 0 {
		return
	}
	h.since.Store(0)
	switch n := h.streak.Load(); {
	case now-t > h.soonLocked():
		h.streak.Store(0)
	case n < Enough:
		h.streak.Store(n + 1)
	}
}

// MayExpect reports whether ExpectedLocked may say that a caller is expected.
func (h *Habit) MayExpect() bool { return h.IsPending() && h.IsSet() }

// ExpectedLocked is for how long after now the caller of what was left is still expected; 0 if it
// is not. If it has not come in time, callers are not expected any more.
func (h *Habit) ExpectedLocked(now int64) time.Duration {
	t := h.since.Load()
	if t == 0 || !h.IsSet() {
		return 0
	}
	if d := t + h.soonLocked() - now; d > 0 {
		return time.Duration(d)
	}
	h.streak.Store(0)
	return 0
}

// soonLocked is within how many ns a caller is expected, counted from the first of the posts that
// it has left.
func (h *Habit) soonLocked() int64 {
	each := h.Each
	if h.Rests && !h.IsSet() { // counted from the last
		each /= 10
	}
	return int64(h.Within) + int64(h.posts-h.first.Load())*int64(each)
}
