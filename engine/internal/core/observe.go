package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// Observer sees every message. Its method is called with the engine's mutex held, in the order in
// which things happen. The method must be short, must not block, and must not call the engine. The
// core has no clock: an observer that wants a time reads one.
type Observer interface {
	Message(MessageEvent)
}

// MessageEvent is something that happened to a message. (By value: a pointer behind an interface
// would put each on the heap.)
type MessageEvent struct {
	Kind       EventKind
	Protocol   Protocol // to itself Short; for what arrives without an announcement Eager, for its receiver does not see more
	Unexpected bool     // Arrived: no receive waits for it
	Whole      bool     // it follows the event before it of this message at once: no time has passed that would be worth a look at the clock
	Cancelled  bool     // SendDone: by its sender, and no receive has got it
	Object     bool     // the payload is a serialised object
	Peer       PeerID   // the other end
	Tag        Tag
	Ctx        ContextID
	Bytes      int    // of the payload
	Number     uint64 // the message is that many of those that its sender has sent to its receiver, from 1: the same at both ends
	Err        error  // SendDone, Received: why it failed, or was truncated
}

// EventKind is what happened.
type EventKind uint8

// The kinds. At the sender a message is Sent and then SendDone; at the receiver it has Arrived, is
// Matched by a receive, at once or later, and Received; or it is Withdrawn before anything matches
// it. A message that breaks off has no last event.
const (
	EventSent      EventKind = iota // its header is on the way
	EventSendDone                   // the sender's memory is free again; a message that was copied may still be on its way
	EventArrived                    // its header is here; the payload of a short one is too
	EventMatched                    // a receive has it that was posted before it, or takes it now
	EventReceived                   // its payload is in the receive's memory
	EventWithdrawn                  // its sender has cancelled it in time, or the receiver can have no use for it: its context is shut, or its schedule has failed
)

// sentTo is how many messages were ever sent to p: the number of the last one.
func (p *Peer) sentTo() uint64 {
	return p.sent[Short].Messages + p.sent[Eager].Messages + p.sent[Rendezvous].Messages
}

// observeSent has the observer see the message that countSend has just counted; m, if not nil, is
// the send whose end sendDone will have it see.
//
// Preconditions:
//   - there is an observer, as for all that follow.
func (c *Core) observeSent(p *Peer, m *MSO, ev MessageEvent) {
	ev.Kind, ev.Peer, ev.Number = EventSent, p.ID, p.sentTo()
	c.cfg.Observer.Message(ev)
	if m != nil {
		m.number, m.via = ev.Number, ev.Protocol
	}
}

// observeSend is observeSent of what m says.
func (c *Core) observeSend(p *Peer, m *MSO, by Protocol) {
	c.observeSent(p, m, m.event(by))
}

// observeShort is observeSent of a short message with the header h. Without a send it is done at
// once.
func (c *Core) observeShort(p *Peer, m *MSO, h *wire.Header) {
	ev := headerEvent(p, h, Short)
	c.observeSent(p, m, ev)
	if m == nil {
		ev.Kind, ev.Number, ev.Whole = EventSendDone, p.sentTo(), true
		c.cfg.Observer.Message(ev)
	}
}

// headerEvent is what the header of a message to or from p says.
func headerEvent(p *Peer, h *wire.Header, by Protocol) MessageEvent {
	return MessageEvent{Protocol: by, Object: h.Flags&wire.FlagObject != 0, Peer: p.ID, Tag: Tag(h.Tag), Ctx: ContextID(h.Context), Bytes: int(h.Length)}
}

// event is what the envelope of a send or an arrival says.
func (m *MSO) event(by Protocol) MessageEvent {
	n := m.Length
	if m.Kind == KindSend {
		n = m.Size()
	}
	return MessageEvent{Protocol: by, Object: m.Object, Peer: m.Peer, Tag: m.Tag, Ctx: m.Ctx, Bytes: n, Number: m.number}
}

// observeSendDone has the observer see, once, that send m is done, if its header was ever sent.
func (c *Core) observeSendDone(m *MSO, err error) {
	if m.number == 0 {
		return
	}
	ev := m.event(m.via)
	ev.Kind, ev.Cancelled, ev.Err = EventSendDone, m.Cancelled, err
	if m.Err != nil {
		ev.Err = m.Err
	}
	m.number = 0
	c.cfg.Observer.Message(ev)
}

// headArrived has the observer see a message of p whose header has just arrived, and returns its
// number; m is the receive that waits for it, or nil. Without an observer the number is 0.
func (c *Core) headArrived(p *Peer, h *wire.Header, by Protocol, m *MSO) uint64 {
	if c.cfg.Observer == nil {
		return 0 // this much is inlined
	}
	return c.observeHead(p, h, by, m)
}

func (c *Core) observeHead(p *Peer, h *wire.Header, by Protocol, m *MSO) uint64 {
	n := c.observeArrived(p, headerEvent(p, h, by), m != nil)
	if m != nil {
		m.number, m.via = n, by
	}
	return n
}

// observeTaken has the observer see a message that came and was received at once.
func (c *Core) observeTaken(p *Peer, h *wire.Header) {
	ev := headerEvent(p, h, Eager)
	ev.Number = c.observeArrived(p, ev, true)
	ev.Kind, ev.Whole = EventReceived, true
	c.cfg.Observer.Message(ev)
}

// observeArrived numbers the message of p that has just arrived, and has the observer see it;
// matched says that a receive waits for it.
func (c *Core) observeArrived(p *Peer, ev MessageEvent, matched bool) (number uint64) {
	p.heads++
	ev.Kind, ev.Peer, ev.Number, ev.Unexpected = EventArrived, p.ID, p.heads, !matched
	c.cfg.Observer.Message(ev)
	if matched {
		ev.Kind, ev.Whole = EventMatched, true
		c.cfg.Observer.Message(ev)
	}
	return ev.Number
}

// observeMatched has the observer see that a receive takes u, which arrived before it.
func (c *Core) observeMatched(u *MSO) {
	ev := u.event(u.via)
	ev.Kind = EventMatched
	c.cfg.Observer.Message(ev)
}

// observeReceived has the observer see that receive m has its message.
func (c *Core) observeReceived(m *MSO, err error) {
	if m.number == 0 {
		return // a stand-in for a receive that was abandoned
	}
	ev := MessageEvent{Kind: EventReceived, Protocol: m.via, Object: m.GotObject, Peer: m.Source, Tag: m.GotTag, Ctx: m.Ctx, Bytes: m.Length, Number: m.number, Err: err}
	if m.Err != nil {
		ev.Err = m.Err
	}
	ev.Whole, c.whole = c.whole, false
	m.number = 0
	c.cfg.Observer.Message(ev)
}

// observeWithdrawn has the observer see that u is withdrawn.
func (c *Core) observeWithdrawn(u *MSO) {
	ev := u.event(u.via)
	ev.Kind = EventWithdrawn
	c.cfg.Observer.Message(ev)
}
