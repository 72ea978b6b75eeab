//go:build linux

package launch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/boot"
)

func TestDomains(t *testing.T) {
	secret := []byte("sixteen bytes or more")
	west, east := Gateway{"west", []string{"10.1.0.1:7", "10.1.0.2:7"}}, Gateway{"east", []string{"10.2.0.1:7"}}
	for _, c := range []struct {
		domains string // of the hosts
		d       Domains
		want    string // what is wrong, or for each host its domain and its gateways
	}{
		{",", Domains{}, "/ /"},
		{"west,west", Domains{}, "/ /"},
		{"west,east", Domains{[]Gateway{west, east}, secret}, "west/east=10.1.0.1:7,east=10.1.0.2:7 east/west=10.2.0.1:7"},
		{",east", Domains{[]Gateway{east}, secret}, "main/east=10.2.0.1:7 east/main=10.2.0.1:7"},
		{"west,east,", Domains{[]Gateway{west, east}, secret}, "west/east=10.1.0.1:7,east=10.1.0.2:7,main=10.1.0.1:7,main=10.1.0.2:7 " +
			"east/west=10.2.0.1:7,main=10.2.0.1:7 main/west=10.1.0.1:7,west=10.1.0.2:7,east=10.2.0.1:7"},
		{"west,a:b", Domains{[]Gateway{west}, secret}, `domain "a:b": want 1 to 64 letters, digits, hyphens, dots or underscores in the host file, behind domain=`},
		{"west,east", Domains{}, "hosts of domains west and east, and no gateway of either; name one with --gateway west=HOST:PORT"},
		{"west,east,north", Domains{[]Gateway{west}, secret}, "hosts of domains east and north, and no gateway of either; name one with --gateway east=HOST:PORT"},
		{"west,east", Domains{[]Gateway{west}, nil}, "gateways want to know that they are asked by this job: give the file of their secret, --secret-file FILE"},
		{"west", Domains{[]Gateway{east}, secret}, "gateway of domain east: no host is of this domain; write domain=east behind those that are, in the host file"},
	} {
		var hs []hosts.Host
		for i, domain := range strings.Split(c.domains, ",") {
			hs = append(hs, hosts.Host{Name: fmt.Sprint(i), Domain: domain})
		}
		got := ""
		if err := c.d.Check(hs); err != nil {
			got = err.Error()
		} else {
			for _, h := range hs {
				got += " " + shownNet(c.d.describe(boot.Net{}, h, hs, [16]byte{1}))
			}
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%q %v: %s\nwant %s", c.domains, c.d, got, c.want)
		}
	}
}

func shownNet(n boot.Net) string {
	var gateways []string
	for _, g := range n.Gateways {
		if len(g.Key) != 32 {
			return "a key of another length"
		}
		gateways = append(gateways, g.Domain+"="+g.Addr)
	}
	return n.Domain + "/" + strings.Join(gateways, ",")
}

// TestManyDomains: ranks believe all that they are told, however many domains and addresses there
// are; more are refused.
func TestManyDomains(t *testing.T) {
	d := Domains{Secret: []byte("sixteen bytes or more")}
	addrs := strings.Split(strings.Repeat("10.1.0.1:7 ", 9)+"10.1.0.1:7", " ")
	var hs []hosts.Host
	for i := range boot.MaxGateways + 2 {
		name := fmt.Sprint("d", i)
		hs = append(hs, hosts.Host{Name: name, Domain: name})
		d.Gateways = append(d.Gateways, Gateway{name, addrs})
	}
	if err := d.Check(hs); err == nil || err.Error() != "hosts of 66 domains; at most 65 are allowed" {
		t.Error(err)
	}
	for _, n := range []int{2, 3, 8, 65} {
		d, hs := Domains{d.Gateways[:n], d.Secret}, hs[:n]
		if err := d.Check(hs); err != nil {
			t.Fatal(err)
		}
		got := d.describe(boot.Net{}, hs[0], hs, [16]byte{1}).Gateways
		if want := (n - 1) * min(len(addrs), boot.MaxGateways/(n-1)); len(got) != want || len(got) > boot.MaxGateways {
			t.Errorf("%d domains: %d gateways, want %d", n, len(got), want)
		}
	}
}

// TestResolveGatewayGivesUp: the lookup of a name lasts no longer than the caller waits for it.
func TestResolveGatewayGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g, err := ResolveGateway(ctx, "west", "a.name.invalid:7"); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("%v, %v", g, err)
	}
}

func TestResolveGateway(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:7":     "{west [127.0.0.1:7]} <nil>",
		"[::1]:7":         "{west [[::1]:7]} <nil>",
		"127.0.0.1":       "{ []} gateway of domain west: address 127.0.0.1: missing port in address",
		"127.0.0.1:":      `{ []} gateway of domain west at 127.0.0.1:: "" is no port, a number from 1 to 65535`,
		"127.0.0.1:http":  `{ []} gateway of domain west at 127.0.0.1:http: "http" is no port, a number from 1 to 65535`,
		"127.0.0.1:0":     `{ []} gateway of domain west at 127.0.0.1:0: "0" is no port, a number from 1 to 65535`,
		"127.0.0.1:65536": `{ []} gateway of domain west at 127.0.0.1:65536: "65536" is no port, a number from 1 to 65535`,
	} {
		g, err := ResolveGateway(t.Context(), "west", addr)
		if got := fmt.Sprint(g, " ", err); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
