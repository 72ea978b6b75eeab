package core

// A receive that its owner gives up lets its message go, which the next receive gets: as if this
// one had never been posted. No peer is asked, for one that has stalled would answer nothing:
//
//   - A message whose sender was not answered yet goes back to the event queue as it was announced.
//   - A message that is on its way goes on into memory of the core's, with what had come of it. It
//     stands on the event queue as a message does that arrives.
//   - A message that is copied here, from another message queue or from a peer's memory, needs
//     nothing but time: it is received after all.
//   - A message that does not fit ends there: it is truncated, which the owner of the receive finds
//     in its result.
//
// Where the message stands among others is decided by its arrival, not by its return. Receives that
// were posted behind the one that is given up may have got later messages already; if none has, the
// first of them gets this one.
//
// The steps of a schedule, and partitions, belong to a whole that is over when one of them is:
// their messages are of no use to others, and are dropped.

// isWhole reports whether m is an operation of its own.
func (m *MSO) isWhole() bool { return m.step.sched == nil && m.parts == nil && m.service == nil }

// abandonRecv ends a receive that waits, or has its message under way.
func (c *Core) abandonRecv(m *MSO, err error, sink *Sink) {
	reads := sink != nil && sink.m == m
	switch {
	case m.State() == Queued:
		c.posted.remove(m)
		c.complete(m, err)
	case !m.isWhole():
		c.abandonPart(m, err, sink)
	case m.allocs, m.fetch && m.id != 0:
		if m.ended = true; m.Err == nil {
			m.Err = err
		}
	case m.id != 0 && m.total < m.Length, reads && sink.Skip > 0:
		c.divert(m, sink)
		c.complete(m, &TruncateError{Message: m.Length, Buffer: m.Size()})
	case m.id != 0:
		u := c.returned(m)
		u.id, u.remote, u.moved, u.total, u.via, m.id = m.id, m.remote, m.moved, m.total, Rendezvous, 0
		c.ids.slots[uint32(u.id)].m = u
		c.keepComing(m, u, sink)
		c.complete(m, err)
		c.requeue(u)
	case m.partner != nil:
		u := m.partner
		u.partner = nil
		c.complete(m, err)
		c.requeue(u)
	case reads:
		u := c.returned(m)
		u.total, u.via = sink.n, Eager
		c.keepComing(m, u, sink)
		c.peers[u.Peer].filling = u
		c.complete(m, err)
		c.requeue(u)
	default: // a job is about to complete it
	}
}

// returned makes an arrival of the message that m has matched; where it stands is the caller's.
func (c *Core) returned(m *MSO) *MSO {
	u := c.newMSO(KindArrival)
	u.Peer, u.Tag, u.Ctx, u.Elem, u.Object = m.Source, m.GotTag, m.Ctx, m.GotElem, m.GotObject
	u.Length, u.seq, u.number, m.number = m.Length, m.seq, m.number, 0
	return u
}

// keepComing gives u, whose payload has been coming into m, memory for it, and what is there of it.
func (c *Core) keepComing(m, u *MSO, sink *Sink) {
	n := u.moved
	if sink != nil && sink.m == m {
		n += sink.n
	}
	switch {
	case m.Alloc != nil && m.Layout == nil: // it was made for this message
		u.Buf, m.Buf = m.Buf[:u.total], nil
	case u.total <= c.cfg.Window:
		u.Buf, u.own = c.slabs.Force(u.total), ownSlab
		m.copyFront(u.Buf[:n])
	default:
		u.Buf = make([]byte, u.total)
		m.copyFront(u.Buf[:n])
	}
	u.setState(Moving)
	if sink != nil && sink.m == m {
		*sink = sinkOf(u, u.moved, sink.n)
	}
}

// copyFront copies the front of what a receive has got to dst.
func (m *MSO) copyFront(dst []byte) {
	if m.Layout != nil {
		m.Layout.Pack(dst, 0)
	} else {
		copy(dst, m.Buf)
	}
}

// returnAnnounced ends m, which has asked its sender for nothing.
func (c *Core) returnAnnounced(m *MSO) {
	if p := c.peers[m.Source]; p.gone != nil {
		c.breakOff(p, m)
		return
	}
	u := c.returned(m)
	u.remote, u.fetch, u.via = m.remote, m.fetch, Rendezvous
	u.setState(Awaiting)
	c.announced++
	c.complete(m, nil)
	c.requeue(u)
}

// returnOffer ends m, whose payload cannot be fetched now, or with again unset not at all.
func (c *Core) returnOffer(p *Peer, m *MSO, again bool) {
	p.local.EndFetch(m.remote)
	c.dropID(m)
	m.fetch = again
	c.returnAnnounced(m)
}

// requeue gives u to the receive that it fits first, or puts it on the event queue.
func (c *Core) requeue(u *MSO) {
	if c.isUnwanted(u.Ctx, u.Tag) {
		c.dropUnwanted(u)
		return
	}
	if m := c.match(c.peers[u.Peer], key{u.Ctx, u.Peer, u.Tag}); m != nil {
		if j, ok := c.take(m, u); ok {
			c.jobs.Push(j)
		}
		return
	}
	if !c.offerToProbes(u) {
		c.events.add(u)
	}
}

// abandonPart ends a receive whose message no other receive can use.
func (c *Core) abandonPart(m *MSO, err error, sink *Sink) {
	switch {
	case m.fetch && m.id != 0:
		c.endFetch(m)
	case m.partner != nil: // an arrival whose payload is not complete
		u := m.partner
		u.partner, u.ended = nil, true
	case m.id != 0 || sink != nil && sink.m == m:
		c.divert(m, sink)
	default: // a job is about to complete it, or to approve its RTS
		m.ended, m.Err = true, err
		return
	}
	c.complete(m, err)
}

// divert has the rest of m's payload go nowhere. Of a transfer a stand-in swallows it.
func (c *Core) divert(m *MSO, sink *Sink) {
	var d *MSO
	if m.id != 0 {
		d = c.newMSO(KindRecv)
		d.Source, d.moved, d.total, d.ended, d.detach = m.Source, m.moved, m.total, true, true
		d.id, d.Length = m.id, 0
		d.setState(Moving)
		c.ids.slots[uint32(d.id)].m = d
		c.stats.Detached++
		c.begun++
		m.id = 0
	} else {
		c.peers[m.Source].filling = nil
	}
	if sink != nil && sink.m == m {
		*sink = Sink{m: d, Skip: sink.Len(), n: sink.n}
	}
}
