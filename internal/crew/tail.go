//go:build linux

package crew

import (
	"bytes"
	"slices"
	"strings"
	"sync"
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
}

// causes are how the Go runtime begins its last words. (A signal it cannot handle is announced as SIGxxx.)
var causes = []string{"panic: ", "fatal error: ", "SIGSEGV", "SIGBUS", "SIGQUIT: ", "SIGABRT: "}

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
}

// Lines returns the last lines, the unfinished one included, and the cause.
func (t *Tail) Lines() (last []string, cause string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.endLineLocked()
	}
	return slices.Clone(t.last), t.cause
}
