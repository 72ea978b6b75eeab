//go:build !linux || fitmpi_portable

package netpoll

import (
	"os"
	"sync/atomic"
	"time"
)

// What there is of a poller without Linux: a place to wait, in which goroutines wake each other.
// There is nothing to poll, as there are no sockets.

// HasSockets says whether this system's sockets are used: ranks of other processes can be reached.
const HasSockets = false

// MaxHold is the longest that [Waiter.WaitHolding] waits.
const MaxHold = 5 * time.Millisecond

// Event is what a poll found on one socket: see the one for Linux.
type Event struct {
	Token                      uint64
	Readable, Writable, Hangup bool
}

// Poller has no sockets here. Its own [Waiter] is where its owner waits.
type Poller struct{ Waiter }

// NewPoller makes a poller.
func NewPoller() (*Poller, error) {
	p := &Poller{}
	p.Waiter.open()
	return p, nil
}

// Poll finds nothing.
func (p *Poller) Poll([]Event) (int, error) {
	if p.closed.Load() {
		return 0, os.ErrClosed
	}
	return 0, nil
}

// Add fails: there are no sockets.
func (p *Poller) Add(*Socket, uint64, bool) error { return errNoSockets }

// SetWritable fails: there are no sockets.
func (p *Poller) SetWritable(*Socket, uint64, bool) error { return errNoSockets }

// Remove fails: there are no sockets.
func (p *Poller) Remove(*Socket) error { return errNoSockets }

// AddListener fails: there are no sockets.
func (p *Poller) AddListener(*Listener, uint64) error { return errNoSockets }

// RemoveListener fails: there are no sockets.
func (p *Poller) RemoveListener(*Listener) error { return errNoSockets }

// AddBell fails: other processes ring none.
func (p *Poller) AddBell(*Bell, uint64) error { return errNoSockets }

// Waiter is where one goroutine at a time waits for others to wake it. A wait parks the goroutine:
// no thread is in the kernel for it, and its P is another's meanwhile.
type Waiter struct {
	// Brisk has no meaning here: no lock is held in Wake.
	Brisk bool

	wakec chan struct{} // capacity 1: the wakes so far; immutable once open
	donec chan struct{} // closed by Close; immutable once open

	timer *time.Timer // owned by the goroutine that waits; nil before the first wait with an end

	// woken is set by Wake and cleared by the wait that it ends. It elides sends: while it is set,
	// wakec holds a wake, or the wait that has taken it is about to clear it.
	woken  atomic.Bool
	closed atomic.Bool
}

// NewWaiter makes another waiter. Close it before p.
func (p *Poller) NewWaiter() (*Waiter, error) {
	s := &Waiter{}
	s.open()
	return s, nil
}

func (s *Waiter) open() { s.wakec, s.donec = make(chan struct{}, 1), make(chan struct{}) }

// Close ends the wait in progress, and those to come. It is idempotent; a Wake or an Arm that comes
// later returns [os.ErrClosed].
func (s *Waiter) Close() error {
	if !s.closed.Swap(true) {
		close(s.donec)
	}
	return nil
}

// Arm changes nothing: nothing is ever ready that would end a wait.
func (s *Waiter) Arm() error {
	if s.closed.Load() {
		return os.ErrClosed
	}
	return nil
}

// WaitHolding is Wait for d, at most [MaxHold], and does not keep its P here.
func (s *Waiter) WaitHolding(d time.Duration) error { return s.Wait(min(max(d, 0), MaxHold)) }

// Wait waits for a Wake, or until d has passed (d < 0: for ever).
func (s *Waiter) Wait(d time.Duration) error {
	var endc <-chan time.Time // nil: never
	if d >= 0 {
		endc = s.startTimer(d)
		defer s.timer.Stop()
	}
	select {
	case <-s.wakec:
		// A swap, not a store: it reads what the wakers' swaps wrote, so what they did before Wake,
		// even before a Wake that was elided, is visible to the caller of this wait.
		s.woken.Swap(false)
		return nil
	case <-endc:
		return nil
	case <-s.donec:
		return os.ErrClosed
	}
}

// startTimer starts the timer of a wait, which is the same for all.
func (s *Waiter) startTimer(d time.Duration) <-chan time.Time {
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	return s.timer.C
}

// Wake makes the wait in progress return, or the next one if there is none. What happened before
// Wake is visible to the owner after that return. Wakes that come before it are one wake: call it
// after publishing work, and look for all work after each wait. Any goroutine may call it, also
// beside Close.
func (s *Waiter) Wake() error {
	if s.closed.Load() {
		return os.ErrClosed
	}
	if !s.woken.Swap(true) {
		s.wakec <- struct{}{} // there is room: see woken
	}
	return nil
}
