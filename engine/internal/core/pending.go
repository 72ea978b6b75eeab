package core

import (
	"maps"
	"slices"
)

// What is pending, for a caller that asks why nothing moves. There is no list of all operations:
// each stands in the queue, the table or the stream that moves it on, and is found there.

// Origin is where an operation was begun, see callsite.Note. The core does not look.
type Origin [6]uint32

// Operation is what is known of an operation that is posted and not done.
type Operation struct {
	MSO      *MSO // which; not to be looked at
	Kind     Kind
	State    State
	Ctx      ContextID
	Peer     PeerID
	Tag      Tag
	Bytes    int // of the message, or room for one; -1 if a receive takes any length
	Detached bool
	Synced   bool // a send that waits for its receive although its payload may have left
	Origin   []uint32

	// Of a schedule: the peers with which it exchanges messages now, without those whose payload is
	// being moved, and how many exchanges are to follow. Of a flush To are the peers that have not
	// received a message that it waits for, again without those whose payload is being moved.
	From, To []PeerID
	Later    int
	Flush    bool // of a buffer that a user has lent
	// Of a partitioned message: partitions that are not done, and of a send those that are not
	// ready.
	Left, NotReady int
	Send           bool
}

// Unreceived is a message on the event queue.
type Unreceived struct {
	Source    PeerID
	Tag       Tag
	Ctx       ContextID
	Bytes     int
	Elem      uint8 // as its sender has announced
	Announced bool  // its payload is still with the sender
	Synced    bool  // its sender waits until it is received
}

// each calls f for every MSO between post and Done, more than once for some. What a job is just
// working on is left out.
func (c *Core) each(f func(*MSO)) {
	g := func(m *MSO) {
		if m == nil {
			return
		}
		if f(m); m.whole() != m {
			f(m.whole()) // a schedule, or a round of a partitioned message, stands nowhere else if it waits for this one
		}
	}
	c.posted.all(g)
	for _, m := range c.probes {
		f(m)
	}
	c.generals.all(g)
	for i := range c.ids.slots {
		m := c.ids.slots[i].m
		if m != nil && m.Kind == KindArrival {
			m = m.partner
		}
		g(m)
	}
	for i := range c.jobs.Len() {
		j := c.jobs.At(i)
		g(j.m)
		g(j.from)
		if j.step.sched != nil {
			f(&j.step.sched.MSO)
		}
	}
	for _, p := range c.sends {
		p.each(g)
	}
	for _, p := range c.peers {
		p.each(g)
	}
}

// each calls f for what is under way to and from p, and for the receive that its payload goes to.
func (p *Peer) each(f func(*MSO)) {
	for i := range p.out.Len() {
		f(p.out.At(i).mso)
	}
	for m := p.transfers.head; m != nil; m = m.next {
		f(m)
	}
	for m := p.held.head; m != nil; m = m.next {
		f(m)
	}
	for _, q := range p.recvs {
		q.each(f)
	}
	if m := p.filling; m != nil && m.Kind == KindArrival {
		f(m.partner)
	} else {
		f(m)
	}
}

// each calls f for the round of p and the messages of its partitions.
func (p *Parts) each(f func(*MSO)) {
	f(&p.MSO)
	for _, b := range p.under {
		f(&b.m)
	}
}

// Operations returns the operations of users that are posted and not done: first those of first, in
// their order, then at most as many others as make most of all. A schedule or a partitioned message
// is listed, but not the operations that it consists of. all is how many there are.
func (c *Core) Operations(first []*MSO, most int) (ops []Operation, all int) {
	c.round++
	add := func(m *MSO) {
		if m = m.whole(); m == nil || m.mark == c.round || m.IsDone() || m.state == Idle || m.Kind == KindArrival {
			return
		}
		m.mark = c.round
		if m.detach && m.Kind == KindRecv {
			return // a stand-in, which swallows what no receive wants
		}
		if all++; len(ops) < most {
			ops = append(ops, c.describe(m))
		}
	}
	for _, m := range first {
		add(m)
	}
	c.each(add)
	for i := range ops {
		if o := &ops[i]; o.Flush {
			o.To = c.receiversOf(o.MSO.batch)
		}
	}
	return ops, all
}

