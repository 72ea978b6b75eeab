package core

import "github.com/fitmpi/fitmpi/buffer"

// AttachBuffer makes mem the memory of buffered sends; false if there is one.
func (c *Core) AttachBuffer(mem []byte) bool {
	if c.attached != nil {
		return false
	}
	c.attached = buffer.NewAttached(mem)
	c.attachedMem = mem
	return true
}

// DetachBuffer gives the attached memory back to its owner, unless keep is set;
// busy says that messages still lie in it.
func (c *Core) DetachBuffer(keep bool) (mem []byte, busy bool) {
	if c.attached == nil {
		return nil, false
	}
	if c.attached.Blocks() > 0 {
		return nil, true
	}
	mem = c.attachedMem
	if !keep {
		c.attached, c.attachedMem = nil, nil
	}
	return mem, false
}

// ReserveAttached takes n bytes of the attached buffer; false if none is
// attached or it has no room.
func (c *Core) ReserveAttached(n int) ([]byte, bool) {
	if c.attached == nil {
		return nil, false
	}
	return c.attached.Alloc(n)
}

// PostAttached sends block, which ReserveAttached gave and the caller filled,
// with the envelope of m.
func (c *Core) PostAttached(m *MSO, block []byte) (Job, bool) {
	return c.Post(c.carrier(m, block, ownAttach))
}
