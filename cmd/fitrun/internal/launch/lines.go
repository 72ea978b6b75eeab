//go:build linux

package launch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

const (
	// maxHeld is how many bytes of an unfinished line are held back before its start is shown.
	maxHeld = 64 << 10
	// idleAfter is how long a partial line waits for its newline before it is shown without.
	idleAfter = 50 * time.Millisecond
	// drainIdle ends the reading of a stream that a process beyond our reach holds open when the
	// job is over.
	drainIdle = time.Second
)

// lines cuts one stream of one rank into lines for the console. It is owned by the goroutine that
// reads the stream.
type lines struct {
	// immutable after construction
	c       *console
	w       io.Writer        // where the console shows them
	tag     string           // put before each line; "" for none
	raw     bool             // pass everything through at once: the only rank, untagged
	partial bool             // show an unfinished line after idleAfter: rank 0 before a terminal
	tail    *crew.Tail       // remembers the last lines, or nil
	now     func() time.Time // put the time before each line; nil: do not
	file    io.Closer        // what is written, closed at the end of the stream; nil if it is fitrun's own

	ended func() bool   // reports whether the whole stream is at this machine, so that shown will be closed soon; nil: it is not known
	shown chan struct{} // closed when all is shown

	pos position // guarded by c.mu

	buf []byte // the line so far, as far as it is not shown; no newline in it
}

// feed takes what the rank wrote.
func (l *lines) feed(p []byte) {
	if l.tail != nil {
		l.tail.Feed(p)
	}
	if l.raw {
		l.c.pass(l, p)
		return
	}
	end := bytes.LastIndexByte(p, '\n') + 1
	if end > 0 {
		l.c.show(l, append(l.buf, p[:end]...), true, 0)
		l.buf = l.buf[:0]
	}
	l.buf = append(l.buf, p[end:]...)
	if len(l.buf) >= maxHeld {
		l.c.show(l, l.buf, false, linePatience)
		l.buf = l.buf[:0]
	}
}

// idle is called when the rank has written nothing for idleAfter: it shows a partial line, which
// other output may push aside.
func (l *lines) idle() {
	if len(l.buf) > 0 {
		l.c.show(l, l.buf, false, 0)
		l.buf = l.buf[:0]
	}
}

// finish is called at the end of the stream. A last line without newline gets one only if lines are
// tagged.
func (l *lines) finish() {
	if len(l.buf) > 0 {
		l.c.show(l, l.buf, false, 0)
		l.buf = nil
	}
	l.c.settle(l)
	if l.file != nil {
		if err := l.file.Close(); err != nil {
			l.c.failed(err)
		}
	}
}

// tagged returns text with the tag before each line; continuing says that text goes on in a line
// already shown.
func (l *lines) tagged(text []byte, continuing bool) []byte {
	mark := l.mark()
	if mark == "" {
		return text
	}
	out := make([]byte, 0, len(text)+len(mark)*(1+bytes.Count(text, []byte("\n"))))
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line = text[:i+1]
		}
		if !continuing {
			out = append(out, mark...)
		}
		out = append(out, line...)
		text, continuing = text[len(line):], false
	}
	return out
}

// mark is what goes before each line now: the time in this machine's zone, to the microsecond, and
// the tag.
func (l *lines) mark() string {
	if l.now == nil {
		return l.tag
	}
	return l.now().Format("2006-01-02 15:04:05.000000 ") + l.tag
}

// copyFrom reads f to its end. draining is set when the job is over and every process that should
// hold the other end of f is dead; then silence ends it too.
func (l *lines) copyFrom(f crew.Source, draining *atomic.Bool) {
	defer l.finish()
	chunk := make([]byte, 32<<10)
	for {
		last := draining.Load()
		switch {
		case last:
			f.SetReadDeadline(time.Now().Add(drainIdle))
		case l.partial && len(l.buf) > 0:
			f.SetReadDeadline(time.Now().Add(idleAfter))
		}
		n, err := f.Read(chunk)
		if n > 0 {
			l.feed(chunk[:n])
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && !last:
			f.SetReadDeadline(time.Time{})
			if !draining.Load() {
				l.idle()
			}
		default:
			return
		}
	}
}
