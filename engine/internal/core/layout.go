package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// Layout is a payload that is not one piece of memory: the elements of a column, the fields of
// structures without what is between them. Its bytes are those of the message, in their
// order. Its methods are called without the mutex where they would take long, and never two at
// once for one MSO; partitions of one message are MSOs of their own.
type Layout interface {
	// Len is the number of bytes of the message, of a receive the most that it takes.
	Len() int
	// Pack copies bytes [off, off+len(dst)) of the message to dst.
	Pack(dst []byte, off int)
	// Unpack puts src where bytes [off, off+len(src)) of the message belong.
	Unpack(off int, src []byte)
}

// packChunk is how many bytes of a layout are packed at a time, and so the most that it takes of
// the library send buffer beyond what is on the stream.
const packChunk = 64 << 10

// Size is the number of bytes of the message, of a receive the most that it takes.
func (m *MSO) Size() int {
	if m.Layout != nil {
		return m.Layout.Len()
	}
	return len(m.Buf)
}

// CopyTo copies the message to dst, which is as long.
func (m *MSO) CopyTo(dst []byte) {
	if m.Layout != nil {
		m.Layout.Pack(dst, 0)
	} else {
		copy(dst, m.Buf)
	}
}

// fill puts src where bytes from off on of a receive belong, as much as there is room for.
func (m *MSO) fill(off int, src []byte) {
	if m.Layout == nil {
		if off < len(m.Buf) {
			copy(m.Buf[off:], src)
		}
		return
	}
	if room := m.Layout.Len() - off; room > 0 {
		m.Layout.Unpack(off, src[:min(room, len(src))])
	}
}

// payload returns the payload of a short message in one piece, which is valid while the mutex is
// held.
func (c *Core) payload(m *MSO) []byte {
	if m.Layout == nil {
		return m.Buf
	}
	n := m.Layout.Len()
	if cap(c.packed) < n {
		c.packed = make([]byte, max(n, c.cfg.ShortMax))
	}
	b := c.packed[:n]
	m.Layout.Pack(b, 0)
	return b
}

// startPack begins to pack the next chunk of a transfer: a job, because it may take long.
func (c *Core) startPack(p *Peer, m *MSO) {
	n := min(packChunk, c.cfg.Chunk, m.total-m.moved)
	m.packing = true
	p.packing += n
	c.jobs.Push(Job{kind: jobPack, m: m, at: m.moved, n: n, block: c.pool.Force(n)})
}

// packDone puts a chunk on the stream.
func (c *Core) packDone(j *Job) {
	m := j.m
	m.packing = false
	p := c.peers[m.Peer]
	p.packing -= j.n
	c.control(p, &wire.Header{Kind: wire.KindData, ID: m.remote, Context: uint64(m.moved), Length: uint64(j.n)})
	s := segment{data: j.block[:j.n], block: j.block, own: ownPool}
	if m.moved += j.n; m.moved == m.total {
		s.mso = m
	} else {
		p.transfers.push(m)
	}
	c.append(p, s)
}

// dropPack calls off the packing of a chunk of m, which has not begun: the goroutine that runs jobs
// holds the progress right, and so does the goroutine that ends m.
func (c *Core) dropPack(m *MSO) {
	m.packing = false
	p := c.peers[m.Peer]
	for i := range c.jobs.Len() {
		if j := c.jobs.At(i); j.kind == jobPack && j.m == m {
			c.giveBack(j.block, ownPool)
			p.packing -= j.n
			*j = Job{kind: jobVoid}
		}
	}
}

// copySelf moves the payload of a message to self.
func copySelf(to, from *MSO) {
	if from.Layout == nil {
		to.fill(0, from.Buf)
		return
	}
	n := min(from.Layout.Len(), to.Size())
	if to.Layout == nil {
		from.Layout.Pack(to.Buf[:n], 0)
		return
	}
	room := make([]byte, min(n, packChunk))
	for off := 0; off < n; off += len(room) {
		b := room[:min(len(room), n-off)]
		from.Layout.Pack(b, off)
		to.Layout.Unpack(off, b)
	}
}
