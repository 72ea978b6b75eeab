package core

// StartParts starts a round.
//
// Preconditions:
//   - p.MSO is Idle: new, or Reset since it was Done.
func (c *Core) StartParts(p *Parts) {
	c.begun++
	p.MSO.setState(Moving)
	p.begun.Store(true)
	if p.fault != nil || p.blocks > 0 {
		c.beginRound(p)
	}
}

func (c *Core) beginRound(p *Parts) {
	if p.fault != nil {
		c.complete(&p.MSO, p.fault)
		return
	}
	p.err, p.left = nil, p.blocks
	p.states.clear()
	clear(p.payloads)
	q := c.peers[p.Peer]
	if p.Send {
		p.at = len(c.sends)
		c.sends = append(c.sends, p)
	} else {
		q.recvs.add(p)
		c.takeEarly(p)
	}
	switch err := c.IsShut(p.Data); {
	case p.left == 0 || p.Null:
	case err != nil:
		c.refuseRest(p, err)
	case q.gone != nil:
		c.refuseRest(p, q.why())
	}
}

// takeEarly takes the partitions that have arrived before the round began.
func (c *Core) takeEarly(p *Parts) {
	for k := 0; k < p.blocks && c.events.len() > 0; k++ {
		u := c.events.find(key{p.Data, p.Peer, p.first + Tag(k)})
		if u == nil {
			continue
		}
		c.events.remove(u)
		c.begun++
		if j, ok := c.take(p.newBlock(k), u); ok {
			c.jobs.Push(j)
		}
	}
}

// CanReady says why partition i cannot be made ready, nil if it can.
func (p *Parts) CanReady(i int) error {
	switch {
	case p.MSO.State() == Idle:
		return ErrInactive
	case p.MSO.State() == Done && p.MSO.Err != nil:
		return p.MSO.Err
	case p.states.get(i) != blockAwaited:
		return ErrReadyAlready
	}
	return nil
}

// Ready sends partition i: b if the message is of objects, which are serialised by
// then. It returns a job as Post does.
//
// Preconditions:
//   - CanReady(i) is nil.
func (c *Core) Ready(p *Parts, i int, b []byte) (Job, bool) {
	if p.Null {
		c.blockDone(p, i, nil)
		return Job{}, false
	}
	m := p.newBlock(i)
	if p.Object {
		m.Buf = b
	}
	return c.Post(m)
}

// partDone is called when the hello or the message of a partition is done.
func (c *Core) partDone(p *Parts, m *MSO) {
	if m == &p.hello {
		if !p.Send {
			c.met(p)
		}
		return
	}
	b, ok := m.User.(*block)
	if !ok {
		panic("core: message of a partition without its block: a bug of ours")
	}
	err := m.Err
	switch {
	case err != nil || p.Send || p.wrong != nil:
	case !p.Object && m.Length != p.blockLen():
		err = &ProtocolError{p.Peer, "a partition of another length than its hello says"}
	case p.Object:
		p.keepPayload(b.k, m.Buf)
	}
	p.freeBlock(b)
	c.blockDone(p, b.k, err)
}

func (p *Parts) keepPayload(k int, b []byte) {
	if p.payloads == nil {
		p.payloads = make(map[int][]byte)
	}
	p.payloads[k] = b
}

// blockDone says that partition k of this round is done, and with the last the round.
func (c *Core) blockDone(p *Parts, k int, err error) {
	if p.wrong != nil {
		err = p.wrong
	}
	s := blockThere
	if err != nil {
		s = blockFailed
		if p.err == nil {
			p.fail(err)
		}
	}
	p.states.set(k, s)
	if p.left--; p.left == 0 {
		c.endRound(p)
	}
}

// fail says how this round ends.
func (p *Parts) fail(err error) {
	p.err = err
	p.bad.Store(&err)
}

func (c *Core) endRound(p *Parts) {
	if p.Send {
		last := c.sends[len(c.sends)-1]
		c.sends[p.at], last.at = last, p.at
		c.sends[len(c.sends)-1] = nil
		c.sends = c.sends[:len(c.sends)-1]
	} else {
		c.peers[p.Peer].recvs.remove(p)
	}
	c.complete(&p.MSO, p.err)
}

// refuseRest ends the partitions of a round of which nothing is under way: those that are
// not ready, or have not come.
func (c *Core) refuseRest(p *Parts, err error) {
	for k := range p.blocks {
		if p.states.get(k) == blockAwaited {
			c.blockDone(p, k, err)
		}
	}
}

// failParts ends what was to be sent to, or to come from, a peer that is gone. The order
// does not matter, but a send that completes is replaced by the last.
func (c *Core) failParts(q *Peer) {
	for i := len(c.sends) - 1; i >= 0; i-- {
		if p := c.sends[i]; p.Peer == q.ID && !p.Null || q.ID == c.cfg.Self && p.Null {
			c.refuseRest(p, q.why())
		}
	}
	for i := len(q.recvs) - 1; i >= 0; i-- {
		c.refuseRest(q.recvs[i], q.why())
	}
}

// abandonParts ends a round on its owner's wish, and with it the pair: of the
// partitions still to come some belong to this round and some to the next.
func (c *Core) abandonParts(m *MSO, err error, sinks func(PeerID) *Sink) {
	p, ok := m.User.(*Parts)
	if !ok {
		panic("core: partitioned message without its MSO: a bug of ours")
	}
	p.fault = &endedError{err}
	if p.blocks == 0 {
		c.complete(m, err)
		return
	}
	p.fail(err)
	c.refuseRest(p, err)
	for i := len(p.under) - 1; i >= 0; i-- { // one that ends is replaced by the last
		c.Abandon(&p.under[i].m, err, sinks)
	}
}
