//go:build linux

package crew

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// child is a process that runs a script of the shell, until the test ends.
func child(t *testing.T, script string) *process {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &process{pid: cmd.Process.Pid, cmd: cmd}
}

// comes waits until a look finds what is wanted.
func comes(t *testing.T, why string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(why)
		}
	}
}

// A process that computes has run at every look, or waits for a processor; of one that waits for
// something else it is counted for how long.
func TestVigil(t *testing.T) {
	busy, idle := child(t, "while :; do :; done"), child(t, "read x")
	comes(t, "who reads from nobody is never idle", func() bool {
		_, isNews := idle.lookAgain(time.Hour)
		return !isNews && idle.look().Idle >= 2*time.Hour
	})
	comes(t, "who computes has not begun", func() bool { used, _ := sys.ProcessTime(busy.pid); return used > time.Millisecond })
	for range 10 {
		if _, isNews := busy.lookAgain(time.Hour); isNews || busy.look().Idle != 0 {
			t.Fatalf("who computes: %v %+v", isNews, busy.look())
		}
	}
}

// That a process is stopped is told at every look, with for how long it has not run, and once that
// it goes on.
func TestVigilOfTheStopped(t *testing.T) {
	p := child(t, "while :; do :; done")
	if err := syscall.Kill(p.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	comes(t, "it does not stop", func() bool { return sys.IsHalted(p.pid) })
	p.lookAgain(time.Hour)
	for n := range time.Duration(3) {
		c, isNews := p.lookAgain(time.Hour)
		if want := (Condition{Stopped: true, Signal: c.Signal, Idle: (n + 1) * time.Hour}); !isNews || c != want {
			t.Errorf("%v %+v, want %+v", isNews, c, want)
		}
	}
	if err := syscall.Kill(p.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	comes(t, "it does not go on", func() bool { return !sys.IsHalted(p.pid) })
	if c, isNews := p.lookAgain(time.Hour); !isNews || c != (Condition{}) {
		t.Errorf("it goes on: %v %+v", isNews, c)
	}
	if _, isNews := p.lookAgain(time.Hour); isNews {
		t.Error("said twice")
	}
}

// Of a process that is stopped with its crew nothing is told, and when it goes on the time counts
// for nothing; so also one that is started meanwhile.
func TestVigilOfThePaused(t *testing.T) {
	c := &Crew{procs: make([]*process, 2)}
	early, late := child(t, "read x"), child(t, "read x")
	c.add(0, early)
	early.lookAgain(time.Hour)
	c.Pause()
	c.add(1, late)
	for _, p := range []*process{early, late} {
		comes(t, "it does not stop", func() bool { return sys.IsHalted(p.pid) })
		if found, isNews := p.lookAgain(time.Hour); isNews {
			t.Errorf("told of one that is paused: %+v", found)
		}
		if found := p.look(); found != (Condition{Paused: true}) {
			t.Errorf("asked for one that is paused: %+v", found)
		}
	}
	c.Continue()
	for _, p := range []*process{early, late} {
		comes(t, "it does not go on", func() bool { return !sys.IsHalted(p.pid) })
		if found := p.look(); found != (Condition{}) {
			t.Errorf("it goes on: %+v", found)
		}
		if p.ended {
			t.Error("it is held to have been ended by us")
		}
	}
}
