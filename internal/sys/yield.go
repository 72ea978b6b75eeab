//go:build linux && !fitmpi_portable

package sys

import "golang.org/x/sys/unix"

// Yield lets other threads that are ready run on this core before the calling one goes on. It keeps
// the P.
//
// Not inlined: a loop around an inlined raw system call has no point at which the scheduler can
// stop it.
//
//go:noinline
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
