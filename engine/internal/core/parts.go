package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// Parts is one end of a partitioned message (MPI 4.1, chapter 4). The sender makes
// its partitions ready one by one, in any order, and each leaves at once as a message
// of its own; the receiver has a receive for each of them.
//
// So the receiver must know how the sender has cut the message. It learns that from
// the hello, a message that the sender's initialisation sends and that the receiver's
// waits for: hellos have a context of their own and the tag that users gave, so their
// order is the order of matching. A receive that is started before the hello has come
// begins when it comes.
//
//	       start                   all partitions done
//	Idle ─────────▶ Moving ──────────────────────────▶ Done ──▶ Moving ...
//
// The owner fills in the request fields and gives it to InitParts. A partition is
// ready when its MSO is not Idle.
type Parts struct {
	MSO MSO // Kind is KindParts: done when the round is

	// Request fields: immutable after InitParts.
	Send   bool
	Null   bool // to nobody: what is ready is done
	Object bool // partitions are serialised objects
	Elem   uint8
	Peer   PeerID
	Tag    Tag
	Hello  ContextID // of the hello
	Data   ContextID // of the partitions
	Base   Tag       // of the sender: tag of its first partition; the others follow
	Count  int       // partitions at this end
	Total  int       // length of the whole message, as both ends must give it: in bytes, or objects
	Buf    []byte    // the whole message, unless it is of objects

	known atomic.Bool // blocks is set, for good
	begun atomic.Bool // started at least once

	// Engine fields: guarded by the engine's mutex.
	blocks []MSO // one for each of the sender's partitions
	hello  MSO
	wire   [helloLen]byte
	left   int   // partitions not done in this round
	err    error // first error of this round
	wrong  error // the two ends do not fit: what comes goes nowhere
	fault  error // why no round can be started any more
	at     int   // of a sender in a round: its place in Core.sends
}

// MaxPartitions bounds what a peer can make us allocate.
const MaxPartitions = 1 << 20

// Errors of Ready.
var (
	ErrInactive     = errors.New("the request is not started")
	ErrReadyAlready = errors.New("the partition is ready already")
)

// UnequalError says that the ends of a partitioned message do not fit.
type UnequalError struct {
	Theirs, Ours             int // length of the message: in bytes, or objects
	TheirParts, OurParts     int
	TheirObjects, OurObjects bool
}

func (e *UnequalError) Error() string {
	unit := func(objects bool) string {
		if objects {
			return "objects"
		}
		return "bytes"
	}
	return fmt.Sprintf("the sender's %d partitions are %d %s in all, the receiver's %d are %d %s",
		e.TheirParts, e.Theirs, unit(e.TheirObjects), e.OurParts, e.Ours, unit(e.OurObjects))
}

// endedError is what comes of a round that was abandoned.
type endedError struct{ cause error }

func (e *endedError) Error() string {
	return fmt.Sprintf("an earlier round was ended (%v), so the two ends no longer agree which one is next: make a new pair of requests", e.cause)
}
func (e *endedError) Unwrap() error { return e.cause }

// The hello: tag of the first partition and number of partitions, 4 bytes each, then
// the length of the message, 8 bytes; little-endian. That it is of objects, and of
// which class its elements are, stands in the frame.
const helloLen = 4 + 4 + 8

func putHello(b *[helloLen]byte, base Tag, count, total int) {
	binary.LittleEndian.PutUint32(b[0:], uint32(base))
	binary.LittleEndian.PutUint32(b[4:], uint32(count))
	binary.LittleEndian.PutUint64(b[8:], uint64(total))
}

