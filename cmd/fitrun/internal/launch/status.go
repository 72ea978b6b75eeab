//go:build linux

package launch

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// StatusLine is what the Control of a job is too: it has a line at the bottom of the terminal.
type StatusLine interface {
	// Status shows a line below the output of the ranks, in place of the one before; "" takes it
	// away, which the end of the job does as well. What does not fit the terminal's width is cut
	// off. It does not wait for a terminal that takes nothing at the moment. It reports false if
	// there is no terminal on stderr that can show it.
	Status(line string) bool
}

// Status implements StatusLine. runner.speak draws the line: the end of the job does not wait for
// that one for ever.
func (c control) Status(line string) bool {
	s := &c.x.err.status
	if !s.set(line) {
		return false
	}
	if s.asked.CompareAndSwap(false, true) {
		c.x.post(func(time.Time) {
			select {
			case c.x.messages <- utterance{}:
			default: // nothing reads stderr
				s.asked.Store(false)
			}
		})
	}
	return true
}

// status is the line of a console that is not output: it is drawn below the last line of that, if
// that has ended, taken away before anything else is written, and drawn again behind that. So no
// byte of it is ever within a line of a rank.
type status struct {
	w     io.Writer // the terminal; nil if there is none. Immutable after open
	width func() int
	front func() bool // whether the terminal is ours to draw on now, or another job's of the shell

	text  atomic.Pointer[string] // what shall be shown; nil or "" for nothing
	asked atomic.Bool            // runner.speak is to draw it
	over  bool                   // nothing is shown any more; guarded by console.mu, as all below
	drawn bool                   // it is on the terminal now
	inset bool                   // the last thing shown is the start of a line
}

// open lets the line be shown on stderr, if that is a terminal that moves its cursor.
func (s *status) open(stderr io.Writer) {
	f, ok := stderr.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return
	}
	s.width = func() (width int) {
		withDescriptor(f, func(fd int) { width, _ = sys.TerminalWidth(fd) })
		return width
	}
	s.front = func() (is bool) {
		withDescriptor(f, func(fd int) { is = sys.InForeground(fd) })
		return is
	}
	if s.width() > 0 {
		s.w = stderr
	}
}

// withDescriptor calls do with the descriptor of f, whose mode it leaves as it is.
func withDescriptor(f *os.File, do func(fd int)) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// set changes the line. It reports false if there is no terminal.
func (s *status) set(line string) bool {
	if s.w == nil {
		return false
	}
	s.text.Store(&line)
	return true
}

// drawStatus shows the line as it is now. It may wait for the terminal.
func (c *console) drawStatus() {
	c.status.asked.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeLocked(c.status.w, nil)
}

// endStatus takes the line away for good. It may wait for the terminal. What follows the job, if
// something does, begins a line.
func (c *console) endStatus(follows bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if follows {
		c.breakLineLocked()
	}
	c.status.over = true
	if c.status.drawn {
		c.writeLocked(c.status.w, nil)
	}
}

// Sequences of ECMA-48 that every terminal has: the rest of the line is cleared, without colours.
const eraseLine = "\r\x1b[K"

// around is text with what takes the line away before it and what draws it again behind it.
func (s *status) around(text []byte) []byte {
	line := s.line()
	if len(text) > 0 {
		s.inset = text[len(text)-1] != '\n'
	}
	show := line != "" && !s.inset
	if !s.drawn && !show {
		return text
	}
	var out []byte
	if s.drawn {
		out = append(out, eraseLine...)
	}
	out = append(out, text...)
	if s.drawn = show; show {
		out = append(out, line...)
	}
	return out
}

// line is what shall be on the terminal now, cut to its width. The last column stays free: a
// terminal that has written to it may be on the next line, or not.
func (s *status) line() string {
	text := s.text.Load()
	if s.over || text == nil || *text == "" || !s.front() {
		return ""
	}
	line, most := []rune(*text), s.width()-1
	if len(line) > most {
		line = line[:max(most, 0)]
	}
	return string(line)
}
