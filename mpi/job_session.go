package mpi

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// Session is one use of MPI by a part of a program, such as a library, apart from all others. It
// names process sets, groups and communicators are made of these, and they end with it. It needs
// neither Init nor Main, nor that other parts of the program know of it (MPI 4.1, section 11.3).
//
//	s, err := mpi.SessionInit(ctx, nil, mpi.ErrorsReturn)
//	...
//	defer s.Finalize()
//	all, err := s.GroupFromPset("mpi://WORLD")
//	...
//	c, err := mpi.CommCreateFromGroup(all, "example.org/solver", nil, mpi.ErrorsReturn)
//
// It belongs to the calling rank. It is safe for concurrent use.
type Session struct {
	// Immutable after newSession.
	job    *job
	number int   // among those of the rank, from 1
	own    *Comm // of the rank alone, for what needs a communicator; users never see it
	scope  scope // of what comes from the session

	errh       atomic.Pointer[SessionErrhandler]
	buffer     bufferSlot  // of buffered sends over communicators of the session that have none
	finalizing atomic.Bool // Finalize was called
}

// keyThreadLevel is the key of the thread level in the infos of sessions.
const keyThreadLevel = "thread_level"

// threadLevels are the values of keyThreadLevel.
var threadLevels = []string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}

// SessionInit opens a session. It may be called any number of times, by any goroutine, before Init
// and after Finalize, beside Main, and again after all sessions were finalized (MPI 4.1, section
// 11.3.1, MPI_Session_init).
//
// ctx says which rank the session is of: give the context that Main or RunThreads gives to the
// rank's function, or one that derives from it. In a process of one rank any context will do, such
// as context.Background().
//
// Where neither Init nor Main was called nor another session opened, the process joins its job as
// by Init. The call then waits until all ranks of the job have called SessionInit, Init or Main, or
// until ctx ends. Otherwise it is local. ctx has no part in what the session does later. A process
// that exits with code 0 and an open session counts as failed.
//
// info may be nil. Its key thread_level asks for one of MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE,
// of which there is always the last; another value is an error of class ErrInfoValue, and other
// keys are ignored. errh is the error handler of the session, of its groups, and of nothing else:
// communicators get theirs in CommCreateFromGroup. nil stands for ErrorsReturn under Main and in
// RunThreads, else for ErrorsAreFatal. Errors of SessionInit itself are returned: there is no
// session yet to which they could belong.
//
// After Finalize, in a job of several ranks in which no rank has opened a session before that, it
// is an error of class ErrSession: all connections are closed then.
func SessionInit(ctx context.Context, info *Info, errh SessionErrhandler) (*Session, error) {
	const op = sessionInit
	if ctx == nil {
		return nil, opErrorf(ErrArg, op, "the context is nil: give that of the rank, or context.Background()")
	}
	if level, ok := info.Get(keyThreadLevel); ok && !slices.Contains(threadLevels, level) {
		return nil, opErrorf(ErrInfoValue, op, "%s is %q: choose one of %v", keyThreadLevel, level, threadLevels)
	}
	if j, ok := ctx.Value(rankKey{}).(*job); ok {
		return j.openSession(errh)
	}
	return openProcessSession(ctx, errh)
}

// openSession opens a session of a rank that has joined.
func (j *job) openSession(errh SessionErrhandler) (*Session, error) {
	told := j.tools.newCall(sessionInit).begin()
	s, err := j.newSession(errh)
	told.end(err)
	return s, err
}

// newSession is openSession that tells no tool.
func (j *job) newSession(errh SessionErrhandler) (*Session, error) {
	if err := boot.UseSessions(j.session); err != nil {
		return nil, opError(ErrSession, sessionInit, err)
	}
	number, enterErr := j.enter()
	if enterErr != nil {
		return nil, enterErr.on(j.engine.Rank(), "")
	}
	if errh == nil {
		errh = firstHandler[*Session](j)
	}
	s := &Session{job: j, number: number}
	s.scope.session = s
	s.errh.Store(&errh)
	me := j.self.group
	s.own = newComm(j, &s.scope, s.String(), 0, me, j.self.p2p)
	s.own.SetErrhandler(func(_ *Comm, err *Error) error { return s.fail(err) })
	return s, nil
}

// String names s for messages.
func (s *Session) String() string {
	if s == nil {
		return "the nil session"
	}
	return fmt.Sprintf("session %d of rank %d", s.number, s.job.engine.Rank())
}

