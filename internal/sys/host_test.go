//go:build linux && !fitmpi_portable

package sys

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAllowedCPUs(t *testing.T) {
	cpus := AllowedCPUs()
	if len(cpus) != runtime.NumCPU() || !slices.IsSorted(cpus) || cpus[0] < 0 {
		t.Fatalf("%v, and the runtime counts %d", cpus, runtime.NumCPU())
	}
}

// onThread runs f on a thread of its own, which ends with it: what f does to the thread harms no
// other code.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so the runtime ends the thread
		f()
	}()
	<-done
}

func TestSetThreadCPUs(t *testing.T) {
	onThread(func() {
		all, err := ThreadCPUs(0)
		if err != nil {
			t.Error(err)
			return
		}
		last := all[len(all)-1:]
		if err := SetThreadCPUs(0, last); err != nil {
			t.Error(err)
		}
		if got, err := ThreadCPUs(0); err != nil || !slices.Equal(got, last) {
			t.Errorf("pinned to %v: %v, %v", last, got, err)
		}
		if got := AllowedCPUs(); unix.Gettid() != os.Getpid() && !slices.Equal(got, all) {
			t.Errorf("pinning one thread made %v of the process's %v", got, all)
		}
		if err := SetThreadCPUs(0, all); err != nil {
			t.Error(err)
		}
		for _, bad := range [][]int{nil, {-1}, {maxCPUs}, {maxCPUs - 1}} {
			if err := SetThreadCPUs(0, bad); err == nil {
				t.Errorf("SetThreadCPUs(%v) worked", bad)
			}
		}
	})
}

func TestCPUList(t *testing.T) {
	mask := make([]uintptr, 3)
	mask[0], mask[2] = 1|1<<5, 1<<(wordBits-1)
	if got, want := cpuList(mask), []int{0, 5, 3*wordBits - 1}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestSetThreadSlice(t *testing.T) {
	onThread(func() {
		if err := SetThreadSlice(200 * time.Microsecond); err != nil {
			t.Skip(err) // best effort
		}
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Error(err)
		}
		t.Logf("policy %d, slice %v", attr.Policy, time.Duration(attr.Runtime))
	})
}

// TestHurryThread: it is relative to the process, wherever the thread itself was, and asking again
// changes nothing.
func TestHurryThread(t *testing.T) {
	process := processNice()
	onThread(func() {
		if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), process+3); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := HurryThread(2); errors.Is(err, unix.EACCES) {
				t.Log("not permitted: ", err)
				return
			} else if err != nil {
				t.Error(err)
			}
			if nice, err := niceOf(unix.Gettid()); err != nil || nice != process-2 {
				t.Errorf("nice value %d of a process with %d, error %v", nice, process, err)
			}
		}
	})
}

// TestNoFile: package os raises the limit at start, so that no other code has to.
func TestNoFile(t *testing.T) {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if n := NoFile(); n != lim.Cur || n != lim.Max && lim.Max < 1<<30 {
		t.Fatalf("%d, and the limit is %d of %d", n, lim.Cur, lim.Max)
	}
}

func TestHost(t *testing.T) {
	if Hostname() == "" {
		t.Error("no host name")
	}
	if id := BootID(); len(id) != 36 && id != "" || id != BootID() {
		t.Errorf("boot id %q", id)
	}
	if space := PIDSpace(); !strings.HasPrefix(space, "pid:[") && space != "" || space != PIDSpace() {
		t.Errorf("processes are numbered in %q", space)
	}
}

func TestNanotime(t *testing.T) {
	a, start := Nanotime(), time.Now()
	time.Sleep(2 * time.Millisecond)
	b, d := Nanotime(), time.Since(start)
	if a < 0 || b-a < int64(2*time.Millisecond) || b-a > int64(d+time.Minute) {
		t.Errorf("from %d to %d in %v", a, b, d)
	}
}

func TestYieldAndClockAllocs(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		Yield()
		Nanotime()
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// TestYieldLetsTheWorldStop: collections go on beside a goroutine that does nothing but yield.
func TestYieldLetsTheWorldStop(t *testing.T) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Yield()
			}
		}
	}()
	for range 20 {
		runtime.GC() // would hang
	}
	close(stop)
	<-done
}
