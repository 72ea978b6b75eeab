package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// Bye ends our side of the stream to a peer: no frame follows.
//
// Preconditions:
//   - no send to the peer is under way.
func (c *Core) Bye(id PeerID) {
	p := c.peers[id]
	c.control(p, &wire.Header{Kind: wire.KindBye})
	p.bye = true
}

// Heartbeat says to a peer that we live, and with paused that from now on silence is no sign of the
// contrary. Where something waits to be written, that says as much, and no heartbeat follows unless
// must is set. A heartbeat belongs to the connection: it has no position in a stream that outlives
// it.
func (c *Core) Heartbeat(id PeerID, paused, must bool) (said bool) {
	p := c.peers[id]
	if p.gone != nil || p.bye || p.queued > 0 && !must {
		return false
	}
	h := wire.Header{Kind: wire.KindHeartbeat}
	if paused {
		h.Flags = wire.FlagPaused
	}
	c.aside(p, &h)
	return true
}

// Detached is the number of sends that live on after their call returned.
func (c *Core) Detached() int { return c.stats.Detached }

// GivenUp is how many of the Detached sends were given up, and have no answer yet. It counts only
// those to receivers for which answers reports true.
func (c *Core) GivenUp(answers func(PeerID) bool) int {
	n := 0
	for i := range c.ids.slots {
		if m := c.ids.slots[i].m; m != nil && m.givenUp && m.state == Awaiting && answers(m.Peer) {
			n++
		}
	}
	return n
}

// WithdrawGivenUp asks receivers to forget the messages that their senders have given up, unless
// the receivers have asked for them: no receive need ever take such a message. Those that are
// withdrawn are Detached no longer.
func (c *Core) WithdrawGivenUp() {
	if c.stats.Detached == 0 {
		return
	}
	for i := range c.ids.slots {
		if m := c.ids.slots[i].m; m != nil && m.givenUp && m.state == Awaiting {
			c.Cancel(m)
		}
	}
}

// Refuse completes m, which was not posted, with err.
func (c *Core) Refuse(m *MSO, err error) {
	c.begun++
	c.complete(m, err)
}

// Complete ends a general request of the owner's, unless it was abandoned.
func (c *Core) Complete(m *MSO, err error) {
	if m.State() == Queued {
		c.complete(m, err)
	}
}

// Stop ends every operation that is still pending with ErrStopped. It leaves general requests,
// which are their owners', and operations that a job which is just running will complete.
//
// Preconditions:
//   - FailPeer was called for every peer from which a payload is being received.
func (c *Core) Stop() {
	for _, p := range c.peers {
		if p.ID != c.cfg.Self {
			c.FailPeer(p.ID, ErrStopped, false, nil)
		}
	}
	self := c.peers[c.cfg.Self]
	self.gone = &PeerError{Peer: self.ID, Cause: ErrStopped}
	c.endPosted(self.why(), func(*MSO) bool { return true })
	c.stopSelf(self)
	c.failParts(self)
	c.stopServices()
	c.stopJobs()
	c.FreeNotices(c.TakeNotices())
}

// stopSelf ends the sends to self that no receive has taken.
func (c *Core) stopSelf(self *Peer) {
	for i := range c.ids.slots {
		s := c.ids.slots[i].m
		if s == nil || s.Peer != self.ID || s.partner == nil {
			continue
		}
		u := s.partner
		if u.partner = nil; u.links[0].q != nil {
			c.events.remove(u)
			c.freeMSO(u)
		} else { // held by a matched probe
			u.ended = true
		}
		c.sendDone(s, self.why())
	}
}

// stopJobs ends what waits for a job that will not be run.
func (c *Core) stopJobs() {
	for j, ok := c.NextJob(); ok; j, ok = c.NextJob() {
		switch j.kind {
		case jobCopy:
			c.consumed(j.from)
			c.complete(j.m, ErrStopped)
		case jobSelf:
			c.sendDone(j.from, ErrStopped)
			c.complete(j.m, ErrStopped)
		case jobAlloc:
			c.complete(j.m, ErrStopped)
		case jobStep:
			c.localDone(j.step, ErrStopped)
		case jobVoid, jobServe: // its send is done; nothing is served any more
		default:
			panic("core: no job on the list: a bug of ours")
		}
	}
}
