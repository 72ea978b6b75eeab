package layout

import "fmt"

// way is how bytes move, a set of bits.
type way uint8

const (
	unpack way = 1 << iota // from the stream to memory; else from memory to the stream
	swap                   // reversing the bytes of every value
)

// Pack copies a part of the data of count elements, in the order in which they travel, to dst:
// len(dst) bytes from offset off on. The first element has its origin at mem[origin]. It allocates
// nothing.
//
// Preconditions:
//   - Bounds(count) has no error, and the data lie within mem.
//   - the part lies within the data: 0 <= off, off+len(dst) <= PackedSize(count).
//   - dst does not overlap mem.
func (m *Map) Pack(dst, mem []byte, origin, count, off int) {
	m.move(0, dst, mem, origin, count, off)
}

// Unpack is the reverse of Pack: it copies src to where the bytes of the data from off on lie in
// mem. Other bytes of mem stay as they are. If data overlap each other the last to travel remain.
//
// Preconditions are those of Pack.
func (m *Map) Unpack(mem []byte, origin, count, off int, src []byte) {
	m.move(unpack, src, mem, origin, count, off)
}

// PackSwapped is Pack to the other byte order: the bytes of every value, or of both halves of a
// complex one, are reversed. off may be within a value.
func (m *Map) PackSwapped(dst, mem []byte, origin, count, off int) {
	m.move(swap, dst, mem, origin, count, off)
}

// UnpackSwapped is Unpack from the other byte order.
func (m *Map) UnpackSwapped(mem []byte, origin, count, off int, src []byte) {
	m.move(unpack|swap, src, mem, origin, count, off)
}

func (m *Map) move(w way, p, mem []byte, origin, count, off int) {
	if off < 0 || len(p) > count*m.Size()-off {
		panic(fmt.Sprintf("layout: a bug in FitMPI: bytes %d to %d of %d elements of %d bytes", off, off+len(p), count, m.Size()))
	}
	if len(p) > 0 {
		moveLoop(w, p, mem, origin+m.root.disp, off, m.root.n, m.extent)
	}
}

// asMemory reports whether n's data move as they lie in memory.
func (n *node) asMemory(w way) bool { return n.runs == 1 && (w&swap == 0 || n.width == 1) }

// move moves the bytes of n's data from off on, as many as p has. n's origin is at mem[at].
//
// Preconditions:
//   - p is not empty.
func (n *node) move(w way, p, mem []byte, at, off int) {
	if n.asMemory(w) {
		moveRun(w, p, mem, at+off)
		return
	}
	switch n.op {
	case opRun:
		swapRun(w, p, mem, at, off, n.width)
	case opLoop:
		moveLoop(w, p, mem, at, off, n.child, n.stride)
	default:
		n.moveParts(w, p, mem, at, off)
	}
}

// moveLoop is move for children at a stride, however many.
func moveLoop(w way, p, mem []byte, at, off int, child *node, stride int) {
	size := child.size
	if stride == size && child.asMemory(w) {
		moveRun(w, p, mem, at+off)
		return
	}
	if off >= size {
		i := off / size
		at, off = at+i*stride, off-i*size
	}
	if off > 0 {
		k := min(size-off, len(p))
		child.move(w, p[:k], mem, at, off)
		p, at = p[k:], at+stride
	}
	if len(p) >= size && child.asMemory(w) {
		k := len(p) / size
		moveStrided(w, p[:k*size], mem, at, stride, size)
		p, at = p[k*size:], at+k*stride
	}
	if child.isFlat(w) {
		for ; len(p) >= size; at += stride {
			p, _ = moveFlat(w, p, mem, at, child.parts)
		}
	}
	for len(p) > 0 {
		k := min(size, len(p))
		child.move(w, p[:k], mem, at, 0)
		p, at = p[k:], at+stride
	}
}

// isFlat reports whether n is a sequence of parts that move as they lie in memory.
func (n *node) isFlat(w way) bool { return n.op == opSeq && n.flat && w&swap == 0 }

