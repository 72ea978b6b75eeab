package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/netpoll"
)

// backlog is how many connections may wait at a listener.
const backlog = 1024

// openListeners listens at every address of the configuration. One that cannot be listened at, such
// as an IPv6 address that the kernel is still probing for, is passed over if there is another.
func (d *driver) openListeners() error {
	if !netpoll.HasSockets {
		return nil // Start refuses peers that are no threads of this process
	}
	var failed error
	for _, a := range d.e.cfg.Listen {
		l, err := listenAt(a, d.e.cfg.Ports)
		if err == nil {
			err = d.poller.AddListener(l, listenerToken)
			d.listeners = append(d.listeners, l)
		}
		failed = errors.Join(failed, err)
	}
	if len(d.listeners) == 0 {
		return failed
	}
	if failed != nil {
		d.e.cfg.Logger.Warn("listening at fewer addresses", "rank", d.e.cfg.Rank, "err", failed)
	}
	return nil
}

// listenAt listens at one address, at any port or at one of a range: the ranks of a host share it,
// so each begins somewhere else.
func listenAt(a netip.Addr, ports netif.Ports) (*netpoll.Listener, error) {
	if !ports.IsSet() {
		l, err := netpoll.Listen(netip.AddrPortFrom(a, 0), backlog)
		if err != nil {
			return nil, fmt.Errorf("listen at %s: %w", a, err)
		}
		return l, nil
	}
	n := ports.Len()
	first := rand.IntN(n)
	for i := range n {
		port := ports.From + uint16((first+i)%n)
		l, err := netpoll.Listen(netip.AddrPortFrom(a, port), backlog)
		if err == nil {
			return l, nil
		}
		if !netpoll.IsInUse(err) {
			return nil, fmt.Errorf("listen at %s: %w", netip.AddrPortFrom(a, port), err)
		}
	}
	return nil, fmt.Errorf("listen at %s: no port of %s is free", a, ports)
}

func (d *driver) closeListeners() (err error) {
	for _, l := range d.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Addrs are the addresses at which peers reach this rank, in the order of Config.Listen.
func (e *Engine) Addrs() []netip.AddrPort {
	as := make([]netip.AddrPort, len(e.drv.listeners))
	for i, l := range e.drv.listeners {
		as[i] = l.Addr()
	}
	return as
}

// Addr is the first of Addrs, where there are sockets.
func (e *Engine) Addr() netip.AddrPort { return e.drv.listeners[0].Addr() }
