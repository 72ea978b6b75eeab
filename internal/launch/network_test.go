//go:build linux

package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/hosts"
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
