//go:build linux

package launch

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/relay"
)

// mainDomain is the domain of hosts that have no other, in a job that has several.
const mainDomain = "main"

// Domains is how the domains of a job's hosts are joined. The zero value is one domain.
type Domains struct {
	Gateways []Gateway
	Secret   []byte // of the gateways
}

// Gateway is where the ranks of a domain find the gateway of their domain.
type Gateway struct {
	Domain string
	Addrs  []string // addresses with ports, the best first
}

// lookupTimeout bounds how long the name of a gateway may take to be looked up.
const lookupTimeout = 10 * time.Second

// ResolveGateway finds the addresses of the gateway of domain at HOST:PORT. It waits for the host's
// resolver if HOST is a name, until ctx ends, and not for long.
func ResolveGateway(ctx context.Context, domain, addr string) (Gateway, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return Gateway{}, fmt.Errorf("gateway of domain %s: %w", domain, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Gateway{}, fmt.Errorf("gateway of domain %s at %s: %q is no port, a number from 1 to 65535", domain, addr, port)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return Gateway{}, fmt.Errorf("gateway of domain %s: %w", domain, err)
	}
	g := Gateway{Domain: domain}
	for _, ip := range ips {
		g.Addrs = append(g.Addrs, net.JoinHostPort(ip, port))
	}
	return g, nil
}

// Check says what is missing for ranks on hs to reach each other.
func (d *Domains) Check(hs []hosts.Host) error {
	domains := domainsOf(hs)
	if len(domains) > boot.MaxGateways+1 {
		return fmt.Errorf("hosts of %d domains; at most %d are allowed", len(domains), boot.MaxGateways+1)
	}
	for _, name := range domains {
		if err := relay.CheckDomain(name); err != nil {
			return fmt.Errorf("%w in the host file, behind domain=", err)
		}
	}
	for _, g := range d.Gateways {
		if !slices.Contains(domains, g.Domain) {
			return fmt.Errorf("gateway of domain %s: no host is of this domain; write domain=%s behind those that are, in the host file", g.Domain, g.Domain)
		}
	}
	if len(domains) < 2 {
		return nil
	}
	for i, a := range domains {
		for _, b := range domains[:i] {
			if len(d.between(a, b)) == 0 {
				return fmt.Errorf("hosts of domains %s and %s, and no gateway of either; name one with --gateway %s=HOST:PORT", b, a, b)
			}
		}
	}
	if len(d.Secret) == 0 {
		return fmt.Errorf("gateways want to know that they are asked by this job: give the file of their secret, --secret-file FILE")
	}
	return nil
}

// domainsOf is the domains of hs, each once, in order.
func domainsOf(hs []hosts.Host) []string {
	var all []string
	for _, h := range hs {
		if d := domainOf(h); !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

func domainOf(h hosts.Host) string {
	if h.Domain == "" {
		return mainDomain
	}
	return h.Domain
}

// between is the addresses by which ranks of domain from reach those of domain to: at the gateway
// of their own domain, else at that of the other.
func (d *Domains) between(from, to string) []string {
	for _, domain := range []string{from, to} {
		for _, g := range d.Gateways {
			if g.Domain == domain {
				return g.Addrs
			}
		}
	}
	return nil
}

// describe adds to n what the ranks on h are told of the domains of hs.
func (d *Domains) describe(n boot.Net, h hosts.Host, hs []hosts.Host, job [16]byte) boot.Net {
	domains := domainsOf(hs)
	if len(domains) < 2 {
		return n
	}
	n.Domain = domainOf(h)
	key := relay.JobKey(d.Secret, job)
	room := boot.MaxGateways / (len(domains) - 1) // addresses for each of the others
	for _, to := range domains {
		if to == n.Domain {
			continue
		}
		addrs := d.between(n.Domain, to)
		for _, addr := range addrs[:min(len(addrs), room)] {
			n.Gateways = append(n.Gateways, boot.Gateway{Domain: to, Addr: addr, Key: key})
		}
	}
	return n
}
