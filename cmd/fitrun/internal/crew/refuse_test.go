//go:build linux

package crew

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// wantRefused checks the whole of what a user is told.
func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}

// TestBindRefused: a core that is none ends a start with a word of what to do, and the thread stays
// where it was.
func TestBindRefused(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const advice = "; use --bind-to none"
	wantRefused(t, startBound(&exec.Cmd{Path: "/nonexistent"}, []int{1 << 30}), "binding it to core 1073741824: no such processor: 1073741824"+advice)
	wantRefused(t, startBound(&exec.Cmd{Path: "/nonexistent"}, []int{}), "binding it to cores : sched_setaffinity: invalid argument"+advice)
}

// TestStartRefused: what the kernel refuses at a start is told with what to do.
func TestStartRefused(t *testing.T) {
	plan := &Process{Path: "/nonexistent", Args: []string{"x"}}
	_, err := startProcess(plan, "MARK=1", []boot.Info{{}}, nil)
	wantRefused(t, err, "fork/exec /nonexistent: no such file or directory")
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = startProcess(&Process{Path: script, Args: []string{"x"}}, "MARK=1", []boot.Info{{}}, nil)
	wantRefused(t, err, "fork/exec "+script+": exec format error; it is not a program for this machine, or a script without a #! line")
	for errno, advice := range map[syscall.Errno]string{ // which root cannot run into
		syscall.EAGAIN: "; this machine has no room for so many processes (ulimit -u, memory)",
		syscall.ENOMEM: "; this machine has no room for so many processes (ulimit -u, memory)",
		syscall.ENFILE: "; raise the limit on open files (ulimit -n) or start fewer ranks",
		syscall.EPERM:  "",
	} {
		err := &os.PathError{Op: "fork/exec", Path: "prog", Err: errno}
		wantRefused(t, explainStart(err), err.Error()+advice)
	}
	withoutDescriptors(t)
	const advice = ": too many open files; raise the limit on open files (ulimit -n) or start fewer ranks"
	_, err = startProcess(plan, "MARK=1", []boot.Info{{}}, nil)
	wantRefused(t, err, "making a socket pair"+advice)
	_, err = startProcess(plan, "MARK=1", nil, nil)
	wantRefused(t, err, "pipe2"+advice)
	_, err = share(planOf(1, 1))
	wantRefused(t, err, "making shared memory for 2 ranks: memfd_create"+advice)
	_, err = StartGuard()
	wantRefused(t, err, "making a pipe to the guard: pipe2: too many open files")
}

// withoutDescriptors leaves this test no room for further open files.
func withoutDescriptors(t *testing.T) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	low := before
	low.Cur = 3 // those there are stay
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
}

// TestNoBell: a rank that asks for a bell that is none is told so.
func TestNoBell(t *testing.T) {
	for _, localRank := range []int{0, 7} {
		wantRefused(t, new(Crew).lend(nil, localRank), fmt.Sprintf("it asked for the bell of local rank %d, and there is none", localRank))
	}
}
