package mpi

import (
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Buffers of plain elements as collectives that move data see them: a vector of the bytes that
// travel. It is the memory of the buffer, unless the communicator has a layout for it (WithType),
// its elements have padding, or this rank's byte order is not the job's. Then each message of the
// collective is packed and unpacked where the values lie, a chunk at a time. The algorithms see
// lengths only, so they are the same at all ranks, whatever the form of the buffers of each.

// operand is such a vector, and where in it the blocks of ranks or neighbours are.
type operand struct {
	coll.Buf
	counts, displs []int // in bytes
}

// isTyped reports whether buffers have layouts. What then is in elements, such as their
// lengths, says nothing yet of what travels. c may be nil.
func (c *Comm) isTyped() bool { return c != nil && (c.sendType != nil || c.recvType != nil) }

// serialises reports whether elements of e travel serialised; if buffers have layouts, that is an
// error which comes when one is laid over them.
func (c *Comm) serialises(e *elem) bool { return !e.plain && !c.isTyped() }

// isMemory reports whether a buffer of e under t travels as the memory that it is.
func (c *Comm) isMemory(t *Datatype, e *elem) bool {
	return t == nil && e.whole && !c.job.swaps
}

// wholeOf is so many values of t, one after the other, laid over buf; of a nil t it is all elements
// of buf.
func wholeOf[T any](c *Comm, op string, t *Datatype, buf []T, values int) (coll.Buf, *Error) {
	if c.isMemory(t, elemOf[T]()) {
		return coll.Memory(bytesOf(buf)), nil
	}
	if t == nil {
		values = len(buf)
	}
	l, err := layOver(c, op, t, buf, blocks{[]int{values}, []int{0}})
	if err != nil {
		return coll.Buf{}, err
	}
	return coll.LaidOut(l), nil
}

// equalOf is wholeOf for a buffer with a block of so many bytes for each rank: exactly if t says
// how long it is.
func equalOf[T any](c *Comm, op, what string, t *Datatype, buf []T, block int) (coll.Buf, *Error) {
	x, err := wholeOf(c, op, t, buf, c.Size())
	if err != nil {
		return x, err
	}
	need := c.Size() * block
	if have := x.Len(); have < need || t != nil && have > need {
		return x, opErrorf(ErrCount, op, "%s takes %d bytes for the %d ranks, the other buffer has %d for each", what, have, c.Size(), block)
	}
	return x.Part(0, need), nil
}

// blocksOf is the blocks of buf, in values of t laid over it, or in elements if t is nil. Those of
// memory stay where they are, others follow each other in the vector.
func blocksOf[T any](c *Comm, op string, t *Datatype, buf []T, bl blocks) (operand, *Error) {
	if e := elemOf[T](); c.isMemory(t, e) {
		counts, displs := bl.bytes(e.size)
		return operand{coll.Memory(bytesOf(buf)), counts, displs}, nil
	}
	l, err := layOver(c, op, t, buf, bl)
	if err != nil {
		return operand{}, err
	}
	counts, _ := bl.bytes(l.o.m.Size())
	return operand{coll.LaidOut(l), counts, packed(counts)}, nil
}

// parts are the blocks of x.
func (x *operand) parts() []coll.Buf {
	p := make([]coll.Buf, len(x.counts))
	for i, n := range x.counts {
		p[i] = x.Part(x.displs[i], x.displs[i]+n)
	}
	return p
}

// laid is blocks of values laid over a buffer, one after the other. Immutable.
type laid struct {
	o      overlay // of the values, wherever they are: its count and size are not used
	bl     blocks  // in values
	extent int     // bytes from one value to the next
	ends   []int   // where each block ends in the vector
}

// layOver lays blocks of t over buf. A nil t is the elements of buf.
func layOver[T any](c *Comm, op string, t *Datatype, buf []T, bl blocks) (*laid, *Error) {
	e := elemOf[T]()
	if !e.plain {
		return nil, notLaid(op, e)
	}
	bl = blocks{slices.Clone(bl.counts), slices.Clone(bl.displs)} // the caller's may change once the call has returned
	l := &laid{o: overlay{mem: bytesOf(buf), m: e.m}, bl: bl, ends: make([]int, len(bl.counts))}
	if t != nil {
		o, err := over(op, t, buf, bl.reach())
		if err != nil {
			return nil, err
		}
		l.o = o
	}
	l.o.swap = c.job.swaps
	_, l.extent = l.o.m.Extent()
	at := 0
	for i, n := range bl.counts {
		at += n * l.o.m.Size()
		l.ends[i] = at
	}
	return l, nil
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

// Len implements coll.Layout, as do Pack, Unpack and Run.
func (l *laid) Len() int {
	if len(l.ends) == 0 {
		return 0
	}
	return l.ends[len(l.ends)-1]
}

// piece says where n bytes of the vector from off on are, as far as they are in one block: k bytes,
// from at on in the data of count values, the first of which has its origin at mem[origin].
func (l *laid) piece(off, n int) (origin, count, at, k int) {
	b, _ := slices.BinarySearch(l.ends, off+1)
	start := l.ends[b] - l.bl.counts[b]*l.o.m.Size()
	return l.bl.displs[b] * l.extent, l.bl.counts[b], off - start, min(n, l.ends[b]-off)
}

// Pack gives a part of the vector.
func (l *laid) Pack(dst []byte, off int) {
	for len(dst) > 0 {
		origin, count, at, k := l.piece(off, len(dst))
		l.o.pack(dst[:k], origin, count, at)
		dst, off = dst[k:], off+k
	}
}

// Unpack takes a part of the vector.
func (l *laid) Unpack(off int, src []byte) {
	for len(src) > 0 {
		origin, count, at, k := l.piece(off, len(src))
		l.o.unpack(origin, count, at, src[:k])
		src, off = src[k:], off+k
	}
}

// Run is the memory of a part of the vector: of values without gaps, or of one that is one run.
func (l *laid) Run(lo, hi int) ([]byte, bool) {
	if lo == hi {
		return nil, true
	}
	origin, _, at, k := l.piece(lo, hi-lo)
	if l.o.swap || k < hi-lo || l.o.m.Runs() != 1 {
		return nil, false
	}
	if size := l.o.m.Size(); !l.o.m.IsContiguous() {
		value := at / size
		if at -= value * size; at+k > size {
			return nil, false
		}
		origin += value * l.extent
	}
	lb, _ := l.o.m.TrueExtent()
	at += origin + lb
	return l.o.mem[at : at+k : at+k], true
}

// typedBlocks are the blocks of ranks, whose counts and displacements are in values of t, if it is
// not nil. Whether the buffer reaches so far then shows when t is laid over it.
func typedBlocks(op, what string, size int, t *Datatype, have int, counts, displs []int) (blocks, *Error) {
	return typedBlocksOf("rank", op, what, size, t, have, counts, displs)
}

// typedBlocksOf is typedBlocks of those of what whose says.
func typedBlocksOf(whose, op, what string, size int, t *Datatype, have int, counts, displs []int) (blocks, *Error) {
	if t != nil {
		have = math.MaxInt / 2
	}
	return newBlocksOf(whose, op, what, size, have, counts, displs)
}

// blocks says which part of a buffer belongs to which rank, in elements.
type blocks struct{ counts, displs []int }

// equalBlocks are n elements for each rank.
func equalBlocks(size, n int) blocks {
	bl := blocks{make([]int, size), make([]int, size)}
	for r := range size {
		bl.counts[r], bl.displs[r] = n, r*n
	}
	return bl
}

// newBlocksOf checks counts and displacements against the buffer of length have. The blocks are
// those of what whose says: ranks, sources.
func newBlocksOf(whose, op, what string, size, have int, counts, displs []int) (blocks, *Error) {
	if len(counts) != size {
		return blocks{}, opErrorf(ErrCount, op, "%d counts for %d %ss: need one for each", len(counts), size, whose)
	}
	if displs == nil {
		displs = packed(counts)
	}
	if len(displs) != size {
		return blocks{}, opErrorf(ErrArg, op, "%d displacements for %d %ss: need one for each, or nil for blocks without gaps", len(displs), size, whose)
	}
	for r, n := range counts {
		switch at := displs[r]; {
		case n < 0:
			return blocks{}, opErrorf(ErrCount, op, "the count of %s %d is %d: need 0 or more", whose, r, n)
		case at < 0:
			return blocks{}, opErrorf(ErrCount, op, "the block of %s %d begins at %d: need 0 or more", whose, r, at)
		case at > have || n > have-at: // at+n may be more than an int holds
			return blocks{}, opErrorf(ErrCount, op, "the block of %s %d is the %d elements from %s[%d] on, but %s holds %d elements", whose, r, n, what, at, what, have)
		}
	}
	return blocks{counts, displs}, nil
}

// packed are the displacements of blocks without gaps.
func packed(counts []int) []int {
	displs := make([]int, len(counts))
	at := 0
	for r, n := range counts {
		displs[r] = at
		at += n
	}
	return displs
}

// total is the number of elements of packed blocks.
func (bl blocks) total() int {
	n := 0
	for _, k := range bl.counts {
		n += k
	}
	return n
}

// bytes converts to bytes.
func (bl blocks) bytes(size int) (counts, displs []int) {
	counts, displs = make([]int, len(bl.counts)), make([]int, len(bl.counts))
	for r := range counts {
		counts[r], displs[r] = bl.counts[r]*size, bl.displs[r]*size
	}
	return counts, displs
}

// checkMultiple says that a buffer of n elements, in, cannot be one block for each rank.
func (c *Comm) checkMultiple(op string, n int) *Error {
	if n%c.Size() != 0 {
		return opErrorf(ErrCount, op, "in holds %d elements: need a multiple of %d, the number of ranks", n, c.Size())
	}
	return nil
}

// What lengths are of.
const (
	elementsLong = "elements"
	bytesLong    = "bytes" // where there are layouts
)

// checkOwn compares a rank's block with what it contributes itself, in elements or bytes.
func checkOwn(op, what, unit string, have, need int) *Error {
	if have != need {
		return opErrorf(ErrCount, op, "%s holds %d %s, the counts say %d for this rank", what, have, unit, need)
	}
	return nil
}

// blocksAtRoot is typedBlocks of a buffer that counts at the root only, where the root's own block
// is as long as its other buffer, own, unless there are layouts: their lengths are compared when
// they are laid over the buffers.
func (c *Comm) blocksAtRoot(op, what string, root int, t *Datatype, have int, counts, displs []int, own string, ownLen int) (blocks, *Error) {
	if c.rank != root {
		return blocks{}, nil
	}
	bl, err := typedBlocks(op, what, c.Size(), t, have, counts, displs)
	if err == nil && !c.isTyped() {
		err = checkOwn(op, own, elementsLong, ownLen, bl.counts[root])
	}
	return bl, err
}
