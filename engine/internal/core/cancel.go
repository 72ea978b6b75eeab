package core

import (
	"slices"

	"github.com/fitmpi/fitmpi/internal/wire"
)

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
	case Offered:
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
		c.events.remove(u)
		c.freeMSO(u)
		m.partner = nil
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
		switch u.State() {
		case Offered:
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
		if u.remote == id && (u.sync || u.State() == Offered) {
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
	if m.Peer != p.ID || m.Kind != KindSend || !m.asked {
		return &ProtocolError{p.ID, "CancelReply for no cancel of ours"}
	}
	if h.Flags&wire.FlagDone == 0 {
		return nil // CTS or Ack came before, or is an RTS' receiver's next frame
	}
	if m.wants&wantWrite != 0 { // a synchronous eager payload that is not all written yet
		c.privateCopy(p, m)
	}
	m.wants = 0
	c.sendCancelled(m)
	return nil
}

// Abandon ends m with err though its message is under way, because its owner
// wants to leave: from here on the engine does not touch m's memory. sink is the
// payload that the driver is just reading for m, if any; it is redirected.
//
// Only the holder of the progress right may call it: nobody else is between
// Gather and Wrote, or between OnHeader and OnPayload, of this MSO.
func (c *Core) Abandon(m *MSO, err error, sink *Sink) {
	switch m.State() {
	case Idle, Done:
		return
	case Queued, Offered, Moving:
	}
	switch m.Kind {
	case KindSend:
		c.abandonSend(m, err)
	case KindRecv:
		c.abandonRecv(m, err, sink)
	case KindProbe, KindMprobe:
		c.dropProbe(m)
		c.complete(m, err)
	case KindGeneral:
		c.complete(m, err)
	case KindSched:
		c.abandonSched(m, err)
	case KindArrival:
		panic("core: Abandon of an arrival: a bug of ours")
	}
}

// abandonSend: the message goes on from a private copy of what is left of it.
func (c *Core) abandonSend(m *MSO, err error) {
	if u := m.partner; u != nil { // to self, not received yet: it will not be
		c.events.remove(u)
		c.freeMSO(u)
		m.partner = nil
		c.sendDone(m, err)
		return
	}
	p := c.peers[m.Peer]
	c.privateCopy(p, m)
	if m.id != 0 {
		d := c.carrier(m, slices.Clone(m.Buf), ownUser)
		d.id, d.remote, d.moved, d.total, d.wants = m.id, m.remote, m.moved, m.total, m.wants
		d.setState(m.State())
		c.active++
		c.replace(p, m, d)
		m.id = 0
	}
	c.complete(m, err)
}

// replace puts d where m was: in the table of ids, the stream and the transfers.
func (c *Core) replace(p *Peer, m, d *MSO) {
	c.ids.slots[uint32(d.id)].m = d
	for i := range p.out.Len() {
		if s := p.out.At(i); s.mso == m {
			s.mso = d
		}
	}
	var rest fifo[MSO, *MSO]
	for x := p.transfers.pop(); x != nil; x = p.transfers.pop() {
		if x == m {
			x = d
		}
		rest.push(x)
	}
	p.transfers = rest
}

// privateCopy makes the segments that lie in m's memory independent of it.
func (c *Core) privateCopy(p *Peer, m *MSO) {
	if len(m.Buf) == 0 {
		return
	}
	base := &m.Buf[:1][0]
	for i := range p.out.Len() {
		s := p.out.At(i)
		if s.mso == m || !s.chunk && len(s.data) > 0 && within(base, len(m.Buf), &s.data[0]) {
			s.data = slices.Clone(s.data)
			if m.id == 0 && s.mso == m {
				s.mso = nil
			}
		}
	}
}

// abandonRecv leaves the message's payload to nobody.
func (c *Core) abandonRecv(m *MSO, err error, sink *Sink) {
	switch {
	case m.State() == Queued:
		c.posted.remove(m)
	case m.id != 0: // a transfer: a stand-in swallows the rest
		d := c.newMSO(KindRecv)
		d.Source, d.moved, d.total, d.ended, d.detach = m.Source, m.moved, m.total, true, true
		d.id, d.Length = m.id, 0
		d.setState(Moving)
		c.ids.slots[uint32(d.id)].m = d
		c.stats.Detached++
		c.active++
		m.id = 0
		sink.divert(m, d)
	case m.partner != nil: // an arrival whose payload is not complete
		u := m.partner
		u.partner, u.ended = nil, true
	case sink != nil && sink.m == m:
		sink.divert(m, nil)
	default:
		return // a job is about to complete it
	}
	c.complete(m, err)
}

// divert sends the rest of the payload nowhere.
func (s *Sink) divert(m, to *MSO) {
	if s != nil && s.m == m {
		s.m, s.Skip, s.Dst = to, s.Len(), nil
	}
}