// consumeHello reads a hello; ok is false if it cannot be true.
func consumeHello(b *[helloLen]byte) (base Tag, count, total int, ok bool) {
	t, n, l := binary.LittleEndian.Uint32(b[0:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	ok = n > 0 && n <= MaxPartitions && uint64(t)+uint64(n) <= 1<<31 && l < 1<<62 && l%uint64(n) == 0
	return Tag(t), int(n), int(l), ok
}

// InitParts says hello, or waits for the peer's.
func (c *Core) InitParts(p *Parts) {
	p.MSO.Kind, p.MSO.User = KindParts, p
	h := &p.hello
	h.Peer, h.Tag, h.Ctx, h.Object, h.Elem, h.Buf, h.parts = p.Peer, p.Tag, p.Hello, p.Object, p.Elem, p.wire[:], p
	h.Kind = KindRecv
	if p.Send {
		h.Kind = KindSend
		putHello(&p.wire, p.Base, p.Count, p.Total)
		p.cut(p.Base, p.Count)
	}
	if !p.Null {
		c.postLater(h)
	}
}

// RefuseParts is InitParts when nothing can be sent or received any more.
func (c *Core) RefuseParts(p *Parts, err error) {
	p.MSO.Kind, p.MSO.User, p.fault = KindParts, p, err
}

// postLater posts m and leaves the work that it may bring to the holder of the
// progress right.
func (c *Core) postLater(m *MSO) {
	if j, ok := c.Post(m); ok {
		c.jobs.Push(j)
	}
}

// cut makes the MSOs of the partitions.
func (p *Parts) cut(base Tag, count int) {
	p.blocks = make([]MSO, count)
	n := len(p.Buf) / count
	for i := range p.blocks {
		m := &p.blocks[i]
		m.Kind, m.Peer, m.Tag, m.Ctx, m.Object, m.Elem, m.parts = p.hello.Kind, p.Peer, base+Tag(i), p.Data, p.Object, p.Elem, p
		switch {
		case p.wrong != nil: // received to get rid of it: the sender waits for that
		case !p.Object:
			m.Buf = p.Buf[i*n : (i+1)*n : (i+1)*n]
		case !p.Send:
			m.Alloc = func(n int) []byte { return make([]byte, n) }
		}
	}
	p.known.Store(true)
}

// met takes note of the sender's hello, and begins what was started before it.
func (c *Core) met(p *Parts) {
	base, count, total, ok := consumeHello(&p.wire)
	switch h := &p.hello; {
	case p.fault != nil:
	case h.Err != nil:
		p.fault = h.Err
	case h.Length != helloLen || !ok:
		p.fault = &ProtocolError{p.Peer, "a hello of a partitioned message that cannot be true"}
	default:
		if total != p.Total || h.GotObject != p.Object {
			p.wrong = &UnequalError{total, p.Total, count, p.Count, h.GotObject, p.Object}
		}
		p.cut(base, count)
	}
	if p.MSO.State() == Moving {
		c.beginRound(p)
	}
}

// StartParts starts a round.
//
// Preconditions:
//   - p.MSO is Idle: new, or Reset since it was Done.
func (c *Core) StartParts(p *Parts) {
	c.active++
	p.MSO.setState(Moving)
	p.begun.Store(true)
	if p.fault != nil || p.blocks != nil {
		c.beginRound(p)
	}
}

func (c *Core) beginRound(p *Parts) {
	if p.fault != nil {
		c.complete(&p.MSO, p.fault)
		return
	}
	p.err, p.left = nil, len(p.blocks)
	for i := range p.blocks {
		p.blocks[i].Reset()
	}
	if p.Send {
		p.at = len(c.sends)
		c.sends = append(c.sends, p)
		if q := c.peers[p.Peer]; !p.Null && q.gone != nil {
			c.refuseRest(p, q.why())
		}
		return
	}
	for i := range p.blocks {
		c.postLater(&p.blocks[i])
	}
}

// CanReady says why partition i cannot be made ready, nil if it can.
func (p *Parts) CanReady(i int) error {
	switch {
	case p.MSO.State() == Idle:
		return ErrInactive
	case p.MSO.State() == Done && p.MSO.Err != nil:
		return p.MSO.Err
	case p.blocks[i].State() != Idle:
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
	m := &p.blocks[i]
	if p.Object {
		m.Buf = b
	}
	if p.Null {
		c.Refuse(m, nil)
		return Job{}, false
	}
	return c.Post(m)
}

// partDone is called when the hello or a partition is done.
func (c *Core) partDone(p *Parts, m *MSO) {
	if m == &p.hello {
		if !p.Send {
			c.met(p)
		}
		return
	}
	if p.Object && p.Send {
		m.Buf = nil
	}
	if p.err == nil {
		p.err = m.Err
	}
	if p.left--; p.left > 0 {
		return
	}
	if p.Send {
		last := c.sends[len(c.sends)-1]
		c.sends[p.at], last.at = last, p.at
		c.sends[len(c.sends)-1] = nil
		c.sends = c.sends[:len(c.sends)-1]
	}
	if p.wrong != nil {
		p.err = p.wrong
	}
	c.complete(&p.MSO, p.err)
}

// refuseRest ends the partitions of a round that are not ready.
func (c *Core) refuseRest(p *Parts, err error) {
	for i := range p.blocks {
		if m := &p.blocks[i]; m.State() == Idle {
			c.Refuse(m, err)
		}
	}
}

// failParts ends what was to be sent to a peer that is gone. The order does not
// matter, but the one that completes is replaced by the last.
func (c *Core) failParts(q *Peer) {
	for i := len(c.sends) - 1; i >= 0; i-- {
		if p := c.sends[i]; p.Peer == q.ID && !p.Null || q.ID == c.cfg.Self && p.Null {
			c.refuseRest(p, q.why())
		}
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
	if p.blocks == nil {
		c.complete(m, err)
		return
	}
	p.err = err
	c.refuseRest(p, err)
	for i := range p.blocks {
		c.Abandon(&p.blocks[i], err, sinks)
	}
}

// Arrived reports whether the i-th of the receiver's partitions is in place, which it
// is when all of the sender's that overlap it are. It takes no lock: anybody may ask.
// A request that is not active has nothing to wait for.
func (p *Parts) Arrived(i int) (bool, error) {
	switch {
	case !p.begun.Load():
		return true, nil
	case p.MSO.IsDone():
		return true, p.MSO.Err
	case !p.known.Load():
		return false, nil
	}
	first, end := p.Overlap(i)
	for k := first; k < end; k++ {
		m := &p.blocks[k]
		if !m.IsDone() {
			return false, nil
		}
		if m.Err != nil {
			if p.wrong != nil {
				return true, p.wrong
			}
			return true, m.Err
		}
	}
	return true, nil
}

// Overlap returns which of the sender's partitions, from first to before end, share
// something with the i-th of the receiver's. Parts of nothing are treated alike: they
// arrive when those do that are at the same place of the message.
//
// Preconditions:
//   - IsKnown.
func (p *Parts) Overlap(i int) (first, end int) {
	n := len(p.blocks)
	return i * n / p.Count, ((i+1)*n + p.Count - 1) / p.Count
}

// IsKnown reports whether the sender's hello has come. It takes no lock.
func (p *Parts) IsKnown() bool { return p.known.Load() }

// Blocks is the number of the sender's partitions.
//
// Preconditions:
//   - IsKnown.
func (p *Parts) Blocks() int { return len(p.blocks) }

// Payload is what came for the k-th of the sender's partitions.
//
// Preconditions:
//   - Arrived says so of one that overlaps it.
func (p *Parts) Payload(k int) []byte { return p.blocks[k].Buf }
