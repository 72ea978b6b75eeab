//go:build linux

package sys

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// MaxHold is the longest that [FutexWaitHolding] keeps its P.
const MaxHold = time.Millisecond

// FutexWait sleeps while *addr is val, until a [FutexWake] of addr, or until d has passed (d < 0: for ever). It returns
// at once when *addr is not val. It may return for no reason (a signal), so callers look at *addr again, in a loop.
// It reports false when d has passed, true otherwise.
//
// It is an ordinary blocking system call: the thread sleeps, and its P goes to others if they need it.
func FutexWait(addr *atomic.Uint32, val uint32, d time.Duration) bool {
	return futexWait(addr, val, d) != unix.ETIMEDOUT
}

// FutexWaitHolding is FutexWait which keeps the caller's P, so that it goes on within microseconds of the wake even when
// goroutines compute on every other P. d is clamped to 0 <= d <= [MaxHold].
//
// The scheduler takes the goroutine for one that computes: stop-the-world waits for it. Hence the bound, and hence a
// function that is not inlined, because every call then tests for preemption at its entry. A loop around an inlined raw
// call has no point where the scheduler can stop it.
//
//go:noinline
func FutexWaitHolding(addr *atomic.Uint32, val uint32, d time.Duration) bool {
	return futexWaitRaw(addr, val, min(max(d, 0), MaxHold)) != unix.ETIMEDOUT
}

// FutexWake wakes at most n goroutines that sleep on addr, and returns how many it woke. Change *addr first. The word must
// be shared with goroutines of this process only (FUTEX_PRIVATE).
func FutexWake(addr *atomic.Uint32, n int) int { return futexWake(addr, n) }
