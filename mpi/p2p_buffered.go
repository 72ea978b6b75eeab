package mpi

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
)

// A buffered send goes through the buffer of its communicator, if one is attached there, else
// through that of the job (MPI 4.1, section 3.6); between the two comes that of the communicator's
// session. It never takes the one because the other is full.

// BsendOverhead is what a buffered message occupies beyond its bytes
// (MPI 4.1, section 3.6, MPI_BSEND_OVERHEAD).
const BsendOverhead = engine.BsendOverhead

// BufferAutomatic, attached in place of a buffer, makes the library take the memory of each
// buffered message from the heap: there is always room (MPI 4.1, section 3.6,
// MPI_BUFFER_AUTOMATIC). Detaching returns it. What lies in it means nothing.
var BufferAutomatic = make([]byte, 1)

var automatic = &BufferAutomatic[0]

// AttachJobBuffer gives the job of c the memory buf for its buffered sends (MPI 4.1, section 3.6).
// It serves all communicators that have no buffer of their own, unless they come from a session
// that has one. buf belongs to the library until DetachJobBuffer. A message of n bytes needs n +
// BsendOverhead; BufferAutomatic has room for all. The job has one buffer at a time: a second one
// is an error of class ErrBuffer. It does not block.
func (c *Comm) AttachJobBuffer(buf []byte) (err error) {
	defer c.begin("AttachJobBuffer").endAt(&err)
	const op = "AttachJobBuffer"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	return c.attachBuffer(op, &c.job.buffer, &c.job.worldScope, buf)
}

// DetachJobBuffer waits until every message in the job's buffer has left it and returns the buffer;
// nil if there was none (MPI 4.1, section 3.6). If the context of c ends first, the buffer stays
// attached.
func (c *Comm) DetachJobBuffer() (buf []byte, err error) {
	defer c.begin("DetachJobBuffer").endAt(&err)
	const op = "DetachJobBuffer"
	if err := c.present(op); err != nil {
		return nil, c.fail(err)
	}
	return c.detachBuffer(op, &c.job.buffer)
}

// FlushJobBuffer waits until every message that lies in the job's buffer now has left it; it need
// not wait for those that other goroutines send meanwhile. Without a buffer it does nothing (MPI
// 4.1, section 3.6).
func (c *Comm) FlushJobBuffer() (err error) {
	defer c.begin("FlushJobBuffer").endAt(&err)
	const op = "FlushJobBuffer"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	_, err = c.flushBuffer(op, c.job.buffer.Load()).wait()
	return err
}

// IflushJobBuffer starts a FlushJobBuffer: its request is done when every message that lies in the
// job's buffer now has left it (MPI 4.1, section 3.6). The buffer may be used meanwhile.
func (c *Comm) IflushJobBuffer() *Request {
	return c.begin("IflushJobBuffer").started(c.iflushJobBuffer())
}

func (c *Comm) iflushJobBuffer() *Request {
	const op = "IflushJobBuffer"
	if err := c.present(op); err != nil {
		return failedRequest(c, err)
	}
	return c.flushBuffer(op, c.job.buffer.Load())
}

// AttachBuffer gives c the memory buf for its buffered sends, as AttachJobBuffer does for the job.
// It belongs to the library until DetachBuffer. Buffered sends over c use this memory only (MPI
// 4.1, section 3.6, MPI_Comm_attach_buffer). A second buffer is an error of class ErrBuffer. It is
// this rank's affair: the others may have buffers or not. A communicator made from c does not
// inherit it. Detach it before c is freed: after that no call can tell when it is empty.
func (c *Comm) AttachBuffer(buf []byte) (err error) {
	defer c.begin("AttachBuffer").endAt(&err)
	const op = "AttachBuffer"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	return c.attachBuffer(op, &c.buffer, c.scope, buf)
}

// DetachBuffer is DetachJobBuffer of the buffer of c (MPI 4.1, section 3.6,
// MPI_Comm_detach_buffer).
func (c *Comm) DetachBuffer() (buf []byte, err error) {
	defer c.begin("DetachBuffer").endAt(&err)
	const op = "DetachBuffer"
	if err := c.present(op); err != nil {
		return nil, c.fail(err)
	}
	return c.detachBuffer(op, &c.buffer)
}

