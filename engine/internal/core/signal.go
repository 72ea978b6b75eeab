package core

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// A signal is a small message from engine to engine: no receive is posted for it, and no context
// has to be known. It waits in library memory until the holder of the progress right hands it to
// the engine's owner, with the mutex released. Signals of one peer, and the news of its end, stay
// in order.

// MaxSignal is the longest payload of a signal, in bytes.
const MaxSignal = wire.MaxSignal

// SignalWindow bounds the signals of one peer that wait to be delivered, in bytes, each counting as
// a frame. The driver delivers after every read, which brings less, so only a rank that floods
// itself comes close to it.
const SignalWindow = 1 << 20

// Errors of Signal.
var (
	ErrSignalTooLong = errors.New("the payload of a signal is too long")
	ErrSignalFlood   = errors.New("too many signals of this rank to itself")
)

// Notices are signals and news of the end of peers on their way to the engine's owner, in the order
// in which they came.
type Notices struct{ fifo fifo[MSO, *MSO] }

// Signal puts a signal on the stream to peer id, or on the list of those to be delivered if that is
// this rank. It fails if the peer is gone. It keeps nothing of payload.
func (c *Core) Signal(id PeerID, ctx ContextID, payload []byte) error {
	p := c.peers[id]
	switch {
	case len(payload) > MaxSignal:
		return ErrSignalTooLong
	case p.gone != nil:
		return p.why()
	case p.bye:
		return ErrStopped
	case id == c.cfg.Self:
		return c.signalSelf(p, ctx, payload)
	}
	p.frames++
	h := wire.Header{Kind: wire.KindSignal, Context: uint64(ctx), Length: uint64(len(payload))}
	if p.putNow(h.Words(), payload) {
		return nil
	}
	b := c.reserve(p, wire.HeaderLen+len(payload))
	wire.PutHeader(b, &h)
	copy(b[wire.HeaderLen:], payload)
	return nil
}

func (c *Core) signalSelf(p *Peer, ctx ContextID, payload []byte) error {
	m := c.newSignal(p, ctx, len(payload))
	if m == nil {
		return ErrSignalFlood
	}
	copy(m.Buf, payload)
	c.notices.push(m)
	return nil
}

// newSignal makes room for a signal of n bytes from p, nil if too much of p's waits.
func (c *Core) newSignal(p *Peer, ctx ContextID, n int) *MSO {
	if p.signals+wire.HeaderLen+n > SignalWindow {
		return nil
	}
	p.signals += wire.HeaderLen + n
	m := c.newMSO(KindNotice)
	m.Peer, m.Ctx, m.Length = p.ID, ctx, n
	if n > 0 {
		m.Buf, m.own = c.slabs.Force(n), ownSlab
	}
	return m
}

func (c *Core) onSignal(p *Peer, h *wire.Header) (Sink, error) {
	if h.Length > MaxSignal {
		return Sink{}, &ProtocolError{p.ID, "a signal that is too long"}
	}
	n := int(h.Length)
	m := c.newSignal(p, ContextID(h.Context), n)
	if m == nil {
		return Sink{}, &ProtocolError{p.ID, "signals beyond what may wait"}
	}
	if n == 0 {
		c.notices.push(m)
		return Sink{}, nil
	}
	return Sink{Dst: m.Buf, m: m, n: n}, nil
}

// noticeGone notifies the owner that p is gone, behind the signals of p's that have come.
func (c *Core) noticeGone(p *Peer) {
	if p.gone.Cause == ErrStopped {
		return // it is this rank that goes
	}
	m := c.newMSO(KindNotice)
	m.Peer, m.Err = p.ID, p.gone
	c.notices.push(m)
}

// HasNotices reports whether TakeNotices would return any.
func (c *Core) HasNotices() bool { return c.notices.head != nil }

// TakeNotices takes all that are there. The caller hands them on and then calls FreeNotices.
func (c *Core) TakeNotices() Notices {
	n := Notices{c.notices}
	c.notices = fifo[MSO, *MSO]{}
	return n
}

// FreeNotices gives back the memory of what TakeNotices has returned.
func (c *Core) FreeNotices(n Notices) {
	for m := n.fifo.pop(); m != nil; m = n.fifo.pop() {
		c.dropNotice(m)
	}
}

func (c *Core) dropNotice(m *MSO) {
	if m.Err == nil {
		c.peers[m.Peer].signals -= wire.HeaderLen + m.Length
	}
	c.giveBack(m.Buf, m.own)
	c.freeMSO(m)
}

// Each calls signal or gone for every one of them. payload is valid during the call.
func (n *Notices) Each(signal func(from PeerID, ctx ContextID, payload []byte), gone func(PeerID, *PeerError)) {
	for m := n.fifo.head; m != nil; m = m.next {
		switch err, _ := m.Err.(*PeerError); {
		case err == nil && signal != nil:
			signal(m.Peer, m.Ctx, m.Buf)
		case err != nil && gone != nil:
			gone(m.Peer, err)
		}
	}
}
