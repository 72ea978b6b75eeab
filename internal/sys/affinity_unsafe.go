//go:build linux && !fitmpi_portable

package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// getAffinity returns the number of bytes of mask that the kernel filled.
func getAffinity(tid int, mask []uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), uintptr(len(mask))*unsafe.Sizeof(mask[0]), uintptr(unsafe.Pointer(&mask[0])))
	return int(n), errno
}

func setAffinity(tid int, mask []uintptr) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), uintptr(len(mask))*unsafe.Sizeof(mask[0]), uintptr(unsafe.Pointer(&mask[0])))
	return errno
}

// setScheduler gives a thread a policy that has no priorities.
func setScheduler(tid, policy int) unix.Errno {
	var priority int32
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), uintptr(policy), uintptr(unsafe.Pointer(&priority)))
	return errno
}
