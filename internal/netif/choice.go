package netif

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// maxItems bounds the items of a choice.
const maxItems = 64

// Choice is what a user says of the addresses of a rank. The zero value says nothing.
type Choice struct {
	items []item
}

// item is one name, address or network.
type item struct {
	text string
	name string       // of an interface; "" for the others
	addr netip.Addr   // the zero Addr for the others
	net  netip.Prefix // the zero Prefix for the others
}

// ParseChoice reads a comma list of names of interfaces, of IP addresses (of link-local ones with
// the zone, as in fe80::1%eth0) and of networks (10.0.0.0/8). "" chooses nothing.
func ParseChoice(s string) (Choice, error) {
	var c Choice
	if s == "" {
		return c, nil
	}
	for text := range strings.SplitSeq(s, ",") {
		it, err := parseItem(text)
		if err != nil {
			return Choice{}, err
		}
		c.items = append(c.items, it)
	}
	if len(c.items) > maxItems {
		return Choice{}, fmt.Errorf("%d interfaces, addresses and networks; at most %d are allowed", len(c.items), maxItems)
	}
	return c, nil
}

func parseItem(text string) (item, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return item{text: text, addr: a.Unmap()}, nil
	}
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return item{}, fmt.Errorf("%q is no network: write it as 10.1.0.0/16 or fd00::/64", text)
		}
		return item{text: text, net: p.Masked()}, nil
	}
	if !isName(text) {
		return item{}, fmt.Errorf("%q is neither the name of an interface nor an address nor a network", text)
	}
	return item{text: text, name: text}, nil
}

// isName reports whether the kernel would take s as the name of an interface. What has a colon was
// meant as an address.
func isName(s string) bool {
	return s != "" && len(s) <= 15 && s != "." && s != ".." && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == ':' || r == '/'
	})
}

// IsSet reports whether the user has said anything.
func (c Choice) IsSet() bool { return len(c.items) > 0 }

// String is the choice as ParseChoice reads it.
func (c Choice) String() string {
	texts := make([]string, len(c.items))
	for i, it := range c.items {
		texts[i] = it.text
	}
	return strings.Join(texts, ",")
}

// Address is one of a host's addresses with the network that its interface is in.
type Address struct {
	netip.Prefix // the address, not masked; with no zone, as prefixes have none

	Zone    string // of a link-local address
	Virtual bool   // of a bridge that is likely to exist on other hosts too
}

// IP is the address alone.
func (a Address) IP() netip.Addr { return a.Addr().WithZone(a.Zone) }

// Pick returns the addresses of the host with the interfaces ifs that c chooses, in the order in
// which others should try them: that of c's items, or without a choice real interfaces first. It is
// an error if there is none. An item that fits nothing is passed over if another fits, so that one
// choice serves hosts that differ.
func (c Choice) Pick(ifs []Interface) ([]Address, error) {
	if !c.IsSet() {
		return pickAny(ifs)
	}
	var all []Address
	for _, it := range c.items {
		for _, a := range it.of(ifs) {
			if !slices.ContainsFunc(all, func(b Address) bool { return b.IP() == a.IP() }) {
				all = append(all, a)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("this host has no address by %q; it has %s", c.String(), describe(ifs))
	}
	return all, nil
}

// of is what the item means on a host.
func (it item) of(ifs []Interface) (as []Address) {
	for i := range ifs {
		f := &ifs[i]
		for _, a := range f.addresses() {
			switch {
			case !f.Up:
			case it.name != "" && it.name == f.Name && !a.Addr().IsLinkLocalUnicast(),
				it.addr.IsValid() && it.addr == a.IP(),
				it.net.IsValid() && it.net.Contains(a.Addr()):
				as = append(as, a)
			}
		}
	}
	return as
}

// pickAny is the order without a choice.
func pickAny(ifs []Interface) ([]Address, error) {
	var real, virtual, loopback []Address
	for i := range ifs {
		f := &ifs[i]
		for _, a := range f.addresses() {
			switch {
			case !f.Up || a.Addr().IsLinkLocalUnicast():
			case f.Loopback:
				loopback = append(loopback, a)
			case a.Virtual:
				virtual = append(virtual, a)
			default:
				real = append(real, a)
			}
		}
	}
	all := append(real, virtual...)
	if len(all) == 0 {
		all = loopback
	}
	if len(all) == 0 {
		return nil, errors.New("this host has no address of an interface that is up; bring one up: it has " + describe(ifs))
	}
	return all, nil
}

// describe lists interfaces for an error.
func describe(ifs []Interface) string {
	if len(ifs) == 0 {
		return "no interfaces"
	}
	var b strings.Builder
	for i, f := range ifs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Name)
		if !f.Up {
			b.WriteString(" (down)")
		}
		for _, a := range f.Addrs {
			b.WriteString(" " + a.String())
		}
	}
	return b.String()
}

// Order sorts addresses of another host, in place and stably, by how likely they lead there from a
// host that has mine. First come those in a network that this host is in, by a real interface; last
// those that this host has itself.
func Order(theirs []netip.AddrPort, mine []Address) {
	rank := func(a netip.AddrPort) int {
		place := 1
		for _, m := range mine {
			switch {
			case m.IP() == a.Addr():
				return 2
			case !m.Virtual && m.Contains(a.Addr()):
				place = 0
			}
		}
		return place
	}
	slices.SortStableFunc(theirs, func(a, b netip.AddrPort) int { return rank(a) - rank(b) })
}
