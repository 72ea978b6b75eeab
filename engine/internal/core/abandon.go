package core

import "slices"

// Abandon ends m with err though its message is under way, because its owner wants to leave: from
// here on the engine does not touch m's memory. What a job is just working on is left to that job,
// which ends soon. sinks gives the payload that the driver is reading from a peer, if any; it may
// be redirected.
//
// Only the holder of the progress right may call it: no other goroutine is between Gather and
// Wrote, or between OnHeader and OnPayload, of this MSO.
func (c *Core) Abandon(m *MSO, err error, sinks func(PeerID) *Sink) {
	switch m.State() {
	case Idle, Done:
		return
	case Queued, Awaiting, Moving:
	}
	switch m.Kind {
	case KindSend:
		c.abandonSend(m, err)
	case KindRecv:
		c.abandonRecv(m, err, sinks(m.Source))
	case KindProbe, KindMprobe:
		c.dropProbe(m)
		c.complete(m, err)
	case KindGeneral:
		c.dropFlush(m)
		c.complete(m, err)
	case KindSched:
		c.abandonSched(m, err, sinks)
	case KindParts:
		c.abandonParts(m, err, sinks)
	case KindArrival:
		panic("core: Abandon of an arrival: a bug of ours")
	}
}

// abandonSend lets the message go on, whole, from a private copy of what is left of it. The send
// succeeds if it cannot be called back any more, because its receiver has asked for it or its
// payload follows unasked. A standard send needs no more to be complete, and a synchronous one has
// been matched. Else the send ends with err, and the message need not arrive.
func (c *Core) abandonSend(m *MSO, err error) {
	p := c.peers[m.Peer]
	if p.ID == c.cfg.Self {
		c.abandonSelf(m, err)
		return
	}
	if m.refused {
		c.sendDone(m, err)
		return
	}
	switch m.State() {
	case Queued: // nothing was said of it
		c.endHeld(p, err, func(x *MSO) bool { return x == m })
		return
	case Moving:
		err = nil
	default:
	}
	c.privateCopy(p, m)
	if m.id != 0 {
		b := m.clone()
		c.renew(m, b, true)
		d, packing := c.carrier(m, b, ownUser), m.packing
		d.givenUp = err != nil
		c.succeed(p, m, d)
		if packing { // it is not on the list while a chunk is being packed
			c.dropPack(m)
			p.transfers.push(d)
			c.markDirty(p)
		}
	} else {
		c.replace(p, m, nil)
		if c.cfg.Observer != nil {
			c.observeSendDone(m, err)
		}
	}
	c.complete(m, err)
}

// abandonSelf gives the event queue its own copy of a message to self.
func (c *Core) abandonSelf(m *MSO, err error) {
	u := m.partner
	if u == nil {
		return // a job copies it
	}
	u.Buf, u.partner = m.clone(), nil
	c.sendDone(m, err)
}

// clone is a copy of the payload of a send, in one piece.
func (m *MSO) clone() []byte {
	b := make([]byte, m.Size())
	m.CopyTo(b)
	return b
}

// replace puts d, or nothing if d is nil, where m was in the stream and among the transfers.
func (c *Core) replace(p *Peer, m, d *MSO) {
	for i := range p.out.Len() {
		s := p.out.At(i)
		if s.mso == m {
			s.mso = d
		}
		if s.of == m {
			s.of = d
		}
	}
	var rest fifo[MSO, *MSO]
	for x := p.transfers.pop(); x != nil; x = p.transfers.pop() {
		if x == m {
			x = d
		}
		if x != nil {
			rest.push(x)
		}
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
		if s.mso == m || len(s.data) > 0 && within(base, len(m.Buf), &s.data[0]) {
			s.data = slices.Clone(s.data)
		}
	}
}
