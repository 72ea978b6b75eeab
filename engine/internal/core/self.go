package core

// Messages to self never leave the process: the sender's MSO meets the
// receiver's queues directly, and one copy moves the payload.

func (c *Core) postSelf(m *MSO) (Job, bool) {
	p := c.peers[c.cfg.Self]
	c.countSend(p, Short, m.Size())
	r := c.match(p, key{m.Ctx, m.Peer, m.Tag})
	if c.cfg.Observer != nil {
		c.observeSend(p, m, Short)
		c.observeArrived(p, m.event(Short), r != nil)
	}
	if r != nil {
		r.fillFrom(m, m.Size())
		r.setState(Moving)
		m.setState(Moving)
		return Job{kind: jobSelf, m: r, from: m, most: c.cfg.MaxMessage}, true
	}
	u := c.newMSO(KindArrival)
	u.seq = c.events.next()
	u.Ctx, u.Peer, u.Tag, u.Elem, u.Object = m.Ctx, m.Peer, m.Tag, m.Elem, m.Object
	u.Length, u.partner, u.number, u.via = m.Size(), m, m.number, m.via
	u.setState(Queued)
	m.partner, m.id = u, c.ids.add(m)
	m.setState(Awaiting)
	c.arrived(u)
	return Job{}, false
}

// fillFrom sets the results of a receive from the message's envelope.
func (m *MSO) fillFrom(u *MSO, length int) {
	m.Source, m.GotTag, m.Length = u.Peer, u.Tag, length
	m.GotElem, m.GotObject = u.Elem, u.Object
	m.number, m.via, m.seq = u.number, u.via, u.seq
}
