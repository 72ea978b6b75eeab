package mpi

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// FileErrhandler decides what happens with an error of an operation on a file, as [Errhandler] does
// for communicators (MPI 4.1, section 9.3.3). ErrorsReturn, ErrorsAreFatal and ErrorsAbort fit. A
// function is all that it takes: there is nothing to create or to free. f is not open if that is
// what has failed.
type FileErrhandler func(f *File, err *Error) error

// SetErrhandler sets what happens with errors of operations on f, at this rank (MPI 4.1, section
// 9.3.3, MPI_File_set_errhandler). nil panics.
func (f *File) SetErrhandler(h FileErrhandler) {
	needHandler(h)
	f.errh.Store(&h)
}

// Errhandler returns what SetErrhandler set, or what files had at this rank when f was opened
// (MPI 4.1, section 9.3.3, MPI_File_get_errhandler).
func (f *File) Errhandler() FileErrhandler { return *f.errh.Load() }

// CallErrhandler gives an error of the caller's own to the error handler of f, as if an operation
// on f had failed with it, and returns what the handler returns (MPI 4.1, section 9.5,
// MPI_File_call_errhandler). It is as [Comm.CallErrhandler].
func (f *File) CallErrhandler(cause error) (err error) {
	defer f.begin("CallErrhandler").endAt(&err)
	const op = "CallErrhandler"
	if e := f.present(op); e != nil {
		return f.fail(e)
	}
	if cause == nil {
		return nil
	}
	e, ok := cause.(*Error)
	if !ok {
		return f.fail(opError(ClassOf(cause), op, cause))
	}
	own := *e // the handler may keep it, and may change it
	if own.Comm == "" {
		return f.fail(&own)
	}
	return f.Errhandler()(f, &own)
}

// SetFileErrhandler sets the error handler of files that this rank opens from now on, and of
// FileOpen and FileDelete when they fail: what MPI sets for MPI_FILE_NULL (MPI 4.1, section 14.7).
// Until then it is ErrorsReturn, also where that of communicators is another. It is local, the same
// for all communicators of the job, and nil panics.
func (c *Comm) SetFileErrhandler(h FileErrhandler) {
	needHandler(h)
	c.job.fileErrh.Store(&h)
}

// FileErrhandler returns what SetFileErrhandler set (MPI 4.1, section 14.7).
func (c *Comm) FileErrhandler() FileErrhandler {
	if h := c.job.fileErrh.Load(); h != nil {
		return *h
	}
	return ErrorsReturn
}

func needHandler(h FileErrhandler) {
	if h == nil {
		panic("mpi: a file needs an error handler, got nil: ErrorsReturn gives errors to the caller")
	}
}

// abortFor ends the job because of err.
func (f *File) abortFor(err *Error, message string) { f.comm.abortFor(err, message) }

// membersText says which ranks have f open.
func (f *File) membersText() string { return f.comm.membersText() }

// unopened stands for a file that is not open, for error handlers.
func unopened(c *Comm, name string) *File {
	f := &File{file: &file{comm: c, name: name}}
	f.SetErrhandler(c.FileErrhandler())
	return f
}

// fileClass is the class of an error of a file system, in an operation on a file.
func fileClass(err error) ErrorClass {
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrFileExists
	case isOneOf(err, syscall.EISDIR, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP):
		return ErrBadFile
	case isOneOf(err, syscall.EBUSY, syscall.ETXTBSY):
		return ErrFileInUse
	case isOneOf(err, syscall.EOPNOTSUPP, syscall.ESPIPE, syscall.ENOLCK, syscall.ENOSYS):
		return ErrUnsupportedOperation
	}
	return placeClass(err)
}

func isOneOf(err error, codes ...syscall.Errno) bool {
	code, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return false
	}
	return slices.Contains(codes, code)
}

// diskError is the error of op for one of the file system; nil for none.
func diskError(op string, err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return e
	}
	return opError(fileClass(err), op, err)
}

// breakOff ends what ranks of f wait for from each other, now and later.
func (f *file) breakOff() {
	f.comm.job.revoke(f.comm.family(), f.comm.job.me(), f.comm.group)
}

// rankError is the error of op for one of communication among the ranks of f. If one has failed no
// other operation can follow that needs all of them, and those that wait in one are told.
func (f *file) rankError(op string, err error) *Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return opError(ErrOther, op, err)
	}
	own := *e
	own.Op = op
	if f != nil && (own.Class == ErrProcFailed || own.Class == ErrRevoked) {
		if own.Class == ErrRevoked {
			own.Class, own.Cause = ErrProcFailed, errors.New("a collective operation on the file was broken off before, as a rank has failed: close it, and open it with those that are left")
		}
		f.breakOff()
	}
	return &own
}

// reportedError is f as the error of op at a rank whose own error, if that is what f is, was own.
func (f fault) reportedError(c *Comm, op string, own *Error) *Error {
	switch {
	case f.Text == "":
		return nil
	case f.Rank == c.rank && own != nil:
		return own
	}
	return opErrorf(f.Class, op, "rank %d: %s", f.Rank, f.Text)
}

// faultOfFile is err, of a rank, for the others, which say themselves whose it is.
func faultOfFile(rank int, err *Error) fault {
	if err == nil {
		return fault{}
	}
	return fault{rank, err.Class, err.Class.String() + causeText(err)}
}

func causeText(err *Error) string {
	if err.Cause == nil {
		return ""
	}
	return ": " + err.Cause.Error()
}

// agree tells every rank of f of the first error of any: all return one, or none does. Collective.
func (f *file) agree(op string, own *Error) *Error {
	bad := []int64{0}
	if own != nil {
		bad[0] = 1
	}
	if err := done(iallreduce(f.quiet, op, bad, bad, Max)); err != nil {
		return f.rankError(op, err)
	}
	if bad[0] == 0 {
		return nil
	}
	first, err := settleFault(f.quiet, op, faultOfFile(f.comm.rank, own))
	if err != nil {
		return f.rankError(op, err)
	}
	return first.reportedError(f.comm, op, own)
}
