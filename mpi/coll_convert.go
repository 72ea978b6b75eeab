//go:build linux

package mpi

import (
	"math"

	"github.com/fitmpi/fitmpi/internal/coll"
)

// Collectives whose buffers do not travel as the memory that they are: because the communicator has a
// layout for them (WithType), because their elements have padding, or because this rank's byte order is not the
// job's. They run on bytes: what is sent is packed when the collective starts, and what has
// arrived is unpacked by the rank that waits for it. Algorithms then cut and combine memory without gaps, and
// every collective takes every layout, at the price of memory as large as the buffer;
// Alltoallw and its like, where layouts are the point, move them without.

// byteElem is the element of such collectives.
var byteElem = elemOf[byte]()

// isTyped reports whether buffers have layouts. What then is in elements, such as their
// lengths, says nothing yet of what travels.
func (c *Comm) isTyped() bool { return c.sendType != nil || c.recvType != nil }

// converts reports whether buffers of e travel in another form than they have.
func (c *Comm) converts(e *elem) bool {
	return c.isTyped() || e.plain && !c.raw && (c.job.swaps || e.wire != e.size)
}

// asBytes is c for operations on bytes that travel as they are.
func (c *Comm) asBytes() *Comm {
	n := *c
	n.sendType, n.recvType, n.raw = nil, nil, true
	return &n
}

// part says what of a buffer takes part: so many values of the communicator's type if it
// has one, else all elements, in blocks if it is that of a v-form.
type part struct {
	values int
	blocks *blocks // in values or elements; nil: one block
}

// side is one buffer of a collective that runs on bytes.
type side struct {
	o      overlay
	bl     blocks
	extent int // bytes from one value to the next
	size   int // bytes that travel
}

// sideOf lays t over buf; a nil t is the elements of buf.
func sideOf[T any](c *Comm, op string, t *Datatype, buf []T, p part) (s side, _ *Error) {
	e := elemOf[T]()
	if !e.plain {
		return s, notLaid(op, e)
	}
	n := len(buf)
	if t != nil {
		if n = p.values; p.blocks != nil {
			n = p.blocks.reach()
		}
	}
	if p.blocks != nil {
		s.bl = *p.blocks
	} else {
		s.bl = blocks{[]int{n}, []int{0}}
	}
	s.o = overlay{mem: bytesOf(buf), m: e.m}
	if t != nil {
		o, err := over(op, t, buf, n)
		if err != nil {
			return s, err
		}
		s.o = o
	}
	s.o.swap = c.job.swaps
	_, s.extent = s.o.m.Extent()
	s.size = s.bl.total() * s.o.m.Size()
	return s, nil
}

// reach is the end of the block that ends last.
func (bl blocks) reach() int {
	n := 0
	for r, k := range bl.counts {
		if k > 0 {
			n = max(n, bl.displs[r]+k)
		}
	}
	return n
}

// pack gives the bytes of all blocks, one after the other.
func (s *side) pack(dst []byte) {
	for r, n := range s.bl.counts {
		k, at := n*s.o.m.Size(), s.bl.displs[r]*s.extent
		if s.o.swap {
			s.o.m.PackSwapped(dst[:k], s.o.mem, at, n, 0)
		} else {
			s.o.m.Pack(dst[:k], s.o.mem, at, n, 0)
		}
		dst = dst[k:]
	}
}

// unpack is the reverse of pack.
func (s *side) unpack(src []byte) {
	for r, n := range s.bl.counts {
		k, at := n*s.o.m.Size(), s.bl.displs[r]*s.extent
		if s.o.swap {
			s.o.m.UnpackSwapped(s.o.mem, at, n, 0, src[:k])
		} else {
			s.o.m.Unpack(s.o.mem, at, n, 0, src[:k])
		}
		src = src[k:]
	}
}

// counts are the bytes of each block.
func (s *side) counts() []int {
	n := make([]int, len(s.bl.counts))
	for r, k := range s.bl.counts {
		n[r] = k * s.o.m.Size()
	}
	return n
}

