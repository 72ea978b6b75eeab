package rma

import "math"

// Block is a part of a target's window: Count runs of Len bytes each, the first at Off, each
// further one Stride bytes behind the one before. Their bytes travel in this order.
type Block struct{ Off, Len, Stride, Count int }

// Contiguous is the block of n bytes at off.
func Contiguous(off, n int) Block { return Block{Off: off, Len: n, Stride: n, Count: 1} }

// Size is the number of bytes of b.
func (b Block) Size() int { return b.Len * b.Count }

// Size is the number of bytes of bs.
func Size(bs []Block) (n int) {
	for _, b := range bs {
		n += b.Size()
	}
	return n
}

// limit bounds offsets, lengths and strides, in bytes: sums of a few do not overflow.
const limit = 1 << 56

// isSane reports whether the numbers of b make sense and can be calculated with.
func (b Block) isSane() bool {
	if b.Off < 0 || b.Off > limit || b.Len <= 0 || b.Len > limit || b.Count <= 0 || b.Count > limit || b.Stride > limit || b.Stride < -limit {
		return false
	}
	if b.Count > limit/b.Len {
		return false
	}
	far := b.Stride
	if far < 0 {
		far = -far
	}
	return far == 0 || b.Count-1 <= limit/far
}

// Bounds are the first byte of bs in the window, and the one behind the last. Both are 0 if there
// are no bytes.
//
// Preconditions:
//   - the numbers are sane: they come from ConsumeRequest, or from the memory of a buffer.
func Bounds(bs []Block) (lo, hi int) {
	if len(bs) == 0 {
		return 0, 0
	}
	lo, hi = math.MaxInt, math.MinInt
	for _, b := range bs {
		last := b.Off + (b.Count-1)*b.Stride
		lo, hi = min(lo, b.Off, last), max(hi, b.Off+b.Len, last+b.Len)
	}
	return lo, hi
}

// Append adds a run of n bytes at off to bs: what goes on at the distance of those before it makes
// no block of its own.
func Append(bs []Block, off, n int) []Block {
	if n == 0 {
		return bs
	}
	if len(bs) == 0 {
		return append(bs, Contiguous(off, n))
	}
	switch b := &bs[len(bs)-1]; {
	case b.Count == 1 && off == b.Off+b.Len:
		b.Len += n
		b.Stride = b.Len
	case n == b.Len && b.Count == 1:
		b.Stride, b.Count = off-b.Off, 2
	case n == b.Len && off == b.Off+b.Count*b.Stride:
		b.Count++
	default:
		return append(bs, Contiguous(off, n))
	}
	return bs
}

// Cut takes as much off the front of bs as makes blocks blocks and size bytes at most; no value of
// grain bytes is cut, so it takes one at least.
//
// Preconditions:
//   - every run of bs is a multiple of grain bytes long; blocks > 0, size >= grain.
func Cut(bs []Block, blocks, size, grain int) (head, rest []Block) {
	size -= size % grain
	for len(bs) > 0 && len(head) < blocks {
		b := bs[0]
		if b.Size() <= size {
			head, bs, size = append(head, b), bs[1:], size-b.Size()
			continue
		}
		if whole := size / b.Len; whole > 0 { // some of its runs
			a := b
			a.Count = whole
			b.Off, b.Count = b.Off+whole*b.Stride, b.Count-whole
			return append(head, a), append([]Block{b}, bs[1:]...)
		}
		if size == 0 {
			break
		}
		// A part of its first run.
		rest = make([]Block, 0, len(bs)+1)
		rest = append(rest, Contiguous(b.Off+size, b.Len-size))
		if b.Count > 1 {
			rest = append(rest, Block{b.Off + b.Stride, b.Len, b.Stride, b.Count - 1})
		}
		return append(head, Contiguous(b.Off, size)), append(rest, bs[1:]...)
	}
	return head, bs
}

// Region is memory of a window that an operation concerns: it is a layout of the engine.
type Region struct {
	Mem    []byte // what the offsets of Blocks count in
	Blocks []Block
	Size   int // bytes of Blocks
}

// Len is the number of bytes.
func (r *Region) Len() int { return r.Size }

// Pack copies bytes [off, off+len(dst)) to dst.
func (r *Region) Pack(dst []byte, off int) {
	r.each(off, len(dst), func(at, from, n int) { copy(dst[from:from+n], r.Mem[at:at+n]) })
}

// Unpack is the reverse of Pack.
func (r *Region) Unpack(off int, src []byte) {
	r.each(off, len(src), func(at, from, n int) { copy(r.Mem[at:at+n], src[from:from+n]) })
}

// Each calls f for the runs in their order: n bytes of memory at at, which are those from from on
// of what travels.
func (r *Region) Each(f func(at, from, n int)) { r.each(0, r.Size, f) }

// each calls f for the parts of runs that hold bytes [off, off+n), from counting from off.
func (r *Region) each(off, n int, f func(at, from, n int)) {
	done := 0
	for _, b := range r.Blocks {
		if size := b.Size(); off >= size {
			off -= size
			continue
		}
		i, in := off/b.Len, off%b.Len
		off = 0
		for ; i < b.Count && done < n; i++ {
			k := min(b.Len-in, n-done)
			f(b.Off+i*b.Stride+in, done, k)
			done, in = done+k, 0
		}
		if done == n {
			return
		}
	}
}

// Piece is the memory of r if it is one piece, else nil.
func (r *Region) Piece() []byte {
	if len(r.Blocks) != 1 {
		return nil
	}
	b := r.Blocks[0]
	if b.Count > 1 && b.Stride != b.Len {
		return nil
	}
	return r.Mem[b.Off : b.Off+b.Size() : b.Off+b.Size()]
}
