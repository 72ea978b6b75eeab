//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/engine"

// BsendOverhead is what a buffered message occupies beyond its bytes
// (MPI 4.1, section 3.6, MPI_BSEND_OVERHEAD).
const BsendOverhead = engine.BsendOverhead

// BufferAttach gives the job of c the memory for its buffered sends; it belongs
// to the library until BufferDetach (MPI 4.1, section 3.6). A message of n bytes
// needs n + BsendOverhead. One buffer may be attached at a time.
func BufferAttach(c *Comm, buf []byte) error {
	if err := c.usable("BufferAttach"); err != nil {
		return c.fail(err)
	}
	if !c.job.engine.Attach(buf) {
		return c.fail(opErrorf(ErrBuffer, "BufferAttach", "a buffer is attached already: detach it first"))
	}
	return nil
}

// BufferDetach waits until every message in the buffer has left it and returns
// the buffer; nil if there was none (MPI 4.1, section 3.6).
func BufferDetach(c *Comm) ([]byte, error) {
	if err := c.usable("BufferDetach"); err != nil {
		return nil, c.fail(err)
	}
	return c.job.engine.Detach(false), nil
}

// BufferFlush waits until every message in the buffer has left it
// (MPI 4.1, section 3.6).
func BufferFlush(c *Comm) error {
	if err := c.usable("BufferFlush"); err != nil {
		return c.fail(err)
	}
	c.job.engine.Detach(true)
	return nil
}
