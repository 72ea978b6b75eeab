package engine

// sayBye ends our side towards every peer. What is still to be sent goes first. A peer without a
// connection is dialled for that, and the goodbye follows when the connection stands.
func (d *driver) sayBye() {
	d.flushAll()
	d.saying.Store(true)
	for _, c := range d.conns {
		if c != nil && c.state == connOpen {
			c.sayBye()
		}
	}
	for _, s := range d.slots {
		if c := s.c; c != nil && c.state != connOpen && c.state != connClosing && !d.isOwed(c) {
			d.forget(c)
		}
	}
	for id := range d.await {
		if !d.pending(PeerID(id)) && !d.isBroken(PeerID(id)) {
			d.setAwait(PeerID(id), 0)
		}
	}
	if n := d.e.local; n != nil {
		for moved := true; moved; moved, _ = n.poll() { // a peer that has begun to write to us waits for our goodbye
		}
		for _, l := range n.inUse {
			l.sayBye()
		}
	}
	d.flushAll()
	d.maybeQuiet()
}

// isOwed reports whether a connection that is being made is needed for what is
// still to be sent.
func (d *driver) isOwed(c *conn) bool {
	if c.dialled {
		return d.pending(c.peer) || d.isBroken(c.peer)
	}
	for id, when := range d.await { // a stranger yet, it may be the one we wait for
		if when != 0 && (d.pending(PeerID(id)) || d.isBroken(PeerID(id))) {
			return true
		}
	}
	return false
}

func (d *driver) pending(id PeerID) bool {
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	return d.e.core.Pending(id) > 0
}

// isQuiet reports whether goodbye is said and no connection is left. Safe for any goroutine.
func (d *driver) isQuiet() bool {
	return d.saying.Load() && d.open.Load() == 0 && (d.e.local == nil || d.e.local.open.Load() == 0)
}

func (d *driver) maybeQuiet() {
	if d.isQuiet() {
		select {
		case d.quiet <- struct{}{}:
		default:
		}
	}
}

// sayBye queues the frame that ends our side.
func (c *conn) sayBye() {
	if c.session.saidBye {
		return
	}
	c.session.saidBye = true
	e := c.d.e
	e.mu.Lock()
	e.core.Bye(c.peer)
	e.unlock()
}

// peerBye handles the peer's goodbye: it sends nothing more and receives nothing more.
func (c *conn) peerBye() {
	c.sayReceived()
	c.d.goOn(func() {
		if c.state == connOpen && c.session.resumes {
			c.halfClose()
		}
		c.d.endPeer(c.peer, nil, true)
	})
}
