//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/internal/coll"

// Reductions whose buffers do not travel as the memory that they are: because the communicator has a layout for them
// (WithType), because their elements have padding, or because this rank's byte order is not the job's. Combining takes elements
// without gaps between them, so these run on packed copies, as large as the buffers: what is given is packed when the
// reduction starts, and the result is unpacked by the rank that waits for it. A reduction needs memory
// of that size anyway, for operands that arrive; what only moves data has no copies (coll_operand.go).

// wired runs a reduction on in and out as they travel: n values of the communicator's type for what is sent lie over
// in, own of that for what is received over out, none if this rank gets no result. The result is as long as own of the
// n. Without types the buffers are as long as they need to be.
func wired[T any](c *Comm, op string, f Op[T], in []T, n int, out []T, own int, run func(in, out []byte, red coll.Reducer) *Request) *Request {
	e := elemOf[T]()
	if own == 0 {
		out = nil // it stays as it is
	}
	from, err := reducedOf(c, op, c.sendType, in, n)
	if err != nil {
		return failedRequest(c, err)
	}
	to, err := reducedOf(c, op, c.recvType, out, own)
	if err != nil {
		return failedRequest(c, err)
	}
	if need := from.Len() / max(n, 1) * own; c.isTyped() && own > 0 {
		if have := to.Len(); have < need || c.recvType != nil && have > need {
			return failedRequest(c, opErrorf(ErrCount, op, "out takes %d bytes, the result has %d", have, need))
		}
		to = to.Part(0, need)
	}
	red := reducer(f, e)
	if e.wire != e.size || c.job.swaps {
		red = wireReducer(c, f, e)
	}
	return packedRun(op, from, to, func(in, out []byte) *Request { return run(in, out, red) })
}

// reducedOf is wholeOf of what is combined: whole elements.
func reducedOf[T any](c *Comm, op string, t *Datatype, buf []T, n int) (coll.Buf, *Error) {
	x, err := wholeOf(c, op, t, buf, n)
	if err != nil || t == nil || n == 0 {
		return x, err
	}
	e := elemOf[T]()
	if size := t.m.Size(); size%max(e.wire, 1) != 0 || t.m.Hash(1) != e.m.Hash(size/max(e.wire, 1)) {
		return x, opErrorf(ErrType, op, "a reduction combines whole elements: %s is no sequence of %s", t, e.name)
	}
	return x, nil
}

// packedRun runs a collective on from and to, or on a packed copy of what is not memory: run starts it, or makes it persistent.
func packedRun(op string, from, to coll.Buf, run func(in, out []byte) *Request) *Request {
	in, inPlace := from.Memory()
	out, outPlace := to.Memory()
	if inPlace && outPlace {
		return run(in, out)
	}
	if !inPlace {
		in = make([]byte, from.Len())
	}
	if !outPlace {
		out = make([]byte, to.Len())
	}
	pack := func() {
		if !inPlace {
			from.Pack(in, 0)
		}
	}
	if !isPersistent(op) {
		pack()
	}
	return run(in, out).around(pack, func() {
		if !outPlace {
			to.Unpack(0, out)
		}
	})
}

// around makes r call before at each start, if it is persistent, and after once it has succeeded.
func (r *Request) around(before, after func()) *Request {
	if start := r.start; start != nil {
		r.start = func() *Error {
			before()
			return start()
		}
	}
	if finish := r.finish; finish != nil {
		r.finish = func(r *Request) (Status, *Error) {
			st, err := finish(r)
			if err == nil {
				after()
			}
			return st, err
		}
	}
	return r
}

// wireReducer is reducer of elements in the form in which they travel, which they lose to be combined.
func wireReducer[T any](c *Comm, f Op[T], e *elem) coll.Reducer {
	red := reducer(f, e)
	red.ElemSize = e.wire
	red.Combine = func(acc, in []byte) error {
		n := len(acc) / max(e.wire, 1)
		a, b := make([]T, n), make([]T, n)
		l := overlay{mem: bytesOf(a), m: e.m, count: n, swap: c.job.swaps}
		r := l
		r.mem = bytesOf(b)
		l.Unpack(0, acc)
		r.Unpack(0, in)
		f(a, b)
		l.Pack(acc, 0)
		return nil
	}
	return red
}
