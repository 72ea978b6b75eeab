package mpi

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
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
// looked: a job on one host of which nothing else was asked stays on the loopback interface. If
// that is of no use it is an error only where the ranks need it, as overTCP says.
func (n *netSettings) listen(cfg *engine.Config, overTCP bool) ([]netif.Interface, error) {
	cfg.Ports, cfg.TLS = n.ports, n.tls
	if !n.remote && !n.choice.IsSet() {
		switch local, err := netif.Local(); {
		case err == nil:
			cfg.Listen = []netip.Addr{local}
		case overTCP:
			return nil, err
		}
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
	if c.Addrs == "" {
		return nil, errors.New("it listens nowhere" + sayLinux())
	}
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
	return fmt.Sprintf("the gateway, or what answers in its place without the key of this job, refuses: %q", r.Reason)
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

// The values of FITMPI_TRANSPORT.
const (
	transportAuto = "auto" // memory where two ranks share it, else TCP
	transportTCP  = "tcp"  // TCP between all ranks
	transportShm  = "shm"  // as auto, but it is an error if two ranks share no memory
)

// Transport says how messages between the calling rank and another rank of c travel. The answer is
// "thread" between ranks of one process, "shared" through memory that processes of one host share,
// and "tcp" over a connection. It is "self" if rank is the calling rank, and "" if c has no such
// rank. Both ranks of a pair get the same answer. It is local. No counterpart in MPI.
func (c *Comm) Transport(rank int) string {
	if rank < 0 || rank >= len(c.peers) {
		return ""
	}
	if int(c.peers[rank]) == c.job.engine.Rank() {
		return "self"
	}
	return c.job.engine.Peer(c.peers[rank]).Way.String()
}

// transports says how this rank reaches the others, for people.
func (j *job) transports(peers []engine.PeerInfo) string {
	var count [3]int
	var relayed []string
	for r, p := range peers {
		if r == j.engine.Rank() {
			continue
		}
		count[p.Way]++
		if p.Way == engine.TCP && isRelayed(p.Routes) {
			relayed = append(relayed, strconv.Itoa(r))
		}
	}
	s := fmt.Sprintf("thread %d, shared %d", count[engine.Thread], count[engine.Shared])
	if count[engine.Shared] > 0 {
		s += " (long messages " + j.longMessages() + ")"
	}
	s += fmt.Sprintf(", tcp %d", count[engine.TCP])
	if relayed != nil {
		s += fmt.Sprintf(" (by gateway to %s)", strings.Join(relayed, ","))
	}
	if j.local.why != nil && count[engine.TCP] > 0 {
		s += fmt.Sprintf(" (%v)", j.local.why)
	}
	return s
}

// isRelayed reports whether a rank is reached by a gateway. A connection straight to a rank needs
// no preamble that says which rank it is for.
func isRelayed(routes []engine.Route) bool {
	return slices.ContainsFunc(routes, func(r engine.Route) bool { return r.Preamble != nil })
}

// longMessages says how long messages come from the processes that we share memory with.
func (j *job) longMessages() string {
	switch fetched, piped := j.engine.LongMessages(); {
	case piped == 0:
		return "by process_vm_readv"
	case fetched == 0:
		return "through the ring"
	default:
		return fmt.Sprintf("of %d by process_vm_readv, of %d through the ring", fetched, piped)
	}
}
