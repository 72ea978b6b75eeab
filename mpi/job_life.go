package mpi

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// How long a rank takes part in its job. Init and Main open the world, SessionInit opens sessions,
// and as long as one of them is open the rank takes part. Then
//
//   - it says goodbye to all and closes what it has, if no rank has used sessions: all ranks have
//     called Finalize, and nothing follows. So does the only rank of a job that has no launcher,
//     which can make another job at any time;
//   - else it is idle: its engine stays, and so do its connections, and the next session wakes it.
//     It tells the ranks with which it has exchanged anything, so that its exit is no failure to
//     them. It also tells the launcher, to which exit code 0 is clean from then on.
//
//	             last closed, no rank uses sessions
//	  ┌──────────────────────────────────────────▶ closed
//	open ──────────────────────────────▶ idle
//	  ▲      last closed, sessions          │
//	  └─────────────────────────────────────┘ SessionInit, Init, Main

// Names of calls.
const (
	sessionInit  = "SessionInit" // opens a session
	finalizeCall = "Finalize"    // closes the world
)

// life is the state of that.
type life struct {
	mu       sync.Mutex      // held while the rank becomes idle: a few moments, or up to closeTimeout
	world    bool            // guarded by mu: the world is open
	sessions int             // guarded by mu: those that are open, and holds
	opened   int             // guarded by mu: those that there ever were
	idle     bool            // guarded by mu
	closed   bool            // guarded by mu: the engine is stopped, or about to be
	told     []engine.PeerID // guarded by mu: ranks that know that this rank is idle
	answers  idleAnswers     // has a mutex of its own
}

// enter opens one more session, and returns its number.
func (j *job) enter() (number int, err *Error) {
	l := &j.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || j.ctx.Err() != nil {
		return 0, opErrorf(ErrSession, sessionInit, "the communication of this rank is over for good: open a session before Finalize, so that others may follow after it")
	}
	l.opened++
	l.sessions++
	j.wakeLocked()
	return l.opened, nil
}

// openWorld opens the world of a rank that sessions have made join.
func (j *job) openWorld(op string) *Error {
	l := &j.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || j.ctx.Err() != nil {
		return opErrorf(ErrOther, op, "the communication of this rank is over for good")
	}
	l.world = true
	j.wakeLocked()
	j.worldScope.state.Store(scopeOpen)
	return nil
}

// hold keeps the rank from going until release is called. It fails if the rank has left a job that
// it can make anew.
func (j *job) hold() bool {
	l := &j.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && j.isRenewable() {
		return false
	}
	l.sessions++
	return true
}

// release ends a hold.
func (j *job) release() {
	if err := j.exit(); err != nil {
		j.logger.Warn("a rank that nothing uses any more goes", "rank", j.engine.Rank(), "err", err)
	}
}

// exit closes a session, or ends a hold.
func (j *job) exit() *Error {
	l := &j.life
	l.mu.Lock()
	l.sessions--
	last := l.isIdleLocked()
	l.mu.Unlock()
	if !last {
		return nil
	}
	return j.retire(j.ctx, "Session.Finalize")
}

// retire ends the part of a rank of which nothing is open, for now or for good.
func (j *job) retire(ctx context.Context, op string) *Error {
	// Not under the mutex: the receivers may wait for what sessions do that are opened meanwhile.
	err := j.drain(ctx, op)
	l := &j.life
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed && j.isRenewable():
		return nil // another goroutine was faster, and stopped the engine under the drain; a rank that is alone leaves nothing behind
	case err != nil:
		return opError(ErrOther, op, err)
	case !l.isIdleLocked():
		return nil // another goroutine was faster
	}
	if err := j.lostOne(op); err != nil {
		return err // and it does not become idle: to exit with code 0 is no success
	}
	if j.isRenewable() {
		l.closed = true
		err = errors.Join(j.part(ctx, nil, func(error) {}), j.leave())
	} else {
		err = j.idleLocked(ctx)
	}
	if err != nil {
		return opError(ErrOther, op, err)
	}
	return nil
}

// drain waits until what the rank has sent has left it. Finalize waits for a short time only: all
// ranks have called it, and what was not received until then is not received any more. A rank that
// ends its last session may well be the first to do so.
func (j *job) drain(ctx context.Context, op string) error {
	if op != finalizeCall {
		return j.engine.Drain(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := j.engine.Drain(soon); err != nil && soon.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// isIdleLocked reports whether the rank takes part and nothing needs that.
func (l *life) isIdleLocked() bool { return !l.world && l.sessions == 0 && !l.idle && !l.closed }

// ending says what a rank does that has finalized its world.
type ending uint8

const (
	goesOn ending = iota // sessions are open
	idles                // see life
	closes               // for good
)

// endOf decides what the rank does now that the meeting of Finalize has ended, with err if that is
// not nil. open is an error if sessions should not be open any more: the ranks of RunThreads end
// with their functions.
func (j *job) endOf(err error) (end ending, open error) {
	l := &j.life
	l.mu.Lock()
	defer l.mu.Unlock()
	l.world = false
	threads := j.session.Info().Source == sourceThreads
	switch {
	case l.sessions > 0 && !threads:
		return goesOn, nil
	case l.sessions > 0:
		open = opErrorf(ErrSession, "Finalize", "%d sessions are open: call Session.Finalize before the rank's function returns", l.sessions).on(j.engine.Rank(), "")
	case err == nil && !threads && !j.isRenewable() && (l.opened > 0 || j.hasIdled()):
		return idles, nil
	}
	l.closed = true
	return closes, open
}

// isRenewable reports whether the process can join a job like this one again: it is alone, and no
// launcher has started it.
func (j *job) isRenewable() bool { return j.session.Info().Source == sourceNone }

// hasIdled reports whether another rank is idle: it uses sessions, and may be woken by one.
func (j *job) hasIdled() bool {
	for r := range j.engine.Size() {
		if j.engine.IsExcused(engine.PeerID(r)) {
			return true
		}
	}
	return false
}

// openProcessSession opens a session of this process, which joins if it has not.
func openProcessSession(ctx context.Context, errh SessionErrhandler) (*Session, error) {
	processMu.Lock()
	defer processMu.Unlock()
	if n := boot.RanksHere(os.Environ()); n > 1 {
		return nil, opErrorf(ErrSession, sessionInit, "this process has %d ranks: call Main, and give SessionInit the context of the rank's function", n)
	}
	jobs, fresh, err := joinProcess(ctx, sessionInit, findOne)
	if err != nil {
		return nil, err
	}
	j := jobs[0]
	if !fresh {
		defer j.release() // after the session was opened, so it is not the last
	}
	if len(jobs) > 1 {
		return nil, opErrorf(ErrSession, sessionInit, "this process has %d ranks: give the context of the rank's function, which says whose session it is", len(jobs))
	}
	if fresh {
		j.life.world = false
		j.worldScope.state.Store(scopeAbsent)
		j.markMain()
		return j.newSession(errh)
	}
	return j.openSession(errh)
}
