package netif

import (
	"net/netip"
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
	for _, test := range []struct {
		choice string
		ifs    []Interface
		says   string
	}{
		{"eth1", host, "eth1 (down) 10.9.0.3/16"},
		{"fe80::3%ib0", host, `no address by "fe80::3%ib0"`},
		{"11.0.0.0/8", host, "eth0 10.1.2.3/16"},
		{"", host[3:4], "eth1 (down)"},
		{"", nil, "no interfaces"},
	} {
		c, err := ParseChoice(test.choice)
		if err != nil {
			t.Fatal(err)
		}
		if as, err := c.Pick(test.ifs); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q picks %q, %v, want an error that says %q", test.choice, ips(as), err, test.says)
		}
	}
}

func TestParseChoiceRefuses(t *testing.T) {
	for s, says := range map[string]string{
		",":                            "neither",
		"eth0,":                        "neither",
		"a b":                          "neither",
		"10.0.0.1:80":                  "neither",
		"averylonginterfacename":       "neither",
		"10.0.0.0/33":                  "no network",
		"eth0/8":                       "no network",
		strings.Repeat("e,", 64) + "e": "65 interfaces",
	} {
		if c, err := ParseChoice(s); err == nil || !strings.Contains(err.Error(), says) {
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
		if p, err := ParsePorts(s); err == nil || !strings.Contains(err.Error(), "write FROM-TO") {
			t.Errorf("%q is %v, %v", s, p, err)
		}
	}
}

// Addresses of a network that we are in come first, our own last, others keep their order; a bridge for containers is
// no network that two hosts are in.
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
