package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// A receive, from Post to its end:
//
//	refused (the context is shut): done, with that error
//	a matched probe gave it its message, or the event queue has it (match.go): take
//	  RTS                       approve: CTS, or it is fetched if it is offered (local.go)
//	  whole                     copied, above copyHeld by a job; credit returned; done
//	  half come                 done when the rest has come (arrivalGrown)
//	it would get a message that is lost: done, with that error
//	its source is gone: done, with that error; a Patient wildcard stays posted (revoke.go)
//	else on the request queue, until a header comes (arrive.go)
//	  Eager                     accept: the payload goes to its memory; credit returned; done
//	  RTS                       approve
//	  Data                      to the memory of the receive that the CTS has named
//
// recvDone ends each of them: truncation is an error, and observers see the message. A short one
// that comes while its caller looks at the ring needs no MSO (Take).

// copyHeld is how many bytes are copied with the mutex held: less than it costs to
// release and take it.
const copyHeld = 512

// postRecv looks in the event queue, then stands on the request queue.
func (c *Core) postRecv(m *MSO) (Job, bool) {
	u := m.Message
	m.Message = nil
	if err := c.IsShut(m.Ctx); err != nil {
		if u != nil {
			c.dropUnwanted(u)
		}
		m.setState(Queued)
		c.complete(m, err)
		return Job{}, false
	}
	if u != nil {
		return c.take(m, u)
	}
	if u := c.events.find(key{m.Ctx, m.Peer, m.Tag}); u != nil {
		if !m.Patient && c.overtakes(u, m.Tag) {
			m.setState(Queued)
			c.complete(m, c.peers[u.Peer].whyNot(m.Ctx, m.Tag))
			return Job{}, false
		}
		c.events.remove(u)
		return c.take(m, u)
	}
	m.setState(Queued)
	switch p := c.lost(m); {
	case p == nil:
		c.posted.add(m)
	case m.Patient && m.Peer == AnyPeer:
		c.posted.add(m)
		c.stir(m)
	default:
		c.complete(m, p.whyNot(m.Ctx, m.Tag))
	}
	return Job{}, false
}

// lost returns the peer whose end means that a receive or probe must not wait:
// its source, or a failed one that a wildcard might be waiting for.
func (c *Core) lost(m *MSO) *Peer {
	if m.Peer != AnyPeer {
		if p := c.peers[m.Peer]; p.gone != nil {
			return p
		}
		return nil
	}
	if len(c.failed) == 0 {
		return nil
	}
	for _, p := range c.failed[c.ackedFailed[m.Ctx&c.cfg.Family]:] {
		if m.concerns(p.ID, false) {
			return p
		}
	}
	return nil
}

// take joins receive m with arrival u, which is off the event queue.
func (c *Core) take(m, u *MSO) (Job, bool) {
	m.fillFrom(u, u.Length)
	m.setState(Moving)
	if u.via == Rendezvous {
		m.remote = u.remote
	}
	if c.cfg.Observer != nil {
		c.observeMatched(u)
	}
	switch {
	case u.partner != nil && u.partner.Kind == KindSend: // from self
		s := u.partner
		s.partner = nil
		s.setState(Moving)
		c.freeMSO(u)
		return Job{kind: jobSelf, m: m, from: s, most: c.cfg.MaxMessage}, true
	case u.ended: // its connection broke in the middle
		p := c.peers[u.Peer]
		c.dropArrival(u)
		c.breakOff(p, m)
		return Job{}, false
	case u.State() == Awaiting: // an RTS
		return c.approve(m, u)
	case u.State() == Moving: // the rest of its payload is still on its way
		c.ackMatch(u)
		m.partner, u.partner = u, m
		return Job{}, false
	case u.Length <= copyHeld && m.Alloc == nil:
		c.ackMatch(u)
		m.fill(0, u.Buf)
		c.consumed(u)
		c.recvDone(m)
		return Job{}, false
	default:
		c.ackMatch(u)
		return Job{kind: jobCopy, m: m, from: u, most: c.cfg.MaxMessage}, true
	}
}

