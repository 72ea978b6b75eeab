//go:build linux

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

const (
	// MaxHold is the longest that [Poller.WaitHolding] keeps its P.
	MaxHold = time.Millisecond

	maxEvents = 128        // fetched by one system call at most; level triggering brings the rest next time
	wakeToken = ^uint64(0) // not available to users
)

// Event is what a poll found on one socket.
type Event struct {
	Token    uint64
	Readable bool
	Writable bool
	// Hangup: the connection is broken, or both directions are shut down. Readable and Writable are then set too, so
	// that whichever operation its owner was waiting for is tried, and reports what is wrong.
	Hangup bool
}

// Poller is an epoll instance that other goroutines can wake.
type Poller struct {
	// Owned by the poller's owner.
	ep  descriptor
	raw [maxEvents]unix.EpollEvent

	waited [1]unix.EpollEvent // owned by whoever waits

	// Immutable after NewPoller.
	pwait2 bool // the kernel has epoll_pwait2: waits are exact to the timer slack, not to the millisecond

	// woken is set by Wake and cleared by the wait that it ends. It elides writes: while it is set, the wait in progress
	// or the next one returns at once.
	woken atomic.Bool

	mu     sync.Mutex // guards against writing to an eventfd that Close has closed
	wakeFD descriptor // guarded by mu
}

// NewPoller makes a poller with nothing added.
func NewPoller() (*Poller, error) {
	p := &Poller{pwait2: kernelHasPwait2()}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p.ep.open(ep, "epoll")
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		p.ep.close()
		return nil, os.NewSyscallError("eventfd", err)
	}
	p.wakeFD.open(wake, "eventfd")
	// Level-triggered: a Poll beside the wait may fetch the event, and the wait must see it all the same.
	if err := p.control(unix.EPOLL_CTL_ADD, wake, unix.EPOLLIN, wakeToken); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close releases the poller. Sockets stay open. It is idempotent; a Wake that comes later returns [os.ErrClosed].
func (p *Poller) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.ep.close(), p.wakeFD.close())
}

// Add reports s under token from now on: when it is readable, and if writable is set when it can be written to.
// A connecting socket becomes writable when its fate is known.
//
// Preconditions:
//   - s is not added to any poller.
//   - token is not ^uint64(0).
func (p *Poller) Add(s *Socket, token uint64, writable bool) error {
	if token == wakeToken {
		return os.NewSyscallError("epoll_ctl", unix.EINVAL)
	}
	want := interest(writable)
	if err := p.control(unix.EPOLL_CTL_ADD, s.fd.raw, want, token); err != nil {
		return err
	}
	s.interest, s.token = want, token
	return nil
}

// SetWritable switches events about writability on or off, and sets the token. A call that changes nothing is free.
//
// Preconditions:
//   - s is added to p.
func (p *Poller) SetWritable(s *Socket, token uint64, on bool) error {
	want := interest(on)
	if s.interest == want && s.token == token {
		return nil
	}
	if token == wakeToken {
		return os.NewSyscallError("epoll_ctl", unix.EINVAL)
	}
	if err := p.control(unix.EPOLL_CTL_MOD, s.fd.raw, want, token); err != nil {
		return err
	}
	s.interest, s.token = want, token
	return nil
}

// Remove ends events about s. Events already fetched may still name its token. Closing a socket removes it too.
func (p *Poller) Remove(s *Socket) error {
	if s.interest == 0 {
		return nil
	}
	s.interest = 0
	return p.control(unix.EPOLL_CTL_DEL, s.fd.raw, 0, 0)
}

// AddListener reports l as readable under token while connections wait to be accepted. Closing l removes it.
func (p *Poller) AddListener(l *Listener, token uint64) error {
	if token == wakeToken {
		return os.NewSyscallError("epoll_ctl", unix.EINVAL)
	}
	return p.control(unix.EPOLL_CTL_ADD, l.fd.raw, unix.EPOLLIN, token)
}

// RemoveListener ends events about l: how an owner who has run out of descriptors stops hearing of connections that it
// cannot accept.
func (p *Poller) RemoveListener(l *Listener) error {
	return p.control(unix.EPOLL_CTL_DEL, l.fd.raw, 0, 0)
}

func interest(writable bool) uint32 {
	if writable {
		return unix.EPOLLIN | unix.EPOLLOUT
	}
	return unix.EPOLLIN
}

