package boot

import (
	"fmt"
	"net/netip"

	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/relay"
)

// MaxGateways is how many Gateways a Net may have.
const MaxGateways = 64

// Limits of Net; with them a welcome stays far below maxLine.
const (
	maxIface    = 1 << 10 // bytes of Interface
	maxGateAddr = 128     // bytes of a gateway's address
	minGateKey  = 16      // bytes of a gateway's key
	maxGateKey  = 64
)

// Net is how a rank reaches ranks of other hosts. The zero value is that of a job on one host.
type Net struct {
	Remote    bool      // some rank of the job is on another host
	Interface string    // comma list of interfaces, addresses and networks to listen on and to be reached at; "" any
	Ports     string    // FROM-TO, the ports to listen on; "" any
	TLS       bool      // connections between ranks are encrypted
	Domain    string    // hosts that reach each other without a gateway; "" if there is only one
	Gateways  []Gateway // ways to ranks of other domains; several to one domain are tried in this order
}

// Gateway is a way to the ranks of another domain.
type Gateway struct {
	Domain string // whose ranks are reached through it
	Addr   string // where it listens, an IP address with a port
	Key    []byte // of this job at that gateway, 16 to 64 bytes; not secret from the ranks of the job
}

// netMessage is Net as it travels.
type netMessage struct {
	Remote    bool          `json:"remote,omitempty"`
	Interface string        `json:"iface,omitempty"`
	Ports     string        `json:"ports,omitempty"`
	TLS       bool          `json:"tls,omitempty"`
	Domain    string        `json:"domain,omitempty"`
	Gateways  []gateMessage `json:"gateways,omitempty"`
}

type gateMessage struct {
	Domain string `json:"domain"`
	Addr   string `json:"addr"`
	Key    []byte `json:"key"`
}

// message is n for a welcome; nil if there is nothing to say.
func (n *Net) message() *netMessage {
	m := netMessage{Remote: n.Remote, Interface: n.Interface, Ports: n.Ports, TLS: n.TLS, Domain: n.Domain}
	for _, g := range n.Gateways {
		m.Gateways = append(m.Gateways, gateMessage(g))
	}
	if !m.Remote && m.Interface == "" && m.Ports == "" && !m.TLS && m.Domain == "" && len(m.Gateways) == 0 {
		return nil
	}
	return &m
}

// net is the inverse of message.
func (m *netMessage) net() (n Net) {
	if m == nil {
		return n
	}
	n = Net{Remote: m.Remote, Interface: m.Interface, Ports: m.Ports, TLS: m.TLS, Domain: m.Domain}
	for _, g := range m.Gateways {
		n.Gateways = append(n.Gateways, Gateway(g))
	}
	return n
}

// check says what is wrong with what a launcher sent.
func (m *netMessage) check() error {
	if m == nil {
		return nil
	}
	if len(m.Interface) > maxIface {
		return fmt.Errorf("list of interfaces of %d bytes; at most %d are allowed", len(m.Interface), maxIface)
	}
	if _, err := netif.ParseChoice(m.Interface); err != nil {
		return err
	}
	if _, err := netif.ParsePorts(m.Ports); err != nil {
		return err
	}
	if m.Domain != "" {
		if err := relay.CheckDomain(m.Domain); err != nil {
			return err
		}
	}
	if len(m.Gateways) > MaxGateways {
		return fmt.Errorf("%d gateways; at most %d are allowed", len(m.Gateways), MaxGateways)
	}
	for i := range m.Gateways {
		if err := m.Gateways[i].check(m.Domain); err != nil {
			return fmt.Errorf("gateway %d: %w", i, err)
		}
	}
	return nil
}

// check says what is wrong with a gateway of a rank in the domain own.
func (g *gateMessage) check(own string) error {
	if err := relay.CheckDomain(g.Domain); err != nil {
		return err
	}
	if own == "" || g.Domain == own {
		return fmt.Errorf("it leads to domain %q, and the rank is in %q", g.Domain, own)
	}
	if len(g.Addr) > maxGateAddr {
		return fmt.Errorf("address of %d bytes; at most %d are allowed", len(g.Addr), maxGateAddr)
	}
	if a, err := netip.ParseAddrPort(g.Addr); err != nil || a.Port() == 0 {
		return fmt.Errorf("%q is no IP address with a port", g.Addr)
	}
	if len(g.Key) < minGateKey || len(g.Key) > maxGateKey {
		return fmt.Errorf("key of %d bytes; %d to %d are allowed", len(g.Key), minGateKey, maxGateKey)
	}
	return nil
}
