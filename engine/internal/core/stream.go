package core

import (
	"github.com/fitmpi/fitmpi/buffer"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// outChunk is the size of the chunks in which headers and short messages are
// gathered, so that many leave by one system call.
const outChunk = 16 << 10

// segment is a span of a peer's output stream.
type segment struct {
	data  []byte
	block []byte // memory to give back when the span is written
	own   owner  // where block goes
	of    *MSO   // the send whose memory the span is, nil if it is not a send's
	mso   *MSO   // notified when the span is written, or if the stream is kept when it is acknowledged
	loose bool   // it belongs to the connection, not to the stream that is kept
}

// Peer is the core's view of one peer.
type Peer struct {
	ID PeerID

	gone    *PeerError    // not nil once it failed or left
	lost    []lostMessage // once it is gone: messages that no receive had matched, at most maxLost
	bye     bool          // our last frame is on the stream
	up      bool          // we know how much it grants
	local   Local         // nil unless the peer is of this host and reached by a ring
	eager   int           // bytes up to which a payload follows without permission
	credit  int           // eager bytes we may still send
	spared  int           // of them, what only payloads of at most ShortMax may take
	used    int           // eager bytes it has sent that we have not given back
	owed    int           // eager bytes to give back by the next Credit frame
	signals int           // bytes of its signals that are not delivered, with their headers
	parked  int           // sends to it that are announced, and whose callers are gone
	recvs   recvList      // partitioned receives from it that are in a round

	filling *MSO // the receive, or the arrival, that an eager payload from it goes to just now; nil: none

	out       buffer.Ring[segment]
	popped    int   // segments ever taken off out
	chunk     int   // popped + index of the segment that owns the newest chunk, plus 1; 0 if none
	cur       int   // index in out of the segment that is being written; 0 unless the stream is kept
	off       int   // bytes of that segment that are written
	queued    int   // bytes in out that are not written
	kept      *kept // nil unless the stream outlives its connections
	transfers fifo[MSO, *MSO]
	held      fifo[MSO, *MSO] // sends that wait until it is up
	packing   int             // bytes of layouts that jobs pack, to be put into out

	sent     [3]Traffic // by Protocol
	received [2]Traffic
	heads    uint64 // messages from it that have arrived; counted for an observer only
	frames   uint64 // that were sent, without those of short messages, and asides
	asides   uint64 // frames that belong to a connection: see aside
	spans    uint64 // bytes of payload that went on the stream from where they lay

	isDirty bool
	next    *Peer
}

func (p *Peer) link() **Peer { return &p.next }
func (m *MSO) link() **MSO   { return &m.next }

// fifo is an intrusive queue.
type fifo[T any, P interface {
	*T
	link() **T
}] struct{ head, tail *T }

func (f *fifo[T, P]) push(x *T) {
	if f.tail == nil {
		f.head = x
	} else {
		*P(f.tail).link() = x
	}
	f.tail = x
}

func (f *fifo[T, P]) pop() *T {
	x := f.head
	if x == nil {
		return nil
	}
	l := P(x).link()
	f.head = *l
	if *l = nil; f.head == nil {
		f.tail = nil
	}
	return x
}

// remove takes x out, wherever it is.
func (f *fifo[T, P]) remove(x *T) {
	var rest fifo[T, P]
	for y := f.pop(); y != nil; y = f.pop() {
		if y != x {
			rest.push(y)
		}
	}
	*f = rest
}

func (c *Core) markDirty(p *Peer) {
	if !p.isDirty {
		p.isDirty = true
		c.dirty.push(p)
	}
}

// HasOutput reports whether NextDirty would return a peer.
func (c *Core) HasOutput() bool { return c.dirty.head != nil }

// NextDirty takes a peer that has something to write off the list.
func (c *Core) NextDirty() (PeerID, bool) {
	for p := c.dirty.pop(); p != nil; p = c.dirty.pop() {
		if p.isDirty = false; p.gone == nil {
			return p.ID, true
		}
	}
	return 0, false
}

// control appends a frame without payload, unless nothing may be said to p any
// more: an answer to a message that arrived whole before its sender failed goes
// nowhere.
func (c *Core) control(p *Peer, h *wire.Header) {
	if p.gone != nil || p.bye {
		return
	}
	p.frames++
	if !p.putNow(h.Words(), nil) {
		wire.PutHeader(c.reserve(p, wire.HeaderLen), h)
	}
}

// reserve returns n bytes (at most outChunk) at the end of p's stream for the
// caller to fill before the mutex is released. Control frames must always find
// room, so a chunk is taken beyond the budget if need be.
func (c *Core) reserve(p *Peer, n int) []byte {
	c.grow(p, n)
	s := p.newestChunk()
	if s == nil || len(s.data)+n > cap(s.data) {
		b := c.pool.Force(outChunk)
		p.pushChunk(segment{data: b[:n], block: b, own: ownPool})
		return b[:n]
	}
	end := len(s.data)
	d := s.data[end : end+n]
	if p.chunk == p.popped+p.out.Len() { // the last segment of the stream
		s.data = s.data[:end+n]
		return d
	}
	// Memory that append was given stands behind it. The rest of the chunk goes on behind that, and
	// the block with it: it is free when its last bytes are written.
	next := segment{data: d, block: s.block, own: s.own}
	s.data, s.block, s.own = s.data[:end:end], nil, ownUser
	p.pushChunk(next)
	return d
}

// grow notes that n bytes are put on p's stream.
func (c *Core) grow(p *Peer, n int) {
	c.markDirty(p)
	p.queued += n
	c.unsent += n
}

// newestChunk returns the segment that owns the chunk taken last, nil if it is written.
func (p *Peer) newestChunk() *segment {
	if p.chunk <= p.popped {
		return nil
	}
	return p.out.At(p.chunk - 1 - p.popped)
}

func (p *Peer) pushChunk(s segment) {
	p.out.Push(s)
	p.chunk = p.popped + p.out.Len()
}

// popSegment takes the first segment off the stream and gives back its block.
func (c *Core) popSegment(p *Peer) *MSO {
	s := p.out.PopFront()
	p.popped++
	c.giveBack(s.block, s.own)
	return s.mso
}

// append puts a span of memory that is in no chunk of p's, such as a user's, on p's stream.
func (c *Core) append(p *Peer, s segment) {
	c.grow(p, len(s.data))
	p.spans += uint64(len(s.data))
	p.out.Push(s)
}

// Gather appends to bufs what should be written to p now, in order. To a peer that must acknowledge
// something first nothing is to be written, except our own acknowledgement and what stands before
// it. The peer may wait for that just as well, and all of it is in memory anyway. The slices stay
// valid until the next call of Wrote for p, mutex or not: what the core appends meanwhile goes
// behind them.
func (c *Core) Gather(id PeerID, bufs [][]byte) [][]byte {
	p := c.peers[id]
	full := c.isFull(p)
	if full && !p.kept.noting {
		return bufs
	}
	if !full {
		c.refill(p)
	}
	for i := p.cur; i < p.out.Len() && len(bufs) < cap(bufs); i++ {
		d := p.out.At(i).data
		last := full && p.kept.isNote(d)
		if i == p.cur {
			d = d[p.off:]
		}
		if len(d) > 0 {
			bufs = append(bufs, d)
		}
		if last {
			break
		}
	}
	return bufs
}

// refill turns rendezvous transfers into Data frames, one chunk of each in
// turn, as long as little is queued: so that a long message neither starves
// others nor leaves the socket idle. What is being packed counts: else a thousand
// messages with layouts would have a block of memory each before the first has left.
func (c *Core) refill(p *Peer) {
	for p.queued+p.packing < c.cfg.Chunk && !p.bye {
		m := p.transfers.pop()
		if m == nil {
			return
		}
		if m.Layout != nil {
			c.startPack(p, m)
			continue
		}
		n := min(c.cfg.Chunk, m.total-m.moved)
		h := wire.Header{Kind: wire.KindData, ID: m.remote, Context: uint64(m.moved), Length: uint64(n)}
		c.control(p, &h)
		s := segment{data: m.Buf[m.moved : m.moved+n], of: m}
		if m.moved += n; m.moved == m.total {
			s.mso = m
		} else {
			p.transfers.push(m)
		}
		c.append(p, s)
	}
}

// Wrote says that the first n bytes of what Gather gave for p were written. It
// completes sends and frees blocks, unless they are kept, and reports whether there is more for p.
func (c *Core) Wrote(id PeerID, n int) (more bool) {
	p := c.peers[id]
	p.queued -= n
	c.unsent -= n
	if p.kept != nil {
		c.wroteKept(p, n)
	} else {
		c.wroteAll(p, n)
	}
	if more = p.queued > 0 || p.transfers.head != nil; more {
		c.markDirty(p)
	}
	return more
}

// wroteAll takes what is written off the stream.
func (c *Core) wroteAll(p *Peer, n int) {
	p.off += n
	for p.out.Len() > 0 {
		s := p.out.At(0)
		if p.off < len(s.data) {
			break
		}
		p.off -= len(s.data)
		if m := c.popSegment(p); m != nil {
			c.written(m)
		}
	}
}

// written says that all of m's payload is with the kernel, or if the stream is kept with the peer.
func (c *Core) written(m *MSO) {
	if m.wants &^= wantWrite; m.wants == 0 {
		c.sendDone(m, nil)
	}
}

// sendDone completes a send and gives back the block it was sent from.
func (c *Core) sendDone(m *MSO, err error) {
	if c.cfg.Observer != nil {
		c.observeSendDone(m, err)
	}
	if m.own == ownAttach {
		c.leaveAttached(m)
	} else {
		c.giveBack(m.Buf, m.own)
	}
	if m.own != ownUser {
		m.Buf, m.own = nil, ownUser
	}
	c.complete(m, err)
}

func (c *Core) giveBack(b []byte, o owner) {
	switch o {
	case ownUser:
		return
	case ownPool:
		c.pool.Put(b)
	case ownSlab:
		c.slabs.Put(b)
		return
	case ownEarly:
		c.early.Put(b)
		return
	default:
		panic("core: block of unknown owner: a bug of ours")
	}
	c.wakeRoom()
}

// WaitRoom registers w to be woken when memory of the library buffer is given back,
// or the last detached send has ended. It fires once.
func (c *Core) WaitRoom(w *Waiter) {
	w.fired, w.next, c.room = false, c.room, w
}

// LeaveRoom undoes WaitRoom and reports whether w fired, as Detach does.
func (c *Core) LeaveRoom(w *Waiter) bool {
	for l := &c.room; *l != nil; l = &(*l).next {
		if *l == w {
			*l, w.next = w.next, nil
			break
		}
	}
	return w.fired
}

func (c *Core) wakeRoom() {
	for w := c.room; w != nil; {
		next := w.next
		w.fired, w.next, c.woken = true, c.woken, w
		w = next
	}
	c.room = nil
}
