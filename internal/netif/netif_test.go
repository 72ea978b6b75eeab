package netif

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func prefixes(s ...string) (ps []netip.Prefix) {
	for _, p := range s {
		ps = append(ps, netip.MustParsePrefix(p))
	}
	return ps
}

// host has one interface of every sort.
var host = []Interface{
	{Name: "lo", Up: true, Loopback: true, Addrs: prefixes("127.0.0.1/8", "::1/128")},
	{Name: "docker0", Up: true, Addrs: prefixes("172.17.0.1/16")},
	{Name: "eth0", Up: true, Addrs: prefixes("10.1.2.3/16", "fd00:1::3/64", "fe80::3/64")},
	{Name: "eth1", Addrs: prefixes("10.9.0.3/16")},
	{Name: "ib0", Up: true, Addrs: prefixes("192.168.7.3/24")},
}

func ips(as []Address) string {
	var s []string
	for _, a := range as {
		s = append(s, a.IP().String())
	}
	return strings.Join(s, " ")
}

func TestPick(t *testing.T) {
	for _, test := range []struct{ choice, want string }{
		{"", "10.1.2.3 fd00:1::3 192.168.7.3 172.17.0.1"},
		{"ib0", "192.168.7.3"},
		{"ib0,eth0", "192.168.7.3 10.1.2.3 fd00:1::3"},
		{"eth7,ib0", "192.168.7.3"},
		{"10.0.0.0/8", "10.1.2.3"},
		{"192.168.7.99/24,fd00:1::3", "192.168.7.3 fd00:1::3"},
		{"fd00::/16", "fd00:1::3"},
		{"fe80::/10", "fe80::3%eth0"},
		{"fe80::3%eth0", "fe80::3%eth0"},
		{"lo", "127.0.0.1 ::1"},
		{"docker0,0.0.0.0/0", "172.17.0.1 127.0.0.1 10.1.2.3 192.168.7.3"},
		{"::ffff:10.1.2.3", "10.1.2.3"},
	} {
		c, err := ParseChoice(test.choice)
		if err != nil {
			t.Errorf("%q: %v", test.choice, err)
			continue
		}
		if c.String() != test.choice || c.IsSet() != (test.choice != "") {
			t.Errorf("%q became %q", test.choice, c)
		}
		if as, err := c.Pick(host); err != nil || ips(as) != test.want {
			t.Errorf("%q picks %q, %v, want %q", test.choice, ips(as), err, test.want)
		}
	}
	if as, err := (Choice{}).Pick(host[:1]); err != nil || ips(as) != "127.0.0.1 ::1" {
		t.Errorf("a host without a network picks %q, %v", ips(as), err)
	}
}

func TestPickNone(t *testing.T) {
	const has = "lo 127.0.0.1/8 ::1/128, docker0 172.17.0.1/16, eth0 10.1.2.3/16 fd00:1::3/64 fe80::3/64, eth1 (down) 10.9.0.3/16, ib0 192.168.7.3/24"
	for _, test := range []struct {
		choice string
		ifs    []Interface
		says   string
	}{
		{"eth1", host, `this host has no address by "eth1"; it has ` + has},
		{"fe80::3%ib0", host, `this host has no address by "fe80::3%ib0"; it has ` + has},
		{"11.0.0.0/8", host, `this host has no address by "11.0.0.0/8"; it has ` + has},
		{"", host[3:4], "this host has no address of an interface that is up; bring one up: it has eth1 (down) 10.9.0.3/16"},
		{"", nil, "this host has no address of an interface that is up; bring one up: it has no interfaces"},
	} {
		c, err := ParseChoice(test.choice)
		if err != nil {
			t.Fatal(err)
		}
		if as, err := c.Pick(test.ifs); err == nil || err.Error() != test.says {
			t.Errorf("%q picks %q, %v, want an error that says %q", test.choice, ips(as), err, test.says)
		}
	}
}

