package engine

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Waking the worker costs its caller a system call and the core a change of
// threads, and is for nothing when the caller is about to wait and will drive for
// itself (assist). So callers that post and then wait at once, as those do who send
// a window of messages, leave the worker asleep: when promptEnough times in a row a
// caller came to wait within promptly, the next posts do not wake it. Its sleep is
// bounded by promptWait then, and by holdWait if it had begun before. When it finds
// something that no caller came for, the caller computes after all, and the next
// post wakes the worker again.
const (
	promptEnough = 4
	promptly     = 30 * time.Microsecond
	promptWait   = time.Millisecond
	// promptlyShared is promptly on a core that several ranks share: the caller may
	// be interrupted by them.
	promptlyShared = time.Millisecond
)

// leave sees to it that what a caller posted gets done while the caller computes.
func (e *Engine) leave(output bool) {
	if e.postedAt.Load() == 0 {
		e.postedAt.Store(sys.Nanotime())
	}
	if e.asleep.Load() != asleepIdle && e.isPrompt() {
		if !e.owed.Load() { // who clears it looks after that, and a store costs as much as a lock
			e.owed.Store(true)
		}
	} else {
		e.attend(output)
	}
}

// isPrompt reports whether a caller that leaves something to the worker is expected
// to wait for it at once.
func (e *Engine) isPrompt() bool { return e.cfg.KeepP && e.prompt.Load() >= promptEnough }

// hold is how long the worker may sleep while operations are outstanding.
func (e *Engine) hold() time.Duration {
	if e.isPrompt() {
		return promptWait
	}
	return holdWait
}

// isFresh reports whether something was left to the worker so short a time ago
// that its caller is still expected; when it was longer ago, callers are not
// expected any more.
func (e *Engine) isFresh() bool {
	t := e.postedAt.Load()
	if t == 0 || e.prompt.Load() < promptEnough {
		return false
	}
	if sys.Nanotime()-t < int64(e.promptly) {
		return true
	}
	e.prompt.Store(0)
	return false
}

// noteWait notes that a caller is about to wait and will drive.
func (e *Engine) noteWait(now int64) {
	t := e.postedAt.Load()
	if t == 0 {
		return
	}
	e.postedAt.Store(0)
	switch p := e.prompt.Load(); {
	case now-t > int64(e.promptly):
		e.prompt.Store(0)
	case p < promptEnough:
		e.prompt.Store(p + 1)
	}
}
