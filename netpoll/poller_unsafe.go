//go:build linux && !fitmpi_portable

package netpoll

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Waits go through epoll_pwait2 or epoll_pwait with a nil signal mask, because epoll_wait does not
// exist on arm64 and riscv64. Only Poll, which is called the most, has its own choice: sysPoll.

// kernelTimespec is the kernel's struct __kernel_timespec, 64 bits wide on every architecture.
type kernelTimespec struct {
	sec, nsec int64
}

// kernelHasPwait2 asks once whether this kernel (5.11 and later) has epoll_pwait2. A sandbox may
// answer EPERM instead of ENOSYS, so only the answer of the real call, that -1 is no descriptor,
// counts as a yes.
var kernelHasPwait2 = sync.OnceValue(func() bool {
	var ev unix.EpollEvent
	var ts kernelTimespec
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, ^uintptr(0), uintptr(unsafe.Pointer(&ev)), 1,
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	return errno == unix.EBADF
})

// pollRaw passes the six arguments of epoll_pwait; epoll_wait takes the first four.
func (p *Poller) pollRaw(most int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(sysPoll, uintptr(p.ep.raw), uintptr(unsafe.Pointer(&p.raw[0])), uintptr(most), 0, 0, 0)
	return int(n), errno
}

// waitRaw keeps the P. Preconditions: 0 <= d <= MaxHold.
func (s *Waiter) waitRaw(d time.Duration) (int, unix.Errno) {
	if !s.pwait2 {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.outer.raw), uintptr(unsafe.Pointer(&s.waited[0])), uintptr(len(s.waited)), millis(d), 0, 0)
		return int(n), errno
	}
	ts := kernelTimespec{nsec: int64(d)}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.outer.raw), uintptr(unsafe.Pointer(&s.waited[0])), uintptr(len(s.waited)),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	return int(n), errno
}

// waitBlocking tells the scheduler. Preconditions: d >= 0.
func (s *Waiter) waitBlocking(d time.Duration) (int, unix.Errno) {
	if !s.pwait2 {
		n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.outer.raw), uintptr(unsafe.Pointer(&s.waited[0])), uintptr(len(s.waited)), millis(d), 0, 0)
		return int(n), errno
	}
	ts := kernelTimespec{sec: int64(d / time.Second), nsec: int64(d % time.Second)}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.outer.raw), uintptr(unsafe.Pointer(&s.waited[0])), uintptr(len(s.waited)),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	return int(n), errno
}

// millis rounds up, so that a short wait does not become a spin. It is the system call's int.
func millis(d time.Duration) uintptr {
	return uintptr(min((int64(d)+int64(time.Millisecond)-1)/int64(time.Millisecond), 1<<31-1))
}

// drainEvent takes what was rung out of an eventfd.
func drainEvent(fd int) error {
	var count uint64
	_, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&count)), 8)
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR: // the event stays, and so does the next wait's return
		return nil
	case unix.EBADF:
		return os.ErrClosed
	}
	return os.NewSyscallError("read", errno)
}

// ringEvent adds one to an eventfd.
func ringEvent(fd int) error {
	one := uint64(1)
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
		switch errno {
		case 0, unix.EAGAIN: // full: the goroutine that is to hear it has not looked at 2^64 rings
			return nil
		case unix.EINTR:
			continue
		case unix.EBADF:
			return os.ErrClosed
		}
		return os.NewSyscallError("write", errno)
	}
}
