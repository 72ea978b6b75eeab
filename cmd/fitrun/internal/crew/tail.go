//go:build linux

package crew

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	tailLines = 10
	tailWidth = 1 << 10 // bytes kept of a line
)

// Tail remembers the last lines of a stream, and the last line that says why a Go program died.
type Tail struct {
	mu    sync.Mutex
	last  []string // at most tailLines, oldest first; guarded by mu
	line  []byte   // the unfinished line, at most tailWidth bytes of it; guarded by mu
	cause string   // a line that begins with one of causes, "" if none came; guarded by mu
	limit string   // which limit the process ran into, by what the Go runtime says; "" if it did not; guarded by mu
}

// causes are how the Go runtime begins its final report. (A signal it cannot handle is announced as
// SIGxxx.)
var causes = []string{"panic: ", "fatal error: ", "SIGSEGV", "SIGBUS", "SIGQUIT: ", "SIGABRT: "}

// limits are the limits that the Go runtime runs into before, or without, the program hearing of
// it, by how its lines begin.
var limits = []struct {
	line  string
	limit sys.Limit
}{
	{"fatal error: failed to reserve page summary memory", sys.AddressSpace},
	{"runtime: out of memory: cannot allocate ", sys.AddressSpace},
	{"fatal error: out of memory", sys.AddressSpace},
	{"fatal error: runtime: cannot allocate memory", sys.AddressSpace},
	{"fatal error: runtime: cannot reserve arena virtual address space", sys.AddressSpace},
	{"runtime/cgo: pthread_create failed: ", sys.Processes},
	{"runtime: failed to create new OS thread ", sys.Processes},
	{"SIGXCPU: ", sys.CPUTime},
	{"SIGXFSZ: ", sys.FileSize},
}

// Feed takes what came.
func (t *Tail) Feed(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		t.line = append(t.line, part[:min(len(part), tailWidth-len(t.line))]...)
		if ended {
			t.endLineLocked()
		}
		p = rest
	}
}

func (t *Tail) endLineLocked() {
	line := strings.TrimRight(string(t.line), "\r")
	t.line = t.line[:0]
	if len(t.last) == tailLines {
		t.last = slices.Delete(t.last, 0, 1)
	}
	t.last = append(t.last, line)
	for _, c := range causes {
		if strings.HasPrefix(line, c) {
			t.cause = line
		}
	}
	for _, l := range limits {
		if t.limit == "" && strings.HasPrefix(line, l.line) {
			t.limit = line + ": " + l.limit.String()
			if l.limit == sys.Processes { // a stack that cannot be mapped looks alike
				t.limit += ", or there is no room for its stack (ulimit -v)"
			}
		}
	}
}

// Lines returns the last lines, the unfinished one included, and the cause; that names the limit
// that the process ran into.
func (t *Tail) Lines() (last []string, cause string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.endLineLocked()
	}
	return slices.Clone(t.last), cmp.Or(t.limit, t.cause)
}