// TakeQueued is Take of a message on the event queue that is short and whole. It copies the
// payload, too.
func (c *Core) TakeQueued(r *Message) bool {
	if !c.HasArrivals() || c.cfg.Observer != nil || c.IsShut(r.Ctx) != nil {
		return false
	}
	u := c.events.search(r.key())
	if u == nil || u.State() != Queued || u.partner != nil || u.ended || u.Object || u.Length > min(len(r.Buf), maxWhole) || len(c.peers[u.Peer].lost) > 0 {
		return false
	}
	c.events.searches++
	c.events.remove(u)
	c.ackMatch(u)
	copy(r.Buf, u.Buf)
	c.shorts++
	r.Length, r.GotTag, r.Elem, r.Ordinal = u.Length, u.Tag, u.Elem, c.shorts
	r.Peer = u.Peer
	c.peers[r.Peer].countReceived(Unannounced, u.Length)
	c.consumed(u)
	return true
}

// ackMatch tells the sender of a synchronous message that it was matched.
func (c *Core) ackMatch(u *MSO) {
	if u.sync {
		u.sync = false // once, whichever receive gets it in the end
		c.control(c.peers[u.Peer], &wire.Header{Kind: wire.KindAck, ID: u.remote})
	}
}

// approve answers an RTS. A receive of unknown length needs memory first, which
// may take long: that is a job.
func (c *Core) approve(m, u *MSO) (Job, bool) {
	m.remote, m.total, m.fetch = u.remote, u.Length, u.fetch
	from := u.Peer
	c.freeMSO(u)
	m.Source = from
	if m.allocs = m.Alloc != nil; m.allocs {
		return Job{kind: jobAlloc, m: m, most: c.cfg.MaxMessage}, true
	}
	c.sendCTS(m)
	return Job{}, false
}

// allocated answers the sender of a message that has its memory now.
func (c *Core) allocated(m *MSO) {
	m.allocs = false
	if m.ended && m.isWhole() {
		c.returnAnnounced(m)
		return
	}
	c.sendCTS(m)
}

func (c *Core) sendCTS(m *MSO) {
	p := c.peers[m.Source]
	if p.gone != nil {
		c.breakOff(p, m)
		return
	}
	if m.total = min(m.Length, m.Size()); m.ended { // a part of what was abandoned while its memory was allocated
		m.total = 0
	}
	if m.fetch = m.fetch && m.total > 0 && m.Layout == nil; m.fetch {
		c.startFetch(m)
		return
	}
	h := wire.Header{Kind: wire.KindCTS, ID: m.remote, Length: uint64(m.total)}
	if m.total > 0 {
		c.addReceive(m)
		h.Context = m.id
	}
	c.control(p, &h)
	if m.total == 0 {
		c.recvDone(m)
	}
}

// addReceive gives the receive of a rendezvous an id.
func (c *Core) addReceive(m *MSO) {
	m.id = c.ids.add(m)
	c.stats.RendezvousReceives++
}

// recvDone completes a receive whose payload is in place.
func (c *Core) recvDone(m *MSO) {
	how := Unannounced
	if m.remote != 0 {
		how = Announced
	}
	c.peers[m.Source].countReceived(how, m.Length)
	var err error
	if n := m.Size(); m.Length > n && m.Err == nil {
		err = &TruncateError{Message: m.Length, Buffer: n}
	}
	if c.cfg.Observer != nil {
		c.observeReceived(m, err)
	}
	c.complete(m, err)
}

// consumed gives the memory of an unexpected message back, and the credit if it came unasked.
func (c *Core) consumed(u *MSO) {
	if u.via != Rendezvous {
		c.returnCredit(c.peers[u.Peer], u.Length)
	}
	c.giveBack(u.Buf, u.own)
	c.freeArrival(u)
}

// returnCredit tells the peer, a quarter of the window at a time, or of what long payloads may take
// of it, that eager bytes no longer occupy this rank.
func (c *Core) returnCredit(p *Peer, payload int) {
	if p.ID == c.cfg.Self {
		return
	}
	n := payload + wire.EagerCost
	p.used -= n
	c.owe(p, n)
}

// owe adds n bytes to what is to be given back to p.
func (c *Core) owe(p *Peer, n int) {
	if p.owed += n; p.owed >= c.creditStep {
		c.sendCredit(p)
	}
}

// sendCredit returns what is owed to p.
func (c *Core) sendCredit(p *Peer) {
	if p.gone != nil {
		return
	}
	c.control(p, &wire.Header{Kind: wire.KindCredit, Length: uint64(p.owed)})
	p.owed = 0
}
