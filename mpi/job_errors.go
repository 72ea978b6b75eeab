package mpi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/internal/callsite"
)

// ErrorClass is the kind of an error, as the MPI standard classifies them (MPI 4.1, section 9.4).
// Classes are errors themselves, so that a program can ask for one:
//
//	if errors.Is(err, mpi.ErrTruncate) { ... }
//
// An operation returns an [*Error], which carries its class.
type ErrorClass int

// The error classes of MPI 4.1, section 9.4, in the order of its table, then those of fault
// tolerance (ULFM).
const (
	Success                 ErrorClass = iota // no error
	ErrBuffer                                 // invalid buffer
	ErrCount                                  // invalid count
	ErrType                                   // invalid element type or layout
	ErrTag                                    // invalid tag
	ErrComm                                   // invalid communicator
	ErrRank                                   // invalid rank
	ErrRequest                                // invalid request
	ErrRoot                                   // invalid root
	ErrGroup                                  // invalid group
	ErrOp                                     // invalid reduction operation
	ErrTopology                               // invalid topology
	ErrDims                                   // invalid dimensions
	ErrArg                                    // invalid argument of some other kind
	ErrUnknown                                // unknown error
	ErrTruncate                               // message longer than the receive buffer
	ErrOther                                  // known error not in this list
	ErrIntern                                 // internal error of the library
	ErrInStatus                               // each request of several has its own error
	ErrPending                                // request neither failed nor completed
	ErrKeyval                                 // invalid attribute key
	ErrNoMem                                  // out of memory
	ErrBase                                   // invalid base address
	ErrInfoKey                                // info key too long
	ErrInfoValue                              // info value too long
	ErrInfoNokey                              // no such info key
	ErrSpawn                                  // processes could not be started
	ErrPort                                   // invalid port name
	ErrService                                // invalid service name
	ErrName                                   // service name not published
	ErrWin                                    // invalid window
	ErrSize                                   // invalid size
	ErrDisp                                   // invalid displacement
	ErrInfo                                   // invalid info
	ErrLocktype                               // invalid lock type
	ErrAssert                                 // invalid assertion
	ErrRMAConflict                            // conflicting accesses to a window
	ErrRMASync                                // wrong synchronisation of one-sided calls
	ErrRMARange                               // target memory outside the window
	ErrRMAAttach                              // memory cannot be attached
	ErrRMAShared                              // memory cannot be shared
	ErrRMAFlavor                              // wrong kind of window
	ErrFile                                   // invalid file
	ErrNotSame                                // collective argument differs between ranks
	ErrAmode                                  // invalid file access mode
	ErrUnsupportedDatarep                     // unsupported data representation
	ErrUnsupportedOperation                   // operation not supported on this file
	ErrNoSuchFile                             // no such file
	ErrFileExists                             // file exists
	ErrBadFile                                // invalid file name
	ErrAccess                                 // permission denied
	ErrNoSpace                                // no space left
	ErrQuota                                  // quota exceeded
	ErrReadOnly                               // read-only file or file system
	ErrFileInUse                              // file is open elsewhere
	ErrDupDatarep                             // data representation already defined
	ErrConversion                             // data conversion failed
	ErrIO                                     // input or output failed
	ErrSession                                // invalid session
	ErrProcAborted                            // peer has aborted
	ErrValueTooLarge                          // value does not fit
	ErrErrhandler                             // invalid error handler
	ErrProcFailed                             // peer has failed
	ErrProcFailedPending                      // peer has failed; the operation can still complete
	ErrRevoked                                // communicator has been revoked
	ErrLastcode                               // the last class; classes that users add come after it
)

