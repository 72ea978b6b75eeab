package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// A send, from Post to its end:
//
//	refused (the peer is gone, we have said goodbye, the context is shut): done, with that error
//	plan (plan.go)
//	  self                      in the event queue until its receive copies it (self.go)
//	  short                     credit taken; copied to the ring or the stream; done
//	  eager                     credit taken; header, then the user's memory, on the stream;
//	                            done when written, synchronous when its Ack has come (onAck)
//	  rendezvous, stalled, held RTS, which offers the memory to a peer of this host; then
//	    CTS (onCTS)             Data frames from the user's memory (stream.go); done when written
//	    Fin (onFin)             the peer has fetched the payload; done
//
// What does not wait for its end leaves a copy behind: a block of the send buffer from the start
// (Reserve, PostCopied), or later, for what is left (TakeOver). A short one needs no MSO
// (TryShort).

// Post gives m to the engine. A job that it returns is long work that the
// caller must do at once: Run it without the mutex, then Finish it with.
//
// Preconditions:
//   - m is Idle, its request fields are filled in, its peer exists.
func (c *Core) Post(m *MSO) (Job, bool) {
	c.begun++
	switch m.Kind {
	case KindSend:
		return c.postSend(m)
	case KindRecv:
		return c.postRecv(m)
	case KindProbe, KindMprobe:
		c.postProbe(m)
	case KindGeneral:
		m.setState(Queued)
		c.generals.push(key{}, m)
	default:
		panic("core: Post of an MSO of this kind: a bug of ours")
	}
	return Job{}, false
}

func (c *Core) postSend(m *MSO) (Job, bool) {
	p := c.peers[m.Peer]
	m.setState(Queued)
	if err := c.IsShut(m.Ctx); err != nil {
		c.sendDone(m, err)
		return Job{}, false
	}
	switch {
	case p.gone != nil:
		c.sendDone(m, p.why())
		return Job{}, false
	case p.bye:
		c.sendDone(m, ErrStopped)
		return Job{}, false
	}
	switch plan := c.planOf(p, m); plan {
	case PlanSelf:
		return c.postSelf(m)
	case PlanRendezvous:
		c.sendRTS(p, m)
	case PlanStalled, PlanHeld:
		c.stats.CreditStalls++
		c.sendRTS(p, m)
	case PlanShort, PlanEager:
		c.sendEager(p, m, plan)
	}
	return Job{}, false
}

func (c *Core) planOf(p *Peer, m *MSO) Plan {
	return c.plan(p, m.Size(), m.Layout != nil, m.own != ownUser)
}

// sendEager puts header and payload on the stream, one behind the other or together.
func (c *Core) sendEager(p *Peer, m *MSO, plan Plan) {
	p.credit -= m.Size() + wire.EagerCost
	h := m.header(wire.KindEager)
	if m.Mode == Synchronous {
		h.Flags |= wire.FlagSync
		m.wants |= wantAck
		m.id = c.ids.add(m)
		h.ID = m.id
		m.setState(Awaiting)
	}
	n := m.Size()
	if plan == PlanShort {
		c.countSend(p, Short, n)
		if c.cfg.Observer != nil {
			c.observeShort(p, m, &h)
		}
		c.putShort(p, h.Words(), c.payload(m))
	} else {
		c.countSend(p, Eager, n)
		if c.cfg.Observer != nil {
			c.observeSend(p, m, Eager)
		}
		m.wants |= wantWrite
		c.control(p, &h)
		c.append(p, segment{data: m.Buf, of: m, mso: m})
		if m.Mode != Synchronous {
			m.setState(Moving)
		}
	}
	if m.wants == 0 {
		c.sendDone(m, nil)
	}
}

// sendRTS announces a message that waits for the receiver's approval.
func (c *Core) sendRTS(p *Peer, m *MSO) {
	c.countSend(p, Rendezvous, m.Size())
	if c.cfg.Observer != nil {
		c.observeSend(p, m, Rendezvous)
	}
	m.id, m.announced = c.ids.add(m), true
	c.stats.RendezvousSends++
	if m.detach {
		p.parked++
	}
	h := m.header(wire.KindRTS)
	if h.ID = m.id; m.Mode == Synchronous {
		h.Flags |= wire.FlagSync
	}
	m.setState(Awaiting)
	c.offer(p, m, &h)
	c.control(p, &h)
}

