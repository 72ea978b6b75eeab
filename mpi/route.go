//go:build linux

package mpi

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/relay"
)

// maxAddrs bounds the addresses of a rank; containers and virtual machines can give a host
// hundreds.
const maxAddrs = 32

// listen puts into cfg where the rank accepts peers, and returns the interfaces of this host if it
// looked: a job on one host of which nothing else was asked stays on the loopback interface.
func (n *netSettings) listen(cfg *engine.Config) ([]netif.Interface, error) {
	cfg.Ports, cfg.TLS = n.ports, n.tls
	if !n.remote && !n.choice.IsSet() {
		return nil, nil
	}
	ifs, err := netif.Interfaces()
	if err != nil {
		return nil, err
	}
	addrs, err := n.choice.Pick(ifs)
	if err != nil {
		if n.choice.IsSet() {
			err = fmt.Errorf("%s: %w", nameIface, err)
		}
		return nil, err
	}
	for _, a := range addrs[:min(len(addrs), maxAddrs)] {
		cfg.Listen = append(cfg.Listen, a.IP())
	}
	return ifs, nil
}

// checkTLS compares what the ranks 0 and r say of encryption.
func checkTLS(cards []card, r int) error {
	if cards[r].TLS == cards[0].TLS {
		return nil
	}
	plain := r
	if cards[r].TLS {
		plain = 0
	}
	return fmt.Errorf("rank %d does not use TLS, rank %d does: every rank needs the same %s", plain, r-plain, nameTLS)
}

// world is what a rank knows of the ways out of its host.
type world struct {
	job      [16]byte
	domain   string
	gateways []boot.Gateway
	mine     []netif.Address // of this host
}

func newWorld(info *boot.Info, ifs []netif.Interface) *world {
	return &world{job: info.Job, domain: info.Net.Domain, gateways: info.Net.Gateways, mine: netif.All(ifs)}
}

// routes are the ways to the rank with the card c, the best first.
func (w *world) routes(c *card) ([]engine.Route, error) {
	var addrs []netip.AddrPort
	for s := range strings.SplitSeq(c.Addrs, ",") {
		a, err := netip.ParseAddrPort(s)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, a)
	}
	if c.Domain != w.domain {
		return w.relayed(c, addrs)
	}
	netif.Order(addrs, w.mine)
	return engine.Direct(addrs...), nil
}

// refusalText is what a gateway's refusal means to users, "" if it is none. A refusal without a
// proof may come from any machine.
func refusalText(r relay.Refusal) string {
	switch {
	case r.Reason == "":
		return ""
	case r.Proved:
		return "the gateway refuses: " + r.Reason
	}
	return fmt.Sprintf("the gateway, or who answers in its place without the key of this job, refuses: %q", r.Reason)
}

// relayed are the ways to a rank of another domain, which listens at addrs there.
func (w *world) relayed(c *card, addrs []netip.AddrPort) (routes []engine.Route, err error) {
	for _, g := range w.gateways {
		if g.Domain != c.Domain {
			continue
		}
		at, err := netip.ParseAddrPort(g.Addr)
		if err != nil {
			return nil, fmt.Errorf("the gateway to domain %q: %w", g.Domain, err)
		}
		routes = append(routes, engine.Route{
			Addr: at,
			Preamble: func() []byte {
				return relay.AppendRequest(nil, relay.NewRequest(w.job, c.Domain, addrs, time.Now()), g.Key)
			},
			Refusal: func(request, answer []byte) (why string, more bool) {
				r, more := relay.ReadRefusal(answer, request, g.Key)
				return refusalText(r), more
			},
		})
	}
	if routes == nil {
		return nil, fmt.Errorf("it is in domain %q, this rank in %q, and there is no gateway between them", c.Domain, w.domain)
	}
	return routes, nil
}