func TestParseChoiceRefuses(t *testing.T) {
	for s, says := range map[string]string{
		",":                            `"" is neither the name of an interface nor an address nor a network`,
		"eth0,":                        `"" is neither the name of an interface nor an address nor a network`,
		"a b":                          `"a b" is neither the name of an interface nor an address nor a network`,
		"10.0.0.1:80":                  `"10.0.0.1:80" is neither the name of an interface nor an address nor a network`,
		"averylonginterfacename":       `"averylonginterfacename" is neither the name of an interface nor an address nor a network`,
		"10.0.0.0/33":                  `"10.0.0.0/33" is no network: write it as 10.1.0.0/16 or fd00::/64`,
		"eth0/8":                       `"eth0/8" is no network: write it as 10.1.0.0/16 or fd00::/64`,
		strings.Repeat("e,", 64) + "e": "65 interfaces, addresses and networks; at most 64 are allowed",
	} {
		if c, err := ParseChoice(s); err == nil || err.Error() != says {
			t.Errorf("%q is %v, %v, want an error that says %q", s, c, err, says)
		}
	}
}

func TestPorts(t *testing.T) {
	for s, want := range map[string]Ports{"": {}, "80": {80, 80}, "1-65535": {1, 65535}, "40000-40001": {40000, 40001}} {
		p, err := ParsePorts(s)
		if err != nil || p != want || p.String() != s || p.IsSet() != (s != "") {
			t.Errorf("%q is %v, %v, want %v", s, p, err, want)
		}
	}
	if n := (Ports{4, 7}).Len(); n != 4 {
		t.Errorf("4-7 are %d ports", n)
	}
	for _, s := range []string{"0", "0-9", "9-8", "65536", "1-65536", "-", "a-b", "1-2-3", " 1", "-5", "5-"} {
		if p, err := ParsePorts(s); err == nil || err.Error() != fmt.Sprintf("%q is no range of ports: write FROM-TO, such as 40000-40999, within 1 and 65535", s) {
			t.Errorf("%q is %v, %v", s, p, err)
		}
	}
}

// Addresses of a network that we are in come first, our own last, others keep their order; a bridge
// for containers is no network that two hosts are in.
func TestOrder(t *testing.T) {
	var theirs []netip.AddrPort
	for _, s := range []string{"172.17.0.1:1", "172.17.0.9:1", "8.8.8.8:2", "[fd00:1::7]:3", "10.1.9.9:4", "9.9.9.9:5"} {
		theirs = append(theirs, netip.MustParseAddrPort(s))
	}
	Order(theirs, All(host))
	var got []string
	for _, a := range theirs {
		got = append(got, a.String())
	}
	if s, want := strings.Join(got, " "), "[fd00:1::7]:3 10.1.9.9:4 172.17.0.9:1 8.8.8.8:2 9.9.9.9:5 172.17.0.1:1"; s != want {
		t.Errorf("the order is %s, want %s", s, want)
	}
}

func TestInterfaces(t *testing.T) {
	ifs, err := Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Choice{}).Pick(ifs); err != nil {
		t.Error(err)
	}
}

// Addresses without interfaces are chosen from by address and by network, and those that others can
// reach come first.
func TestUnnamed(t *testing.T) {
	var addrs []net.Addr
	for _, s := range []string{"127.0.0.1/8", "10.1.2.3/16", "::1/128", "fd00:1::3/64", "fe80::3/64"} {
		ip, network, err := net.ParseCIDR(s)
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	for _, c := range []struct {
		choice string
		want   []string
	}{
		{"", []string{"10.1.2.3", "fd00:1::3"}}, {"10.1.0.0/16", []string{"10.1.2.3"}}, {"127.0.0.1", []string{"127.0.0.1"}}, {"eth0", nil},
	} {
		choice, err := ParseChoice(c.choice)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		as, err := choice.Pick(unnamed(addrs))
		for _, a := range as {
			got = append(got, a.IP().String())
		}
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%q chooses %q, %v, want %q", c.choice, got, err, c.want)
		}
	}
}
