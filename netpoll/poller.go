//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// HasSockets says whether this system's sockets are used: ranks of other processes can be reached.
const HasSockets = true

const (
	// MaxHold is the longest that [Waiter.WaitHolding] keeps its P.
	MaxHold = 5 * time.Millisecond

	maxEvents = 128 // fetched by one system call at most; level triggering brings the rest next time
)

// Event is what a poll found on one socket.
type Event struct {
	Token    uint64
	Readable bool
	Writable bool
	// Hangup: the connection is broken, or both directions are shut down. Readable and Writable are
	// then set too, so that whichever operation its owner was waiting for is tried, and reports
	// what is wrong.
	Hangup bool
}

// Poller is an epoll instance. Its own [Waiter] is where its owner waits.
type Poller struct {
	// Owned by the poller's owner.
	ep  descriptor
	raw [maxEvents]unix.EpollEvent

	Waiter
}

// NewPoller makes a poller with nothing added.
func NewPoller() (*Poller, error) {
	p := &Poller{}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p.ep.open(ep, "epoll")
	if err := p.Waiter.open(p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close releases the poller and its own waiter. Sockets stay open. It is idempotent; a Wake that
// comes later returns [os.ErrClosed].
func (p *Poller) Close() error { return errors.Join(p.Waiter.Close(), p.ep.close()) }

// Add reports s under token from now on: when it is readable, and if writable is set when it can be
// written to. A connecting socket becomes writable when its fate is known.
//
// Preconditions:
//   - s is not added to any poller.
func (p *Poller) Add(s *Socket, token uint64, writable bool) error {
	want := interest(writable)
	if err := p.control(unix.EPOLL_CTL_ADD, s.fd.raw, want, token); err != nil {
		return err
	}
	s.interest, s.token = want, token
	return nil
}

// SetWritable switches events about writability on or off, and sets the token. A call that changes
// nothing is free.
//
// Preconditions:
//   - s is added to p.
func (p *Poller) SetWritable(s *Socket, token uint64, on bool) error {
	want := interest(on)
	if s.interest == want && s.token == token {
		return nil
	}
	if err := p.control(unix.EPOLL_CTL_MOD, s.fd.raw, want, token); err != nil {
		return err
	}
	s.interest, s.token = want, token
	return nil
}

// Remove ends events about s. Events already fetched may still name its token. Closing a socket
// removes it too.
func (p *Poller) Remove(s *Socket) error {
	if s.interest == 0 {
		return nil
	}
	s.interest = 0
	return p.control(unix.EPOLL_CTL_DEL, s.fd.raw, 0, 0)
}

// AddListener reports l as readable under token while connections wait to be accepted. Closing l
// removes it.
func (p *Poller) AddListener(l *Listener, token uint64) error {
	return p.control(unix.EPOLL_CTL_ADD, l.fd.raw, unix.EPOLLIN, token)
}

// RemoveListener ends events about l: how an owner that has run out of descriptors stops hearing of
// connections that it cannot accept.
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
	return control(p.ep.raw, op, fd, events, token)
}

func control(ep, op, fd int, events uint32, token uint64) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(token), Pad: int32(token >> 32)}
	for {
		err := unix.EpollCtl(ep, op, fd, &ev)
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

// Poll fetches what is ready now. It never blocks, keeps the P and returns 0 when a signal
// interrupted it.
//
// Not inlined for the reason given at [Waiter.WaitHolding]: it is made to be called in a loop.
//
//go:noinline
func (p *Poller) Poll(evs []Event) (int, error) {
	n, errno := p.pollRaw(min(len(evs), maxEvents))
	return p.deliver(evs, n, errno)
}

// deliver turns the n raw events into evs.
func (p *Poller) deliver(evs []Event, n int, errno unix.Errno) (int, error) {
	runtime.KeepAlive(p) // the backstop must not close the epoll instance under the poll
	if errno != 0 {
		return 0, pollError(errno)
	}
	for i := range p.raw[:n] {
		r := &p.raw[i]
		hup := r.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0
		evs[i] = Event{
			Token:    token(r),
			Readable: hup || r.Events&unix.EPOLLIN != 0,
			Writable: hup || r.Events&unix.EPOLLOUT != 0,
			Hangup:   hup,
		}
	}
	return n, nil
}

func token(ev *unix.EpollEvent) uint64 { return uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32 }

func pollError(errno unix.Errno) error {
	switch errno {
	case 0, unix.EINTR:
		return nil
	case unix.EBADF:
		return os.ErrClosed
	}
	return os.NewSyscallError("epoll_wait", errno)
}
