//go:build linux

package mpi

import "fmt"

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
func (s *Session) CallErrhandler(err error) (outcome error) {
	defer s.begin("CallErrhandler").endAt(&outcome)
	const op = "Session.CallErrhandler"
	if wrong := s.present(op); wrong != nil {
		return s.fail(wrong)
	}
	if err == nil {
		return nil
	}
	e, ok := err.(*Error)
	if !ok {
		return s.fail(opError(ClassOf(err), op, err))
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
