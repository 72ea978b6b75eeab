package core

// Iprobe returns the first queued message that fits, leaving it there; nil if there is none, or if
// one that is lost comes before it (MPI 4.1, section 3.8.1).
func (c *Core) Iprobe(ctx ContextID, peer PeerID, tag Tag) *MSO {
	u := c.events.find(key{ctx, peer, tag})
	if u != nil && c.overtakes(u, tag) {
		c.peers[u.Peer].whyNot(ctx, tag) // the caller says why: the peer is gone
		return nil
	}
	return u
}

// HasArrivals reports whether messages are queued that no receive has asked for.
func (c *Core) HasArrivals() bool { return c.events.len() > 0 }

// HasCome reports whether Iprobe would find a message. It is no search that counts: a receive
// follows that makes one.
func (c *Core) HasCome(ctx ContextID, peer PeerID, tag Tag) bool {
	return c.HasArrivals() && c.events.search(key{ctx, peer, tag}) != nil
}

// Improbe takes the first queued message that fits off the event queue, so that
// only a receive given it can have it (section 3.8.2).
func (c *Core) Improbe(ctx ContextID, peer PeerID, tag Tag) *MSO {
	u := c.Iprobe(ctx, peer, tag)
	if u != nil {
		c.events.remove(u)
	}
	return u
}

// postProbe answers a blocking probe at once, or leaves it to offerToProbes.
func (c *Core) postProbe(m *MSO) {
	if u := c.events.find(key{m.Ctx, m.Peer, m.Tag}); u != nil {
		if c.overtakes(u, m.Tag) {
			m.setState(Queued)
			c.complete(m, c.peers[u.Peer].whyNot(m.Ctx, m.Tag))
			return
		}
		if m.Kind == KindMprobe {
			c.events.remove(u)
		}
		c.answer(m, u)
		return
	}
	m.setState(Queued)
	if err := c.IsShut(m.Ctx); err != nil {
		c.complete(m, err)
		return
	}
	if p := c.lost(m); p != nil {
		c.complete(m, p.why())
		return
	}
	c.probes = append(c.probes, m)
}

func (c *Core) answer(m, u *MSO) {
	m.fillFrom(u, u.Length)
	if m.Kind == KindMprobe {
		m.Message = u
	}
	c.complete(m, nil)
}

// offerToProbes shows a new arrival to the blocked probes, in order of posting.
// It reports whether a matched probe took it.
func (c *Core) offerToProbes(u *MSO) (taken bool) {
	if len(c.probes) == 0 {
		return false
	}
	rest := c.probes[:0]
	for _, m := range c.probes {
		if taken || !m.fits(key{u.Ctx, u.Peer, u.Tag}) {
			rest = append(rest, m)
			continue
		}
		taken = m.Kind == KindMprobe
		c.answer(m, u)
	}
	clear(c.probes[len(rest):])
	c.probes = rest
	return taken
}

func (c *Core) dropProbe(m *MSO) {
	rest := c.probes[:0]
	for _, x := range c.probes {
		if x != m {
			rest = append(rest, x)
		}
	}
	clear(c.probes[len(rest):])
	c.probes = rest
}
