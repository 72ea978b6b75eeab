package netif

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Local is the address at which processes reach each other over TCP that share this host's loopback
// interface: 127.0.0.1 wherever it has that, else another one that it has, as ::1. It is an error
// if the interface is down or has none. Where it cannot be looked at it is taken to be as usual.
func Local() (netip.Addr, error) {
	lo, err := net.InterfaceByIndex(1) // Linux makes it with the network, as the first
	if err != nil || lo.Flags&net.FlagLoopback == 0 {
		return usualLocal, nil
	}
	addrs, err := lo.Addrs()
	if err != nil {
		return usualLocal, nil
	}
	f := Interface{Name: lo.Name, Up: lo.Flags&net.FlagUp != 0, Loopback: true}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			f.Addrs = append(f.Addrs, p)
		}
	}
	return f.local()
}

var usualLocal = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// local is Local of the loopback interface f.
func (f *Interface) local() (at netip.Addr, _ error) {
	if !f.Up {
		// A listener at 127.0.0.1 is possible even so, and a connection to it hangs.
		return at, fmt.Errorf("the loopback interface is down, by which processes of a host reach each other: ip link set %s up", f.Name)
	}
	for _, p := range f.Addrs {
		switch a := p.Addr().Unmap(); {
		case a == usualLocal || p.Masked().Contains(usualLocal): // which is local, too
			return usualLocal, nil
		case !at.IsValid() && !a.IsLinkLocalUnicast():
			at = a
		}
	}
	if !at.IsValid() {
		return at, errors.New("the loopback interface has no address, by which processes of a host reach each other: ip addr add 127.0.0.1/8 dev " + f.Name)
	}
	return at, nil
}
