//go:build linux

package launch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// screen is what the console has shown.
type screen struct {
	c *console
	b bytes.Buffer
}

func newScreen() *screen { return &screen{c: newConsole()} }

func (s *screen) rank(tag string) *lines { return &lines{c: s.c, w: &s.b, tag: tag} }

func (s *screen) want(t *testing.T, why, text string) {
	t.Helper()
	if got := s.b.String(); got != text {
		t.Fatalf("%s: %q, want %q", why, clipped(got), clipped(text))
	}
}

func clipped(s string) string {
	if len(s) > 200 {
		return s[:100] + "..." + s[len(s)-100:]
	}
	return s
}

func TestLinesAreWhole(t *testing.T) {
	s := newScreen()
	a, b := s.rank(""), s.rank("")
	a.feed([]byte("on"))
	b.feed([]byte("two\nthr"))
	s.want(t, "whole lines only", "two\n")
	a.feed([]byte("e\n"))
	b.feed([]byte("ee\n\n"))
	s.want(t, "in the order of their ends", "two\none\nthree\n\n")
	a.feed([]byte("end"))
	a.finish()
	s.want(t, "the last line as it is", "two\none\nthree\n\nend")
	b.feed([]byte("x\n"))
	s.want(t, "but not joined with another's", "two\none\nthree\n\nend\nx\n")
}

func TestTaggedLines(t *testing.T) {
	s := newScreen()
	a := s.rank("[7] ")
	a.feed([]byte("one\n\ntwo\nthr"))
	a.feed([]byte("ee"))
	a.finish()
	s.want(t, "each line has a tag and an end", "[7] one\n[7] \n[7] two\n[7] three\n")
	s.rank("[8] ").finish()
	s.want(t, "nothing comes of nothing", "[7] one\n[7] \n[7] two\n[7] three\n")
}

func TestLongLine(t *testing.T) {
	s := newScreen()
	a := s.rank("[0] ")
	long := strings.Repeat("x", maxHeld)
	a.feed([]byte(long))
	s.want(t, "the start is shown", "[0] "+long)
	a.feed([]byte("y\nz\n"))
	s.want(t, "the rest follows", "[0] "+long+"y\n[0] z\n")
}

func TestOthersWaitForALongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		a, b := s.rank(""), s.rank("")
		long := strings.Repeat("x", maxHeld)
		a.feed([]byte(long))
		var wg sync.WaitGroup
		wg.Go(func() { b.feed([]byte("b\n")) })
		synctest.Wait()
		s.want(t, "b waits", long)
		a.feed([]byte("\n"))
		wg.Wait()
		s.want(t, "b follows", long+"\nb\n")
	})
}

func TestOthersDoNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		a, b := s.rank("[0] "), s.rank("[1] ")
		long := strings.Repeat("x", maxHeld)
		a.feed([]byte(long))
		start := time.Now()
		b.feed([]byte("b\n"))
		if waited := time.Since(start); waited != linePatience {
			t.Errorf("waited %v, want %v", waited, linePatience)
		}
		a.feed([]byte("rest\n"))
		s.want(t, "the line is broken, and goes on with a tag", "[0] "+long+"\n[1] b\n[0] rest\n")
	})
}

func TestPartialLine(t *testing.T) {
	s := newScreen()
	a, b := s.rank(""), s.rank("")
	a.feed([]byte("name? "))
	s.want(t, "held", "")
	a.idle()
	s.want(t, "shown when idle", "name? ")
	b.feed([]byte("b\n"))
	s.want(t, "others push it aside at once", "name? \nb\n")
	a.feed([]byte("x\n"))
	s.want(t, "and it goes on", "name? \nb\nx\n")
}

func TestOnlyRankPassesThrough(t *testing.T) {
	s := newScreen()
	out := &lines{c: s.c, w: &s.b, raw: true}
	errs := &lines{c: s.c, w: &s.b, raw: true}
	out.feed([]byte("10%\r"))
	errs.feed([]byte("!"))
	out.feed([]byte("20%"))
	s.want(t, "as it comes", "10%\r!20%")
	s.c.message(&s.b, "fitrun: x\n")
	s.want(t, "messages have their own line", "10%\r!20%\nfitrun: x\n")
}

// However ranks cut what they write, the lines of each come out whole and in order, with nothing
// between.
func TestLinesNeverMix(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScreen()
		ranks := []*lines{s.rank("[0] "), s.rank("[1] "), s.rank("[2] ")}
		wrote := make([]string, len(ranks))
		for range rapid.IntRange(0, 60).Draw(rt, "writes") {
			r := rapid.IntRange(0, len(ranks)-1).Draw(rt, "rank")
			text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n")), 1, 9, -1).Draw(rt, "text")
			ranks[r].feed([]byte(text))
			wrote[r] += text
		}
		for r, l := range ranks {
			l.finish()
			if wrote[r] != "" && !strings.HasSuffix(wrote[r], "\n") {
				wrote[r] += "\n"
			}
		}
		shown := make([]string, len(ranks))
		for line := range strings.Lines(s.b.String()) {
			var r int
			if _, err := fmt.Sscanf(line, "[%d] ", &r); err != nil {
				rt.Fatalf("line %q: %v", line, err)
			}
			shown[r] += line[len("[0] "):]
		}
		for r := range ranks {
			if shown[r] != wrote[r] {
				rt.Fatalf("rank %d wrote %q, shown is %q", r, wrote[r], shown[r])
			}
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestConsoleFails(t *testing.T) {
	c := newConsole()
	l := &lines{c: c, w: brokenWriter{}}
	for range 3 {
		l.feed([]byte("x\n"))
	}
	if err := <-c.failc; err == nil || err.Error() != "full" {
		t.Errorf("%v, want the write error", err)
	}
}

// TestDrainingEndsSilentStream: a stream that a process beyond our reach holds open does not hold
// up the end.
func TestDrainingEndsSilentStream(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for a second")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := newScreen()
	var draining atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { s.rank("").copyFrom(r, &draining) })
	if _, err := w.WriteString("last\n"); err != nil {
		t.Fatal(err)
	}
	draining.Store(true)
	r.SetReadDeadline(time.Now())
	wg.Wait()
	s.want(t, "what was written is shown", "last\n")
}
