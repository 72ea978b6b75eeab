package engine

import (
	"errors"

	"github.com/fitmpi/fitmpi/internal/wire"
	"github.com/fitmpi/fitmpi/netpoll"
)

const (
	// maxAccepts bounds the connections accepted in one turn.
	maxAccepts = 64
	// maxStrangers bounds, beyond one for each rank, the connections that have
	// not proved themselves: the oldest gives way to a new one.
	maxStrangers = 128
)

// accept takes the connections that wait at the listeners.
func (d *driver) accept() {
	for _, l := range d.listeners {
		if !d.acceptAt(l) {
			d.rest()
			return
		}
	}
}

// acceptAt takes the connections that wait at one listener; false if that is impossible.
func (d *driver) acceptAt(l *netpoll.Listener) bool {
	for range maxAccepts {
		s, err := l.Accept(d.options())
		if errors.Is(err, netpoll.ErrAgain) {
			return true
		}
		if err != nil {
			d.e.stats.acceptErrors.Add(1)
			d.e.cfg.Logger.Warn("accept", "rank", d.e.cfg.Rank, "err", err)
			return false
		}
		d.e.stats.accepts.Add(1)
		d.greet(s)
	}
	return true
}

// greet begins the handshake with whoever has connected.
func (d *driver) greet(s *netpoll.Socket) {
	if d.strange > maxStrangers+len(d.conns) {
		d.dropOldest()
	}
	c, err := d.newConn(s, false)
	if err != nil {
		d.e.cfg.Logger.Warn("accept", "rank", d.e.cfg.Rank, "err", err)
		return
	}
	c.stranger = true
	d.strange++
	c.setDeadline(deadlineIn(handshakeTimeout))
	if d.identity != nil {
		c.startSecuring(nil)
	} else {
		c.startGreeting()
	}
}

// startGreeting waits for the other's hello.
func (c *conn) startGreeting() {
	c.state = connHandshaking
	c.hs = wire.NewAcceptor(c.d.claim(), nonce())
}

// dropOldest drops the accepted connection that has been in its handshake the longest.
func (d *driver) dropOldest() {
	var oldest *conn
	for _, s := range d.slots {
		if c := s.c; c != nil && c.stranger && (oldest == nil || c.deadline < oldest.deadline) {
			oldest = c
		}
	}
	if oldest != nil {
		oldest.rejected(wire.RejectTimeout)
		d.forget(oldest)
	}
}

// known notes that an accepted connection has proved itself, or is gone.
func (c *conn) known() {
	if c.stranger {
		c.stranger = false
		c.d.strange--
	}
}
