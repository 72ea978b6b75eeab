package calls

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// classes are the classes of package mpi as the ABI numbers them.
var classes = [...]int{
	mpi.Success: abi.Success, mpi.ErrBuffer: abi.ErrBuffer, mpi.ErrCount: abi.ErrCount, mpi.ErrType: abi.ErrType,
	mpi.ErrTag: abi.ErrTag, mpi.ErrComm: abi.ErrComm, mpi.ErrRank: abi.ErrRank, mpi.ErrRequest: abi.ErrRequest,
	mpi.ErrRoot: abi.ErrRoot, mpi.ErrGroup: abi.ErrGroup, mpi.ErrOp: abi.ErrOp, mpi.ErrTopology: abi.ErrTopology,
	mpi.ErrDims: abi.ErrDims, mpi.ErrArg: abi.ErrArg, mpi.ErrUnknown: abi.ErrUnknown, mpi.ErrTruncate: abi.ErrTruncate,
	mpi.ErrOther: abi.ErrOther, mpi.ErrIntern: abi.ErrIntern, mpi.ErrInStatus: abi.ErrInStatus, mpi.ErrPending: abi.ErrPending,
	mpi.ErrKeyval: abi.ErrKeyval, mpi.ErrNoMem: abi.ErrNoMem, mpi.ErrBase: abi.ErrBase, mpi.ErrInfoKey: abi.ErrInfoKey,
	mpi.ErrInfoValue: abi.ErrInfoValue, mpi.ErrInfoNokey: abi.ErrInfoNokey, mpi.ErrSpawn: abi.ErrSpawn, mpi.ErrPort: abi.ErrPort,
	mpi.ErrService: abi.ErrService, mpi.ErrName: abi.ErrName, mpi.ErrWin: abi.ErrWin, mpi.ErrSize: abi.ErrSize,
	mpi.ErrDisp: abi.ErrDisp, mpi.ErrInfo: abi.ErrInfo, mpi.ErrLocktype: abi.ErrLocktype, mpi.ErrAssert: abi.ErrAssert,
	mpi.ErrRMAConflict: abi.ErrRmaConflict, mpi.ErrRMASync: abi.ErrRmaSync, mpi.ErrRMARange: abi.ErrRmaRange,
	mpi.ErrRMAAttach: abi.ErrRmaAttach, mpi.ErrRMAShared: abi.ErrRmaShared, mpi.ErrRMAFlavor: abi.ErrRmaFlavor,
	mpi.ErrFile: abi.ErrFile, mpi.ErrNotSame: abi.ErrNotSame, mpi.ErrAmode: abi.ErrAmode,
	mpi.ErrUnsupportedDatarep: abi.ErrUnsupportedDatarep, mpi.ErrUnsupportedOperation: abi.ErrUnsupportedOperation,
	mpi.ErrNoSuchFile: abi.ErrNoSuchFile, mpi.ErrFileExists: abi.ErrFileExists, mpi.ErrBadFile: abi.ErrBadFile,
	mpi.ErrAccess: abi.ErrAccess, mpi.ErrNoSpace: abi.ErrNoSpace, mpi.ErrQuota: abi.ErrQuota, mpi.ErrReadOnly: abi.ErrReadOnly,
	mpi.ErrFileInUse: abi.ErrFileInUse, mpi.ErrDupDatarep: abi.ErrDupDatarep, mpi.ErrConversion: abi.ErrConversion,
	mpi.ErrIO: abi.ErrIo, mpi.ErrSession: abi.ErrSession, mpi.ErrProcAborted: abi.ErrProcAborted,
	mpi.ErrValueTooLarge: abi.ErrValueTooLarge, mpi.ErrErrhandler: abi.ErrErrhandler,
	// Those of fault tolerance have no numbers in the ABI.
	mpi.ErrProcFailed: abi.ErrProcAborted, mpi.ErrProcFailedPending: abi.ErrPending, mpi.ErrRevoked: abi.ErrComm,
}

// codeOf is the error code of an error, for C.
func codeOf(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	if code, ok := errors.AsType[mpi.ErrorCode](err); ok {
		return codeOfAdded(int(code))
	}
	if class := mpi.ClassOf(err); int(class) < len(classes) {
		return classes[class]
	}
	return codeOfAdded(int(mpi.ClassOf(err)))
}

