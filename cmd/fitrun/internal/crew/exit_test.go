//go:build linux

package crew

import (
	"syscall"
	"testing"
)

func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		e    Exit
		code int
		text string
	}{
		{Exit{}, 0, "exited with code 0"},
		{Exit{Code: 42}, 42, "exited with code 42"},
		{Exit{Signal: syscall.SIGKILL}, 137, "was killed by signal 9 (killed)"},
		{Exit{Signal: syscall.SIGSEGV, Core: true}, 139, "was killed by signal 11 (segmentation fault), core dumped"},
	} {
		if tc.e.Status() != tc.code || tc.e.String() != tc.text {
			t.Errorf("%d %q, want %d %q", tc.e.Status(), tc.e, tc.code, tc.text)
		}
	}
}
