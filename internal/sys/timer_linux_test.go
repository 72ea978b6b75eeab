//go:build !fitmpi_portable

package sys

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIsTimerSet runs in a process of its own, as a test that may be ended by the clock has a
// timer.
func TestIsTimerSet(t *testing.T) {
	const mark = "FITMPI_TEST_TIMER"
	if os.Getenv(mark) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestIsTimerSet$", "-test.timeout=0", "-test.v")
		cmd.Env = append(os.Environ(), mark+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for range 3 { // the second looks at what the first has left
		set, known := IsTimerSet()
		if !known {
			t.Skip("the kernel does not show system calls")
		}
		if set {
			t.Fatal("a timer is seen, and there is none")
		}
	}
	alarm := time.AfterFunc(time.Hour, func() {})
	if set, _ := IsTimerSet(); !set {
		t.Error("a timer of an hour is not seen")
	}
	alarm.Stop()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); { // the thread in the poller learns of it when it is woken, as by a question of the launcher's
		wakePoller(t)
		if set, _ := IsTimerSet(); !set {
			return
		}
	}
	t.Error("a timer that was stopped is still seen")
}

// wakePoller lets a goroutine wait for a pipe.
func wakePoller(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := make(chan error)
	go func() {
		_, err := r.Read(make([]byte, 1))
		read <- err
	}()
	w.Write([]byte{1})
	w.Close()
	if err := <-read; err != nil {
		t.Fatal(err)
	}
}

func TestTimedPoll(t *testing.T) {
	number := strconv.Itoa(unix.SYS_EPOLL_PWAIT)
	for _, test := range []struct {
		call string
		want time.Duration
	}{
		{number + " 0x4 0x7ffd 0x80 0x36ee80 0x0 0x0 0x7ffd 0x47", time.Hour},
		{number + " 0x4 0x7ffd 0x80 0xffffffff 0x0 0x0 0x7ffd 0x47", 0},
		{number + " 0x4 0x7ffd 0x80 0xffffffffffffffff 0x0 0x0 0x7ffd 0x47", 0},
		{number + " 0x4 0x7ffd 0x2 0x1388 0x0 0x0 0x7ffd 0x47", 0}, // of ours
		{"202 0x4 0x7ffd 0x80 0x1388 0x0 0x0 0x7ffd 0x47", 0},
		{"running", 0},
		{"", 0},
		{number, 0},
	} {
		if got, ok := timedPoll(test.call + "\n"); got != test.want || ok != (test.want > 0) {
			t.Errorf("%q: %v, %v", test.call, got, ok)
		}
	}
}