var errorClassTexts = [...]string{
	Success:                 "no error",
	ErrBuffer:               "invalid buffer",
	ErrCount:                "invalid count",
	ErrType:                 "invalid element type",
	ErrTag:                  "invalid tag",
	ErrComm:                 "invalid communicator",
	ErrRank:                 "invalid rank",
	ErrRequest:              "invalid request",
	ErrRoot:                 "invalid root",
	ErrGroup:                "invalid group",
	ErrOp:                   "invalid operation",
	ErrTopology:             "invalid topology",
	ErrDims:                 "invalid dimensions",
	ErrArg:                  "invalid argument",
	ErrUnknown:              "unknown error",
	ErrTruncate:             "message truncated",
	ErrOther:                "error",
	ErrIntern:               "internal error",
	ErrInStatus:             "requests failed",
	ErrPending:              "request pending",
	ErrKeyval:               "invalid attribute key",
	ErrNoMem:                "out of memory",
	ErrBase:                 "invalid base address",
	ErrInfoKey:              "info key too long",
	ErrInfoValue:            "info value too long",
	ErrInfoNokey:            "no such info key",
	ErrSpawn:                "processes not started",
	ErrPort:                 "invalid port",
	ErrService:              "invalid service name",
	ErrName:                 "service name not published",
	ErrWin:                  "invalid window",
	ErrSize:                 "invalid size",
	ErrDisp:                 "invalid displacement",
	ErrInfo:                 "invalid info",
	ErrLocktype:             "invalid lock type",
	ErrAssert:               "invalid assertion",
	ErrRMAConflict:          "conflicting window accesses",
	ErrRMASync:              "wrong window synchronisation",
	ErrRMARange:             "outside the window",
	ErrRMAAttach:            "memory cannot be attached",
	ErrRMAShared:            "memory cannot be shared",
	ErrRMAFlavor:            "wrong kind of window",
	ErrFile:                 "invalid file",
	ErrNotSame:              "argument differs between ranks",
	ErrAmode:                "invalid access mode",
	ErrUnsupportedDatarep:   "unsupported data representation",
	ErrUnsupportedOperation: "unsupported operation",
	ErrNoSuchFile:           "no such file",
	ErrFileExists:           "file exists",
	ErrBadFile:              "invalid file name",
	ErrAccess:               "permission denied",
	ErrNoSpace:              "no space left",
	ErrQuota:                "quota exceeded",
	ErrReadOnly:             "read-only file",
	ErrFileInUse:            "file in use",
	ErrDupDatarep:           "data representation already defined",
	ErrConversion:           "conversion failed",
	ErrIO:                   "input or output failed",
	ErrSession:              "invalid session",
	ErrProcAborted:          "process aborted",
	ErrValueTooLarge:        "value too large",
	ErrErrhandler:           "invalid error handler",
	ErrProcFailed:           "process failed",
	ErrProcFailedPending:    "process failed, operation pending",
	ErrRevoked:              "communicator revoked",
	ErrLastcode:             "last error class",
}

// String returns what the class means, in words (MPI 4.1, section 9.4, MPI_Error_string).
func (c ErrorClass) String() string {
	if text := ErrorString(c); text != "" {
		return text
	}
	return "error class " + strconv.Itoa(int(c))
}

// Error returns the class's text behind the library's name.
func (c ErrorClass) Error() string { return "mpi: " + c.String() }

// ClassOf returns the class of err: [Success] for nil, that of an [ErrorCode], [ErrUnknown] for an
// error that is not ours (MPI 4.1, section 9.4, MPI_Error_class).
func ClassOf(err error) ErrorClass {
	if err == nil {
		return Success
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	if c, ok := errors.AsType[ErrorClass](err); ok {
		return c
	}
	if c, ok := errors.AsType[ErrorCode](err); ok {
		return c.Class()
	}
	if _, ok := errors.AsType[*TruncateError](err); ok {
		return ErrTruncate
	}
	return ErrUnknown
}

// Error is what a failed operation returns: which operation, of which rank, with which other rank,
// and why. Ask for its class with [errors.Is], for itself with [errors.AsType] (MPI 4.1, section
// 9.3 and 9.4).
type Error struct {
	Class ErrorClass
	Op    string // name of the operation, such as "Recv"
	Rank  int    // the caller's rank in the communicator; -1 if unknown
	Peer  int    // the other rank concerned; -1 if there is none
	Host  string // the caller's host; "" if unknown
	Comm  string // the communicator's name; "" if there is none
	At    string // file:line of the user's call that has failed; "" if it is not known
	Cause error  // what was wrong in particular; may be nil
}

// Error describes the failure in one line, such as
//
//	mpi: Recv on rank 2 from rank 0 of "world": message truncated: 100 elements arrived, the buffer holds 10 (solver.go:120)
//
// The file is named from the working directory if it lies below that.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("mpi: ")
	if e.Op != "" {
		e.writePlace(&b)
		b.WriteString(": ")
	}
	b.WriteString(e.Class.String())
	if e.Cause != nil && e.Cause != error(e.Class) {
		b.WriteString(": ")
		b.WriteString(strings.TrimPrefix(e.Cause.Error(), "mpi: "))
	}
	if at := fromHere(e.At); at != "" && !strings.Contains(b.String(), at) { // the cause may be another error of the same call
		fmt.Fprintf(&b, " (%s)", at)
	}
	return b.String()
}

