//go:build linux && !fitmpi_portable

package netpoll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The four transfers. Preconditions of all: the descriptor is nonblocking, and there is at least
// one byte to move.

func readRaw(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno == 0 {
		raceWrote(b[:n])
		raceAcquire()
	}
	return int(n), errno
}

// readvRaw leaves it to its caller to tell the race detector which bytes were written.
func readvRaw(fd int, iov []unix.Iovec) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)))
	if errno == 0 {
		raceAcquire()
	}
	return int(n), errno
}

func sendRaw(fd int, b []byte) (int, unix.Errno) {
	raceRelease()
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno == 0 {
		raceRead(b[:n])
	}
	return int(n), errno
}

// sendmsgRaw is writev with flags: SIGPIPE is the one thing that writev cannot be told to leave
// alone.
func sendmsgRaw(fd int, iov []unix.Iovec) (int, unix.Errno) {
	raceRelease()
	msg := unix.Msghdr{Iov: &iov[0]}
	msg.SetIovlen(len(iov))
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_NOSIGNAL)
	return int(n), errno
}