// onBytes runs a collective on the bytes of in and out: run starts it, or makes it persistent.
func onBytes[T any](c *Comm, op string, in []T, from part, out []T, to part, run func(c *Comm, in []byte, from []int, out []byte, to []int) *Request) *Request {
	src, err := sideOf(c, op, c.sendType, in, from)
	if err != nil {
		return failedRequest(c, err)
	}
	dst, err := sideOf(c, op, c.recvType, out, to)
	if err != nil {
		return failedRequest(c, err)
	}
	inBytes, outBytes := make([]byte, src.size), make([]byte, dst.size)
	pack := func() {
		src.pack(inBytes)
		dst.pack(outBytes) // what no message fills stays
	}
	if !isPersistent(op) {
		pack()
	}
	return run(c.asBytes(), inBytes, src.counts(), outBytes, dst.counts()).around(pack, func() { dst.unpack(outBytes) })
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

// isRoot reports whether this rank is the root of a rooted collective.
func (c *Comm) isRoot(root int) bool {
	if c.isInter() {
		return root == Root
	}
	return c.rank == root
}

// atRoot is a buffer that counts at the root only: n values of it, or blocks.
func atRoot[T any](c *Comm, root int, buf []T, p part) ([]T, part) {
	if c.isRoot(root) {
		return buf, p
	}
	return nil, part{blocks: &blocks{}}
}

// notAtRoot is a buffer that counts at all ranks that are not the root of an intercommunicator or beside it.
func notAtRoot[T any](c *Comm, root int, buf []T, p part) ([]T, part) {
	if c.isInter() && root < 0 {
		return nil, part{blocks: &blocks{}}
	}
	return buf, p
}

// blocksAtRoot is atRoot of a v-form.
func blocksAtRoot[T any](c *Comm, op, what string, root int, t *Datatype, buf []T, counts, displs []int) ([]T, part, *Error) {
	if !c.isRoot(root) {
		return nil, part{blocks: &blocks{}}, nil
	}
	bl, err := typedBlocks(op, what, len(c.peers), t, len(buf), counts, displs)
	return buf, part{blocks: &bl}, err
}

// typedBlocks is newBlocks whose counts and displacements are in values of t, if it is not nil. Whether
// the buffer reaches so far then shows when t is laid over it.
func typedBlocks(op, what string, size int, t *Datatype, have int, counts, displs []int) (blocks, *Error) {
	return typedBlocksOf("rank", op, what, size, t, have, counts, displs)
}

// typedBlocksOf is typedBlocks where the blocks are not those of ranks, but of what whose says.
func typedBlocksOf(whose, op, what string, size int, t *Datatype, have int, counts, displs []int) (blocks, *Error) {
	if t != nil {
		have = math.MaxInt / 2
	}
	return newBlocksOf(whose, op, what, size, have, counts, displs)
}

// bcastOnBytes is a Bcast, which sends and receives by one buffer.
func bcastOnBytes[T any](c *Comm, op string, buf []T, root int) *Request {
	nothing := part{blocks: &blocks{}}
	one := part{values: 1}
	switch {
	case c.isRoot(root):
		return onBytes(c, op, buf, one, []T(nil), nothing, func(c *Comm, in []byte, _ []int, _ []byte, _ []int) *Request {
			return ibcast(c, op, in, root)
		})
	case c.isInter() && root == ProcNull:
		return interIdle(c, op)
	}
	return onBytes(c, op, []T(nil), nothing, buf, one, func(c *Comm, _ []byte, _ []int, out []byte, _ []int) *Request {
		return ibcast(c, op, out, root)
	})
}

// wired runs a reduction of plain elements on in and out as they travel.
func wired[T any](c *Comm, op string, f Op[T], in, out []T, run func(in, out []byte, red coll.Reducer) *Request) *Request {
	e := elemOf[T]()
	if !c.converts(e) {
		return run(bytesOf(in), bytesOf(out), reducer(f, e))
	}
	if c.isTyped() {
		return failedRequest(c, opErrorf(ErrType, op, "a reduction combines elements, and has no layout: use the communicator without WithType"))
	}
	return onBytes(c, op, in, part{}, out, part{}, func(_ *Comm, in []byte, _ []int, out []byte, _ []int) *Request {
		return run(in, out, wireReducer(c, f, e))
	})
}

// wireReducer is reducer of elements in the form in which they travel, which they lose to be combined.
func wireReducer[T any](c *Comm, f Op[T], e *elem) coll.Reducer {
	red := reducer(f, e)
	red.ElemSize = e.wire
	red.Combine = func(acc, in []byte) error {
		n := len(acc) / max(e.wire, 1)
		a, b := make([]T, n), make([]T, n)
		l := side{o: overlay{mem: bytesOf(a), m: e.m, swap: c.job.swaps}, bl: blocks{[]int{n}, []int{0}}, extent: e.size}
		r := l
		r.o.mem = bytesOf(b)
		l.unpack(acc)
		r.unpack(in)
		f(a, b)
		l.pack(acc)
		return nil
	}
	return red
}
