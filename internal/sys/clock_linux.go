//go:build !fitmpi_portable

package sys

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the clock of Nanotime, since some moment of the machine's start: processes of one
// machine, and of one time namespace, see the same, within the tenth of a microsecond that it takes
// to read the clock. 0 if the system does not tell.
func Monotonic() int64 {
	if at := MonotonicBase(); at != 0 {
		return at + Nanotime()
	}
	return 0
}

// MonotonicBase is Monotonic when Nanotime was 0: the difference of the two.
func MonotonicBase() int64 { return systemBase() }

// systemBase is the system's monotonic clock when Nanotime was 0. Both are one clock, read after
// each other: the less time has passed in between, the greater the difference, so the greatest of
// some is the best.
var systemBase = sync.OnceValue(func() (base int64) {
	for range 16 {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return 0
		}
		base = max(base, t.Nano()-Nanotime())
	}
	return base
})

// ThreadID is the number of the calling thread, which must be locked to its goroutine for that to
// mean anything.
func ThreadID() int { return unix.Gettid() }

// As the kernel makes the clock of a process or a thread from its number (CPUCLOCK_SCHED and
// CPUCLOCK_PERTHREAD_MASK).
const schedulerClock, perThread = 2, 4

// ThreadTime is how long a thread of this process has run on a processor.
func ThreadTime(tid int) (time.Duration, error) {
	return timeOf(^int32(tid)<<3 | perThread | schedulerClock)
}

// ProcessTime is how long all threads of a process, those that have ended too, have run on
// processors, to the nanosecond. Any process may be asked for.
func ProcessTime(pid int) (time.Duration, error) { return timeOf(^int32(pid)<<3 | schedulerClock) }

func timeOf(clock int32) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return time.Duration(t.Nano()), nil
}
