//go:build linux

package launch

import (
	"fmt"
	"strings"
	"testing"
)

// The last lines of a process are in sight as long as not more than a screenful has been shown
// since, however they came.
func TestLastLinesInSight(t *testing.T) {
	for _, raw := range []bool{false, true} {
		s := newScreen()
		a, b := s.rank(""), s.rank("")
		a.raw = raw
		check := func(what string, l *lines, n int, want bool) {
			t.Helper()
			if s.c.isInSight(l, n) != want {
				t.Errorf("raw %v: %s in sight: %v, want %v", raw, what, !want, want)
			}
		}
		check("a stream that nobody reads", nil, 1, false)
		check("a line that was not shown", a, 1, false)
		a.feed([]byte(strings.Repeat("before\n", 50)))
		a.feed([]byte("one\ntwo\n"))
		check("two lines", a, 2, true)
		check("as many as are repeated", a, lastKept, true)
		for range inSight - 2 {
			b.feed([]byte("other\n"))
		}
		check("the older line", a, 2, true)
		b.feed([]byte("other\n"))
		check("the older line, under more than a screen", a, 2, false)
		check("the newer line", a, 1, true)
		b.feed([]byte("other\n"))
		check("that under more than a screen", a, 1, false)
		a.feed([]byte("without an end"))
		a.finish()
		check("a line without an end", a, 1, true)
		check("that and the one before", a, 2, false)
		check("a line of another console", &lines{c: newConsole()}, 1, false)
	}
}

// TestLastLinesAreNotRepeated: lines that stand just above are not said again. The observers of the
// job, which may see no output, get the whole.
func TestLastLinesAreNotRepeated(t *testing.T) {
	for _, others := range []int{0, 2 * inSight} {
		s := newScreen()
		l := s.rank("")
		seen := new(witness)
		x := &runner{err: s.c, cfg: Config{Stderr: &s.b, Observer: seen}, messages: make(chan utterance, 1), errs: []*lines{l}}
		l.feed([]byte("no input\n"))
		s.rank("").feed([]byte(strings.Repeat("other\n", others)))
		x.sayOf(0, "rank 0 exited with code 1", []string{"no input"})
		close(x.messages)
		x.speak()
		want := 1
		if others > 0 {
			want = 2
		}
		if got := s.b.String(); strings.Count(got, "no input") != want || !strings.Contains(got, "fitrun: rank 0 exited with code 1") {
			t.Errorf("with %d lines of others it is %d times, want %d:\n%s", others, strings.Count(got, "no input"), want, got)
		}
		if want := "rank 0 exited with code 1. Its last lines on stderr:\n  no input"; fmt.Sprint(seen.said) != "["+want+"]" {
			t.Errorf("observers hear %q, want %q", seen.said, want)
		}
	}
}

// witness hears what fitrun says.
type witness struct {
	Observer
	said []string
}

func (l *witness) Said(text string) { l.said = append(l.said, text) }

// The news of an exit may overtake what the process has said, which is here but not shown yet: the
// message waits for it.
func TestLastLinesOvertaken(t *testing.T) {
	for _, isEnded := range []bool{false, true} {
		s := newScreen()
		l := s.rank("")
		l.ended, l.shown = func() bool { return isEnded }, make(chan struct{})
		seen := make(chan bool)
		go func() { seen <- s.c.isInSight(l, 1) }() // ends when the lines are shown, below
		if isEnded {
			l.feed([]byte("no input\n"))
			close(l.shown)
		}
		if got := <-seen; got != isEnded {
			t.Errorf("with an end: %v: in sight: %v", isEnded, got)
		}
	}
}
