package core

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// kept is what a stream needs to outlive its connections: see docs/PROTOCOL.md, Resuming. Positions
// count the bytes of frames from the stream's beginning, but not those of frames that belong to one
// connection: the loose segments.
//
// The segments of Peer.out are then, from its front,
//
//	kept, acknowledged in part | kept | being written | to be written
//	base                         acked           written
//
// and Peer.cur is the index of the one being written. That is the last one, written whole, when
// there is nothing to write: so it may grow.
type kept struct {
	base    uint64 // position of the first byte of Peer.out
	acked   uint64 // the peer has received what is before
	written uint64 // what is before is with the kernel
	sealed  uint64 // bytes from written on that the peer may have all the same: see Sealed
	early   uint64 // what it has acknowledged beyond written; 0 if nothing
	resent  int    // bytes that were written more than once, less those of loose segments that never left: for BytesOut

	unsure bool // it went on with another connection, and the peer has not acknowledged all since

	ackSent uint64 // position in the peer's stream that we have acknowledged
	hurry   bool   // the peer may wait for our acknowledgement

	note   [wire.HeaderLen]byte // our last acknowledgement
	noting bool                 // note is on the stream, not all written
	fixed  bool                 // note is among what is sealed
}

// isNote reports whether a segment's data is note.
func (k *kept) isNote(b []byte) bool { return len(b) > 0 && &b[0] == &k.note[0] }

const (
	// ackEvery is how much of a peer's stream is acknowledged at the latest.
	ackEvery = 64 << 10
	// hurryMin is the least payload of an eager message that a sender may have sent from memory
	// that is not its own to keep.
	hurryMin = 4 << 10
)

// Keep says that the stream to a peer outlives its connections: what is written stays until it is
// acknowledged.
//
// Preconditions:
//   - nothing was written to it.
func (c *Core) Keep(id PeerID) { c.peers[id].kept = new(kept) }

// Keeps reports whether the stream to a peer outlives its connections.
func (c *Core) Keeps(id PeerID) bool { return c.peers[id].kept != nil }

// Kept is how many bytes were written to a peer that it has not acknowledged. 0 if nothing is kept.
func (c *Core) Kept(id PeerID) int {
	if k := c.peers[id].kept; k != nil {
		return int(k.written - k.acked)
	}
	return 0
}

// Unsure reports whether the stream to a peer that is not gone has gone on with another connection,
// and the peer has not acknowledged all since that was to be said. That connection may be worth
// nothing: the peer may have another one in mind, or not notice that this one has broken.
func (c *Core) Unsure() bool {
	return slices.ContainsFunc(c.peers, func(p *Peer) bool {
		return p.gone == nil && p.kept != nil && p.kept.unsure
	})
}

// Acked is how many bytes of the stream to a peer are acknowledged, Written how many were written.
func (c *Core) Acked(id PeerID) (acked, written uint64) {
	if k := c.peers[id].kept; k != nil {
		return k.acked, k.written
	}
	return 0, 0
}

// isFull reports whether nothing more may be written to p until it has acknowledged something, but
// for acknowledgements: see Gather.
func (c *Core) isFull(p *Peer) bool {
	return p.kept != nil && p.kept.written-p.kept.acked >= uint64(c.cfg.Unacked)
}

// wroteKept is Wrote for a stream that is kept.
func (c *Core) wroteKept(p *Peer, n int) {
	k := p.kept
	k.sealed, k.fixed = 0, false
	for n > 0 {
		s := p.out.At(p.cur)
		m := min(n, len(s.data)-p.off)
		n -= m
		p.off += m
		if !s.loose {
			k.written += uint64(m)
		}
		if p.off < len(s.data) {
			break
		}
		if s.loose {
			c.dropLoose(p, s)
			p.off = 0
		}
		if p.cur+1 == p.out.Len() {
			break
		}
		p.cur++
		p.off = 0
	}
	if k.early > 0 {
		k.acked, k.early = max(k.acked, min(k.early, k.written)), 0
	}
	c.release(p)
}

// Sealed says that n bytes from the front of what Gather gave for a peer may have been written or
// not. They are encrypted, and a driver that has written a part of them cannot tell how much the
// peer makes of that part. Wrote says when all are written.
func (c *Core) Sealed(id PeerID, n int) {
	p := c.peers[id]
	k := p.kept
	if k == nil {
		return
	}
	k.sealed = 0
	for i := p.cur; i < p.out.Len() && n > 0; i++ {
		s := p.out.At(i)
		m := len(s.data)
		if i == p.cur {
			m -= p.off
		}
		m = min(m, n)
		n -= m
		if !s.loose {
			k.sealed += uint64(m)
		}
		k.fixed = k.fixed || k.isNote(s.data)
	}
}

// dropLoose forgets a loose segment: it is never sent again. Its place on the stream remains,
// empty.
func (c *Core) dropLoose(p *Peer, s *segment) {
	if p.kept.isNote(s.data) {
		p.kept.noting = false
	}
	s.data = nil
}

// release takes off the stream what is written and acknowledged.
func (c *Core) release(p *Peer) {
	k := p.kept
	for p.out.Len() > 0 {
		s := p.out.At(0)
		end := k.base + uint64(len(s.data))
		if p.cur == 0 && p.off < len(s.data) || end > k.acked {
			return
		}
		k.base = end
		if p.cur > 0 {
			p.cur--
		} else {
			p.off = 0
		}
		if m := c.popSegment(p); m != nil {
			c.written(m)
		}
	}
}

