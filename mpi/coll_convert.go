package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/coll"

// Reductions combine elements without gaps between them, in the byte order of this rank. Some
// buffers do not travel as the memory that they are: the communicator has a layout for them
// (WithType), their elements have padding, or this rank's byte order is not the job's. They are
// packed and unpacked segment by segment as the reduction goes on (coll.Reducer). The memory which
// that needs does not grow with the buffers.

// reduced is what a reduction combines, at one rank.
type reduced struct {
	in, out coll.Buf
	red     coll.Reducer
	prepare func() error // see collective, as for foreign
	foreign bool
	sent    *sentData // see collective
}

// reducedBy makes x n values of the communicator's type for what is sent, laid over in, and own of
// that for what is received, over out: none if this rank gets no result. The result is as long as
// own of the n. Without types the buffers are as long as they need to be.
func reducedBy[T any](x *reduced, c *Comm, op string, f Op[T], in []T, n int, out []T, own int) (err *Error) {
	e := elemOf[T]()
	if own == 0 {
		out = nil // it stays as it is
	}
	if !c.isTyped() {
		if err := checkApart(op, in, out, 0, placeSame); err != nil {
			return err
		}
	}
	if x.in, err = reducedOf(c, op, c.sendType, in, n); err != nil {
		return err
	}
	if x.out, err = reducedOf(c, op, c.recvType, out, own); err != nil {
		return err
	}
	x.sent = c.sends(bytesOf(in), bytesOf(out), x.in)
	need := x.in.Len() / max(n, 1) * own
	if c.isTyped() && own > 0 {
		if have := x.out.Len(); have < need || c.recvType != nil && have > need {
			return opErrorf(ErrCount, op, "out takes %d bytes, the result has %d", have, need)
		}
		x.out = x.out.Part(0, need)
	}
	if c.copies(e, bytesOf(in), bytesOf(out)) {
		if c.sendType == c.recvType {
			x.out = x.in.Part(0, need) // in place, as the algorithms can see then
		} else {
			x.keep()
		}
	}
	if x.red, x.foreign = reducer(f, e); e.wire != e.size || c.job.swaps {
		x.red = wireReducer(c, f, e)
	}
	c.noteOrder(x.red.Commutative)
	if size := c.reducedSize(e); size > 0 {
		x.red.ElemSize = size
	}
	x.red.Segment = c.job.choice.Segment
	return nil
}

// keep lets the reduction work on a copy of the operand: results may arrive where other parts of it
// are.
func (x *reduced) keep() {
	from, kept := x.in, make([]byte, x.in.Len())
	x.in = coll.Memory(kept)
	x.prepare = func() error {
		from.Pack(kept, 0)
		return nil
	}
}

// reducedOf is wholeOf of what is combined: whole elements.
func reducedOf[T any](c *Comm, op string, t *Datatype, buf []T, n int) (coll.Buf, *Error) {
	x, err := wholeOf(c, op, t, buf, n)
	if err != nil || t == nil || n == 0 {
		return x, err
	}
	e := elemOf[T]()
	if e.class == classUint8 && t.element() != nil {
		return x, nil // they are what t is made of
	}
	if size := t.m.Size(); size%max(e.wire, 1) != 0 || t.m.Hash(1) != e.m.Hash(size/max(e.wire, 1)) {
		return x, opErrorf(ErrType, op, "a reduction combines whole elements: %s is no sequence of %s", t, e.name)
	}
	return x, nil
}

// element is what a Contiguous is so many of, or nil.
func (t *Datatype) element() *Datatype {
	if t == nil || t.contents.Combiner != CombinerContiguous {
		return nil
	}
	return t.contents.Types[0]
}

// reducedSize is the bytes of an element that a reduction combines, if a layout of bytes says so;
// else 0. A buffer of bytes may hold elements of any kind: they are what the communicator's type is
// Contiguous of, and an Op gets them without gaps.
func (c *Comm) reducedSize(e *elem) int {
	t := c.sendType.element()
	if t == nil {
		t = c.recvType.element() // as of a root that only receives
	}
	if t == nil || e.class != classUint8 {
		return 0
	}
	return t.Size()
}

// wireChunk is how many bytes of elements are brought into their own form at a time.
const wireChunk = 32 << 10

// wireReducer is reducer of elements in the form in which they travel, which they lose to be
// combined. It serves one schedule, whose local steps run one at a time.
func wireReducer[T any](c *Comm, f Op[T], e *elem) coll.Reducer {
	red, _ := reducer(f, e)
	red.ElemSize = e.wire
	var left, right []T
	red.Combine = func(acc, in []byte) error {
		wire := max(e.wire, 1)
		most := min(len(acc)/wire, max(wireChunk/wire, 1))
		if len(left) < most {
			left, right = make([]T, most), make([]T, most)
		}
		for len(acc) > 0 {
			n := min(len(acc)/wire, most)
			a, b := left[:n], right[:n]
			l := overlay{mem: bytesOf(a), m: e.m, count: n, swap: c.job.swaps}
			r := l
			r.mem = bytesOf(b)
			l.Unpack(0, acc[:n*wire])
			r.Unpack(0, in[:n*wire])
			if err := calledBack(f, a, b); err != nil {
				return err
			}
			l.Pack(acc[:n*wire], 0)
			acc, in = acc[n*wire:], in[n*wire:]
		}
		return nil
	}
	return red
}