// Reserve takes n bytes of the library send buffer for a standard send to id: the
// caller copies the payload there without the mutex and calls PostCopied. It refuses
// where too many sends whose callers are gone wait for that receiver already.
func (c *Core) Reserve(id PeerID, n int) ([]byte, bool) {
	if c.peers[id].parked >= c.cfg.Parked {
		c.stats.Refused++
		return nil, false
	}
	return c.pool.Get(n)
}

// PostCopied sends block, which Reserve gave and the caller filled, with the
// envelope of m. m itself is not posted: the message no longer needs it.
func (c *Core) PostCopied(m *MSO, block []byte) (Job, bool) {
	return c.Post(c.carrier(m, block, ownPool))
}

// carrier returns the MSO of a message that outlives the call that sent it.
func (c *Core) carrier(m *MSO, block []byte, o owner) *MSO {
	d := c.newMSO(KindSend)
	d.Object, d.Elem, d.Peer, d.Tag, d.Ctx, d.Origin = m.Object, m.Elem, m.Peer, m.Tag, m.Ctx, m.Origin
	d.Buf, d.own, d.detach = block, o, true
	c.stats.Detached++
	return d
}

// TryShort is SendShort if that is how the message begins to leave and nothing refuses it; else it
// reports false, and nothing has happened.
func (c *Core) TryShort(m *Message) bool {
	if p := c.peers[m.Peer]; p.gone != nil || p.bye || c.plan(p, len(m.Buf), false, false) != PlanShort || c.IsShut(m.Ctx) != nil {
		return false
	}
	c.SendShort(m)
	c.shorts++
	m.Ordinal = c.shorts
	return true
}

// SendShort sends a message that leaves by PlanShort.
func (c *Core) SendShort(m *Message) {
	p := c.peers[m.Peer]
	p.credit -= len(m.Buf) + wire.EagerCost
	var f wire.Flags
	if m.Object {
		f = wire.FlagObject
	}
	w := wire.EagerWords(f, m.Elem, int32(m.Tag), uint64(m.Ctx), uint64(len(m.Buf)))
	c.countSend(p, Short, len(m.Buf))
	if c.cfg.Observer != nil {
		h := w.Header()
		c.observeShort(p, nil, &h)
	}
	c.putShort(p, w, m.Buf)
}

// putShort puts a frame that has been counted, and its payload, into the ring, or copies them to
// the stream. Its arguments just fit the registers.
func (c *Core) putShort(p *Peer, w wire.Words, payload []byte) {
	if p.putNow(w, payload) {
		return
	}
	b := c.reserve(p, wire.HeaderLen+len(payload))
	w.Put(b)
	copy(b[wire.HeaderLen:], payload)
}

// onCTS: the receiver matched an RTS and approved h.Length bytes.
func (c *Core) onCTS(p *Peer, h *wire.Header) error {
	m := c.ids.get(h.ID)
	if m == nil || m.Peer != p.ID || m.State() != Awaiting || m.wants != 0 {
		return &ProtocolError{p.ID, "CTS for no message of ours"}
	}
	if h.Length > uint64(m.Size()) {
		return &ProtocolError{p.ID, "CTS for more than the message"}
	}
	if m.total = int(h.Length); m.total == 0 {
		c.sendDone(m, nil)
		return nil
	}
	c.withdrawOffer(m)
	m.remote, m.moved, m.wants = h.Context, 0, wantWrite
	m.setState(Moving)
	p.transfers.push(m)
	c.markDirty(p)
	return nil
}

// onAck: the receiver matched a synchronous eager message.
func (c *Core) onAck(p *Peer, h *wire.Header) error {
	m := c.ids.get(h.ID)
	if m == nil || m.Peer != p.ID || m.wants&wantAck == 0 {
		return &ProtocolError{p.ID, "Ack for no message of ours"}
	}
	if m.wants &^= wantAck; m.wants == 0 {
		c.sendDone(m, nil)
	} else {
		m.setState(Moving)
	}
	return nil
}