// receiversOf returns the peers for which messages lie in a batch or in an older one, without
// messages whose payload is being moved.
func (c *Core) receiversOf(last *batch) []PeerID {
	to := make(map[PeerID]bool)
	c.each(func(m *MSO) {
		if m == nil || m.batch == nil || m.Kind != KindSend || m.state == Moving || m.IsDone() {
			return
		}
		for b := last.of.oldest; ; b = b.next {
			if to[m.Peer] = to[m.Peer] || b == m.batch; b == last {
				return
			}
		}
	})
	maps.DeleteFunc(to, func(_ PeerID, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(to))
}

// whole is the operation of the user's that m is a part of, nil if there is none that is started.
func (m *MSO) whole() *MSO {
	switch {
	case m == nil:
		return nil
	case m.step.sched != nil:
		return &m.step.sched.MSO
	case m.parts != nil:
		return &m.parts.MSO
	case m.service != nil:
		return nil
	default:
		return m
	}
}

func (c *Core) describe(m *MSO) Operation {
	o := Operation{
		MSO: m, Kind: m.Kind, State: m.state, Ctx: m.Ctx, Peer: m.Peer, Tag: m.Tag, Detached: m.detach, Origin: slices.Clone(m.Origin[:]),
	}
	switch m.Kind {
	case KindSend:
		o.Bytes, o.Synced = m.Size(), m.Mode == Synchronous
	case KindRecv:
		o.Bytes = m.room()
	case KindSched:
		if s, ok := m.User.(*Schedule); ok {
			s.describe(&o)
		}
	case KindParts:
		if p, ok := m.User.(*Parts); ok {
			p.describe(&o)
		}
	case KindGeneral:
		o.Peer, o.Tag, o.Flush = AnyPeer, AnyTag, m.batch != nil
	case KindProbe, KindMprobe, KindArrival:
	}
	return o
}

// room is how many bytes a receive takes, or is getting. A job may be about to give it memory, so
// that is not looked at.
func (m *MSO) room() int {
	switch {
	case m.state != Queued:
		return m.Length
	case m.Alloc != nil:
		return -1
	default:
		return m.Size()
	}
}

func (s *Schedule) describe(o *Operation) {
	o.Ctx, o.Peer, o.Tag, o.Origin = s.ctx, AnyPeer, s.tag, slices.Clone(s.Origin[:])
	for i := range s.steps {
		switch m := s.steps[i].mso; {
		case m == nil || m.IsDone() || m.state == Moving:
		case m.state == Idle:
			o.Later++
		case m.Kind == KindSend:
			o.To, o.Bytes = append(o.To, m.Peer), o.Bytes+m.Size()
		default:
			o.From = append(o.From, m.Peer)
		}
	}
}

func (p *Parts) describe(o *Operation) {
	o.Ctx, o.Peer, o.Tag, o.Bytes, o.Send, o.Left = p.Hello, p.Peer, p.Tag, p.Total, p.Send, p.left
	if !p.known.Load() {
		o.Left = p.Count
	}
	if p.Send {
		o.NotReady = p.left - len(p.under)
	}
}

// Unreceived returns the messages on the event queue, the first that have arrived, at most most.
// all is how many there are.
func (c *Core) Unreceived(most int) (us []Unreceived, all int) {
	const looks = 1 << 14 // a queue that is longer than this is not sorted with the mutex held
	ms := make([]*MSO, 0, min(looks, c.events.len()))
	c.events.t[0].all(func(m *MSO) {
		if len(ms) < cap(ms) {
			ms = append(ms, m)
		}
	})
	sortBySeq(ms)
	for _, m := range ms[:min(most, len(ms))] {
		self := m.partner != nil && m.partner.Kind == KindSend
		us = append(us, Unreceived{
			Source: m.Peer, Tag: m.Tag, Ctx: m.Ctx, Bytes: m.Length, Elem: m.Elem,
			Announced: m.state == Awaiting || self, Synced: m.sync || self && m.partner.Mode == Synchronous,
		})
	}
	return us, c.events.len()
}
