//go:build linux

package crew

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const envTraced = "FITMPI_TEST_TRACED"

// TestTracedProcess: a process is traced if a debugger holds its main thread, and also if a
// debugger holds another thread of it. A look at it says which process traces it, and nothing any
// more when it is let go.
func TestTracedProcess(t *testing.T) {
	if os.Getenv(envTraced) != "" {
		io.Copy(io.Discard, os.Stdin)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestTracedProcess$")
	cmd.Env = append(os.Environ(), envTraced+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	pid := cmd.Process.Pid
	if c := conditionOf(pid); c != (Condition{}) {
		t.Errorf("an undisturbed process: %+v", c)
	}
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	for _, tid := range []int{pid, otherThread(t, pid)} {
		if err := syscall.PtraceAttach(tid); err != nil {
			t.Skipf("nobody may trace here: %v", err)
		}
		if _, err := syscall.Wait4(tid, nil, syscall.WALL, nil); err != nil {
			t.Fatal(err)
		}
		if c := conditionOf(pid); c.Tracer != os.Getpid() || c.Gone {
			t.Errorf("thread %d of %d is traced by %d: %+v", tid, pid, os.Getpid(), c)
		}
		if err := syscall.PtraceDetach(tid); err != nil {
			t.Fatal(err)
		}
		if c := conditionOf(pid); c != (Condition{}) {
			t.Errorf("a process that was let go: %+v", c)
		}
	}
}

// otherThread is a thread of pid that is not the first.
func otherThread(t *testing.T, pid int) int {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*") // the pattern is right
		slices.Sort(names)
		for _, name := range names {
			if tid, err := strconv.Atoi(filepath.Base(name)); err == nil && tid != pid {
				return tid
			}
		}
	}
	t.Fatal("it has one thread only")
	return 0
}
