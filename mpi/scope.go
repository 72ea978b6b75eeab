//go:build linux

package mpi

import "sync/atomic"

// scope is what a communicator or a group comes from: the world model, which Init and Main open and
// Finalize closes, or a session. What comes from different scopes must not meet in one operation
// (MPI 4.1, section 11.3).
type scope struct {
	state   atomic.Uint32 // one of those below
	session *Session      // immutable; nil: the world model's
}

// The states of a scope, in the order in which it passes through them; a session is never absent.
const (
	scopeOpen   = iota // operations may begin
	scopeAbsent        // Init and Main were not called yet
	scopeOver          // Finalize was called
)

func (s *scope) isOpen() bool { return s.state.Load() == scopeOpen }

// closed says why no operation may begin, nil if it may.
func (s *scope) closed(op string) *Error {
	switch state := s.state.Load(); {
	case state == scopeOpen:
		return nil
	case s.session != nil:
		return opErrorf(ErrSession, op, "%s is finalized: use what comes from a session before Session.Finalize", s.session)
	case state == scopeAbsent:
		return opErrorf(ErrComm, op, "the world was not initialized: call Init or Main, or make communicators of the session's own groups")
	default:
		return opErrorf(ErrOther, op, "MPI is finalized: communicate before Finalize, or before the function of Main returns")
	}
}

// String says in words what the scope is.
func (s *scope) String() string {
	if s.session != nil {
		return s.session.String()
	}
	return "the world model"
}

// mixes says that what comes from s meets what comes from o, nil if they are the same.
func (s *scope) mixes(class ErrorClass, op string, o *scope) *Error {
	if s == o {
		return nil
	}
	return opErrorf(class, op, "one comes from %v and the other from %v: what comes from different sessions, or from a session and from Init, must not be mixed", s, o)
}
