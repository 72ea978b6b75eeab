//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Tokens of a waiter's epoll instance.
const (
	wakeToken    = 1
	socketsToken = 2
)

// Waiter is where one goroutine at a time waits for what a poller polls: an epoll instance around
// the poller's and around an eventfd. So a wait can leave the sockets to another goroutine, which
// polls them, and yet be woken. And two goroutines that wait in two Waiters do not take each
// other's wakes.
type Waiter struct {
	// Immutable once open.
	poller *Poller
	pwait2 bool // the kernel has epoll_pwait2: waits are exact to the timer slack, not to the millisecond

	// Brisk lets a waiting goroutine that takes the core from its waker, in the middle of Wake, go
	// on at once. Without it that goroutine meets the waker's mutex, parks and gives its P away.
	// The waker is back sooner then, but the waiting goroutine is late by 100 us, and where every P
	// computes by milliseconds. Set it before the first wait.
	Brisk bool

	// Owned by the goroutine that waits.
	outer  descriptor
	waited [2]unix.EpollEvent

	// woken is set by Wake and cleared by the wait that it ends. It elides writes: while it is set,
	// the wait in progress or the next one returns at once.
	woken atomic.Bool

	// armed is set by Arm and cleared by the wait that the sockets end.
	armed atomic.Bool

	mu     sync.RWMutex // guards against using descriptors that Close has closed
	wakeFD descriptor   // guarded by mu
}

// NewWaiter makes another waiter at p, not armed. Close it before p.
func (p *Poller) NewWaiter() (*Waiter, error) {
	s := &Waiter{}
	if err := s.open(p); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Waiter) open(p *Poller) error {
	s.poller, s.pwait2 = p, kernelHasPwait2()
	s.outer.raw, s.wakeFD.raw = -1, -1
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	s.wakeFD.open(wake, "eventfd")
	outer, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	s.outer.open(outer, "epoll")
	return errors.Join(
		control(outer, unix.EPOLL_CTL_ADD, wake, unix.EPOLLIN, wakeToken),
		control(outer, unix.EPOLL_CTL_ADD, p.ep.raw, unix.EPOLLONESHOT, socketsToken), // not armed
	)
}

// Close releases the waiter. It is idempotent; a Wake or an Arm that comes later returns
// [os.ErrClosed].
func (s *Waiter) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.wakeFD.close(), s.outer.close())
}

// Arm makes the wait in progress, or the next one, return when something is ready, or is by now.
// That happens once: a wait that ends for it must be armed again. Any goroutine may call it; when
// the poller is armed it costs nothing.
func (s *Waiter) Arm() error {
	if s.armed.Swap(true) {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.outer.raw < 0 {
		return os.ErrClosed
	}
	return control(s.outer.raw, unix.EPOLL_CTL_MOD, s.poller.ep.raw, unix.EPOLLIN|unix.EPOLLONESHOT, socketsToken)
}

// WaitHolding waits until something is ready and the poller is armed, a Wake, or d (at most
// [MaxHold]) has passed, and keeps its P all that time. A signal may end it early. It fetches
// nothing: call Poll. Others may poll meanwhile.
//
// The Go scheduler does not know that this goroutine waits: it looks as if it computed. That is the
// point (see the package documentation), and it brings three rules:
//
//   - The wait is bounded. Stop-the-world, and goroutines that only this P could run, wait for it.
//   - It is not inlined. The scheduler stops a goroutine either at a function's entry or, by a
//     signal, at an asynchronous safe point, and there is none inside a raw system call. A loop
//     around an inlined wait would spend all its time where it cannot be stopped: stop-the-world
//     hung for ever when we tried. A real call tests for preemption at entry. The signal is still
//     useful: it ends the wait early with EINTR.
//   - It is for times when work is outstanding. An idle process must use [Waiter.Wait], which costs
//     nothing.
//
//go:noinline
func (s *Waiter) WaitHolding(d time.Duration) error {
	n, errno := s.waitRaw(min(max(d, 0), MaxHold))
	return s.roused(n, errno)
}

// Wait waits until something is ready and the poller is armed, a Wake, or d has passed (d < 0: for
// ever). It is an ordinary blocking system call: the scheduler gives the P to others. A signal may
// end it early. It fetches nothing: call Poll. Others may poll meanwhile.
func (s *Waiter) Wait(d time.Duration) error {
	for part := firstPart; ; part = min(10*part, lastPart) {
		if d >= 0 {
			part = min(part, d)
		}
		n, errno := s.waitBlocking(part)
		if n != 0 || d == part {
			return s.roused(n, errno)
		}
		if d > 0 {
			d -= part
		}
	}
}

// A long wait is made of parts, with the scheduler in between, because a stop of the world may
// overlook a goroutine that enters a system call just as it begins, and then waits until the call
// returns: a fault of Go (docs/decisions/0079). So a stop waits for one part at most. The parts
// grow, as a stop has to meet the beginning of one.
const (
	firstPart = 10 * time.Millisecond
	lastPart  = time.Second
)

// roused ends a wait: it consumes the wakes so far.
func (s *Waiter) roused(n int, errno unix.Errno) error {
	runtime.KeepAlive(s.poller) // the backstop must not close the epoll instance under the wait
	err := pollError(errno)
	for i := range max(n, 0) {
		if token(&s.waited[i]) == socketsToken {
			s.armed.Store(false)
			continue
		}
		s.mu.RLock()
		err = drainEvent(s.wakeFD.raw)
		s.mu.RUnlock()
		// A swap, not a store: it reads what the wakers' swaps wrote, so what they did before Wake,
		// even before a Wake that was elided, is visible to the caller of this wait.
		s.woken.Swap(false)
	}
	return err
}

// Wake makes the wait in progress return, or the next one if there is none. What happened before
// Wake is visible to the owner after that return. Wakes that come before it are one wake: call it
// after publishing work, and look for all work after each wait. Any goroutine may call it, also
// beside Close.
func (s *Waiter) Wake() error {
	if s.woken.Swap(true) {
		return nil
	}
	if s.Brisk {
		s.mu.RLock()
		defer s.mu.RUnlock()
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return ringEvent(s.wakeFD.raw)
}
