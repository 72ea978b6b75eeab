package buffer

import "fmt"

// Overhead is what each message takes of an attached buffer beside its own bytes
// (MPI_BSEND_OVERHEAD). A user that sums the sizes of the messages, and Overhead for each, has a
// buffer large enough.
const Overhead = 16

// Attached allocates inside one slice that the user lent. Its bookkeeping lives outside that slice,
// so that a program that scribbles over its attached buffer damages its messages and nothing else.
//
// Placement. MPI 4.1, section 3.6: "MPI must provide as much buffering for outgoing messages as if
// outgoing message data were buffered by the sending process, in the specified buffer space, using
// a circular, contiguous-space allocation policy." Plain first fit breaks that promise: it may put
// a small message into the hole that a later one needs. So an allocation goes exactly where the
// circular policy would put it: right behind the previous one or, if that is too close to the end,
// at the beginning. Only where that policy would give up is any hole taken that fits. An empty
// buffer starts at its beginning again, where any messages fit whose sizes add up to no more than
// the buffer.
type Attached struct {
	mem   []byte
	spans []span        // slots of the list below, and of unused
	index map[int]int32 // offset -> slot of each block in use

	tail   int   // offset where the block allocated last ends, or ended; below len(mem)
	tailAt int32 // the span that holds tail
	unused int32 // slots free for new spans, linked by next; none: -1

	inUse  int
	blocks int
}

// span is a part of mem: spans form a circular list in the order of their offsets and cover mem.
// Two holes are never neighbours, except across the wrap from the last to the first.
type span struct {
	off, size  int
	prev, next int32
	used       bool
}

// NewAttached makes an allocator over mem, which nothing else may touch while blocks are in use.
func NewAttached(mem []byte) *Attached {
	return &Attached{
		mem:    mem[:len(mem):len(mem)],
		spans:  []span{{size: len(mem)}}, // its own predecessor and successor
		index:  make(map[int]int32),
		unused: -1,
	}
}

// Alloc returns n bytes, or false when no hole is large enough. They stay valid until Free.
func (a *Attached) Alloc(n int) ([]byte, bool) {
	if n < 0 {
		panic(fmt.Sprintf("buffer: bug: attached block of %d bytes", n))
	}
	if n > len(a.mem)-Overhead {
		return nil, false
	}
	s, ok := a.find(n + Overhead)
	if !ok {
		return nil, false
	}
	a.cut(s, n+Overhead)
	sp := &a.spans[s]
	sp.used = true
	a.index[sp.off] = s
	a.tail, a.tailAt = a.spans[sp.next].off, sp.next
	a.inUse += sp.size
	a.blocks++
	// The capacity runs to the end of mem: that is how Free knows the offset without pointer
	// arithmetic.
	return a.mem[sp.off : sp.off+n], true
}

// Free takes back what Alloc returned, at any length, with the same start and capacity.
func (a *Attached) Free(b []byte) {
	off := len(a.mem) - cap(b)
	s, ok := a.index[off]
	if !ok || &b[:1][0] != &a.mem[off] {
		panic("buffer: bug: free of a block that is not in use")
	}
	delete(a.index, off)
	sp := &a.spans[s]
	sp.used = false
	a.inUse -= sp.size
	a.blocks--
	if a.joinable(s, sp.next) {
		a.absorbNext(s)
	}
	if prev := a.spans[s].prev; a.joinable(prev, s) {
		a.absorbNext(prev)
		s = prev
	}
	if a.blocks == 0 {
		a.tail, a.tailAt = 0, s // s is the whole of mem
	}
}

// InUse is the number of bytes of mem taken, Overhead included.
func (a *Attached) InUse() int { return a.inUse }

// Blocks is the number of blocks not freed yet.
func (a *Attached) Blocks() int { return a.blocks }

// find returns a hole of size bytes or more whose beginning is where the block goes.
func (a *Attached) find(size int) (int32, bool) {
	first := a.tailAt
	if sp := &a.spans[first]; !sp.used && sp.off+sp.size-a.tail >= size {
		if a.tail == sp.off {
			return first, true
		}
		// What was in front of tail has been freed and joined this hole. The circular policy does
		// not use that space yet, see Attached.
		a.cut(first, a.tail-sp.off)
		return a.spans[first].next, true
	}
	for s := a.spans[first].next; ; s = a.spans[s].next { // ends with first, this time the whole of it
		if sp := &a.spans[s]; !sp.used && sp.size >= size {
			return s, true
		}
		if s == first {
			return 0, false
		}
	}
}

// cut shortens the span s to size; the rest of it becomes a hole of its own.
func (a *Attached) cut(s int32, size int) {
	rest := a.spans[s].size - size
	if rest == 0 {
		return
	}
	r := a.newSpan()
	sp := &a.spans[s]
	a.spans[r] = span{off: sp.off + size, size: rest, prev: s, next: sp.next}
	a.spans[sp.next].prev = r
	sp.size, sp.next = size, r
}

func (a *Attached) newSpan() int32 {
	if s := a.unused; s >= 0 {
		a.unused = a.spans[s].next
		return s
	}
	a.spans = append(a.spans, span{})
	return int32(len(a.spans) - 1)
}

// joinable says whether s and the span after it, n, are holes next to each other in mem.
func (a *Attached) joinable(s, n int32) bool {
	return !a.spans[s].used && !a.spans[n].used && a.spans[s].off < a.spans[n].off
}

// absorbNext makes s, and the hole behind it, one hole.
func (a *Attached) absorbNext(s int32) {
	sp := &a.spans[s]
	n := sp.next
	sp.size += a.spans[n].size
	sp.next = a.spans[n].next
	a.spans[sp.next].prev = s
	if a.tailAt == n {
		a.tailAt = s
	}
	a.spans[n] = span{next: a.unused}
	a.unused = n
}
