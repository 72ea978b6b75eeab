//go:build linux && !fitmpi_portable

package faultproxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// A Door is a listener on a port of 127.0.0.1 that is its own from Open to Close. It can be shut
// meanwhile: then the system answers a dialer by a reset, as where nothing listens. Any goroutine
// may use a Door.
type Door struct {
	addr  netip.AddrPort // immutable after Open
	guard int            // a socket bound to addr that does not listen: it keeps the port while the door is shut

	mu      sync.Mutex
	changed *sync.Cond       // on mu: l or closed is another
	l       *net.TCPListener // guarded by mu: nil while the door is shut
	closed  bool             // guarded by mu
}

// soReusePort is SO_REUSEPORT, which package syscall does not have for every architecture.
const soReusePort = 0xf

// Open returns a door that is open.
func Open() (*Door, error) {
	guard, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := &Door{guard: guard}
	d.changed = sync.NewCond(&d.mu)
	if err = d.bind(); err == nil {
		err = d.Shut(false)
	}
	if err != nil {
		syscall.Close(guard)
		return nil, err
	}
	return d, nil
}

// bind takes a port.
func (d *Door) bind() error {
	if err := syscall.SetsockoptInt(d.guard, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
		return err
	}
	at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Bind(d.guard, at); err != nil {
		return err
	}
	sa, err := syscall.Getsockname(d.guard)
	if err != nil {
		return err
	}
	d.addr = netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(sa.(*syscall.SockaddrInet4).Port))
	return nil
}

// Addr is where the door is.
func (d *Door) Addr() netip.AddrPort { return d.addr }

// Shut shuts the door, or opens it. Connections that wait to be accepted are reset; what was
// accepted lives on.
func (d *Door) Shut(yes bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || yes == (d.l == nil) {
		return nil
	}
	defer d.changed.Broadcast()
	if yes {
		l := d.l
		d.l = nil
		return l.Close()
	}
	var failed error
	listen := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1) })
		if err != nil {
			return err
		}
		return failed
	}}
	l, err := listen.Listen(context.Background(), "tcp4", d.addr.String())
	if err != nil {
		return err
	}
	d.l = l.(*net.TCPListener)
	return nil
}

// Accept waits for a connection. It fails with net.ErrClosed after Close.
func (d *Door) Accept() (*net.TCPConn, error) {
	for {
		l := d.open()
		if l == nil {
			return nil, net.ErrClosed
		}
		if c, err := l.AcceptTCP(); err == nil {
			return c, nil
		} // the door was shut or closed, or the dialer was too quick
	}
}

// open waits until the door is open; nil: it was closed.
func (d *Door) open() *net.TCPListener {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.l == nil && !d.closed {
		d.changed.Wait()
	}
	return d.l
}

// Close ends the door. Later calls do nothing.
func (d *Door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.changed.Broadcast()
	err := syscall.Close(d.guard)
	if d.l != nil {
		err = errors.Join(err, d.l.Close())
		d.l = nil
	}
	return err
}
