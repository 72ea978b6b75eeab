//go:build linux

package crew

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestTail(t *testing.T) {
	var tl Tail
	for i := range 15 {
		tl.Feed(fmt.Appendf(nil, "line %d\n", i))
	}
	tl.Feed([]byte("panic: bo"))
	tl.Feed([]byte("om\r\n" + strings.Repeat("w", 2*tailWidth)))
	last, cause := tl.Lines()
	if len(last) != tailLines || last[0] != "line 7" || last[8] != "panic: boom" || len(last[9]) != tailWidth {
		t.Errorf("last lines %q", last)
	}
	if cause != "panic: boom" {
		t.Errorf("cause %q", cause)
	}
}

// What the Go runtime says of a limit is the cause, with the limit, whatever comes after it: a
// trace is longer than what is kept.
func TestTailNamesLimits(t *testing.T) {
	trace := strings.Repeat("\n\tat some place", 20) + "\nSIGABRT: abort\n"
	for line, want := range map[string]string{
		"fatal error: failed to reserve page summary memory":                    "address space",
		"runtime: out of memory: cannot allocate 4194304-byte block (0 in use)": "address space",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable":  "(ulimit -u)",
		"runtime: failed to create new OS thread (have 2 already; errno=11)":    "(ulimit -u)",
		"SIGXCPU: cpu time limit exceeded":                                      "(ulimit -t)",
		"SIGXFSZ: file size limit exceeded":                                     "(ulimit -f)",
	} {
		var tl Tail
		tl.Feed([]byte(line + trace))
		if _, cause := tl.Lines(); !strings.HasPrefix(cause, line+": ") || !strings.Contains(cause, want) {
			t.Errorf("%s: the cause is %q", line, cause)
		}
	}
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGXFSZ: "was killed by signal 25 (file size limit exceeded: ulimit -f)",
		syscall.SIGXCPU: "was killed by signal 24 (CPU time limit exceeded: ulimit -t)",
		syscall.SIGKILL: "was killed by signal 9 (killed)",
	} {
		if got := (Exit{Signal: sig}).String(); !strings.EqualFold(got, want) {
			t.Errorf("%v: %q", sig, got)
		}
	}
}
