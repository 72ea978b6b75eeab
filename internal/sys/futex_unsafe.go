//go:build linux

package sys

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/futex.h; package unix does not have them.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

// The kernel compares and sleeps on 32 bits: atomic.Uint32 must be those and nothing else.
var _ [4]byte = [unsafe.Sizeof(atomic.Uint32{})]byte{}

// futexWait tells the scheduler. d < 0 is for ever.
func futexWait(addr *atomic.Uint32, val uint32, d time.Duration) unix.Errno {
	var ts *unix.Timespec
	if d >= 0 {
		ts = new(unix.NsecToTimespec(int64(d)))
	}
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(addr)), futexWaitPrivate, uintptr(val), uintptr(unsafe.Pointer(ts)), 0, 0)
	runtime.KeepAlive(addr)
	return errno
}

// futexWaitRaw keeps the P. Preconditions: 0 <= d <= MaxHold.
func futexWaitRaw(addr *atomic.Uint32, val uint32, d time.Duration) unix.Errno {
	ts := unix.NsecToTimespec(int64(d))
	_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(addr)), futexWaitPrivate, uintptr(val), uintptr(unsafe.Pointer(&ts)), 0, 0)
	return errno
}

// futexWake never blocks, so it does not tell the scheduler.
func futexWake(addr *atomic.Uint32, n int) int {
	woken, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(addr)), futexWakePrivate, uintptr(n), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(woken)
}