// fromHere is a path that lies below the working directory as seen from there.
func fromHere(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			return rest
		}
	}
	return path
}

// writePlace writes operation, rank, host, peer and communicator, as far as they are known.
func (e *Error) writePlace(b *strings.Builder) {
	b.WriteString(e.Op)
	if e.Rank >= 0 {
		fmt.Fprintf(b, " on rank %d", e.Rank)
	}
	if e.Host != "" {
		if e.Rank >= 0 {
			fmt.Fprintf(b, " (%s)", e.Host)
		} else {
			fmt.Fprintf(b, " on %s", e.Host)
		}
	}
	if e.Peer >= 0 {
		fmt.Fprintf(b, " %s rank %d", towards(e.Op), e.Peer)
	}
	if e.Comm != "" {
		fmt.Fprintf(b, " of %q", e.Comm)
	}
}

// towards is the preposition between an operation and its peer.
func towards(op string) string {
	op = strings.ToLower(op)
	send := strings.Contains(op, "send") || strings.Contains(op, "put")
	recv := strings.Contains(op, "recv") || strings.Contains(op, "probe") || strings.HasSuffix(op, "get")
	switch {
	case send && !recv:
		return "to"
	case recv && !send:
		return "from"
	default:
		return "with"
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is e's class.
func (e *Error) Is(target error) bool {
	c, ok := target.(ErrorClass)
	return ok && c == e.Class
}

// opError makes the error of an operation in the user's call that the caller runs in. Its rank and
// communicator are not known yet: on and with add them. A cause that is an error of the same class,
// of a part of this operation, gives what caused it.
func opError(class ErrorClass, op string, cause error) *Error {
	if e, ok := cause.(*Error); ok && e.isPartOf(class, op) {
		cause = e.Cause
	}
	return &Error{Class: class, Op: op, Rank: -1, Peer: -1, Cause: cause, At: callsite.Here()}
}

// isPartOf reports whether an error of that class and operation says all that e says but for e's
// cause.
func (e *Error) isPartOf(class ErrorClass, op string) bool {
	return e.Class == class && (e.Op == "" || e.Op == op) && e.Peer < 0 && e.Cause != nil
}

// opErrorf is opError with a cause in words.
func opErrorf(class ErrorClass, op, format string, args ...any) *Error {
	return opError(class, op, fmt.Errorf(format, args...))
}

// on says which rank of which communicator failed, and returns e.
func (e *Error) on(rank int, comm string) *Error {
	e.Rank, e.Comm = rank, comm
	return e
}

// atHere says which line has failed if that is not known, as of an error that was made on a
// goroutine of ours, or by the user.
func (e *Error) atHere() {
	if e.At == "" {
		e.At = callsite.Here()
	}
}

// begunAt says that the operation was begun where callsite.Note has noted, if that is known: a call
// that waits for many requests has one line.
func (e *Error) begunAt(note []uint32) {
	if at := callsite.OfNote(note).At; at != "" {
		e.At = at
	}
}

// with names the other rank, and returns e.
func (e *Error) with(peer int) *Error {
	e.Peer = peer
	return e
}

// TruncateError is the cause of an error of class [ErrTruncate]: a message longer than the buffer
// it was received into. "The length of the received message must be less than or equal to the
// length of the receive buffer" (MPI 4.1, section 3.2.4). Both lengths are in elements of the
// receive, or both in bytes.
type TruncateError struct {
	Message int  // length of the message
	Buffer  int  // length of the receive buffer
	Bytes   bool // the lengths are in bytes: the message was no whole number of elements
}

// Error names both lengths.
func (e *TruncateError) Error() string {
	unit := "element"
	if e.Bytes {
		unit = "byte"
	}
	if e.Message != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s arrived, the buffer holds %d", e.Message, unit, e.Buffer)
}

// Is reports whether target is [ErrTruncate].
func (e *TruncateError) Is(target error) bool { return target == ErrTruncate }
