package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errhandler decides what happens with an error of an operation: it may return
// it (or another), or end the job (MPI 4.1, section 9.3). A function is all that
// it takes: there is nothing to create or to free.
type Errhandler func(c *Comm, err *Error) error

// Handle is what has an error handler: a communicator, a file, a session or a window. The
// predefined handlers fit each kind; Go infers which is meant.
type Handle interface {
	*Comm | *File | *Session | *Win

	abortFor(err *Error, message string)
	membersText() string
}

// ErrorsAreFatal ends the job with one message; the default after Init, where Main is not used. In
// a job of thread ranks every pending operation ends and the error is returned (MPI 4.1, section
// 9.3, MPI_ERRORS_ARE_FATAL).
func ErrorsAreFatal[H Handle](h H, err *Error) error {
	h.abortFor(err, err.Error())
	return err
}

// ErrorsAbort aborts the processes of the communicator (MPI 4.1, section 9.3, MPI_ERRORS_ABORT).
// The ranks of a job depend on each other: fitrun ends all when one ends early, and so does
// RunThreads. So this ends the job, as ErrorsAreFatal does and as section 9.3 allows where a part
// cannot be aborted alone. The message says which ranks were meant.
func ErrorsAbort[H Handle](h H, err *Error) error {
	h.abortFor(err, fmt.Sprintf("%v; aborting %s", err, h.membersText()))
	return err
}

// ErrorsReturn gives the error to the caller; the default under Main and in RunThreads (MPI 4.1,
// section 9.3, MPI_ERRORS_RETURN).
func ErrorsReturn[H Handle](_ H, err *Error) error { return err }

// abortFor ends the job because of err.
func (c *Comm) abortFor(err *Error, message string) {
	if err.Class == ErrProcFailed || err.Class == ErrProcFailedPending || err.Class == ErrRevoked {
		c.job.awaitVerdict()
	}
	c.job.abort(1, message)
}

// membersText says which ranks belong to c.
func (c *Comm) membersText() string {
	if len(c.group) == len(c.job.world.group) {
		return "all ranks"
	}
	var b strings.Builder
	b.WriteString("world rank")
	if len(c.group) > 1 {
		b.WriteString("s")
	}
	const most = 8
	for i, p := range c.group[:min(len(c.group), most)] {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %d", p)
	}
	if more := len(c.group) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String() + ", and with them the job"
}

// SetErrhandler sets what happens with errors of operations on c, at this rank
// (MPI 4.1, section 9.3). Communicators made from c inherit it. nil panics.
func (c *Comm) SetErrhandler(h Errhandler) {
	if h == nil {
		panic("mpi: SetErrhandler needs a handler, got nil: ErrorsReturn gives errors to the caller")
	}
	c.errh.Store(&h)
}

// Errhandler returns what SetErrhandler set, or what c inherited (MPI 4.1, section 9.3).
func (c *Comm) Errhandler() Errhandler { return *c.errh.Load() }

// CallErrhandler gives an error of the caller's own to the error handler of c, as if an operation
// on c had failed with it. It returns what the handler returns (MPI 4.1, section 9.5). An [*Error]
// keeps its operation and place; any other error becomes the cause of one, whose class is that of
// cause: see ClassOf. nil is no error, and no handler is called.
func (c *Comm) CallErrhandler(cause error) (err error) {
	defer c.begin("CallErrhandler").endAt(&err)
	const op = "CallErrhandler"
	switch {
	case c == nil || c.comm == nil || c.freed.Load():
		return c.fail(c.present(op))
	case cause == nil:
		return nil
	}
	e, ok := cause.(*Error)
	if !ok {
		return c.fail(opError(ClassOf(cause), op, cause))
	}
	own := *e // the handler may keep it, and may change it
	if own.Comm == "" {
		return c.fail(&own)
	}
	return c.Errhandler()(c, &own)
}

// fail completes err with the place and gives it to the error handler.
func (c *Comm) fail(err *Error) error {
	if c == nil || c.comm == nil {
		return err
	}
	err.on(c.rank, c.Name())
	err.Host = c.job.host
	err.atHere()
	if c.quiet || c.hasEnded(err) {
		return err
	}
	return c.Errhandler()(c, err)
}

// hasEnded reports whether err is that the context which the caller gave c has ended: no fault of
// the job's, but what the caller has asked for.
func (c *Comm) hasEnded(err *Error) bool {
	return c.isBounded() && c.ctx.Err() != nil && c.job.ctx.Err() == nil && errors.Is(err, context.Cause(c.ctx))
}

// The names of the predefined error handlers, as FITMPI_ERRHANDLER has them.
const (
	handlerFatal  = "fatal"
	handlerAbort  = "abort"
	handlerReturn = "return"
)

// handlerNamed is the name of a predefined error handler for one of its names, ours or that which
// the standard's info key mpi_initial_errhandler has for it.
func handlerNamed(name string) (string, error) {
	switch name {
	case handlerFatal, "mpi_errors_are_fatal":
		return handlerFatal, nil
	case handlerAbort, "mpi_errors_abort":
		return handlerAbort, nil
	case handlerReturn, "mpi_errors_return":
		return handlerReturn, nil
	}
	return "", fmt.Errorf("error handler %q: choose fatal, abort or return", name)
}

// returnErrors makes errors be returned if FITMPI_ERRHANDLER does not say what happens with them.
// That is for ranks that are a function: what it returns ends the job (docs/decisions/0063).
func (set *settings) returnErrors() {
	if set.origins[nameErrhandler] == "" {
		set.errhName = handlerReturn
	}
}

// returnErrors is settings.returnErrors for a job that has begun, whose world has not been used.
func (j *job) returnErrors() {
	j.set.returnErrors()
	j.setFirstHandlers()
}

// setFirstHandlers gives the communicators that every job has their first error handler (MPI 4.1,
// section 9.3).
func (j *job) setFirstHandlers() {
	first := firstHandler[*Comm](j)
	j.world.SetErrhandler(first)
	j.self.SetErrhandler(first)
	if j.parent != nil {
		j.parent.SetErrhandler(first)
	}
}

// firstHandler is the error handler of what is made without one, and inherits none.
func firstHandler[H Handle](j *job) func(H, *Error) error {
	switch j.set.errhName {
	case handlerReturn:
		return ErrorsReturn[H]
	case handlerAbort:
		return ErrorsAbort[H]
	default:
		return ErrorsAreFatal[H]
	}
}
