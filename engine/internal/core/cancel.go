package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// Cancel asks for m to be withdrawn. Either the cancel succeeds and m completes
// as cancelled, or the communication completes as if nothing had been asked
// (MPI 4.1, section 3.8.4). It never blocks.
func (c *Core) Cancel(m *MSO) {
	switch m.State() {
	case Idle, Done, Moving:
		return
	case Queued:
		if m.Kind == KindRecv || m.Kind == KindProbe || m.Kind == KindMprobe {
			c.withdraw(m)
		}
	case Awaiting:
		c.cancelSend(m)
	}
}

// withdraw completes a posted receive or probe as cancelled.
func (c *Core) withdraw(m *MSO) {
	if m.Kind == KindRecv {
		c.posted.remove(m)
	} else {
		c.dropProbe(m)
	}
	c.stats.Cancelled++
	m.Cancelled = true
	c.complete(m, nil)
}

func (c *Core) cancelSend(m *MSO) {
	if u := m.partner; u != nil { // to self
		if u.links[0].q == nil { // a matched probe has it
			return
		}
		c.events.remove(u)
		if c.cfg.Observer != nil {
			c.observeWithdrawn(u)
		}
		c.freeMSO(u)
		m.partner = nil
		c.sendCancelled(m)
		return
	}
	if m.refused {
		c.sendCancelled(m)
		return
	}
	if m.asked {
		return
	}
	m.asked = true
	h := m.header(wire.KindCancel)
	h.Flags, h.Elem, h.Length, h.ID = 0, 0, 0, m.id
	c.control(c.peers[m.Peer], &h)
}

func (c *Core) sendCancelled(m *MSO) {
	c.stats.Cancelled++
	m.Cancelled = true
	c.sendDone(m, nil)
}

// onCancel: the sender wants to withdraw a message that we may have matched.
func (c *Core) onCancel(p *Peer, h *wire.Header) error {
	reply := wire.Header{Kind: wire.KindCancelReply, ID: h.ID}
	if u := c.events.byID(key{ContextID(h.Context), p.ID, Tag(h.Tag)}, h.ID); u != nil {
		c.events.remove(u)
		reply.Flags = wire.FlagDone
		if c.cfg.Observer != nil {
			c.observeWithdrawn(u)
		}
		switch u.State() {
		case Awaiting:
			c.freeMSO(u)
		case Moving: // its payload still comes, and goes nowhere
			u.ended = true
		default:
			c.consumed(u)
		}
	}
	c.control(p, &reply)
	return nil
}

// byID finds a queued message by its sender's id.
func (e *events) byID(k key, id uint64) *MSO {
	q := e.t[0].find(k)
	if q == nil {
		return nil
	}
	for u := q.head; u != nil; u = u.links[0].next {
		if u.remote == id && (u.sync || u.State() == Awaiting) {
			return u
		}
	}
	return nil
}

func (c *Core) onCancelReply(p *Peer, h *wire.Header) error {
	m := c.ids.get(h.ID)
	if m == nil { // it was matched, and has completed meanwhile
		return nil
	}
	if m.Peer != p.ID || m.Kind != KindSend || !m.asked && h.Flags&wire.FlagDone == 0 {
		return &ProtocolError{p.ID, "CancelReply for no cancel of ours"}
	}
	if h.Flags&wire.FlagDone == 0 {
		return nil // the CTS or Ack came before; the message goes on
	}
	if m.State() != Awaiting {
		return &ProtocolError{p.ID, "CancelReply withdraws what was matched"}
	}
	if m.wants&wantWrite != 0 { // a synchronous eager payload that is not all written yet
		c.privateCopy(p, m)
		c.replace(p, m, nil)
	}
	m.wants = 0
	if m.asked && !m.refused {
		c.sendCancelled(m)
	} else {
		c.refused(m)
	}
	return nil
}
