package netif

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Interface is one of a host's.
type Interface struct {
	Name     string
	Up       bool
	Loopback bool
	Addrs    []netip.Prefix // the addresses with the length of their networks, not masked
}

// virtualNames begin the names of interfaces behind which there are containers and virtual machines
// of this host only.
var virtualNames = []string{"docker", "br-", "virbr", "veth", "vnet", "cni", "podman", "lxcbr", "lxdbr", "cali", "flannel", "vmnet", "vboxnet"}

func (f *Interface) isVirtual() bool {
	for _, p := range virtualNames {
		if strings.HasPrefix(f.Name, p) {
			return true
		}
	}
	return false
}

// addresses are those of f.
func (f *Interface) addresses() []Address {
	as := make([]Address, len(f.Addrs))
	for i, p := range f.Addrs {
		as[i] = Address{Prefix: netip.PrefixFrom(p.Addr().Unmap(), p.Bits()), Virtual: f.isVirtual()}
		if p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() {
			as[i].Zone = f.Name
		}
	}
	return as
}

// All are the addresses of all interfaces that are up.
func All(ifs []Interface) (as []Address) {
	for i := range ifs {
		if ifs[i].Up {
			as = append(as, ifs[i].addresses()...)
		}
	}
	return as
}

// Interfaces reads the interfaces of this host, in the kernel's order. Where only their addresses
// can be read, as under qemu's emulation of another machine, they have no names.
func Interfaces() ([]Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		if addrs, _ := net.InterfaceAddrs(); len(addrs) > 0 {
			return unnamed(addrs), nil
		}
		return nil, fmt.Errorf("reading the network interfaces: %w", err)
	}
	var ifs []Interface
	for i := range all {
		f := Interface{Name: all[i].Name, Up: all[i].Flags&net.FlagUp != 0, Loopback: all[i].Flags&net.FlagLoopback != 0}
		addrs, err := all[i].Addrs()
		if err != nil {
			continue // it went away meanwhile
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				f.Addrs = append(f.Addrs, p)
			}
		}
		ifs = append(ifs, f)
	}
	return ifs, nil
}

// unnamed takes each address for that of an interface that is up, but those of one link only, which
// mean nothing without its name.
func unnamed(addrs []net.Addr) (ifs []Interface) {
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && !p.Addr().IsLinkLocalUnicast() {
			ifs = append(ifs, Interface{Up: true, Loopback: p.Addr().IsLoopback(), Addrs: []netip.Prefix{p}})
		}
	}
	return ifs
}
