//go:build linux && !fitmpi_portable

package shm

import (
	"crypto/rand"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
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

// processRead is process_vm_readv(2) of memory in one piece. It keeps the P: the runtime's monitor
// takes that from a call it knows of which lasts 20 us, and wakes a thread to use it, on a core
// that a rank needs.
//
// Preconditions:
//   - len(dst) > 0.
func processRead(pid int, dst []byte, addr uintptr) (n int, errno unix.Errno) {
	local := unix.Iovec{Base: &dst[0]}
	local.SetLen(len(dst))
	remote := unix.RemoteIovec{Base: addr, Len: len(dst)}
	r, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// processReadParts is processRead of several pieces: how many bytes of them, in their order, were
// copied.
//
// Preconditions:
//   - len(parts) <= maxParts.
func processReadParts(pid int, parts []Part) (n int) {
	var local [maxParts]unix.Iovec
	var remote [maxParts]unix.RemoteIovec
	for i := range parts {
		p := &parts[i]
		local[i].Base = &p.Dst[0]
		local[i].SetLen(len(p.Dst))
		remote[i] = unix.RemoteIovec{Base: uintptr(p.Addr), Len: len(p.Dst)}
	}
	r, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), uintptr(len(parts)),
		uintptr(unsafe.Pointer(&remote)), uintptr(len(parts)), 0)
	if errno != 0 {
		return 0
	}
	return int(r)
}