// FlushBuffer is FlushJobBuffer of the buffer of c (MPI 4.1, section 3.6, MPI_Comm_flush_buffer).
func (c *Comm) FlushBuffer() (err error) {
	defer c.begin("FlushBuffer").endAt(&err)
	const op = "FlushBuffer"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	_, err = c.flushBuffer(op, c.buffer.Load()).wait()
	return err
}

// IflushBuffer is IflushJobBuffer of the buffer of c (MPI 4.1, section 3.6,
// MPI_Comm_iflush_buffer).
func (c *Comm) IflushBuffer() *Request {
	return c.begin("IflushBuffer").started(c.iflushBuffer())
}

func (c *Comm) iflushBuffer() *Request {
	const op = "IflushBuffer"
	if err := c.present(op); err != nil {
		return failedRequest(c, err)
	}
	return c.flushBuffer(op, c.buffer.Load())
}

// bufferSlot is where a buffer is attached; nil: none.
type bufferSlot = atomic.Pointer[engine.Buffer]

// attachedBuffers are the buffers of a job that may hold messages yet, wherever they are attached.
// A buffer is closed, and taken out of its slot, under the mutex: the holder of the mutex finds no
// closed buffer in a slot.
type attachedBuffers struct {
	mu  sync.Mutex
	all map[*engine.Buffer]*scope // guarded by mu: what they are attached to comes from
}

func (a *attachedBuffers) add(b *engine.Buffer, of *scope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[*engine.Buffer]*scope)
	}
	a.all[b] = of
}

// detach takes b, closed, out of its slot, if no message lies in it, and reports whether it is out;
// mine says that it was this call that took it.
func (a *attachedBuffers) detach(e *engine.Engine, at *bufferSlot, b *engine.Buffer) (out, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.Load() != b {
		return true, false
	}
	if !e.CloseBuffer(b) {
		return false, false
	}
	at.Store(nil)
	delete(a.all, b)
	return true, true
}

// holds reports whether b is in the slot, and open.
func (a *attachedBuffers) holds(at *bufferSlot, b *engine.Buffer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return at.Load() == b
}

// list lists those of a scope.
func (a *attachedBuffers) list(of *scope) []*engine.Buffer {
	a.mu.Lock()
	defer a.mu.Unlock()
	var bs []*engine.Buffer
	for b, scope := range a.all {
		if scope == of {
			bs = append(bs, b)
		}
	}
	return bs
}

func (c *Comm) attachBuffer(op string, at *bufferSlot, of *scope, mem []byte) error {
	b := engine.NewBuffer(mem, len(mem) > 0 && &mem[0] == automatic)
	if !at.CompareAndSwap(nil, b) {
		return c.fail(opErrorf(ErrBuffer, op, "%s is attached already: detach it first", bufferText(at.Load())))
	}
	c.job.buffers.add(b, of)
	return nil
}

func (c *Comm) detachBuffer(op string, at *bufferSlot) ([]byte, error) {
	b := at.Load()
	if b == nil {
		return nil, nil
	}
	for {
		switch out, mine := c.job.buffers.detach(c.job.engine, at, b); {
		case mine:
			return b.Mem(), nil
		case out: // another goroutine has detached it too, and returns it
			return nil, nil
		}
		if _, err := c.flushBuffer(op, b).wait(); err != nil {
			return nil, err
		}
	}
}

// flushBuffer starts a flush of b, nil if there is nothing to flush.
func (c *Comm) flushBuffer(op string, b *engine.Buffer) *Request {
	r := newRequest(c, op)
	if b == nil {
		return r.settled(emptyStatus(), nil)
	}
	r.m = r.mso()
	c.job.engine.Flush(b, r.m)
	return r
}

// leaveBuffer lets go of the buffer of a communicator that is being freed. Messages that lie in it
// are on their way still: Finalize waits for them.
func (c *Comm) leaveBuffer() {
	b := c.buffer.Load()
	if b == nil {
		return
	}
	if out, _ := c.job.buffers.detach(c.job.engine, &c.buffer, b); !out {
		c.buffer.CompareAndSwap(b, nil)
	}
}

