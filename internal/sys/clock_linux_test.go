//go:build !fitmpi_portable

package sys

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMonotonic: it is the system's clock, and never stands before one that was read earlier.
func TestMonotonic(t *testing.T) {
	read := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	const slack = int64(time.Millisecond) // between the two readings that the base comes from
	for range 100 {
		before, now, after := read(), Monotonic(), read()
		if now < before-slack || now > after+slack {
			t.Fatalf("Monotonic is %d, the system's clock went from %d to %d", now, before, after)
		}
	}
}

// TestThreadTime: the time of a thread that works goes on, whichever thread asks. To ask for a
// thread that does not exist is an error.
func TestThreadTime(t *testing.T) {
	tid, done := make(chan int), make(chan struct{})
	var stop atomic.Bool
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		tid <- ThreadID()
		for !stop.Load() {
		}
	}()
	id := <-tid
	first, err := ThreadTime(id)
	if err != nil {
		t.Fatal(err)
	}
	for now := first; now < first+time.Millisecond; {
		if now, err = ThreadTime(id); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	<-done
	if d, err := ThreadTime(1 << 24); err == nil {
		t.Errorf("a thread that does not exist has run for %v", d)
	}
}

// TestProcessTime: what this process does counts, what another does too, and of one that is not
// there nothing is known.
func TestProcessTime(t *testing.T) {
	before, err := ProcessTime(os.Getpid())
	if err != nil || before <= 0 {
		t.Fatal(before, err)
	}
	n := 0
	for until := time.Now().Add(time.Millisecond); time.Now().Before(until); n++ {
	}
	if after, err := ProcessTime(os.Getpid()); err != nil || after <= before {
		t.Errorf("%v after %v, %v", after, before, err)
	}
	if d, err := ProcessTime(os.Getppid()); err != nil || d <= 0 {
		t.Errorf("of another: %v, %v", d, err)
	}
	if d, err := ProcessTime(1<<22 + 1); err == nil {
		t.Errorf("of none: %v", d)
	}
}
