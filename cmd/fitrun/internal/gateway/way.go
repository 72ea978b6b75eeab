package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
)

// find verifies req and makes a connection on which the rank that it names, or the next gateway on
// the way, listens. The caller drops it.
func (g *Gateway) find(req request) (*stream, error) {
	r, _, err := g.check(req)
	if err != nil {
		return nil, err
	}
	return g.reach(r, req)
}

// reach is find for a request that was verified as r.
func (g *Gateway) reach(r *relay.Request, req request) (*stream, error) {
	if r.Domain == g.cfg.Domain {
		return g.dialRank(r.Targets)
	}
	addr, caller := g.neighbour(r.Domain)
	switch {
	case addr != "":
		return g.connect(addr, req)
	case caller != nil:
		return g.ask(caller, req)
	case req.hops == 0:
		return nil, fmt.Errorf("domain %s: passed on %d times, and no gateway knows it", r.Domain, maxHops)
	default:
		return g.passOn(r.Domain, req)
	}
}

// neighbour is the address at which a gateway of domain can be dialled, "" if there is none, and
// the newest link that one has made, nil if there is none.
func (g *Gateway) neighbour(domain string) (addr string, caller *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, peer := range g.cfg.Peers {
		if g.dialled[peer] == domain {
			addr = peer
			break
		}
	}
	if links := g.callers[domain]; len(links) > 0 {
		caller = links[len(links)-1]
	}
	return addr, caller
}

// passOn tries the gateways that this one has dialled: one of them may know the domain.
func (g *Gateway) passOn(domain string, req request) (*stream, error) {
	g.mu.Lock()
	var linked []string
	for _, addr := range g.cfg.Peers {
		if g.dialled[addr] != "" {
			linked = append(linked, addr)
		}
	}
	g.mu.Unlock()
	err := fmt.Errorf("no gateway of domain %s has a link to this one, of %s", domain, g.cfg.Domain)
	for _, addr := range slices.Compact(linked) {
		way, errAt := g.connect(addr, request{req.line, req.hops - 1})
		if errAt == nil {
			return way, nil
		}
		err = fmt.Errorf("%w; by %s: %w", err, addr, errAt)
	}
	return nil, err
}

// connect asks the gateway at addr to relay.
func (g *Gateway) connect(addr string, req request) (*stream, error) {
	peer, err := g.dialGateway(addr)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(g.cfg.Patience)
	err = peer.send(message{Type: typeConnect, Line: req.line, Hops: req.hops}, deadline)
	if err == nil {
		_, err = peer.await(typeConnected, deadline)
	}
	if err != nil {
		g.drop(peer.Conn)
		return nil, fmt.Errorf("gateway %s: %w", addr, err)
	}
	return peer, nil
}

// answered is what becomes of an open.
type answered struct {
	way *stream
	err error
}

// ask has a gateway that dialled us call back with a stream for req.
func (g *Gateway) ask(l *link, req request) (*stream, error) {
	id := rand.Text()
	answer := make(chan answered, 1)
	g.mu.Lock()
	g.awaited[id] = answer
	g.mu.Unlock()
	if err := l.send(message{Type: typeOpen, ID: id, Line: req.line, Hops: req.hops}); err != nil {
		g.deliver(id, nil, err) // unless the stream has come nevertheless
	}
	t := time.NewTimer(g.cfg.Patience)
	defer t.Stop()
	select {
	case <-t.C:
		g.deliver(id, nil, fmt.Errorf("no stream came within %v", g.cfg.Patience))
	case <-g.ctx.Done():
		g.deliver(id, nil, net.ErrClosed)
	case a := <-answer:
		return a.way, a.err
	}
	a := <-answer
	return a.way, a.err
}

// deliver gives the goroutine that waits for the stream id the one that has come, or the reason why
// none will. That happens once for each id. false means that it has happened before, or that there
// is no such id.
func (g *Gateway) deliver(id string, way *stream, err error) bool {
	g.mu.Lock()
	waiter, ok := g.awaited[id]
	delete(g.awaited, id)
	g.mu.Unlock()
	if ok {
		waiter <- answered{way, err} // it has room for one
	}
	return ok
}

// dialRank connects to the first of a rank's addresses that answers.
func (g *Gateway) dialRank(targets []netip.AddrPort) (*stream, error) {
	var errs []error
	d := net.Dialer{Timeout: g.cfg.Patience / time.Duration(len(targets)+1)}
	for _, t := range targets {
		if !g.allows(t.Addr()) {
			errs = append(errs, fmt.Errorf("%v: this gateway does not dial it; its --allow says what it does", t))
			continue
		}
		raw, err := d.DialContext(g.ctx, "tcp", t.String())
		switch {
		case err != nil:
			errs = append(errs, err)
		case !g.hold(raw):
			return nil, net.ErrClosed
		default:
			return newStream(raw), nil
		}
	}
	return nil, fmt.Errorf("no address of the rank answers: %w", errors.Join(errs...))
}

func (g *Gateway) allows(a netip.Addr) bool {
	a = a.Unmap()
	if g.cfg.Allow != nil {
		return slices.ContainsFunc(g.cfg.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast() && !a.IsUnspecified() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}
