package core

// Until a connection stands a rank knows only of the least window of its peer (MinWindow). A
// blocking send of a short message for which that is not enough is held: it waits for the
// connection, which no act of the receiver's user can delay. Then it follows unasked or is
// announced, as if it were posted then. Announced at once it would cost its receiver an answer, and
// after Config.Parked of them wait for its receive.

// Hold posts m, which is planned as PlanHeld.
//
// Preconditions:
//   - nothing refuses m.
//   - m is Idle, its request fields are filled in, its payload is m.Buf, and its caller waits for
//     it.
func (c *Core) Hold(m *MSO) {
	c.begun++
	m.setState(Queued)
	c.peers[m.Peer].held.push(m)
}

// releaseHeld lets go what was held.
func (c *Core) releaseHeld(p *Peer) {
	for m := p.held.pop(); m != nil; m = p.held.pop() {
		switch plan := c.planOf(p, m); plan {
		case PlanShort, PlanEager:
			c.sendEager(p, m, plan)
		default:
			c.stats.CreditStalls++
			c.park(p, m)
		}
	}
}

// park announces a standard send and lets its caller go, if a copy may wait in its place.
func (c *Core) park(p *Peer, m *MSO) {
	block, ok := c.Reserve(p.ID, m.Size())
	if !ok {
		c.sendRTS(p, m)
		return
	}
	m.CopyTo(block)
	c.begun++
	c.sendRTS(p, c.carrier(m, block, ownPool))
	c.complete(m, nil)
}

// endHeld completes the sends to p that are held and concerned.
func (c *Core) endHeld(p *Peer, err error, concerned func(*MSO) bool) {
	var rest fifo[MSO, *MSO]
	for m := p.held.pop(); m != nil; m = p.held.pop() {
		if concerned(m) {
			c.sendDone(m, err)
		} else {
			rest.push(m)
		}
	}
	p.held = rest
}
