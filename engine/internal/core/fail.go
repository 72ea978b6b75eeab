package core

import "slices"

// PeerUp says that the connection to a peer stands and how much eager credit it
// grants in all.
func (c *Core) PeerUp(id PeerID, window int) {
	p := c.peers[id]
	p.credit += min(window, maxWindow) - MinWindow
	p.spared = spared(window)
	p.up = true
	c.releaseHeld(p)
	if p.out.Len() > 0 || p.transfers.head != nil {
		c.markDirty(p)
	}
}

// why is the error of operations that need p, which is gone: p is not to blame
// for our own stopping.
func (p *Peer) why() error {
	if p.gone.Cause == ErrStopped {
		return ErrStopped
	}
	return p.gone
}

// breakOff ends m, whose message will never be whole: its sender p is gone.
func (c *Core) breakOff(p *Peer, m *MSO) {
	if m.ended {
		m.Err = nil // that its owner wanted to leave is not why
	}
	err := p.why()
	if err != ErrStopped && m.isWhole() {
		gone := *p.gone
		gone.Lost = &LostMessage{m.GotTag, m.Length, m.GotElem}
		err = &gone
	}
	c.complete(m, err)
}

// lostMessage is a message that was lost before a receive has asked for it.
type lostMessage struct {
	ctx ContextID
	seq uint64 // where it stood among those that arrived
	LostMessage
}

// maxLost bounds how many messages of a peer are known by name that are lost.
const maxLost = 64

// noteLost remembers that u, a message of p, was lost.
func (p *Peer) noteLost(u *MSO) {
	if len(p.lost) < maxLost {
		p.lost = append(p.lost, lostMessage{u.Ctx, u.seq, LostMessage{u.Tag, u.Length, u.Elem}})
	}
}

// overtakes reports whether u, a message that is queued and that a receive or a probe with tag
// would get, came behind one that is lost and that it would have got: it names no tag, and the lost
// one had another.
func (c *Core) overtakes(u *MSO, tag Tag) bool {
	return tag == AnyTag && slices.ContainsFunc(c.peers[u.Peer].lost, func(l lostMessage) bool {
		return l.ctx == u.Ctx && l.seq < u.seq
	})
}

// whyNot is why a receive or a probe with tag gets no message of p: the first one that it would
// have got may be lost. It says so once for each that is.
func (p *Peer) whyNot(ctx ContextID, tag Tag) error {
	i := slices.IndexFunc(p.lost, func(l lostMessage) bool {
		return l.ctx == ctx && (l.Tag == tag || tag == AnyTag)
	})
	if err := p.why(); i < 0 || err == ErrStopped {
		return err
	}
	gone := *p.gone
	gone.Lost = &p.lost[i].LostMessage
	p.lost = slices.Delete(slices.Clone(p.lost), i, i+1)
	return &gone
}

// PeerGone returns why a peer is gone, nil if it is not.
func (c *Core) PeerGone(id PeerID) *PeerError { return c.peers[id].gone }

// Owes reports whether anything is under way to or from a peer that is not gone: bytes of its
// stream, a message that is held, announced or not whole, an acknowledgement.
func (c *Core) Owes(id PeerID) bool {
	p := c.peers[id]
	switch {
	case p.gone != nil:
		return false
	case p.queued > 0 || p.held.head != nil || p.transfers.head != nil || p.filling != nil:
		return true
	}
	return slices.ContainsFunc(c.ids.slots, func(s idSlot) bool {
		return s.m != nil && (s.m.Peer == id || s.m.Kind != KindSend && s.m.Source == id)
	})
}

// Pending is the number of bytes that wait to be written to a peer.
func (c *Core) Pending(id PeerID) int { return c.peers[id].queued }

// FailPeer ends everything that needs peer id: its sends, receives from it and
// probes for it, wildcards whose group it belongs to, and messages of it that
// can no longer complete. Messages that have arrived whole stay receivable, but for those
// behind one of the same envelope that has not. A receive of any tag gets none that came behind
// one that has not, before it has had the error of that.
//
// sink is the payload that the driver was reading from the peer, if any.
//
// Only the holder of the progress right may call it.
func (c *Core) FailPeer(id PeerID, cause error, left bool, sink *Sink) {
	p := c.peers[id]
	if p.gone != nil {
		return
	}
	p.gone = &PeerError{Peer: id, Left: left, Cause: cause}
	if !left {
		c.failed = append(c.failed, p)
		c.ill.Store(true)
	}
	p.filling = nil
	c.failSink(p, sink)
	c.dropOutput(p)
	c.endHeld(p, p.why(), func(*MSO) bool { return true })
	c.failIDs(p)
	c.failPosted(p)
	c.failEvents(p)
	c.failParts(p)
	if !left {
		c.failScheds(p)
	}
	c.tellServices(p)
	c.noticeGone(p)
}