// Codes that the program adds follow mpi.ErrLastcode in Go, and MPI_ERR_LASTCODE in C.
func codeOfAdded(code int) int { return code - int(mpi.ErrLastcode) + abi.ErrLastcode }

// addedOf is the reverse: the number in Go of a code that the program has added.
func addedOf(code int) int {
	if code <= abi.ErrLastcode {
		panic(failf(abi.ErrArg, "error code %d: need one that MPI_Add_error_class or MPI_Add_error_code gave", code))
	}
	return code - abi.ErrLastcode + int(mpi.ErrLastcode)
}

// classOfCode is the class of package mpi of a code of C; ok is false if it is none.
func classOfCode(code int) (class mpi.ErrorClass, ok bool) {
	for g, c := range classes {
		if c == code {
			return mpi.ErrorClass(g), true
		}
	}
	if code > abi.ErrLastcode {
		class = mpi.ErrorCode(addedOf(code)).Class()
		return class, class != mpi.ErrUnknown
	}
	return mpi.ErrUnknown, false
}

// owner is what has an error handler.
type owner interface {
	handler() *errhandler
	self() handle
	abort(text string) // ends the job
}

// errhandler is an error handler. Immutable, but for refs.
type errhandler struct {
	h    handle
	fn   int64 // the function of the program; 0 of a predefined one
	refs atomic.Int32
}

var (
	errorsAreFatal = predefinedHandler(abi.ErrorsAreFatal)
	errorsReturn   = predefinedHandler(abi.ErrorsReturn)
	_              = predefinedHandler(abi.ErrorsAbort)
)

func predefinedHandler(h handle) *errhandler {
	e := &errhandler{h: h}
	errhandlers.predefine(h, e)
	return e
}

// failed gives an error to the error handler that is concerned, and returns the code for the
// caller.
func (c *call) failed(err error) int {
	code := codeOf(err)
	if isTool[c.id] {
		if code < abi.TErrCannotInit { // what is wrong with any function has one code there
			code = abi.TErrInvalid
		}
		return code
	}
	if c.on == nil {
		// "MPI calls that are not related to any objects are considered to be attached to the
		// communicator MPI_COMM_SELF" (MPI 5.0, section 9.3).
		// Programs of older versions set the handler of MPI_COMM_WORLD: it serves where that of
		// MPI_COMM_SELF was never set.
		switch w := theWorld.Load(); {
		case w != nil && w.self.handler() == errorsAreFatal:
			c.on = w.world
		case w != nil:
			c.on = w.self
		default:
			c.on = &noWorld
		}
	}
	return raise(c.on, code, c.name()+": "+err.Error())
}

// raise calls the error handler of o with a code, and returns what the call that has found the
// error is to return. The text is for people.
func raise(o owner, code int, text string) int {
	switch h := o.handler(); {
	case h == errorsReturn:
	case h.fn != 0:
		return callHandler(h, o, code)
	default:
		o.abort(text)
		os.Exit(1)
	}
	return code
}

// callHandler calls a function of the program. It is given "the error code to be returned by the
// MPI routine that raised the error" (MPI 5.0, section 9.3.1), which it may change.
func callHandler(h *errhandler, o owner, code int) int {
	args := heap(new(struct {
		object handle
		code   int32
	}))
	args.object, args.code = o.self(), int32(code)
	what := FunctionCommError
	switch o.(type) {
	case *win:
		what = FunctionWinError
	case *file:
		what = FunctionFileError
	case *session:
		what = FunctionSessionError
	}
	Callback(what, h.fn, address(&args.object), address(&args.code))
	return int(args.code)
}

// noWorld gets errors before MPI_Init and after MPI_Finalize.
var noWorld = outside{}

type outside struct{}

func (*outside) handler() *errhandler { return errorsAreFatal }
func (*outside) self() handle         { return abi.CommNull }
func (*outside) abort(text string)    { fmt.Fprintln(os.Stderr, "fitmpi:", text) }

