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

// accept takes the connections that wait at the listener.
func (d *driver) accept() {
	for range maxAccepts {
		s, err := d.listener.Accept(d.options())
		if errors.Is(err, netpoll.ErrAgain) {
			return
		}
		if err != nil {
			d.e.stats.acceptErrors.Add(1)
			d.e.cfg.Logger.Warn("accept", "rank", d.e.cfg.Rank, "err", err)
			d.rest()
			return
		}
		d.e.stats.accepts.Add(1)
		d.greet(s)
	}
}

// greet begins the handshake with whoever has connected.
func (d *driver) greet(s *netpoll.Socket) {
	if d.timed > maxStrangers+len(d.conns) {
		d.dropOldest()
	}
	c, err := d.newConn(s, false)
	if err != nil {
		d.e.cfg.Logger.Warn("accept", "rank", d.e.cfg.Rank, "err", err)
		return
	}
	c.state = connHandshaking
	c.hs = wire.NewAcceptor(d.identity(), nonce())
	c.setDeadline(deadlineIn(handshakeTimeout))
}

// dropOldest drops the connection that has been in its handshake the longest.
func (d *driver) dropOldest() {
	var oldest *conn
	for _, s := range d.slots {
		if c := s.c; c != nil && c.deadline != 0 && (oldest == nil || c.deadline < oldest.deadline) {
			oldest = c
		}
	}
	if oldest != nil {
		oldest.rejected(wire.RejectTimeout)
		d.forget(oldest)
	}
}
