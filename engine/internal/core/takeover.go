package core

// TakeOver lets the caller of a standard send go though m is not done: what is
// left of the message goes on from block, a copy of m's whole payload in memory
// that Reserve gave. m is done when it returns true; false means that the peer is
// fetching the payload just now, and nothing has changed.
//
// Only the holder of the progress right may call it, unless m is to self: no other goroutine is
// between Gather and Wrote.
//
// Preconditions:
//   - m is a standard send, posted and not done; one to self is Awaiting.
func (c *Core) TakeOver(m *MSO, block []byte) bool {
	if m.refused {
		c.Unreserve(block)
		c.sendDone(m, nil)
		return true
	}
	if !c.renew(m, block, false) {
		return false
	}
	p := c.peers[m.Peer]
	d := c.carrier(m, block, ownPool)
	if u := m.partner; u != nil { // to self
		u.partner, d.partner, m.partner = d, u, nil
	} else {
		c.rebase(p, m, block)
	}
	c.succeed(p, m, d)
	c.complete(m, nil)
	return true
}

// Sent ends m, which was not posted: its message is on its way without it.
//
// Preconditions:
//   - m is Idle.
func (c *Core) Sent(m *MSO) { m.setState(Done) }

// succeed puts d in the place of the send m, wherever the core and the peer know it.
func (c *Core) succeed(p *Peer, m, d *MSO) {
	d.id, d.remote, d.moved, d.total, d.wants, d.asked = m.id, m.remote, m.moved, m.total, m.wants, m.asked
	d.setState(m.State())
	c.begun++
	d.offered, m.offered = m.offered, false
	if d.announced, m.announced = m.announced, false; d.announced {
		p.parked++
	}
	d.number, d.via, m.number = m.number, m.via, 0
	if d.id != 0 {
		c.ids.slots[uint32(d.id)].m = d
		m.id = 0
	}
	c.replace(p, m, d)
}

// rebase makes the segments of m lie in block, its copy. Those of another send of the same memory
// stay where they are: they may outlive the block.
func (c *Core) rebase(p *Peer, m *MSO, block []byte) {
	base := &m.Buf[:1][0]
	for i := range p.out.Len() {
		s := p.out.At(i)
		if len(s.data) == 0 || s.of != m {
			continue
		}
		at := distance(base, &s.data[0])
		s.data = block[at : at+len(s.data)]
	}
}

// Unreserve gives back a block that Reserve gave and that is not needed.
func (c *Core) Unreserve(block []byte) { c.giveBack(block, ownPool) }