func (c *Core) dropOutput(p *Peer) {
	for p.out.Len() > 0 {
		if m := c.popSegment(p); m != nil && m.id == 0 {
			c.sendDone(m, p.why())
		}
	}
	for p.transfers.pop() != nil { // they are in the table of ids
	}
	c.unsent -= p.queued
	p.cur, p.off, p.queued = 0, 0, 0
}

func (c *Core) failIDs(p *Peer) {
	for i := range c.ids.slots {
		switch m := c.ids.slots[i].m; {
		case m == nil:
		case m.Kind == KindSend && m.Peer == c.cfg.Self:
		case m.Kind == KindSend && m.Peer == p.ID:
			c.sendDone(m, p.why())
		case m.Kind == KindRecv && m.Source == p.ID:
			if m.fetch {
				c.dropFetch(p, m)
			}
			c.breakOff(p, m)
		case m.Kind == KindArrival && m.Peer == p.ID:
			c.failArrival(p, m)
		}
	}
}

// failArrival ends a message that has not come whole; what is on the event queue failEvents does.
func (c *Core) failArrival(p *Peer, u *MSO) {
	if u.id != 0 {
		c.dropID(u)
	}
	switch {
	case u.partner != nil:
		c.breakOff(p, u.partner)
		c.dropArrival(u)
	case u.ended: // no receive gets it any more
		c.dropArrival(u)
	case u.links[0].q == nil: // held by a matched probe
		u.ended = true
	}
}

func (c *Core) failPosted(p *Peer) {
	c.endPosted(p.why(), func(m *MSO) bool {
		if !m.concerns(p.ID, p.gone.Left) {
			return false
		}
		if m.Patient && m.Peer == AnyPeer {
			c.stir(m)
			return false
		}
		return true
	})
}

// endPosted completes the posted receives and probes that are concerned.
func (c *Core) endPosted(err error, concerned func(*MSO) bool) {
	var hit []*MSO
	c.posted.all(func(m *MSO) {
		if concerned(m) {
			hit = append(hit, m)
		}
	})
	for _, m := range c.probes {
		if concerned(m) {
			hit = append(hit, m)
		}
	}
	sortBySeq(hit)
	for _, m := range hit {
		if m.IsDone() {
			continue // a schedule that failed took it along
		}
		if m.Kind == KindRecv {
			c.posted.remove(m)
		} else {
			c.dropProbe(m)
		}
		c.complete(m, err)
	}
}

// concerns reports whether the failure of id ends m. That a peer leaves cleanly
// does not end a wildcard: others may still send.
func (m *MSO) concerns(id PeerID, left bool) bool {
	if m.Peer != AnyPeer {
		return m.Peer == id
	}
	return !left && (m.Member == nil || m.Member(id))
}

// failEvents drops the messages of p that will never be whole, and those of the same envelope
// behind them. Otherwise the receive that is to fail would get one of the latter in their place,
// and messages must not overtake each other (MPI 4.1, section 3.5). Those of other tags stay for
// receives that name them; see overtakes.
func (c *Core) failEvents(p *Peer) {
	lost := make(map[key]uint64) // of each envelope the first
	each := func(f func(u *MSO, k key)) {
		c.events.t[0].all(func(u *MSO) {
			if u.Peer == p.ID {
				f(u, key{u.Ctx, u.Peer, u.Tag})
			}
		})
	}
	each(func(u *MSO, k key) {
		if first, ok := lost[k]; u.State() != Queued && (!ok || u.seq < first) {
			lost[k] = u.seq
		}
	})
	var hit []*MSO
	each(func(u *MSO, k key) {
		if first, ok := lost[k]; ok && u.seq >= first {
			hit = append(hit, u)
		}
	})
	sortBySeq(hit) // so that the first are noted
	for _, u := range hit {
		c.events.remove(u)
		p.noteLost(u)
		c.dropArrival(u)
	}
}

// failSink ends the receive whose payload broke off.
func (c *Core) failSink(p *Peer, s *Sink) {
	if s == nil || s.m == nil {
		return
	}
	m := s.m
	*s = Sink{}
	switch {
	case m.Kind == KindNotice:
		c.dropNotice(m)
	case m.Kind == KindRecv && m.id == 0:
		c.breakOff(p, m)
	case m.Kind == KindArrival:
		c.failArrival(p, m)
	}
}

func (c *Core) dropArrival(u *MSO) {
	c.giveBack(u.Buf, u.own)
	c.freeMSO(u)
}
