package core

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// What becomes of a communicator that is used no more, because it was revoked or a member has
// failed.

// ErrRevoked completes what belongs to a context that was revoked, here or at the other end.
var ErrRevoked = errors.New("the communicator was revoked")

// Shut ends all that is under way in the contexts x with x&mask == id, and refuses what is posted
// there, or arrives, from now on. Posts complete with err. Messages are dropped, their credit is
// returned, and senders that wait for an answer get a refusal. What a peer is just sending or
// receiving goes on to its end. The first Shut of a context counts; mask is all ones, or
// Config.Family.
//
// Only the holder of the progress right may call it, as Abandon.
func (c *Core) Shut(id, mask ContextID, err error, sinks func(PeerID) *Sink) {
	if _, ok := c.shut[id]; ok {
		return
	}
	if c.shut == nil {
		c.shut = make(map[ContextID]error)
	}
	c.shut[id] = err
	c.ill.Store(true)
	in := func(ctx ContextID) bool { return ctx&mask == id }
	c.endPosted(err, func(m *MSO) bool { return in(m.Ctx) })
	c.shutSends(err, in, sinks)
	c.dropEvents(func(u *MSO) bool { return in(u.Ctx) })
	c.shutParts(err, in)
	c.shutServices(in)
}

// IsShut returns the err of the Shut that ctx belongs to, nil if there is none.
func (c *Core) IsShut(ctx ContextID) error {
	if len(c.shut) == 0 {
		return nil
	}
	if err := c.shut[ctx]; err != nil {
		return err
	}
	return c.shut[ctx&c.cfg.Family]
}

// shutSends ends the sends that wait for an answer. Those that outlive their calls wait on: their
// receivers refuse them.
func (c *Core) shutSends(err error, in func(ContextID) bool, sinks func(PeerID) *Sink) {
	for _, p := range c.peers {
		c.endHeld(p, err, func(m *MSO) bool { return in(m.Ctx) })
	}
	for i := range c.ids.slots {
		m := c.ids.slots[i].m
		if m == nil || m.Kind != KindSend || m.State() != Awaiting || m.detach || !in(m.Ctx) {
			continue
		}
		if u := m.partner; u == nil {
			c.Abandon(m, err, sinks)
		} else if u.links[0].q != nil { // to self, and no matched probe has it
			c.events.remove(u)
			c.freeMSO(u)
			m.partner = nil
			c.sendDone(m, err)
		}
	}
}

// dropEvents drops what has arrived and is unwanted.
func (c *Core) dropEvents(unwanted func(*MSO) bool) {
	var hit []*MSO
	c.events.t[0].all(func(u *MSO) {
		if unwanted(u) {
			hit = append(hit, u)
		}
	})
	sortBySeq(hit)
	for _, u := range hit {
		c.events.remove(u)
		c.dropUnwanted(u)
	}
}

// dropUnwanted drops a message that is off the event queue. What is still coming of it is dropped
// when it is there.
func (c *Core) dropUnwanted(u *MSO) {
	if c.cfg.Observer != nil {
		c.observeWithdrawn(u)
	}
	switch {
	case u.partner != nil: // of a send to self
		s := u.partner
		u.partner, s.partner = nil, nil
		err := ErrRevoked
		if c.isSpoilt(u.Ctx, u.Tag) {
			err = nil
		}
		c.freeMSO(u)
		c.sendDone(s, err)
	case u.State() == Awaiting:
		c.decline(c.peers[u.Peer], key{u.Ctx, u.Peer, u.Tag}, u.remote, true)
		c.freeMSO(u)
	case u.ended: // its connection broke in the middle
		c.dropArrival(u)
	default:
		if u.sync {
			c.decline(c.peers[u.Peer], key{u.Ctx, u.Peer, u.Tag}, u.remote, false)
		}
		if u.State() == Moving {
			u.ended, u.sync = true, false
			return
		}
		c.consumed(u)
	}
}

// refuse answers a sender that waits for an answer to its message: no receive will take it.
func (c *Core) refuse(p *Peer, id uint64) {
	c.control(p, &wire.Header{Kind: wire.KindCancelReply, Flags: wire.FlagDone, ID: id})
}

// shutParts ends the partitions of rounds that are not under way.
func (c *Core) shutParts(err error, in func(ContextID) bool) {
	for i := len(c.sends) - 1; i >= 0; i-- {
		if p := c.sends[i]; in(p.Data) && !p.Null {
			c.refuseRest(p, err)
		}
	}
	for _, q := range c.peers {
		for i := len(q.recvs) - 1; i >= 0; i-- {
			if p := q.recvs[i]; in(p.Data) {
				c.refuseRest(p, err)
			}
		}
	}
}