func (p *Poller) control(op, fd int, events uint32, token uint64) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(token), Pad: int32(token >> 32)}
	for {
		err := unix.EpollCtl(p.ep.raw, op, fd, &ev)
		switch {
		case err == nil:
			return nil
		case err == unix.EINTR:
			continue
		case err == unix.EBADF:
			return os.ErrClosed
		}
		return os.NewSyscallError("epoll_ctl", err)
	}
}

// Poll fetches what is ready now. It never blocks, keeps the P and returns 0 when a signal interrupted it.
//
// Not inlined for the reason given at [Poller.WaitHolding]: it is made to be called in a loop.
//
//go:noinline
func (p *Poller) Poll(evs []Event) (int, error) {
	n, errno := p.pollRaw(min(len(evs), maxEvents))
	return p.deliver(evs, n, errno)
}

// WaitHolding waits until something is ready, a Wake, or d (at most [MaxHold]) has passed, and keeps its P all that
// time. A signal may end it early. It fetches nothing: call Poll. Others may poll meanwhile.
//
// The Go scheduler does not know that this goroutine waits: it looks as if it computed. That is the point (see the package
// documentation), and it brings three rules:
//
//   - The wait is bounded. Stop-the-world, and goroutines that only this P could run, wait for it.
//   - It is not inlined. The scheduler stops a goroutine either at a function's entry or, by a signal, at an
//     asynchronous safe point, and there is none inside a raw system call. A loop around an inlined wait would spend
//     all its time where it cannot be stopped: stop-the-world hung for ever when we tried. A real call tests for
//     preemption at entry. The signal is still useful: it ends the wait early with EINTR.
//   - It is for times when work is outstanding. An idle process must use [Poller.Wait], which costs nothing.
//
//go:noinline
func (p *Poller) WaitHolding(d time.Duration) error {
	n, errno := p.waitRaw(min(max(d, 0), MaxHold))
	return p.roused(n, errno)
}

// Wait waits until something is ready, a Wake, or d has passed (d < 0: for ever). It is an ordinary blocking system
// call: the scheduler gives the P to others. A signal may end it early. It fetches nothing: call Poll. Others may poll
// meanwhile.
func (p *Poller) Wait(d time.Duration) error {
	n, errno := p.waitBlocking(d)
	return p.roused(n, errno)
}

// roused ends a wait: it consumes the wakes so far.
func (p *Poller) roused(n int, errno unix.Errno) error {
	runtime.KeepAlive(p) // the backstop must not close the epoll instance under the wait
	if n <= 0 || !p.woken.Load() {
		return pollError(errno)
	}
	p.mu.Lock()
	err := p.drain()
	p.mu.Unlock()
	// A swap, not a store: it reads what the wakers' swaps wrote, so what they did before Wake, even before a Wake that
	// was elided, is visible to whoever called this wait.
	p.woken.Swap(false)
	return err
}

func pollError(errno unix.Errno) error {
	switch errno {
	case 0, unix.EINTR:
		return nil
	case unix.EBADF:
		return os.ErrClosed
	}
	return os.NewSyscallError("epoll_wait", errno)
}

// deliver turns the n raw events into evs. The wake event is the wait's.
func (p *Poller) deliver(evs []Event, n int, errno unix.Errno) (int, error) {
	runtime.KeepAlive(p) // the backstop must not close the epoll instance under the poll
	if errno != 0 {
		return 0, pollError(errno)
	}
	got := 0
	for i := range p.raw[:n] {
		r := &p.raw[i]
		token := uint64(uint32(r.Fd)) | uint64(uint32(r.Pad))<<32
		if token == wakeToken {
			continue
		}
		hup := r.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0
		evs[got] = Event{
			Token:    token,
			Readable: hup || r.Events&unix.EPOLLIN != 0,
			Writable: hup || r.Events&unix.EPOLLOUT != 0,
			Hangup:   hup,
		}
		got++
	}
	return got, nil
}

// Wake makes the wait in progress return, or the next one if there is none. What happened before Wake is visible to the
// owner after that return. Wakes that come before it are one wake: call it after publishing work, and look for all work
// after each wait. Any goroutine may call it, also beside Close.
func (p *Poller) Wake() error {
	if p.woken.Swap(true) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ring()
}