func init() {
	register(procedure.CommCreateErrhandler, createErrhandler)
	register(procedure.WinCreateErrhandler, createErrhandler)
	register(procedure.FileCreateErrhandler, createErrhandler)
	register(procedure.SessionCreateErrhandler, createErrhandler)
	register(procedure.ErrhandlerFree, freeErrhandler)
	register(procedure.CommSetErrhandler, commSetErrhandler)
	register(procedure.CommGetErrhandler, commGetErrhandler)
	register(procedure.CommCallErrhandler, commCallErrhandler)
	register(procedure.ErrorClass, errorClass)
	register(procedure.ErrorString, errorString)
	register(procedure.AddErrorClass, addErrorClass)
	register(procedure.AddErrorCode, addErrorCode)
	register(procedure.AddErrorString, addErrorString)
	register(procedure.RemoveErrorClass, func(c *call) error {
		return mpi.RemoveErrorClass(mpi.ErrorClass(addedOf(c.int(0))))
	})
	register(procedure.RemoveErrorCode, func(c *call) error {
		return mpi.RemoveErrorCode(mpi.ErrorCode(addedOf(c.int(0))))
	})
	register(procedure.RemoveErrorString, func(c *call) error {
		return mpi.RemoveErrorString(mpi.ErrorCode(addedOf(c.int(0))))
	})
}

func createErrhandler(c *call) error {
	e := &errhandler{fn: c.need(0)}
	e.refs.Store(1)
	e.h = errhandlers.add(e)
	c.setHandle(1, e.h)
	return nil
}

// freeErrhandler lets go of a handle: the handler lives as long as an object has it.
func freeErrhandler(c *call) error {
	p := at[handle](c.need(0))
	e := errhandlers.get(*p)
	e.release()
	*p = abi.ErrhandlerNull
	return nil
}

func (e *errhandler) release() {
	if e.fn != 0 && e.refs.Add(-1) == 0 {
		errhandlers.remove(e.h)
	}
}

// use is e for one more holder.
func (e *errhandler) use() *errhandler {
	e.refs.Add(1)
	return e
}

func commSetErrhandler(c *call) error {
	m := c.comm(0)
	m.errh.Swap(errhandlers.get(handle(c.args[1])).use()).release()
	return nil
}

func commGetErrhandler(c *call) error {
	c.setHandle(1, c.comm(0).handler().use().h)
	return nil
}

// commCallErrhandler returns success if the handler returns.
func commCallErrhandler(c *call) error {
	m, code := c.comm(0), c.int(1)
	if _, ok := classOfCode(code); !ok {
		return failf(abi.ErrArg, "%d is no error code", code)
	}
	raise(m, code, c.name()+": "+textOfCode(code))
	return nil
}

func errorClass(c *call) error {
	class, ok := classOfCode(c.int(0))
	switch {
	case !ok:
		return failf(abi.ErrArg, "%d is no error code", c.int(0))
	case int(class) < len(classes):
		c.setInt(1, classes[class])
	default:
		c.setInt(1, codeOfAdded(int(class)))
	}
	return nil
}

func textOfCode(code int) string {
	if code > abi.ErrLastcode {
		return mpi.ErrorString(mpi.ErrorCode(addedOf(code)))
	}
	class, _ := classOfCode(code)
	return mpi.ErrorString(class)
}

func errorString(c *call) error {
	code := c.int(0)
	if _, ok := classOfCode(code); !ok {
		return failf(abi.ErrArg, "%d is no error code", code)
	}
	c.setText(1, textOfCode(code), abi.MaxErrorString, 2)
	return nil
}

func addErrorClass(c *call) error {
	c.setInt(0, codeOfAdded(int(mpi.AddErrorClass())))
	return nil
}

func addErrorCode(c *call) error {
	class, ok := classOfCode(c.int(0))
	if !ok {
		return failf(abi.ErrArg, "%d is no error class", c.int(0))
	}
	code, err := mpi.AddErrorCode(class)
	if err == nil {
		c.setInt(1, codeOfAdded(int(code)))
	}
	return err
}

func addErrorString(c *call) error {
	return mpi.AddErrorString(mpi.ErrorCode(addedOf(c.int(0))), c.text(1))
}
