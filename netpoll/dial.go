//go:build linux && !fitmpi_portable

package netpoll

import (
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Options are what can be asked of a new socket. The zero value leaves everything to the system.
type Options struct {
	NoDelay       bool // send small segments at once (TCP_NODELAY)
	SendBuffer    int  // bytes, before the kernel doubles it; 0 leaves the kernel's autotuning on
	ReceiveBuffer int  // likewise
	// Congestion names a congestion control ("cubic"). One that the system does not have, or does
	// not allow, is passed over in silence: it is a matter of speed only. "" leaves the system's.
	Congestion string
	KeepAlive  bool // find out by probes, after 15 s of silence, or less under [Socket.Guard], that the other host is gone
}

// keepAliveSeconds is both the silence before the first probe and the time between probes. The
// system's first probe comes after two hours.
const keepAliveSeconds = 15

// Dial starts a connection and returns without waiting for it. Add the socket with writable set: it
// becomes writable when the connection stands or has failed, and [Socket.ConnectResult] says which.
// A refusal may also come at once.
func Dial(addr netip.AddrPort, o Options) (*Socket, error) {
	addr = unmap(addr)
	raw, err := newRawSocket(addr)
	if err != nil {
		return nil, err
	}
	s := newSocket(raw, addr, true)
	if err := startConnect(raw, addr, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func startConnect(raw int, addr netip.AddrPort, o Options) error {
	if err := o.apply(raw); err != nil { // before the handshake, which fixes the window's scale
		return err
	}
	sa, err := toSockaddr(raw, addr)
	if err != nil {
		return err
	}
	switch err := unix.Connect(raw, sa); err {
	case nil, unix.EINPROGRESS, unix.EINTR: // after EINTR the handshake goes on too
		return nil
	default:
		return os.NewSyscallError("connect", err)
	}
}

func newRawSocket(addr netip.AddrPort) (int, error) {
	family := unix.AF_INET6
	if addr.Addr().Is4() {
		family = unix.AF_INET
	}
	raw, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	return raw, nil
}

func (o Options) apply(raw int) error {
	set := func(on bool, level, name, value int) error {
		if !on {
			return nil
		}
		return os.NewSyscallError("setsockopt", unix.SetsockoptInt(raw, level, name, value))
	}
	for _, err := range []error{
		set(o.NoDelay, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		set(o.SendBuffer > 0, unix.SOL_SOCKET, unix.SO_SNDBUF, o.SendBuffer),
		set(o.ReceiveBuffer > 0, unix.SOL_SOCKET, unix.SO_RCVBUF, o.ReceiveBuffer),
		set(o.KeepAlive, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
		set(o.KeepAlive, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAliveSeconds),
		set(o.KeepAlive, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAliveSeconds),
	} {
		if err != nil {
			return err
		}
	}
	if o.Congestion != "" {
		_ = unix.SetsockoptString(raw, unix.IPPROTO_TCP, unix.TCP_CONGESTION, o.Congestion) // best effort, see Options
	}
	return nil
}

// unmap turns ::ffff:a.b.c.d into a.b.c.d, so that one host has one address here.
func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func toSockaddr(raw int, addr netip.AddrPort) (unix.Sockaddr, error) {
	ip, port := addr.Addr(), int(addr.Port())
	switch {
	case ip.Is4():
		return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}, nil
	case ip.Is6():
		zone, err := zoneID(raw, ip.Zone())
		return &unix.SockaddrInet6{Port: port, Addr: ip.As16(), ZoneId: zone}, err
	}
	return nil, os.NewSyscallError("connect", unix.EAFNOSUPPORT) // the zero AddrPort
}

func fromSockaddr(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.ZoneId != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(sa.ZoneId), 10))
		}
		return netip.AddrPortFrom(ip, uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// zoneID resolves the zone of a link-local address: an interface's number or name. Any socket can
// be asked.
func zoneID(raw int, zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if id, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(id), nil
	}
	req, err := unix.NewIfreq(zone)
	if err == nil {
		err = unix.IoctlIfreq(raw, unix.SIOCGIFINDEX, req)
	}
	if err != nil {
		return 0, os.NewSyscallError("siocgifindex", err)
	}
	return req.Uint32(), nil
}

func localAddr(raw int) netip.AddrPort {
	sa, err := unix.Getsockname(raw)
	if err != nil {
		return netip.AddrPort{}
	}
	return fromSockaddr(sa)
}
