//go:build !linux || fitmpi_portable

package sys

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// What the Go runtime alone can say and do of what the files for Linux ask the kernel for.

// errNeedsLinux says that this system is not asked.
var errNeedsLinux = errors.New("only known on Linux")

// AllowedCPUs numbers as many processors as the Go runtime counts.
func AllowedCPUs() []int {
	list := make([]int, runtime.NumCPU())
	for i := range list {
		list[i] = i
	}
	return list
}

// SetThreadSlice changes nothing: threads are scheduled as the system likes.
func SetThreadSlice(time.Duration) error { return nil }

// SetThreadModest changes nothing: threads are scheduled as the system likes.
func SetThreadModest(int, bool) error { return nil }

// ThreadCPUs fails.
func ThreadCPUs(int) ([]int, error) { return nil, errNeedsLinux }

// SetThreadCPUs fails.
func SetThreadCPUs(int, []int) error { return errNeedsLinux }

// SetTimerSlack changes nothing: timers are as exact as the system has them.
func SetTimerSlack(time.Duration) error { return nil }

// HurryThread changes nothing: threads are scheduled as the system likes.
func HurryThread(int) error { return nil }

// Yield lets other goroutines run before the calling one goes on, and threads, if the system likes.
func Yield() { runtime.Gosched() }

// ThreadID is 0: threads have no numbers.
func ThreadID() int { return 0 }

// ThreadTime fails.
func ThreadTime(int) (time.Duration, error) { return 0, errNeedsLinux }

// ProcessTime fails.
func ProcessTime(int) (time.Duration, error) { return 0, errNeedsLinux }

// Monotonic is Nanotime: the ranks that compare it are of one process.
func Monotonic() int64 { return Nanotime() }

// MonotonicBase is Monotonic when Nanotime was 0.
func MonotonicBase() int64 { return 0 }

// NoFile is 0: it is not known how many descriptors this process may have open.
func NoFile() uint64 { return 0 }

// MemoryLimit is 0: it is not known how much memory this process may use.
func MemoryLimit() uint64 { return 0 }

// Use is what this process uses of the machine.
type Use struct {
	RSS, PeakRSS uint64        // 0: not known
	CPU          time.Duration // 0: not known
}

// ProcessUse returns what is known of it: nothing.
func ProcessUse() Use { return Use{} }

// MapMemory returns n zeroed bytes, n > 0, of the Go heap. mapping is for UnmapMemory. There is no
// error for too little memory but for what no machine has: Go ends a program that runs out of it.
func MapMemory(n int) (mem, mapping []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("making %d bytes: %v", n, r)
		}
	}()
	mem = make([]byte, n)
	return mem[:n:n], mem, nil
}

// UnmapMemory leaves the memory to the garbage collector.
func UnmapMemory([]byte) error { return nil }
