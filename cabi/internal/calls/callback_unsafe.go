package calls

import (
	"sync/atomic"
	"unsafe"
)

// Function says what a function of the program is: as in what.h.
type Function int

// The functions of programs.
const (
	FunctionOp Function = iota
	FunctionOpLarge
	FunctionCommCopy
	FunctionCommDelete
	FunctionTypeCopy
	FunctionTypeDelete
	FunctionWinCopy
	FunctionWinDelete
	FunctionCommError
	FunctionWinError
	FunctionFileError
	FunctionSessionError
	FunctionQuery
	FunctionFree
	FunctionCancel
	FunctionExtent
	FunctionConversion
)

// Callback calls a function of the program with words as arguments, and returns what it returns. It
// is cgo's, so the library that is built sets it before the first call.
var Callback func(what Function, fn int64, args ...int64) int32

// escape keeps what is given to C on the heap: a stack moves when C calls back into Go.
var escape atomic.Pointer[byte]

// heap returns p, which then is on the heap.
func heap[T any](p *T) *T {
	escape.Store((*byte)(unsafe.Pointer(p)))
	return p
}

// address is where p is, for C.
//
// Preconditions:
//   - p is of heap, or in the caller's memory.
func address[T any](p *T) int64 { return int64(uintptr(unsafe.Pointer(p))) }
