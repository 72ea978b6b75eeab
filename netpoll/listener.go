//go:build linux && !fitmpi_portable

package netpoll

import (
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Listener accepts connections, without blocking. It belongs to the owner of the poller it is added
// to.
type Listener struct {
	fd   descriptor
	addr netip.AddrPort // immutable after Listen
}

// Listen listens on addr; port 0 lets the system choose, see [Listener.Addr]. The address ::
// accepts IPv4 too. A backlog of 0 or less is as long as the system allows.
func Listen(addr netip.AddrPort, backlog int) (*Listener, error) {
	addr = unmap(addr)
	raw, err := newRawSocket(addr)
	if err != nil {
		return nil, err
	}
	l := &Listener{}
	l.fd.open(raw, "listener")
	if err := startListen(raw, addr, backlog); err != nil {
		l.Close()
		return nil, err
	}
	l.addr = localAddr(raw)
	return l, nil
}

func startListen(raw int, addr netip.AddrPort, backlog int) error {
	if backlog <= 0 {
		backlog = 1 << 15 // the kernel lowers it to net.core.somaxconn
	}
	if err := unix.SetsockoptInt(raw, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if addr.Addr() == netip.IPv6Unspecified() {
		if err := unix.SetsockoptInt(raw, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	sa, err := toSockaddr(raw, addr)
	if err != nil {
		return err
	}
	if err := unix.Bind(raw, sa); err != nil {
		return os.NewSyscallError("bind", err)
	}
	return os.NewSyscallError("listen", unix.Listen(raw, backlog))
}

// Accept returns the next connection, or [ErrAgain] when none waits. Connections that died in the
// queue are passed over. EMFILE and ENFILE come back as they are: the connection stays in the queue
// and the listener stays readable, so the owner should stop polling it ([Poller.RemoveListener])
// until descriptors are free.
func (l *Listener) Accept(o Options) (*Socket, error) {
	for {
		raw, sa, err := unix.Accept4(l.fd.raw, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		runtime.KeepAlive(l)
		switch err {
		case nil:
			s := newSocket(raw, fromSockaddr(sa), false)
			if err := o.apply(raw); err != nil {
				s.Close()
				return nil, err
			}
			return s, nil
		case unix.EINTR, unix.ECONNABORTED,
			// accept(2): Linux passes pending network errors of the new socket on; treat them like
			// EAGAIN by retrying.
			unix.ENETDOWN, unix.EPROTO, unix.ENOPROTOOPT, unix.EHOSTDOWN, unix.ENONET, unix.EHOSTUNREACH, unix.ENETUNREACH:
			continue
		}
		if errno, ok := err.(unix.Errno); ok {
			return nil, sysError("accept4", errno)
		}
		return nil, os.NewSyscallError("accept4", err)
	}
}

// Addr is the address listened on, with the port that the system chose. It stays known after Close.
func (l *Listener) Addr() netip.AddrPort { return l.addr }

// Close stops listening and resets connections not accepted yet. It is idempotent.
func (l *Listener) Close() error { return l.fd.close() }
