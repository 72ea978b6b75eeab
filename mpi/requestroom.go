//go:build linux

package mpi

import (
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
)

// rare is what few requests have: a Request is small, because programs make millions of them.
type rare struct {
	// Immutable after the operation is started.
	finish  func(*Request) (Status, *Error) // delivers the result, in the thread that waits
	start   func() *Error                   // persistent: posts once more; nil otherwise
	extra   *engine.MSO                     // the send of an Isendrecv
	general *general                        // generalised request
	parts   *parts                          // partitioned

	err error // owned by the goroutine that waits: goes with status
}

// more is where what few requests have is put.
func (r *Request) more() *rare {
	if r.rare == nil {
		r.rare = new(rare)
	}
	return r.rare
}

// extra is the send of an Isendrecv that is not collected, else nil.
func (r *Request) extra() *engine.MSO {
	if r.rare == nil {
		return nil
	}
	return r.rare.extra
}

func (r *Request) generalised() *general {
	if r.rare == nil {
		return nil
	}
	return r.rare.general
}

func (r *Request) isPersistent() bool { return r.rare != nil && r.rare.start != nil }

// failure is the error that goes with status.
func (r *Request) failure() error {
	if r.rare == nil {
		return nil
	}
	return r.rare.err
}

func newRequest(c *Comm, op string) *Request { return &Request{c: c, op: op, peer: -1} }

// requestRoom is memory for some requests, so that one allocation serves them all. Each is used once: a user may keep
// it, and then keeps the others.
type requestRoom struct {
	taken atomic.Uint32
	rs    [16]Request
}

// briefRequest is newRequest of an operation whose request most users do not keep, and which holds on to nothing when its results are
// collected; but for one that a context may end, see recycle, which gets memory of its own.
func briefRequest(c *Comm, op string) *Request {
	if c.mayEnd() {
		return newRequest(c, op)
	}
	r := c.job.takeRequest()
	r.c, r.op, r.peer = c, op, -1
	return r
}

// takeRequest returns a Request that nobody has had, for any goroutine.
func (j *job) takeRequest() *Request {
	if room := j.requests.Load(); room != nil {
		if i := room.taken.Add(1) - 1; i < uint32(len(room.rs)) {
			return &room.rs[i]
		}
	}
	room := new(requestRoom) // if another goroutine makes one too, the rest of one of them is given up
	room.taken.Store(1)
	j.requests.Store(room)
	return &room.rs[0]
}
