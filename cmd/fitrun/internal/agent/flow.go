//go:build linux

package agent

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// window is how many bytes of a stream may be on their way and unread by the reader. So a reader
// that is slow, such as a terminal, holds up its stream and nothing else: other frames never wait
// behind bytes that no reader takes.
const window = 128 << 10

// errFlooded is more than the credit allowed.
var errFlooded = errors.New("more came of a stream than the credit allowed")

// outflow is the credit of a stream at its sender.
type outflow struct {
	mu     sync.Mutex
	more   *sync.Cond // with mu
	credit int        // guarded by mu
	closed bool       // guarded by mu
}

func newOutflow(credit int) *outflow {
	f := &outflow{credit: credit}
	f.more = sync.NewCond(&f.mu)
	return f
}

// take waits for credit, and takes at most n of it: what it does not use its caller gives back. 0:
// the flow is closed.
func (f *outflow) take(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.credit == 0 && !f.closed {
		f.more.Wait()
	}
	if f.closed {
		return 0
	}
	n = min(n, f.credit)
	f.credit -= n
	return n
}

func (f *outflow) give(n int) {
	f.mu.Lock()
	f.credit += n
	f.mu.Unlock()
	f.more.Broadcast()
}

func (f *outflow) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.more.Broadcast()
}

// inflow is a stream at its receiver: one goroutine puts what comes, another reads. It is a
// crew.Source.
type inflow struct {
	took func(n int)   // called by Read: so much room is free again
	kick chan struct{} // capacity 1: something has changed

	mu       sync.Mutex
	buf      []byte    // at most window bytes; guarded by mu
	ended    bool      // nothing more comes; guarded by mu
	closed   bool      // no goroutine reads any more; guarded by mu
	deadline time.Time // of Read; guarded by mu
	free     int       // bytes read, of which took does not know yet; guarded by mu
}

func newInflow(took func(n int)) *inflow {
	return &inflow{took: took, kick: make(chan struct{}, 1)}
}

// put takes the next piece; an empty one is the end.
func (f *inflow) put(piece []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(piece) == 0:
		f.ended = true
	case f.closed:
		f.took(len(piece))
	case len(f.buf)+f.free+len(piece) > window || f.ended:
		return errFlooded
	default:
		f.buf = append(f.buf, piece...)
	}
	f.wake()
	return nil
}

func (f *inflow) wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Read implements io.Reader, with deadlines as those of a file.
func (f *inflow) Read(p []byte) (int, error) {
	for {
		n, wait, err := f.tryRead(p)
		if n > 0 || err != nil {
			return n, err
		}
		if wait == 0 {
			<-f.kick
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-f.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tryRead returns how long to wait if there is nothing yet, 0 for ever.
func (f *inflow) tryRead(p []byte) (n int, wait time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return 0, 0, os.ErrClosed
	case len(f.buf) > 0:
		n = copy(p, f.buf)
		f.buf = f.buf[:copy(f.buf, f.buf[n:])]
		if f.free += n; f.free >= window/4 || len(f.buf) == 0 {
			f.took(f.free)
			f.free = 0
		}
		return n, 0, nil
	case f.ended:
		return 0, 0, io.EOF
	case f.deadline.IsZero():
		return 0, 0, nil
	}
	if wait = time.Until(f.deadline); wait <= 0 {
		return 0, 0, os.ErrDeadlineExceeded
	}
	return 0, wait, nil
}

// Ended reports whether the end of the stream has come: Read returns all that is left of it without
// a wait.
func (f *inflow) Ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// SetReadDeadline makes Read fail with os.ErrDeadlineExceeded from t on if there is nothing to
// read.
func (f *inflow) SetReadDeadline(t time.Time) error {
	f.mu.Lock()
	f.deadline = t
	f.mu.Unlock()
	f.wake()
	return nil
}

// Close ends the reading; what comes later is dropped.
func (f *inflow) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if n := len(f.buf) + f.free; n > 0 {
		f.buf, f.free = nil, 0
		f.took(n)
	}
	f.wake()
	return nil
}
