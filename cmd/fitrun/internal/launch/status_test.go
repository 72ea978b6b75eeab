//go:build linux

package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// withStatus is a screen that is a terminal of a width, which the test may change, in front or not.
func withStatus(width *int, front *bool) *screen {
	s := newScreen()
	s.c.status.w = &s.b
	s.c.status.width = func() int { return *width }
	s.c.status.front = func() bool { return *front }
	return s
}

// erased matches what a user that looks at the terminal does not see any more.
var erased = regexp.MustCompile(`(?m)^[^\n]*\r\x1b\[K`)

func TestStatusLine(t *testing.T) {
	width, front := 80, true
	s := withStatus(&width, &front)
	a, b := s.rank(""), s.rank("[1] ")
	step := func(why, text string, do func()) {
		t.Helper()
		s.b.Reset()
		do()
		s.want(t, why, text)
	}
	status := func(line string) func() {
		return func() {
			s.c.status.set(line)
			s.c.drawStatus()
		}
	}
	step("drawn at once", "one", status("one"))
	step("drawn in place of the other", "\r\x1b[Ktwo", status("two"))
	step("below the output", "\r\x1b[Kout\ntwo", func() { a.feed([]byte("out\n")) })
	step("below messages", "\r\x1b[Kfitrun: x\ntwo", func() { s.c.message(&s.b, "fitrun: x\n") })
	step("not within a line", "\r\x1b[Kname? ", func() { a.feed([]byte("name? ")); a.idle() })
	step("nor changed there", "", status("three"))
	step("the newest, when the line has ended", "\nthree\r\x1b[K[1] out\nthree", func() { b.feed([]byte("out\n")) })
	step("gone", "\r\x1b[K", status(""))
	step("nothing to take away", "out\n", func() { a.feed([]byte("out\n")) })
	width = 4
	step("cut to a terminal that has shrunk", "äöü", status("äöüß"))
	front = false
	step("not on a terminal that is another's", "\r\x1b[Kout\n", func() { a.feed([]byte("out\n")) })
	step("nor when it changes", "", status("four"))
	front = true
	step("drawn again", "out\nfou", func() { a.feed([]byte("out\n")) })
	step("gone for good", "\r\x1b[K", func() { s.c.endStatus(false) })
	step("gone for good", "", status("five"))
	a.feed([]byte("end"))
	a.finish()
	step("what follows begins a line", "\n", func() { s.c.endStatus(true) })
}

// TestStatusDoesNotWait: a terminal that takes nothing stops only a goroutine that writes output.
func TestStatusDoesNotWait(t *testing.T) {
	width, front := 80, true
	s := withStatus(&width, &front)
	x := &runner{err: s.c, messages: make(chan utterance, 1), inbox: make(chan func(time.Time), 2), donec: make(chan struct{})}
	for _, line := range []string{"zero", "one"} {
		if !(control{x}).Status(line) {
			t.Error("a terminal is none")
		}
	}
	if len(x.inbox) != 1 {
		t.Errorf("the line is to be drawn %d times", len(x.inbox))
	}
	(<-x.inbox)(time.Now())
	s.want(t, "not written by who changes it", "")
	if u := <-x.messages; u.text != "" {
		t.Errorf("the line to be written is %q", u.text)
	}
	s.rank("").feed([]byte("out\n"))
	s.want(t, "who writes draws it", "out\none")
}

func TestStatusNeedsTerminal(t *testing.T) {
	s := newScreen()
	s.c.status.open(&s.b)
	if s.c.status.set("one") {
		t.Error("a buffer has a line at the bottom")
	}
	s.rank("").feed([]byte("out\n"))
	s.want(t, "output as ever", "out\n")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s.c.status.open(null)
	_, program, read := terminal(t)
	t.Setenv("TERM", "dumb")
	s.c.status.open(program)
	program.Close()
	if s.c.status.set("one") || read() != "" {
		t.Error("what cannot move a cursor has a line at the bottom")
	}
}

// terminal makes one; read returns what was shown on it when all its users have closed it.
func terminal(t *testing.T) (user, program *os.File, read func() string) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	user, program, err := sys.OpenPty()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close(); program.Close() })
	var b bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(&b, user) })
	return user, program, func() string {
		wg.Wait()
		return strings.ReplaceAll(b.String(), "\r\n", "\n")
	}
}

// TestStatusAmongOutput: however much ranks write, and however often the line changes, the terminal
// has each line of theirs whole and nothing else in the end; no more of the line than fits was ever
// drawn.
func TestStatusAmongOutput(t *testing.T) {
	user, program, read := terminal(t)
	c := newConsole()
	c.status.open(program)
	var writers sync.WaitGroup
	const ranks, lines = 4, 300
	var want []string
	for r := range ranks {
		for i := range lines {
			want = append(want, fmt.Sprintf("[%d] line %d", r, i))
		}
		writers.Go(func() {
			l := rankLines(c, program, r)
			for i := range lines {
				text := fmt.Sprintf("line %d\n", i)
				l.feed([]byte(text[:i%len(text)]))
				l.feed([]byte(text[i%len(text):]))
			}
			l.finish()
		})
	}
	stop := make(chan struct{})
	var drawer sync.WaitGroup
	drawer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := sys.SetTerminalSize(int(user.Fd()), 20+i%50, 24); err != nil {
				t.Error(err)
			}
			c.status.set(strings.Repeat(fmt.Sprint(i%10), 100))
			c.drawStatus()
		}
	})
	writers.Wait()
	close(stop)
	drawer.Wait()
	c.endStatus(false)
	program.Close()
	raw := read()
	got := strings.Split(erased.ReplaceAllString(raw, ""), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got[1:], want) || got[0] != "" { // nothing is behind the last newline
		t.Errorf("%d lines, want %d; some of the terminal: %q", len(got)-1, len(want), clipped(raw))
	}
	if !strings.Contains(raw, "\r\x1b[K") {
		t.Error("the line was never drawn")
	}
	if long := regexp.MustCompile(`(0{70}|1{70}|2{70}|3{70}|4{70}|5{70}|6{70}|7{70}|8{70}|9{70})`).FindString(raw); long != "" {
		t.Errorf("drawn beyond the edge: %q", long)
	}
}

func rankLines(c *console, w io.Writer, r int) *lines {
	return &lines{c: c, w: w, tag: fmt.Sprintf("[%d] ", r)}
}

// liner is an observer that draws a line as soon as the job begins.
type liner struct {
	Observer
	drawn chan bool // whether it could
}

func (l *liner) Begin(_ *Job, to Control) { l.drawn <- to.(StatusLine).Status("status") }
func (l *liner) Changed(int, State)       {}
func (l *liner) Said(string)              {}
func (l *liner) End()                     {}

// TestStatusOfJob: a job takes its line away when it ends, on a terminal; elsewhere it has none.
func TestStatusOfJob(t *testing.T) {
	_, program, read := terminal(t)
	l := &liner{drawn: make(chan bool, 1)}
	if code := Run(t.Context(), selfJob(t, 2, "silent"), Config{Stdout: program, Stderr: program, Observer: l}); code != 0 || !<-l.drawn {
		t.Errorf("code %d", code)
	}
	program.Close()
	if got := read(); got != "status\r\x1b[K" {
		t.Errorf("on the terminal: %q", got)
	}
	var b bytes.Buffer
	if code := Run(t.Context(), selfJob(t, 1, "silent"), Config{Stdout: &b, Stderr: &b, Observer: l}); code != 0 || <-l.drawn || b.Len() > 0 {
		t.Errorf("code %d, %q", code, b.String())
	}
}
