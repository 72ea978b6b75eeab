package netif

import "testing"

func TestLocal(t *testing.T) {
	for _, test := range []struct {
		name string
		lo   Interface
		want string // the address, or the error
	}{
		{"as usual", Interface{Name: "lo", Up: true, Addrs: prefixes("127.0.0.1/8", "::1/128")}, "127.0.0.1"},
		{"the other first", Interface{Name: "lo", Up: true, Addrs: prefixes("::1/128", "10.0.0.7/32", "127.0.0.1/8")}, "127.0.0.1"},
		{"of the network", Interface{Name: "lo", Up: true, Addrs: prefixes("127.0.0.9/8")}, "127.0.0.1"},
		{"IPv6 alone", Interface{Name: "lo", Up: true, Addrs: prefixes("fe80::1/64", "::1/128")}, "::1"},
		{"down", Interface{Name: "lo", Addrs: prefixes("127.0.0.1/8")},
			"the loopback interface is down, by which processes of a host reach each other: ip link set lo up"},
		{"without an address", Interface{Name: "lo", Up: true},
			"the loopback interface has no address, by which processes of a host reach each other: ip addr add 127.0.0.1/8 dev lo"},
	} {
		a, err := test.lo.local()
		got := a.String()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
