package core

import "encoding/binary"

// The hello: tag of the first partition and number of partitions, 4 bytes each, then
// the length of the message, 8 bytes; little-endian. A note may follow. That the message
// is of objects, and of which class its elements are, stands in the frame.
const (
	helloLen = 4 + 4 + 8
	// NoteLen is the length of a note, in bytes.
	NoteLen = 64
)

func putHello(b []byte, base Tag, count, total int) {
	binary.LittleEndian.PutUint32(b[0:], uint32(base))
	binary.LittleEndian.PutUint32(b[4:], uint32(count))
	binary.LittleEndian.PutUint64(b[8:], uint64(total))
}

// consumeHello reads a hello of length bytes; ok is false if it cannot be true.
func consumeHello(b []byte, length int) (base Tag, count, total int, ok bool) {
	t, n, l := binary.LittleEndian.Uint32(b[0:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	ok = (length == helloLen || length == helloLen+NoteLen) &&
		n > 0 && n <= MaxPartitions && uint64(t)+uint64(n) <= 1<<31 && l < 1<<62 && l%uint64(n) == 0
	return Tag(t), int(n), int(l), ok
}

// InitParts says hello, or waits for the peer's.
//
// Preconditions:
//   - Total is a multiple of Count.
func (c *Core) InitParts(p *Parts) {
	p.MSO.Kind, p.MSO.User = KindParts, p
	h := &p.hello
	h.Peer, h.Tag, h.Ctx, h.Object, h.Elem, h.Buf, h.parts = p.Peer, p.Tag, p.Hello, p.Object, p.Elem, p.wire[:], p
	h.Kind = KindRecv
	if p.Send {
		h.Kind = KindSend
		putHello(p.wire[:], p.Base, p.Count, p.Total)
		h.Buf = p.wire[:helloLen+copy(p.wire[helloLen:], p.Note)]
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

// cut takes note of how the sender has cut the message.
func (p *Parts) cut(first Tag, count int) {
	p.first, p.blocks, p.states = first, count, newBlockStates(count)
	p.known.Store(true)
}

// met takes note of the sender's hello, and begins what was started before it.
func (c *Core) met(p *Parts) {
	base, count, total, ok := consumeHello(p.wire[:], p.hello.Length)
	switch h := &p.hello; {
	case p.fault != nil:
	case h.Err != nil:
		p.fault = h.Err
	case !ok:
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
