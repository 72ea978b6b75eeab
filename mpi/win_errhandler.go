//go:build linux

package mpi

// WinErrhandler decides what happens with an error of an operation on a window: it may return it
// (or another), or end the job (MPI 4.1, sections 9.3 and 12.6). [ErrorsAreFatal], [ErrorsAbort]
// and [ErrorsReturn] fit. A window begins with ErrorsReturn under Main and in RunThreads, else with
// ErrorsAreFatal, whatever its communicator has. Errors of the functions that make windows go to
// the error handler of the communicator, as there is no window yet.
//
// What has happened to the memory of a window, and of the calls that had not ended by a
// synchronisation, after an error of a call is undefined (MPI 4.1, section 12.6.2), but of
// arguments that are refused: those calls do nothing.
type WinErrhandler func(w *Win, err *Error) error

// SetErrhandler sets what happens with errors of operations on w, at this rank (MPI 4.1, section
// 9.3.2). nil panics.
func (w *Win) SetErrhandler(h WinErrhandler) {
	if h == nil {
		panic("mpi: SetErrhandler needs a handler, got nil: ErrorsReturn gives errors to the caller")
	}
	w.errh.Store(&h)
}

// Errhandler returns what SetErrhandler set, or what w began with (MPI 4.1, section 9.3.2).
func (w *Win) Errhandler() WinErrhandler { return *w.errh.Load() }

// CallErrhandler gives an error of the caller's own to the error handler of w, as if an operation
// on w had failed with it. It returns what the handler returns (MPI 4.1, section 9.5). An [*Error]
// keeps its operation and place; any other error becomes the cause of one, whose class is that of
// err: see ClassOf. nil is no error, and no handler is called.
func (w *Win) CallErrhandler(err error) (outcome error) {
	defer w.begin("CallErrhandler").endAt(&outcome)
	const op = "CallErrhandler"
	if bad := w.present(op); bad != nil {
		return w.fail(bad)
	}
	if err == nil {
		return nil
	}
	e, ok := err.(*Error)
	if !ok {
		return w.fail(opError(ClassOf(err), op, err))
	}
	own := *e // the handler may keep it, and may change it
	if own.Comm == "" {
		return w.fail(&own)
	}
	return w.Errhandler()(w, &own)
}

// deal gives an error that is complete to the error handler. The communicator of w has it as its
// own.
func (w *Win) deal(_ *Comm, err *Error) error { return w.Errhandler()(w, err) }

// abortFor ends the job because of err.
func (w *Win) abortFor(err *Error, message string) { w.comm.abortFor(err, message) }

// membersText says which ranks belong to w.
func (w *Win) membersText() string { return w.comm.membersText() }
