package coll

// Layout makes one vector of bytes of values that do not lie as one piece in memory, or in another
// form than they travel in. Its methods run in the steps of a schedule. An implementation is a
// pointer: where two are equal they are one.
type Layout interface {
	// Len is the length of the vector.
	Len() int
	// Pack copies bytes [off, off+len(dst)) of the vector to dst.
	Pack(dst []byte, off int)
	// Unpack puts src where bytes [off, off+len(src)) of the vector belong.
	Unpack(off int, src []byte)
	// Run is the memory that bytes [lo, hi) of the vector are, if they are one piece of it. It may
	// be asked while a schedule is built.
	Run(lo, hi int) (mem []byte, ok bool)
}

// Buf is an operand or a result of a collective: memory, or a part of the vector of a [Layout]. To
// the algorithms it is so many bytes either way: ranks whose messages match may have the one and
// the other. The zero value is empty. Immutable.
type Buf struct {
	mem    []byte
	layout Layout // nil: the bytes are mem
	lo, hi int    // the part of layout
}

// Memory is b itself.
func Memory(b []byte) Buf { return Buf{mem: b} }

// LaidOut is all of l.
func LaidOut(l Layout) Buf { return laidOut(l, 0, l.Len()) }

func laidOut(l Layout, lo, hi int) Buf {
	if mem, ok := l.Run(lo, hi); ok {
		return Memory(mem)
	}
	return Buf{layout: l, lo: lo, hi: hi}
}

// Memory is the memory that b is, if it is.
func (b Buf) Memory() (mem []byte, ok bool) { return b.mem, b.layout == nil }

// Len is the number of bytes.
func (b Buf) Len() int {
	if b.layout != nil {
		return b.hi - b.lo
	}
	return len(b.mem)
}

// Part is bytes [lo, hi) of b.
func (b Buf) Part(lo, hi int) Buf {
	if b.layout != nil {
		return laidOut(b.layout, b.lo+lo, b.lo+hi)
	}
	return Buf{mem: b.mem[lo:hi:hi]}
}

// Pack copies bytes [off, off+len(dst)) of b to dst.
func (b Buf) Pack(dst []byte, off int) {
	if b.layout != nil {
		b.layout.Pack(dst, b.lo+off)
		return
	}
	copy(dst, b.mem[off:])
}

// Unpack puts src where bytes [off, off+len(src)) of b belong.
func (b Buf) Unpack(off int, src []byte) {
	if b.layout != nil {
		b.layout.Unpack(b.lo+off, src)
		return
	}
	copy(b.mem[off:], src)
}

// block is block i under the given counts and displacements.
func (b Buf) block(counts, displs []int, i int) Buf { return b.Part(displs[i], displs[i]+counts[i]) }

// is says whether a and b are the same bytes. Buffers that overlap otherwise are a misuse that it
// does not see.
func (b Buf) is(a Buf) bool {
	if b.layout != nil {
		return a.layout == b.layout && a.lo == b.lo
	}
	return a.layout == nil && same(a.mem, b.mem)
}

// begins says whether b is the first bytes of a.
func (b Buf) begins(a Buf) bool { return b.Len() <= a.Len() && b.is(a.Part(0, b.Len())) }

// moveChunk is how many bytes go at a time from one layout to another.
const moveChunk = 64 << 10

// moveBuf is move of what may have layouts.
func moveBuf(g Graph, dst, src Buf, after []Step) []Step {
	if dst.layout == nil && src.layout == nil {
		return move(g, dst.mem, src.mem, after)
	}
	n := src.Len()
	if n == 0 || dst.is(src) {
		return after
	}
	var room []byte
	if dst.layout != nil && src.layout != nil {
		room = scratch(g, min(n, moveChunk))
	}
	return []Step{g.Do(func() error { transfer(dst, src, room); return nil }, after...)}
}

// transfer copies src to the beginning of dst. If both have layouts it needs room.
func transfer(dst, src Buf, room []byte) {
	switch n := src.Len(); {
	case src.layout == nil:
		dst.Unpack(0, src.mem)
	case dst.layout == nil:
		src.Pack(dst.mem[:n], 0)
	default:
		for off := 0; off < n; off += len(room) {
			b := room[:min(len(room), n-off)]
			src.Pack(b, off)
			dst.Unpack(off, b)
		}
	}
}

// Apart is a copy of b, for what must not change while results arrive in the same place.
func Apart(g Graph, b Buf, after ...Step) (copied Buf, done []Step) {
	copied = Memory(scratch(g, b.Len()))
	return copied, moveBuf(g, copied, b, after)
}