// onReceived: the peer has so much of our stream.
func (c *Core) onReceived(p *Peer, h *wire.Header) error {
	if p.kept == nil {
		return &ProtocolError{p.ID, "Received for a stream that ends with its connection"}
	}
	k := p.kept
	if h.Length > k.written+k.sealed {
		return &ProtocolError{p.ID, "Received for more than was sent"}
	}
	if h.Length > k.written {
		k.early = max(k.early, h.Length)
	}
	c.acked(p, min(h.Length, k.written))
	return nil
}

func (c *Core) acked(p *Peer, total uint64) {
	if total <= p.kept.acked {
		return
	}
	full := c.isFull(p)
	p.kept.acked = total
	p.kept.unsure = p.kept.unsure && (total < p.kept.written || p.hasMore())
	c.release(p)
	if full && (p.queued > 0 || p.transfers.head != nil) {
		c.markDirty(p)
	}
}

// hasMore reports whether more than loose segments is to be written.
func (p *Peer) hasMore() bool {
	for i := p.cur; i < p.out.Len(); i++ {
		if s := p.out.At(i); !s.loose && (i > p.cur || p.off < len(s.data)) {
			return true
		}
	}
	return p.transfers.head != nil
}

// Resume goes on with a stream on a new connection. The other end is known to have received total
// bytes of the stream, and has heard that we have received told bytes of its own. Resume returns
// how many bytes are sent again.
//
// Preconditions:
//   - Keep was called, and CanResume says nil.
//   - no goroutine is between Gather and Wrote.
func (c *Core) Resume(id PeerID, total, told uint64) (again int) {
	p := c.peers[id]
	k := p.kept
	c.cutLoose(p)
	if n := int(total - k.written); total > k.written { // it was sealed
		p.queued -= n
		c.unsent -= n
		c.wroteKept(p, n)
	}
	k.sealed, k.early, k.fixed = 0, 0, false
	c.acked(p, total)
	k.unsure = true
	again = int(k.written - total)
	k.written, k.resent, k.ackSent = total, k.resent+again, told
	c.stats.Resent += uint64(again)
	p.queued += again
	c.unsent += again
	p.cur, p.off = 0, int(total-k.base)
	for p.cur+1 < p.out.Len() {
		n := len(p.out.At(p.cur).data)
		if p.off < n {
			break
		}
		p.off -= n
		p.cur++
	}
	if p.queued > 0 || p.transfers.head != nil {
		c.markDirty(p)
	}
	return again
}

// CanResume returns nil if a stream can go on behind its first total bytes.
func (c *Core) CanResume(id PeerID, total uint64) error {
	switch k := c.peers[id].kept; {
	case total < k.acked:
		return fmt.Errorf("it says that it has received %d bytes, and has acknowledged %d before: it has started anew", total, k.acked)
	case total > k.written+k.sealed:
		return fmt.Errorf("it says that it has received %d bytes, and %d were sent to it: it has had to do with another", total, k.written+k.sealed)
	}
	return nil
}

// cutLoose drops what belongs to a connection that is gone.
func (c *Core) cutLoose(p *Peer) {
	for i := p.cur; i < p.out.Len(); i++ {
		s := p.out.At(i)
		if !s.loose || len(s.data) == 0 {
			continue
		}
		left := len(s.data)
		if i == p.cur {
			left -= p.off
			p.off = 0
		}
		p.queued -= left
		c.unsent -= left
		p.kept.resent -= left
		c.dropLoose(p, s)
	}
}

// aside puts a frame on p's stream that belongs to the connection: it has no position, and is not
// sent again on another one.
func (c *Core) aside(p *Peer, h *wire.Header) {
	if p.kept == nil {
		p.frames-- // as in pushLoose
		p.asides++
		c.control(p, h)
		return
	}
	b := make([]byte, wire.HeaderLen)
	wire.PutHeader(b, h)
	c.pushLoose(p, b)
}

func (c *Core) pushLoose(p *Peer, b []byte) {
	p.asides++ // no frame: it may go on for ever, or be lost, which says nothing of what is under way
	c.grow(p, len(b))
	p.out.Push(segment{data: b, loose: true})
}

// Broken says that the connection to a peer is gone, and what belongs to it.
func (c *Core) Broken(id PeerID) { c.cutLoose(c.peers[id]) }

// Acknowledge says that so much of the peer's stream has come. It puts an acknowledgement on ours
// if it is time, or now is set, and reports whether one is still owed.
func (c *Core) Acknowledge(id PeerID, total uint64, now bool) (owed bool) {
	p := c.peers[id]
	k := p.kept
	if k == nil || p.gone != nil || total == k.ackSent {
		return false
	}
	if !now && !k.hurry && total-k.ackSent < ackEvery {
		return true
	}
	if k.noting { // unless it is being written, it can say more
		if s := p.out.At(p.cur); k.fixed || p.off > 0 && k.isNote(s.data) {
			return true
		}
	}
	k.ackSent, k.hurry = total, false
	wire.PutHeader(k.note[:], &wire.Header{Kind: wire.KindReceived, Length: total})
	if !k.noting {
		k.noting = true
		c.pushLoose(p, k.note[:])
	}
	return false
}