// refused handles the answer to m, a message of ours, of a peer whose context is shut. We shall
// hear later why it is shut, and then m ends with the right error. A message whose end no caller
// waits for is over now.
func (c *Core) refused(m *MSO) {
	c.withdrawOffer(m)
	if m.refused = true; m.detach {
		c.sendDone(m, nil)
	}
}

// discard answers the header of a message that is unwanted, and says what becomes of its payload.
func (c *Core) discard(p *Peer, h *wire.Header) Sink {
	k := key{ContextID(h.Context), p.ID, Tag(h.Tag)}
	if h.Kind == wire.KindRTS {
		c.discarded(p, h, Rendezvous)
		c.decline(p, k, h.ID, true)
		return Sink{}
	}
	c.discarded(p, h, Eager)
	n := int(h.Length)
	if h.Flags&wire.FlagSync != 0 {
		c.decline(p, k, h.ID, false)
	}
	if n == 0 {
		c.returnCredit(p, 0)
	}
	return Sink{Skip: n, n: n}
}

// discarded has an observer see a message that is dropped as it arrives.
func (c *Core) discarded(p *Peer, h *wire.Header, by Protocol) {
	if c.cfg.Observer == nil {
		return
	}
	ev := headerEvent(p, h, by)
	ev.Number, ev.Kind = c.headArrived(p, h, by, nil), EventWithdrawn
	c.cfg.Observer.Message(ev)
}

// A wildcard receive that no failure ends (MSO.Patient) stays on the request queue when a member
// fails. But no caller waits for it any more until the failure is acknowledged: its word says
// stirred, which waiters take for done.

// Words of MSO.done.
const (
	wordOpen uint32 = iota
	wordDone
	wordStirred
)

// IsStirred reports whether a receive that is posted waits beside a failure that was not
// acknowledged: one load, for anyone.
func (m *MSO) IsStirred() bool { return m.done.Load() == wordStirred }

// IsOver reports whether there is no point in waiting for m: it is done, or stirred. One load, for
// anyone.
func (m *MSO) IsOver() bool { return m.done.Load() != wordOpen }

// stir releases the callers that wait for m, which stays as it is.
func (c *Core) stir(m *MSO) {
	if m.done.Load() != wordOpen {
		return
	}
	m.done.Store(wordStirred)
	if w := m.waiter; w != nil {
		m.waiter = nil
		c.met1(w, m)
	}
}

// met1 counts down w, as one of its MSOs is over.
func (c *Core) met1(w *Waiter, m *MSO) {
	if w.need--; w.need == 0 {
		w.fired, w.last, w.next, c.woken = true, m, c.woken, w
	}
}

// Failed appends the peers that failed, in the order in which that was learnt, to ids.
func (c *Core) Failed(ids []PeerID) []PeerID {
	for _, p := range c.failed {
		if p.gone.Cause != ErrStopped {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// AckFailed says that the first n of the peers that failed are known to the callers that receive
// from any source, in the contexts of the family of ctx. Such receives go on waiting for other
// peers. AckFailed never takes back what was acknowledged before.
func (c *Core) AckFailed(ctx ContextID, n int) {
	id := ctx & c.cfg.Family
	if n = min(n, len(c.failed)); n <= c.ackedFailed[id] {
		return
	}
	if c.ackedFailed == nil {
		c.ackedFailed = make(map[ContextID]int)
	}
	c.ackedFailed[id] = n
	c.posted.all(func(m *MSO) {
		if m.IsStirred() && m.Ctx&c.cfg.Family == id && c.lost(m) == nil {
			m.done.Store(wordOpen)
		}
	})
}

// AckedFailed is how many of the peers that failed are acknowledged for the family of ctx.
func (c *Core) AckedFailed(ctx ContextID) int { return c.ackedFailed[ctx&c.cfg.Family] }

// Lost returns why a receive or a probe by these arguments must not wait, nil if it may; member is
// as MSO.Member.
func (c *Core) Lost(ctx ContextID, peer PeerID, member func(PeerID) bool) error {
	if err := c.IsShut(ctx); err != nil {
		return err
	}
	m := MSO{Ctx: ctx, Peer: peer, Member: member}
	if p := c.lost(&m); p != nil {
		return p.why()
	}
	return nil
}