// moveFlat moves whole parts of such a sequence: the fields of a struct, mostly, or many blocks. It
// returns what is left of p, and how many of the parts were moved: all, or all before the first
// that p does not hold whole.
func moveFlat(w way, p, mem []byte, at int, parts []part) (rest []byte, n int) {
	for i := range parts {
		c := &parts[i]
		k := c.n.size
		if k > len(p) {
			return p, i
		}
		from, to := mem[at+c.disp:at+c.disp+k], p[:k]
		if w&unpack != 0 {
			from, to = to, from
		}
		switch k {
		case 8:
			*(*[8]byte)(to) = [8]byte(from)
		case 4:
			*(*[4]byte)(to) = [4]byte(from)
		default:
			copy(to, from)
		}
		p = p[k:]
	}
	return p, len(parts)
}

// moveParts is move for a sequence.
func (n *node) moveParts(w way, p, mem []byte, at, off int) {
	i := 0
	if off > 0 {
		i = n.partAt(off)
		off -= n.parts[i].start
	}
	for ; len(p) > 0; i++ {
		if off == 0 && n.isFlat(w) {
			var k int
			if p, k = moveFlat(w, p, mem, at, n.parts[i:]); len(p) == 0 {
				return
			}
			i += k
		}
		c := &n.parts[i]
		k := min(c.n.size-off, len(p))
		c.n.move(w, p[:k], mem, at+c.disp, off)
		p, off = p[k:], 0
	}
}

// partAt is the part that has the byte at off.
func (n *node) partAt(off int) int {
	lo, hi := 0, len(n.parts) // parts[lo].start <= off < parts[hi].start
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); n.parts[mid].start <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// moveRun moves one run at mem[at].
func moveRun(w way, p, mem []byte, at int) {
	if w&unpack == 0 {
		copy(p, mem[at:at+len(p)])
	} else {
		copy(mem[at:at+len(p)], p)
	}
}

// moveStrided moves runs of size bytes at a stride, which p holds whole.
func moveStrided(w way, p, mem []byte, at, stride, size int) {
	switch {
	case size == 8:
		moveStrided8(w, p, mem, at, stride)
	case size == 4:
		moveStrided4(w, p, mem, at, stride)
	case size == 16:
		moveStrided16(w, p, mem, at, stride)
	case w&unpack == 0:
		for ; len(p) >= size; at += stride {
			copy(p[:size], mem[at:at+size])
			p = p[size:]
		}
	default:
		for ; len(p) >= size; at += stride {
			copy(mem[at:at+size], p[:size])
			p = p[size:]
		}
	}
}

// The loops for the sizes of numbers load and store in registers.

func moveStrided4(w way, p, mem []byte, at, stride int) {
	if w&unpack == 0 {
		for ; len(p) >= 4; at += stride {
			*(*[4]byte)(p) = [4]byte(mem[at:])
			p = p[4:]
		}
		return
	}
	for ; len(p) >= 4; at += stride {
		*(*[4]byte)(mem[at:]) = [4]byte(p)
		p = p[4:]
	}
}

func moveStrided8(w way, p, mem []byte, at, stride int) {
	if w&unpack == 0 {
		for ; len(p) >= 8; at += stride {
			*(*[8]byte)(p) = [8]byte(mem[at:])
			p = p[8:]
		}
		return
	}
	for ; len(p) >= 8; at += stride {
		*(*[8]byte)(mem[at:]) = [8]byte(p)
		p = p[8:]
	}
}

func moveStrided16(w way, p, mem []byte, at, stride int) {
	if w&unpack == 0 {
		for ; len(p) >= 16; at += stride {
			*(*[16]byte)(p) = [16]byte(mem[at:])
			p = p[16:]
		}
		return
	}
	for ; len(p) >= 16; at += stride {
		*(*[16]byte)(mem[at:]) = [16]byte(p)
		p = p[16:]
	}
}
