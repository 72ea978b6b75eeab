//go:build linux && !fitmpi_portable

package sys

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	wordBits = 32 << (^uintptr(0) >> 63) // of the kernel's unsigned long
	maxCPUs  = 1 << 16                   // give up asking with ever larger masks
)

// AllowedCPUs lists, in order, the processors that this process may run on: those of its main
// thread, whatever the calling thread was pinned to. Their number is what a rank may use. It is
// never empty: should the kernel refuse to say, it is what the Go runtime counted.
func AllowedCPUs() []int {
	if list, err := ThreadCPUs(os.Getpid()); err == nil && len(list) > 0 {
		return list
	}
	list := make([]int, runtime.NumCPU())
	for i := range list {
		list[i] = i
	}
	return list
}

// ThreadCPUs lists the processors that thread tid (0: the caller's) may run on. The mask has no
// fixed size: the kernel answers EINVAL as long as it is shorter than its own.
func ThreadCPUs(tid int) ([]int, error) {
	for cpus := 1024; cpus <= maxCPUs; cpus *= 4 {
		mask := make([]uintptr, cpus/wordBits)
		n, errno := getAffinity(tid, mask)
		switch errno {
		case 0:
			return cpuList(mask[:n*8/wordBits]), nil
		case unix.EINVAL:
			continue
		}
		return nil, os.NewSyscallError("sched_getaffinity", errno)
	}
	return nil, os.NewSyscallError("sched_getaffinity", unix.EINVAL)
}

func cpuList(mask []uintptr) []int {
	var list []int
	for i, word := range mask {
		for bit := range wordBits {
			if word&(1<<bit) != 0 {
				list = append(list, i*wordBits+bit)
			}
		}
	}
	return list
}

// SetThreadCPUs lets thread tid (0: the caller's, which must then be locked to its goroutine) run
// on cpus only. Processes and threads that it starts inherit that.
func SetThreadCPUs(tid int, cpus []int) error {
	top := 0
	for _, c := range cpus {
		if c < 0 || c >= maxCPUs {
			return fmt.Errorf("no such processor: %d", c)
		}
		top = max(top, c)
	}
	mask := make([]uintptr, top/wordBits+1)
	for _, c := range cpus {
		mask[c/wordBits] |= 1 << (c % wordBits)
	}
	if errno := setAffinity(tid, mask); errno != 0 {
		return os.NewSyscallError("sched_setaffinity", errno)
	}
	return nil
}

// SetThreadSlice asks for a scheduling slice of d for the calling thread, which must be locked to
// its goroutine: a shorter slice lets it run sooner after it wakes beside threads that compute.
// Kernels before 6.12 ignore it; it needs no privilege. The kernel clamps d to 0.1-100 ms. Best
// effort: callers may ignore the error.
func SetThreadSlice(d time.Duration) error {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return os.NewSyscallError("sched_getattr", err)
	}
	attr.Runtime = uint64(max(d, 0))
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(0, attr, 0))
}

// SetThreadModest says how thread tid (0: the caller's, which must then be locked to its goroutine)
// begins to run when it wakes. A modest one (SCHED_BATCH) takes a processor that is idle. Where
// none is it waits until a thread that computes has used its slice, a few milliseconds. Any other
// preempts such threads. Its nice value and its slice stay as they are.
func SetThreadModest(tid int, on bool) error {
	policy := unix.SCHED_NORMAL
	if on {
		policy = unix.SCHED_BATCH
	}
	if errno := setScheduler(tid, policy); errno != 0 {
		return os.NewSyscallError("sched_setscheduler", errno)
	}
	return nil
}

// SetTimerSlack lets the kernel end a timed sleep of the calling thread, which must be locked to
// its goroutine, up to d later than asked for. Threads inherit it. Best effort: callers may ignore
// the error.
func SetTimerSlack(d time.Duration) error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(d), 0, 0, 0))
}

// HurryThread gives the calling thread, which must be locked to its goroutine, a nice value that is
// less than that of the process by d, so that a process whose user asked for little (nice) stays
// modest. It needs privilege. Best effort: callers may ignore the error.
func HurryThread(d int) error {
	return os.NewSyscallError("setpriority", unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), processNice()-d))
}

// processNice is the nice value that the process had before HurryThread changed that of a thread,
// which may have been its first. If it cannot be told it is 0, which is usual.
var processNice = sync.OnceValue(func() int {
	nice, _ := niceOf(unix.Getpid())
	return nice
})

// niceOf is the nice value of a thread; that of the first one goes by the number of the process.
func niceOf(thread int) (int, error) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil {
		return 0, os.NewSyscallError("getpriority", err)
	}
	return 20 - raw, nil // as the kernel has it
}
