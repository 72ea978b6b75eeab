package core

import (
	"slices"

	"github.com/fitmpi/fitmpi/buffer"
)

// Attached is memory that a user has lent for buffered sends (MPI 4.1, section 3.6). There may be
// several at once; which of them a message goes through is for the caller to choose.
type Attached struct {
	// Immutable after NewAttached.
	mem []byte

	// Guarded by the engine's mutex.
	space  *buffer.Attached // parts of mem in use; nil: every message gets memory of its own
	oldest *batch           // the batches whose messages have not all left, in a list that ends with newest
	newest *batch           // takes new messages; no flush waits for it yet
	closed bool             // it takes no more messages
}

// batch are the messages that came to an attached buffer between two flushes of it: a flush is
// about the messages that are there when it starts, and must not wait for those that others send
// meanwhile.
type batch struct {
	of      *Attached
	blocks  int    // messages that have not left
	flushes []*MSO // done when this batch and all older ones have left
	next    *batch // the next younger one
}

// Block is room for one message in an attached buffer.
type Block struct {
	Mem   []byte
	batch *batch
}

// NewAttached makes mem the memory of buffered sends. With automatic set, mem is a name only: room
// is taken from the process's memory as it is needed.
func NewAttached(mem []byte, automatic bool) *Attached {
	a := &Attached{mem: mem}
	if !automatic {
		a.space = buffer.NewAttached(mem)
	}
	a.newest = &batch{of: a}
	a.oldest = a.newest
	return a
}

// Mem is what NewAttached was given.
func (a *Attached) Mem() []byte { return a.mem }

// isEmpty reports whether every message has left.
func (a *Attached) isEmpty() bool { return a.oldest == a.newest && a.newest.blocks == 0 }

// CloseAttached lets a take no more messages, if none lies in it; else it reports false.
func (c *Core) CloseAttached(a *Attached) bool {
	if a.isEmpty() {
		a.closed = true
	}
	return a.closed
}

// ReserveAttached takes n bytes of a; false if there is no room, or a was closed.
func (c *Core) ReserveAttached(a *Attached, n int) (Block, bool) {
	if a.closed {
		return Block{}, false
	}
	b := Block{batch: a.newest}
	if a.space == nil {
		b.Mem = make([]byte, n)
	} else {
		var ok bool
		if b.Mem, ok = a.space.Alloc(n); !ok {
			return Block{}, false
		}
	}
	b.batch.blocks++
	return b, true
}

// PostAttached sends the block, which ReserveAttached gave and the caller filled, with the envelope
// of m.
func (c *Core) PostAttached(m *MSO, b Block) (Job, bool) {
	d := c.carrier(m, b.Mem, ownAttach)
	d.batch = b.batch
	return c.Post(d)
}

// leaveAttached gives the block of m back to its buffer.
func (c *Core) leaveAttached(m *MSO) {
	b := m.batch
	if b.of.space != nil {
		b.of.space.Free(m.Buf)
	}
	b.blocks--
	m.batch = nil
	c.settleFlushes(b.of)
}

// FlushAttached posts m, of KindGeneral: it is done when the messages that lie in a now have left.
func (c *Core) FlushAttached(a *Attached, m *MSO) {
	c.Post(m)
	m.batch = a.newest
	a.newest.flushes = append(a.newest.flushes, m)
	a.newest.next = &batch{of: a}
	a.newest = a.newest.next
	c.settleFlushes(a)
}

// settleFlushes completes the flushes of the batches that have left, the oldest first.
func (c *Core) settleFlushes(a *Attached) {
	for a.oldest != a.newest && a.oldest.blocks == 0 {
		b := a.oldest
		a.oldest = b.next
		for _, m := range b.flushes {
			m.batch = nil
			c.complete(m, nil)
		}
	}
}

// dropFlush takes a flush that its owner has abandoned off the list.
func (c *Core) dropFlush(m *MSO) {
	if b := m.batch; b != nil {
		b.flushes = slices.DeleteFunc(b.flushes, func(f *MSO) bool { return f == m })
		m.batch = nil
	}
}
