package core

import (
	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// Sink says where the payload behind a header goes. The first Fit bytes go where Put puts them,
// which is Dst unless that is empty. The Skip bytes after them go nowhere.
type Sink struct {
	Dst  []byte
	Skip int

	layout Layout // instead of Dst; nil if there is Dst
	at     int    // of the message is the first byte that goes there
	fit    int    // bytes that go there
	m      *MSO   // what gets it; nil = nothing, or no payload
	n      int    // bytes of payload
}

// Fit is the number of payload bytes that are wanted.
func (s *Sink) Fit() int { return len(s.Dst) + s.fit }

// Len is the number of payload bytes that follow the header.
func (s *Sink) Len() int { return s.Fit() + s.Skip }

// Put puts b where the bytes of the payload from got on go.
//
// Preconditions:
//   - got+len(b) <= Fit.
func (s *Sink) Put(got int, b []byte) {
	if s.layout != nil {
		s.layout.Unpack(s.at+got, b)
		return
	}
	copy(s.Dst[got:], b)
}

// sinkOf is the sink of a part of the message that m receives: the n bytes from off on.
func sinkOf(m *MSO, off, n int) Sink {
	fit := max(min(n, m.Size()-off), 0)
	s := Sink{Skip: n - fit, m: m, n: n}
	if m.Layout != nil {
		s.layout, s.at, s.fit = m.Layout, off, fit
	} else if fit > 0 {
		s.Dst = m.Buf[off : off+fit]
	}
	return s
}

// OnHeader takes the header of a frame from peer id. When the sink's Len is not
// 0 the caller moves the payload there (without the mutex if it is large) and
// calls OnPayload. An error is the peer's fault and ends its connection.
func (c *Core) OnHeader(id PeerID, h *wire.Header) (Sink, error) {
	p := c.peers[id]
	switch h.Kind {
	case wire.KindEager:
		return c.onEager(p, h)
	case wire.KindData:
		return c.onData(p, h)
	case wire.KindRTS:
		return Sink{}, c.onRTS(p, h)
	case wire.KindCTS:
		return Sink{}, c.onCTS(p, h)
	case wire.KindFin:
		return Sink{}, c.onFin(p, h)
	case wire.KindSignal:
		return c.onSignal(p, h)
	case wire.KindAck:
		return Sink{}, c.onAck(p, h)
	case wire.KindCredit:
		return Sink{}, c.onCredit(p, h)
	case wire.KindCancel:
		return Sink{}, c.onCancel(p, h)
	case wire.KindCancelReply:
		return Sink{}, c.onCancelReply(p, h)
	case wire.KindReceived:
		return Sink{}, c.onReceived(p, h)
	case wire.KindBye, wire.KindHeartbeat:
		return Sink{}, nil // the driver's business
	default:
		return Sink{}, &ProtocolError{id, "frame of kind " + h.Kind.String()}
	}
}

// maxWhole bounds, in bytes, what OnWhole copies with the mutex held.
const maxWhole = 8 << 10

// IsWhole reports whether OnWhole may be given the frame, of which so many bytes of
// payload are at hand.
func IsWhole(h *wire.Header, n int) bool {
	return h.Kind == wire.KindEager && h.Flags&wire.FlagSync == 0 && h.Length == uint64(n) && n <= maxWhole
}

// accept decides where an eager message goes, and charges it to its sender's credit: to the receive
// m that waits for it, or, as the arrival u, to the event queue. It goes to neither if it is
// unwanted.
func (c *Core) accept(p *Peer, h *wire.Header) (m, u *MSO, err error) {
	if c.exceeds(p, h.Length) {
		return nil, nil, &ProtocolError{p.ID, "eager message beyond its credit"}
	}
	n := int(h.Length)
	p.used += n + wire.EagerCost
	if c.isUnwanted(ContextID(h.Context), Tag(h.Tag)) {
		return nil, nil, nil
	}
	m = c.match(p, key{ContextID(h.Context), p.ID, Tag(h.Tag)})
	number := c.headArrived(p, h, Eager, m)
	if m != nil {
		m.Source, m.GotTag, m.Length = p.ID, Tag(h.Tag), n
		m.GotElem, m.GotObject = h.Elem, h.Flags&wire.FlagObject != 0
		return m, nil, nil
	}
	c.stats.Unexpected++
	u = c.arrival(p, h, number)
	u.sync = h.Flags&wire.FlagSync != 0
	if n > 0 {
		u.Buf, u.own = c.slabs.Force(n), ownSlab
	}
	return nil, u, nil
}

// exceeds reports whether an eager message of n bytes is more than p has credit for.
func (c *Core) exceeds(p *Peer, n uint64) bool {
	return n > uint64(c.cfg.Window) || p.used+int(n)+wire.EagerCost > c.cfg.Window
}

// OnWhole is OnHeader and OnPayload for a short message whose payload is at hand: a
// followed by b.
//
// Preconditions:
//   - IsWhole.
func (c *Core) OnWhole(id PeerID, h *wire.Header, a, b []byte) error {
	p, n := c.peers[id], len(a)+len(b)
	m, u, err := c.accept(p, h)
	switch {
	case err != nil:
		return err
	case u != nil:
		copy(u.Buf[copy(u.Buf, a):], b)
		u.setState(Queued)
		c.arrived(u)
		return nil
	case m == nil:
		c.discarded(p, h, Eager)
		c.returnCredit(p, n)
		return nil
	}
	if m.Alloc != nil {
		m.Err = m.allocate(n, c.cfg.MaxMessage)
	}
	if m.Layout != nil {
		m.fill(0, a)
		m.fill(len(a), b)
	} else if k := copy(m.Buf, a); k == len(a) {
		copy(m.Buf[k:], b)
	}
	c.returnCredit(p, n)
	c.whole = true
	c.recvDone(m)
	c.whole = false
	return nil
}

// Take is OnWhole for a receive that has not been posted. The message whose header is w must be
// plain, fit, and be the one that the receive would get. Then Take does all but copy the payload:
// the caller does that before it releases the mutex. Else Take reports false, and nothing has
// happened.
//
// Preconditions:
//   - w is the header of an Eager frame without FlagSync, of which the payload is at hand.
func (c *Core) Take(r *Message, w wire.Words) bool {
	p, n := c.peers[r.Peer], int(w.Length)
	if n > maxWhole || c.exceeds(p, w.Length) || !c.isFor(r, w) {
		return false
	}
	c.owe(p, n+wire.EagerCost)
	p.countReceived(Unannounced, n)
	if c.cfg.Observer != nil {
		h := w.Header()
		c.observeTaken(p, &h)
	}
	c.took(r, w)
	return true
}

// isFor reports whether the message whose header is w is plain, fits, and is the one that r would
// get if it were posted now.
func (c *Core) isFor(r *Message, w wire.Words) bool {
	tag := Tag(w.Tag())
	if ContextID(w.Context) != r.Ctx || tag != r.Tag && r.Tag != AnyTag {
		return false
	}
	c.posted.searches++
	return int(w.Length) <= len(r.Buf) && w.Flags()&wire.FlagObject == 0 &&
		!c.posted.mayMatch(key{r.Ctx, r.Peer, tag}) && c.events.find(r.key()) == nil && c.IsShut(r.Ctx) == nil
}

// took says in r what it has received.
func (c *Core) took(r *Message, w wire.Words) {
	c.shorts++
	r.Length, r.GotTag, r.Elem, r.Ordinal = int(w.Length), Tag(w.Tag()), w.Elem(), c.shorts
}

// IsAwaited reports whether a receive is posted that the message would go to.
func (c *Core) IsAwaited(id PeerID, h *wire.Header) bool {
	return c.posted.awaits(key{ContextID(h.Context), id, Tag(h.Tag)})
}

func (c *Core) onEager(p *Peer, h *wire.Header) (Sink, error) {
	n := int(h.Length)
	m, u, err := c.accept(p, h)
	switch {
	case err != nil:
		return Sink{}, err
	case m != nil:
		return c.eagerPosted(p, h, m, n), nil
	case u == nil:
		return c.discard(p, h), nil
	case n == 0:
		u.setState(Queued)
		c.arrived(u)
		return Sink{}, nil
	}
	u.setState(Moving)
	c.arrived(u)
	p.filling = u
	return Sink{Dst: u.Buf, m: u, n: n}, nil
}

// eagerPosted directs an eager payload into the receive that waits for it.
func (c *Core) eagerPosted(p *Peer, h *wire.Header, m *MSO, n int) Sink {
	if h.Flags&wire.FlagSync != 0 {
		c.control(p, &wire.Header{Kind: wire.KindAck, ID: h.ID})
	}
	m.seq = c.events.next()
	m.setState(Moving)
	if m.Alloc != nil { // at most the window: short enough for the mutex
		m.Err = m.allocate(n, c.cfg.MaxMessage)
	}
	if n == 0 {
		c.returnCredit(p, 0)
		c.recvDone(m)
		return Sink{}
	}
	p.filling = m
	return sinkOf(m, 0, n)
}

// arrival makes the event queue's MSO of a message; number is what headArrived has said.
func (c *Core) arrival(p *Peer, h *wire.Header, number uint64) *MSO {
	u := c.newMSO(KindArrival)
	u.seq = c.events.next()
	u.Peer, u.Tag, u.Ctx, u.Elem = p.ID, Tag(h.Tag), ContextID(h.Context), h.Elem
	u.Object = h.Flags&wire.FlagObject != 0
	u.Length, u.remote = int(h.Length), h.ID
	u.fetch = h.Flags&wire.FlagPull != 0
	if u.number = number; h.Kind == wire.KindRTS {
		u.via = Rendezvous
	} else {
		u.via, u.plain = Eager, number == 0
	}
	return u
}

func (c *Core) onRTS(p *Peer, h *wire.Header) error {
	if h.Flags&wire.FlagPull != 0 && p.local == nil {
		return &ProtocolError{p.ID, "an offer of memory that is not of this host"}
	}
	if c.isUnwanted(ContextID(h.Context), Tag(h.Tag)) {
		c.discard(p, h)
		return nil
	}
	m := c.match(p, key{ContextID(h.Context), p.ID, Tag(h.Tag)})
	number := c.headArrived(p, h, Rendezvous, m)
	if m != nil {
		u := c.arrival(p, h, number)
		m.fillFrom(u, u.Length)
		m.setState(Moving)
		if j, ok := c.approve(m, u); ok {
			c.jobs.Push(j)
		}
		return nil
	}
	if c.announced >= c.cfg.Announced {
		return c.tooMany()
	}
	c.stats.Unexpected++
	u := c.arrival(p, h, number)
	if !c.askEarly(p, u, h) {
		c.announced++
		u.setState(Awaiting)
	}
	c.arrived(u)
	return nil
}

// arrived puts u on the event queue, unless a matched probe takes it, or a service does.
func (c *Core) arrived(u *MSO) {
	if len(c.services) > 0 {
		if s := c.services[u.Ctx]; s != nil {
			s.waiting.push(u)
			return
		}
	}
	if !c.offerToProbes(u) {
		c.events.add(u)
	}
}

func (c *Core) onData(p *Peer, h *wire.Header) (Sink, error) {
	m := c.ids.get(h.ID)
	if m == nil || !m.isFrom(p.ID) || m.fetch {
		return Sink{}, &ProtocolError{p.ID, "Data for no receive of ours"}
	}
	n := int(h.Length)
	if h.Context != uint64(m.moved) || h.Length > uint64(m.total-m.moved) {
		return Sink{}, &ProtocolError{p.ID, "Data out of place"}
	}
	if m.ended {
		return Sink{Skip: n, m: m, n: n}, nil
	}
	return sinkOf(m, m.moved, n), nil
}

// isFrom reports whether m gets Data from a peer: a receive, or the message of one that was given
// up.
func (m *MSO) isFrom(id PeerID) bool {
	return m.Kind == KindRecv && m.Source == id || m.Kind == KindArrival && m.Peer == id
}

// OnPayload says that the payload of s is in place.
func (c *Core) OnPayload(id PeerID, s *Sink) {
	m, p := s.m, c.peers[id]
	if p.filling == m {
		p.filling = nil
	}
	if p.kept != nil && (s.n > min(hurryMin, c.cfg.ShortMax) || m != nil && m.id != 0) {
		p.kept.hurry = true
	}
	switch {
	case m == nil: // an eager payload whose receive was abandoned
		c.returnCredit(p, s.n)
	case m.Kind == KindArrival:
		c.arrivalGrown(m, s.n)
	case m.Kind == KindNotice:
		c.notices.push(m)
	case m.id != 0: // a rendezvous transfer
		if m.moved += s.n; m.moved == m.total {
			c.recvDone(m)
		}
	default:
		c.returnCredit(p, s.n)
		c.recvDone(m)
	}
}

// arrivalGrown takes note of n bytes of u: all that follow a header, or a part of what its sender
// was asked for.
func (c *Core) arrivalGrown(u *MSO, n int) {
	if u.id != 0 {
		if u.moved += n; u.moved < u.total {
			return
		}
		c.dropID(u)
	}
	c.arrivalComplete(u)
}

func (c *Core) arrivalComplete(u *MSO) {
	u.setState(Queued)
	switch m := u.partner; {
	case m != nil: // a receive took it while it was arriving
		u.partner, m.partner = nil, nil
		c.jobs.Push(Job{kind: jobCopy, m: m, from: u, most: c.cfg.MaxMessage})
	case u.ended:
		c.consumed(u)
	}
}

func (c *Core) onCredit(p *Peer, h *wire.Header) error {
	if h.Length > maxWindow || p.credit+int(h.Length) > maxWindow {
		return &ProtocolError{p.ID, "credit beyond any window"}
	}
	p.credit += int(h.Length)
	return nil
}
