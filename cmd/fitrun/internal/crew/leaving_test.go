//go:build linux

package crew

import (
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// TestLeaving: a rank whose link has ended hangs up, and its process may run on; one whose process
// has ended exits, before that is heard and after.
func TestLeaving(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{pid: cmd.Process.Pid, cmd: cmd, linkEnded: make([]atomic.Bool, 2)}
	want := func(what string, first, second Leaving) {
		t.Helper()
		if a, b := p.leaving(0), p.leaving(1); a != first || b != second {
			t.Errorf("%s: %d and %d, want %d and %d", what, a, b, first, second)
		}
	}
	want("it runs", Stays, Stays)
	p.linkEnded[1].Store(true)
	want("its second rank's link has ended", Stays, HangsUp)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := sys.WaitExit(p.pid); err != nil {
		t.Error(err)
	}
	want("its exit is not heard", Exits, Exits)
	if _, err := p.wait(); err != nil {
		t.Error(err)
	}
	want("it is reaped", Exits, Exits)
}