// Finalize ends s: what was made of it cannot be used any more, and fails with errors of class
// ErrSession. Before, operations over its communicators must be complete at the calling rank, and
// the communicators should be freed. With FITMPI_CHECK=1 requests that are not complete are an
// error of class ErrRequest, and messages that are here and were not received one of ErrOther. It
// is local, but waits until the messages in the session's buffers have left them. The rank may open
// sessions again (MPI 4.1, section 11.3.1, MPI_Session_finalize).
//
// The last Finalize of a rank that is not between Init and the other Finalize does more. It waits
// until all that the rank has sent has reached its receivers' memory, so it may need that they
// receive. It fails with an error of class ErrProcFailed if the rank has lost another, unless the
// job goes on without its dead: exit code 0 is a failure then.
func (s *Session) Finalize() (err error) {
	const op = "Session.Finalize"
	defer s.begin("Finalize").endAt(&err)
	if err := s.present(op); err != nil {
		return s.fail(err)
	}
	if !s.finalizing.CompareAndSwap(false, true) {
		return s.fail(opErrorf(ErrSession, op, "called twice"))
	}
	s.scope.state.Store(scopeOver)
	s.job.flushBuffers(&s.scope)
	left := s.job.checker.unfinished(op, &s.scope)
	if err := s.job.exit(); err != nil {
		return s.fail(err)
	}
	if left != nil {
		return s.fail(left)
	}
	if err := s.job.leftOf(op, &s.scope); err != nil {
		return s.fail(err)
	}
	return nil
}

// Info returns what is known of s: thread_level, which is MPI_THREAD_MULTIPLE. The result is the
// caller's own (MPI 4.1, section 11.3.3, MPI_Session_get_info).
func (s *Session) Info() (*Info, error) {
	if err := s.present("Session.Info"); err != nil {
		return nil, s.fail(err)
	}
	info := InfoCreate()
	info.setKnown(keyThreadLevel, threadLevels[QueryThread()])
	return info, nil
}

// present says why s cannot be used.
func (s *Session) present(op string) *Error {
	if s == nil || s.job == nil {
		return opErrorf(ErrSession, op, "the session is nil: open one with SessionInit")
	}
	return s.scope.closed(op)
}

// SessionErrhandler is the Errhandler of a session: ErrorsAreFatal, ErrorsAbort, ErrorsReturn, or a
// function of the user's. It gets the errors of the session's own calls and of its groups (MPI 4.1,
// section 9.3.4, MPI_Session_create_errhandler).
type SessionErrhandler func(s *Session, err *Error) error

// SetErrhandler sets what happens with errors of s and its groups, not of communicators that come
// from them (MPI 4.1, section 9.3.4, MPI_Session_set_errhandler). nil panics. It is local.
func (s *Session) SetErrhandler(h SessionErrhandler) {
	if h == nil {
		panic("mpi: SetErrhandler needs a handler, got nil: ErrorsReturn gives errors to the caller")
	}
	s.errh.Store(&h)
}

// Errhandler returns what SetErrhandler or SessionInit has set (MPI 4.1, section 9.3.4,
// MPI_Session_get_errhandler).
func (s *Session) Errhandler() SessionErrhandler { return *s.errh.Load() }

// CallErrhandler gives an error of the caller's own to the error handler of s, and returns what
// that returns: see Comm.CallErrhandler (MPI 4.1, section 9.5, MPI_Session_call_errhandler).
func (s *Session) CallErrhandler(cause error) (err error) {
	defer s.begin("CallErrhandler").endAt(&err)
	const op = "Session.CallErrhandler"
	if wrong := s.present(op); wrong != nil {
		return s.fail(wrong)
	}
	if cause == nil {
		return nil
	}
	e, ok := cause.(*Error)
	if !ok {
		return s.fail(opError(ClassOf(cause), op, cause))
	}
	own := *e // the handler may keep it, and may change it
	if own.Rank < 0 {
		return s.fail(&own)
	}
	return s.Errhandler()(s, &own)
}

// fail completes err with the place and gives it to the error handler.
func (s *Session) fail(err *Error) error {
	if s == nil || s.job == nil {
		return err
	}
	err.on(s.job.engine.Rank(), "")
	err.Host = s.job.host
	err.atHere()
	return s.Errhandler()(s, err)
}

// abortFor ends the job because of err.
func (s *Session) abortFor(err *Error, message string) { s.own.abortFor(err, message) }

// membersText says which ranks an error of s concerns: only the calling rank is in it.
func (s *Session) membersText() string {
	return fmt.Sprintf("world rank %d, and with it the job", s.job.engine.Rank())
}
