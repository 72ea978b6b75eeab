package calls

import (
	"bytes"
	"unsafe"
)

// pointer is an address of the caller's memory as a pointer. That memory is C's: the collector
// neither moves nor frees it.
func pointer(addr int64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// at views a value in the caller's memory; nil if the address is.
func at[T any](addr int64) *T { return (*T)(pointer(addr)) }

// view views n values in the caller's memory.
func view[T any](addr int64, n int) []T {
	if n <= 0 {
		return nil
	}
	return unsafe.Slice((*T)(pointer(addr)), n)
}

// addressOf is the address of the first value of s, for C.
func addressOf[T any](s []T) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(s))))
}

// sizeOf is the number of bytes of a T.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// text is a string of C.
func text(addr int64) string {
	if addr == 0 {
		return ""
	}
	p := (*byte)(pointer(addr))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// setText writes a string of C that has room for so many bytes, and returns the length written.
func setText(addr int64, s string, room int) int {
	b := view[byte](addr, room)
	n := copy(b[:room-1], s)
	b[n] = 0
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		n = i
	}
	return n
}

// words views the arguments of a call.
func words(args unsafe.Pointer) *[maxArgs]int64 { return (*[maxArgs]int64)(args) }
