//go:build linux

package launch

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/plain"
)

// linePatience is how long other ranks wait for the rest of a line whose start is already shown,
// because it is too long to be held back. Then the line is broken, so that a rank that stalls
// within a line cannot stall the job.
const linePatience = 2 * time.Second

// console shows the output of all ranks and keeps whole lines apart. It may serve two streams that
// are one terminal.
//
// Mostly it is given whole lines. If it must show the start of a line, it remembers whose: others
// wait for the rest, or break the line with a newline first. So two ranks never share a line.
type console struct {
	mu    sync.Mutex
	open  *lines        // whose line is shown without its end, nil if none; guarded by mu
	until time.Time     // when others may break that line; guarded by mu
	freec chan struct{} // closed and replaced when open becomes nil; guarded by mu
	shown int           // lines of output so far; guarded by mu
	err   error         // the first failed write, after which nothing is shown; guarded by mu

	status status // below the output

	failc chan error // capacity 1: gets err; consoles may share it
}

func newConsole() *console {
	return &console{freec: make(chan struct{}), failc: make(chan error, 1)}
}

// show writes text of l. ended says whether text ends a line; if it does not, others wait patience
// for the rest.
func (c *console) show(l *lines, text []byte, ended bool, patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waitTurnLocked(l)
	c.noteLocked(l, text)
	c.writeLocked(l.w, l.tagged(text, c.open == l))
	if !ended {
		c.open, c.until = l, time.Now().Add(patience)
		return
	}
	c.closeLineLocked()
}

// pass writes text of l, the only rank, as it comes: its two streams may well share a line.
func (c *console) pass(l *lines, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteLocked(l, text)
	c.writeLocked(l.w, text)
	c.closeLineLocked()
	if text[len(text)-1] != '\n' {
		c.open, c.until = l, time.Time{}
	}
}

// message writes a message of fitrun itself to w, on lines of its own and at once. It reports false
// if w does not take it.
func (c *console) message(w io.Writer, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakLineLocked()
	c.writeLocked(w, []byte(plain.Fold(text, Columns(w), hang)))
	return c.err == nil
}

// settle tells that nothing more will come of l, so that others need not wait for the rest of its
// line.
func (c *console) settle(l *lines) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != l {
		return
	}
	c.until = time.Time{}
	if l.tag != "" || l.now != nil {
		c.breakLineLocked()
	}
}

// waitTurnLocked returns when no line of another than l is open. It unlocks mu while it waits.
func (c *console) waitTurnLocked(l *lines) {
	for c.open != nil && c.open != l {
		wait := time.Until(c.until)
		if wait <= 0 {
			c.breakLineLocked()
			return
		}
		free := c.freec
		c.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-free:
		case <-timer.C:
		}
		timer.Stop()
		c.mu.Lock()
	}
}

// breakLineLocked ends the open line, if any, with a newline.
func (c *console) breakLineLocked() {
	if c.open != nil {
		c.writeLocked(c.open.w, []byte("\n"))
		c.closeLineLocked()
	}
}

func (c *console) closeLineLocked() {
	if c.open != nil {
		c.open = nil
		close(c.freec)
		c.freec = make(chan struct{})
	}
}

func (c *console) writeLocked(w io.Writer, text []byte) {
	if c.err != nil {
		return
	}
	if c.status.w != nil {
		text = c.status.around(text)
	}
	if len(text) == 0 {
		return
	}
	if _, err := w.Write(text); err != nil {
		c.err = err
		c.failed(err)
	}
}

// failed tells the loop of an error; the first is enough.
func (c *console) failed(err error) {
	select {
	case c.failc <- err:
	default:
	}
}

// sameFile reports whether a and b are one file, such as one terminal.
func sameFile(a, b io.Writer) bool {
	stA, okA := statOf(a)
	stB, okB := statOf(b)
	return okA && okB && os.SameFile(stA, stB)
}

// isTerminal reports whether a user may sit before w. A character device is near enough.
func isTerminal(w io.Writer) bool {
	st, ok := statOf(w)
	return ok && st.Mode()&os.ModeCharDevice != 0
}

func statOf(w io.Writer) (os.FileInfo, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, false
	}
	st, err := f.Stat()
	return st, err == nil
}
