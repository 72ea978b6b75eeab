package gateway

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
	"github.com/fitmpi/fitmpi/internal/secure"
)

// link is one end of a link between two gateways.
type link struct {
	peer *stream
	ping time.Duration // how often a sign of life comes

	mu sync.Mutex // serialises what is sent
}

func (l *link) send(m message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peer.send(m, time.Now().Add(lostAfter*l.ping))
}

// serve reads what comes over the link until it ends, and sends signs of life meanwhile. handle
// must not block.
func (g *Gateway) serve(l *link, handle func(message)) error {
	done := make(chan struct{})
	var pings sync.WaitGroup
	pings.Go(func() { l.sendPings(done) })
	defer pings.Wait()
	defer close(done)
	for {
		m, err := l.peer.receive(time.Now().Add(lostAfter * l.ping))
		var ne net.Error
		switch {
		case errors.As(err, &ne) && ne.Timeout():
			return fmt.Errorf("nothing came for %v", lostAfter*l.ping)
		case err != nil:
			return err
		}
		if m.Type != typePing {
			handle(m)
		}
	}
}

// sendPings is stopped by done, and by the end of the link.
func (l *link) sendPings(done <-chan struct{}) {
	t := time.NewTicker(l.ping)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-t.C:
			if l.send(message{Type: typePing}) != nil {
				return // the reader sees the end too
			}
		}
	}
}

// keepLink keeps a link to the gateway at addr, and says when it comes and goes.
func (g *Gateway) keepLink(addr string) {
	backoff := firstBackoff
	for g.ctx.Err() == nil {
		domain, err := g.dialLink(addr)
		if g.ctx.Err() != nil {
			return
		}
		if domain != "" {
			backoff = firstBackoff // it was there
		}
		g.cfg.Logger.Warn("no link", "peer", addr, "err", err, "again in", backoff)
		g.pause(backoff)
		backoff = min(2*backoff, maxBackoff)
	}
}

// dialLink makes a link to the gateway at addr and serves it to its end. domain is "" if none was
// made.
func (g *Gateway) dialLink(addr string) (domain string, err error) {
	peer, err := g.dialGateway(addr)
	if err != nil {
		return "", err
	}
	defer g.drop(peer.Conn)
	deadline := time.Now().Add(g.cfg.Patience)
	if err := peer.send(message{Type: typeLink, Domain: g.cfg.Domain}, deadline); err != nil {
		return "", err
	}
	m, err := peer.await(typeLinked, deadline)
	if err != nil {
		return "", err
	}
	g.setDialled(addr, m.Domain)
	defer g.setDialled(addr, "")
	g.cfg.Logger.Info("linked", "peer", addr, "domain", m.Domain)
	l := &link{peer: peer, ping: g.cfg.Ping}
	return m.Domain, g.serve(l, func(m message) {
		if m.Type == typeOpen {
			g.wg.Go(func() { g.answer(l, addr, m) }) // ends with the stream, or within the patience
		}
	})
}

// setDialled notes that a gateway of domain can be dialled at addr, or with "" that none can any
// more.
func (g *Gateway) setDialled(addr, domain string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if domain == "" {
		delete(g.dialled, addr)
		return
	}
	g.dialled[addr] = domain
}

// dialGateway makes an encrypted connection to another gateway. The caller drops it.
func (g *Gateway) dialGateway(addr string) (*stream, error) {
	raw, err := g.dial(addr)
	if err != nil {
		return nil, err
	}
	if !g.hold(raw) {
		return nil, net.ErrClosed
	}
	conn, err := secure.Client(raw, g.cfg.Secret, role)
	if err != nil {
		g.drop(raw)
		return nil, err
	}
	if !g.replace(raw, conn) {
		return nil, net.ErrClosed
	}
	return newStream(conn), nil
}

// dial makes a connection to another gateway, by the proxy if there is one.
func (g *Gateway) dial(addr string) (net.Conn, error) {
	if g.cfg.Proxy != nil {
		return g.cfg.Proxy.dial(g.ctx, addr, g.cfg.Patience)
	}
	d := net.Dialer{Timeout: g.cfg.Patience}
	return d.DialContext(g.ctx, "tcp", addr)
}

// answer makes the stream that the gateway at addr has asked for, and relays to its end.
func (g *Gateway) answer(l *link, addr string, m message) {
	err := g.callBack(addr, m)
	if err == nil || g.ctx.Err() != nil {
		return
	}
	g.log.Warn(g.cfg.Logger, "refused", "from", addr, "err", err)
	l.send(failed(m.ID, err)) // if the link is gone, so is the gateway that asked
}

func (g *Gateway) callBack(addr string, m message) error {
	way, err := g.find(request{m.Line, m.Hops})
	if err != nil {
		return err
	}
	defer g.drop(way.Conn)
	peer, err := g.dialGateway(addr)
	if err != nil {
		return err
	}
	defer g.drop(peer.Conn)
	if err := peer.send(message{Type: typeStream, ID: m.ID}, time.Now().Add(g.cfg.Patience)); err != nil {
		return err
	}
	splice(peer, way)
	return nil
}

// serveLink serves a link that another gateway, of domain, has made.
func (g *Gateway) serveLink(peer *stream, domain string) error {
	patience := time.Now().Add(g.cfg.Patience)
	if domain == "" || domain == g.cfg.Domain {
		err := fmt.Errorf("a link from domain %q to domain %q: a link joins two domains", domain, g.cfg.Domain)
		return errors.Join(err, peer.send(failed("", err), patience))
	}
	if err := peer.send(message{Type: typeLinked, Domain: g.cfg.Domain}, patience); err != nil {
		return err
	}
	l := &link{peer: peer, ping: g.cfg.Ping}
	// A domain may have several gateways, so an older link is left alone. If it is one of before
	// the gateway's address changed, it ends when nothing comes over it, and no request uses it
	// until then.
	g.mu.Lock()
	g.callers[domain] = append(g.callers[domain], l)
	g.mu.Unlock()
	defer g.forget(domain, l)
	g.cfg.Logger.Info("linked", "peer", peer.RemoteAddr(), "domain", domain)
	err := g.serve(l, func(m message) {
		if m.Type == typeFailed {
			g.deliver(m.ID, nil, errors.New(relay.Printable(m.Reason)))
		}
	})
	return fmt.Errorf("the link to domain %s ended: %w", domain, err)
}

func (g *Gateway) forget(domain string, l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := slices.DeleteFunc(g.callers[domain], func(other *link) bool { return other == l })
	if g.callers[domain] = left; len(left) == 0 {
		delete(g.callers, domain)
	}
}
