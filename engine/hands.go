package engine

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/netpoll"
)

// Where a rank has several workers (Config.Workers) one of them drives, as ever, and the others are
// its hands: threads that make system calls at the same time as it, one for each connection. What a
// call reads or writes is settled before, and what has come of it is taken afterwards, by the
// holder of the right. So matching, and the order of messages, know nothing of hands. Only long
// payloads are moved so, as to wake a thread costs more than to copy a short one. It is an
// experiment: docs/decisions/0078 has what it brings.

// MaxWorkers bounds Config.Workers.
const MaxWorkers = 64

// ioCall is a system call that hands may make.
type ioCall struct {
	c       *conn
	writes  bool
	bufs    [][]byte
	staging []byte // for what follows a payload that is read
	n, want int    // bytes that were moved, and that could have been
	err     error
}

// make makes the call. The goroutine that has taken the call owns it.
func (t *ioCall) make() {
	if t.writes {
		t.n, t.err = t.c.sock.Writev(t.bufs)
	} else {
		t.n, t.err = t.c.sock.Readv(t.bufs)
	}
}

// hands are the threads, and the calls of one round that they and the holder of the right share.
type hands struct {
	calls []ioCall // of the holder of the right, between rounds; in a round of the goroutines that take them
	// Owned by the holder of the right.
	n      int    // calls that the next round has
	taking bool   // what has come of the last one is being taken: there is no place for others
	rounds uint64 // that there have been
	// claim is the number of the round << 32 | calls in it << 16 | calls taken. A hand that comes
	// late finds that all are taken, or another round.
	claim   atomic.Uint64
	left    atomic.Int32 // calls of the round that are not made
	threads []hand       // immutable
	stop    atomic.Bool
	running sync.WaitGroup
}

// hand is one of the threads.
type hand struct {
	waiter *netpoll.Waiter
	sleeps atomic.Bool // it is to be woken
}

// newHands starts n threads; end ends them.
func newHands(p *netpoll.Poller, n int) (*hands, error) {
	h := &hands{calls: make([]ioCall, 2*(n+1)), threads: make([]hand, n)}
	for i := range h.calls {
		h.calls[i].bufs = make([][]byte, 0, maxBufs)
		h.calls[i].staging = make([]byte, stagingSize)
	}
	for i := range h.threads {
		w, err := p.NewWaiter()
		if err != nil {
			return nil, errors.Join(err, h.end())
		}
		h.threads[i].waiter = w
		h.running.Go(func() { h.help(&h.threads[i]) })
	}
	return h, nil
}

// end ends the threads. Rounds that come later are the caller's alone.
func (h *hands) end() error {
	if h == nil || h.stop.Swap(true) {
		return nil
	}
	var err error
	for i := range h.threads {
		if w := h.threads[i].waiter; w != nil {
			err = errors.Join(err, w.Wake())
		}
	}
	h.running.Wait()
	for i := range h.threads {
		if w := h.threads[i].waiter; w != nil {
			err = errors.Join(err, w.Close())
		}
	}
	return err
}

// help is a thread. Its wait leaves the P to others, so it may be late where every P computes; the
// round does not wait for hands that have taken nothing.
func (h *hands) help(t *hand) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for !h.stop.Load() {
		if h.take() {
			continue
		}
		t.sleeps.Store(true)
		if !h.isLeft() && !h.stop.Load() {
			t.waiter.Wait(-1) // an error is that of a poller that is closed, after end
		}
		t.sleeps.Store(false)
	}
}

// split reads a claim.
func split(claim uint64) (n, taken int) { return int(uint16(claim >> 16)), int(uint16(claim)) }

func (h *hands) isLeft() bool {
	n, taken := split(h.claim.Load())
	return taken < n
}

// take makes a call that no other goroutine has taken; it reports whether there was one.
func (h *hands) take() bool {
	for {
		c := h.claim.Load()
		n, taken := split(c)
		if taken == n {
			return false
		}
		if h.claim.CompareAndSwap(c, c+1) {
			h.calls[taken].make()
			h.left.Add(-1)
			return true
		}
	}
}

// next returns the place of one more call of the next round, nil if there is none.
func (h *hands) next(c *conn, writes bool) *ioCall {
	if h.taking || h.n == len(h.calls) {
		return nil
	}
	t := &h.calls[h.n]
	h.n++
	t.c, t.writes, t.bufs, t.n, t.want, t.err = c, writes, t.bufs[:0], 0, 0, nil
	return t
}

// forget drops what the calls were about, also those that were given out and not made. Nothing may
// hold the user's memory.
func (h *hands) forget() {
	h.n, h.taking = 0, false
	for i := range h.calls {
		t := &h.calls[i]
		clear(t.bufs)
		t.c, t.bufs = nil, t.bufs[:0]
	}
}

// round makes the calls that next has given out, and returns them. They are the caller's until
// forget.
//
// Preconditions:
//   - the caller holds the progress right.
func (h *hands) round() []ioCall {
	n := h.begin()
	for h.take() {
	}
	for h.left.Load() > 0 {
		sys.Yield()
	}
	return h.calls[:n]
}

// begin has hands take the calls, and returns how many there are.
func (h *hands) begin() int {
	n := h.n
	h.n, h.taking = 0, true
	h.rounds++
	h.left.Store(int32(n))
	h.claim.Store((h.claim.Load()>>32+1)<<32 | uint64(n)<<16)
	for i := range min(len(h.threads), n-1) {
		if t := &h.threads[i]; t.sleeps.Load() {
			t.waiter.Wake() // an error is that of a hand that has ended: then there is one less
		}
	}
	return n
}
