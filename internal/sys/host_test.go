//go:build linux && !fitmpi_portable

package sys

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// TestSetThreadModest: the thread is scheduled as one that computes for long, with the nice value
// and the slice that it had, and then as before. Any thread may say so.
func TestSetThreadModest(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := ThreadID()
	if err := SetThreadSlice(100 * time.Microsecond); err != nil {
		t.Skip(err)
	}
	defer SetThreadSlice(0)
	before, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Skip(err)
	}
	for _, want := range []struct {
		modest bool
		policy uint32
	}{{true, unix.SCHED_BATCH}, {false, unix.SCHED_NORMAL}} {
		errc := make(chan error)
		go func() { errc <- SetThreadModest(tid, want.modest) }()
		if err := <-errc; err != nil {
			t.Fatal(err)
		}
		after, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			t.Fatal(err)
		}
		if after.Policy != want.policy || after.Nice != before.Nice || after.Runtime != before.Runtime {
			t.Errorf("modest %v: %+v, was %+v", want.modest, after, before)
		}
	}
	if n := testing.AllocsPerRun(100, func() { SetThreadModest(tid, false) }); n != 0 {
		t.Errorf("SetThreadModest allocates %v times", n)
	}
}

// TestThreadDelay: of two threads that compute on one processor each waits for the other.
func TestThreadDelay(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := ThreadCPUs(0)
	if err != nil {
		t.Skip(err)
	}
	d, err := NewThreadDelay()
	if err != nil {
		t.Skip(err)
	}
	defer d.Close()
	first, err := d.Total()
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var other sync.WaitGroup
	defer other.Wait()
	defer stop.Store(true)
	other.Go(func() {
		runtime.LockOSThread() // it ends with its goroutine
		if err := SetThreadCPUs(0, home[:1]); err != nil {
			t.Error(err)
		}
		for !stop.Load() {
			Nanotime() // a call, so that the world can be stopped
		}
	})
	if err := SetThreadCPUs(0, home[:1]); err != nil {
		t.Fatal(err)
	}
	defer SetThreadCPUs(0, home)
	for total := first; total < first+time.Millisecond; {
		if total, err = d.Total(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { d.Total() }); n != 0 {
		t.Errorf("Total allocates %v times", n)
	}
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
