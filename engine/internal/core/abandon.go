package core

import "slices"

// Abandon ends m with err though its message is under way, because its owner
// wants to leave: from here on the engine does not touch m's memory. What a job
// is just working on it leaves to that job, which ends soon. sinks gives the
// payload that the driver is reading from a peer, if any; it may be redirected.
//
// Only the holder of the progress right may call it: nobody else is between
// Gather and Wrote, or between OnHeader and OnPayload, of this MSO.
func (c *Core) Abandon(m *MSO, err error, sinks func(PeerID) *Sink) {
	switch m.State() {
	case Idle, Done:
		return
	case Queued, Offered, Moving:
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

// abandonSend: the message goes on from a private copy of what is left of it.
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
	if m.State() == Queued {
		c.abandonHeld(p, m, err)
		return
	}
	c.privateCopy(p, m)
	if m.id != 0 {
		b := m.clone()
		if !c.renew(m, b) { // the peer is fetching it, and is done soon
			m.Err = err
			return
		}
		d, packing := c.carrier(m, b, ownUser), m.packing
		d.givenUp = true
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

// replace puts d, or nobody, where m was in the stream and among the transfers.
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

// abandonRecv leaves the message's payload to nobody.
func (c *Core) abandonRecv(m *MSO, err error, sink *Sink) {
	switch {
	case m.State() == Queued:
		c.posted.remove(m)
	case m.fetch && m.id != 0:
		c.endFetch(m)
	case m.id != 0: // a transfer: a stand-in swallows the rest
		d := c.newMSO(KindRecv)
		d.Source, d.moved, d.total, d.ended, d.detach = m.Source, m.moved, m.total, true, true
		d.id, d.Length = m.id, 0
		d.setState(Moving)
		c.ids.slots[uint32(d.id)].m = d
		c.stats.Detached++
		c.begun++
		m.id = 0
		sink.divert(m, d)
	case m.partner != nil: // an arrival whose payload is not complete
		u := m.partner
		u.partner, u.ended = nil, true
	case sink != nil && sink.m == m:
		sink.divert(m, nil)
		c.peers[m.Source].filling = nil
	default: // a job is about to complete it, or to approve its RTS
		m.ended, m.Err = true, err
		return
	}
	c.complete(m, err)
}

// divert sends the rest of the payload nowhere.
func (s *Sink) divert(m, to *MSO) {
	if s != nil && s.m == m {
		s.m, s.Skip, s.Dst, s.layout, s.fit = to, s.Len(), nil, nil, 0
	}
}
