//go:build linux

package shm

import (
	"crypto/rand"
	"encoding/binary"
	"unsafe"
)

// cookie lies in the program's data, so its address stays. Written once, by newCookie.
var cookie [8]byte

func newCookie() (addr, value uint64) {
	rand.Read(cookie[:])
	return uint64(uintptr(unsafe.Pointer(&cookie))), cookieOf(cookie)
}

func cookieOf(b [8]byte) uint64 { return binary.NativeEndian.Uint64(b[:]) }

// addressOf is where b, which lies on the heap, is, for ReadProcess.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