// flushBuffers waits until no message lies in a buffer of the scope.
func (j *job) flushBuffers(of *scope) {
	for _, b := range j.buffers.list(of) {
		var m engine.MSO
		j.engine.Flush(b, &m)
		j.engine.Wait(&m)
	}
}

// bsend copies m to an attached buffer; m is recycled.
func (c *Comm) bsend(op string, m *engine.MSO, dest int) *Error {
	defer putMSO(m)
	for {
		at, where, attach := &c.buffer, "communicator", "Comm.AttachBuffer"
		b := at.Load()
		if s := c.scope.session; b == nil && s != nil {
			at, where, attach = &s.buffer, "session", "Session.AttachBuffer"
			b = at.Load()
		}
		if b == nil {
			at, where, attach = &c.job.buffer, "job", "AttachJobBuffer"
			b = at.Load()
		}
		if b == nil {
			return opErrorf(ErrBuffer, op, "%d bytes to send, and no buffer is attached to the communicator or the job: attach one with AttachJobBuffer, such as BufferAutomatic", m.Size()).with(dest)
		}
		switch ok, err := c.job.engine.Bsend(b, m); {
		case err != nil:
			return c.engineError(op, err, dest, 0, 0)
		case ok:
			return nil
		case c.job.buffers.holds(at, b): // else it was detached just now
			return opErrorf(ErrBuffer, op, "no room for %d bytes (and %d of overhead) in %s, attached to the %s: attach a larger one with %s, or flush it",
				m.Size(), BsendOverhead, bufferText(b), where, attach).with(dest)
		}
	}
}

// bufferText describes b; nil is one that was detached meanwhile.
func bufferText(b *engine.Buffer) string {
	switch {
	case b == nil:
		return "a buffer"
	case len(b.Mem()) > 0 && &b.Mem()[0] == automatic:
		return "BufferAutomatic"
	default:
		return fmt.Sprintf("a buffer of %d bytes", len(b.Mem()))
	}
}

// AttachBuffer gives s the memory buf for the buffered sends over its communicators that have no
// buffer of their own, as [Comm.AttachJobBuffer] does for the job (MPI 4.1, section 3.6,
// MPI_Session_attach_buffer). It belongs to the library until DetachBuffer; BufferAutomatic has
// room for all. A second one is an error of class ErrBuffer.
func (s *Session) AttachBuffer(buf []byte) (err error) {
	defer s.begin("AttachBuffer").endAt(&err)
	const op = "Session.AttachBuffer"
	if err := s.present(op); err != nil {
		return s.fail(err)
	}
	return s.own.attachBuffer(op, &s.buffer, &s.scope, buf)
}

// DetachBuffer waits until every message in the buffer of s has left it and returns the buffer; nil
// if there was none (MPI 4.1, section 3.6, MPI_Session_detach_buffer).
func (s *Session) DetachBuffer() (buf []byte, err error) {
	defer s.begin("DetachBuffer").endAt(&err)
	const op = "Session.DetachBuffer"
	if err := s.present(op); err != nil {
		return nil, s.fail(err)
	}
	return s.own.detachBuffer(op, &s.buffer)
}

// FlushBuffer waits until every message that lies in the buffer of s now has left it. Without a
// buffer it does nothing (MPI 4.1, section 3.6, MPI_Session_flush_buffer).
func (s *Session) FlushBuffer() (err error) {
	defer s.begin("FlushBuffer").endAt(&err)
	const op = "Session.FlushBuffer"
	if err := s.present(op); err != nil {
		return s.fail(err)
	}
	_, err = s.own.flushBuffer(op, s.buffer.Load()).wait()
	return err
}

// IflushBuffer starts a FlushBuffer: its request is done when every message that lies in the buffer
// of s now has left it (MPI 4.1, section 3.6, MPI_Session_iflush_buffer). The buffer may be used
// meanwhile.
func (s *Session) IflushBuffer() *Request {
	return s.begin("IflushBuffer").started(s.iflushBuffer())
}

func (s *Session) iflushBuffer() *Request {
	const op = "Session.IflushBuffer"
	if s == nil || s.job == nil {
		return failedRequest(nil, s.present(op))
	}
	if err := s.present(op); err != nil {
		return failedRequest(s.own, err)
	}
	return s.own.flushBuffer(op, s.buffer.Load())
}
