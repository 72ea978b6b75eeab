package layout

// Basic is one value of kind k at displacement 0.
func Basic(k Kind) *Map { return basics[k] }

var basics = func() (maps [kinds]*Map) {
	for k := range maps {
		f := &kindFacts[k]
		maps[k] = &Map{root: ref{0, newRun(Kind(k), 1)}, ub: f.size, trueUB: f.size, align: f.align, extent: f.size}
	}
	return maps
}()

// Contiguous is n elements of m, each at the extent of the one before (MPI 4.1, section 5.1.2).
//
// Preconditions:
//   - n >= 0.
func Contiguous(m *Map, n int) (*Map, error) { return Hvector(m, n, 1, m.extent) }

// Hvector is count blocks of blockLen elements of m, stride bytes from one to the next (MPI 4.1,
// section 5.1.2).
//
// Preconditions:
//   - count >= 0, blockLen >= 0.
func Hvector(m *Map, count, blockLen, stride int) (*Map, error) {
	f := newFrame()
	if count > 0 && blockLen > 0 {
		block, blocks := f.c.mul(blockLen-1, m.extent), f.c.mul(count-1, stride)
		first := f.c.add(min(0, block), min(0, blocks))
		last := f.c.add(max(0, block), max(0, blocks))
		f.add(m, f.c.mul(count, blockLen), first, last)
	}
	if !f.ok() {
		return nil, ErrTooLarge
	}
	return f.with(loop(loop(m.root, blockLen, m.extent), count, stride))
}

// Vector is Hvector with a stride in elements: multiples of m's extent.
func Vector(m *Map, count, blockLen, stride int) (*Map, error) {
	var c checked
	bytes := c.mul(stride, m.extent)
	if c.over && count > 1 && blockLen > 0 {
		return nil, ErrTooLarge
	}
	return Hvector(m, count, blockLen, bytes)
}

// Hindexed is blocks of elements of m: blockLens[i] of them at displs[i] bytes (MPI 4.1, section
// 5.1.2).
//
// Preconditions:
//   - both slices have one length, and no block has a negative one.
func Hindexed(m *Map, blockLens, displs []int) (*Map, error) {
	var b blocks
	for i, n := range blockLens {
		b.add(m, n, displs[i])
	}
	return b.done()
}

// Indexed is Hindexed with displacements in elements: multiples of m's extent.
func Indexed(m *Map, blockLens, displs []int) (*Map, error) {
	bytes, err := m.inBytes(displs)
	if err != nil {
		return nil, err
	}
	return Hindexed(m, blockLens, bytes)
}

// HindexedBlock is Hindexed with blocks of one length.
//
// Preconditions:
//   - blockLen >= 0.
func HindexedBlock(m *Map, blockLen int, displs []int) (*Map, error) {
	var b blocks
	for _, d := range displs {
		b.add(m, blockLen, d)
	}
	return b.done()
}

// IndexedBlock is HindexedBlock with displacements in elements: multiples of m's extent.
func IndexedBlock(m *Map, blockLen int, displs []int) (*Map, error) {
	bytes, err := m.inBytes(displs)
	if err != nil {
		return nil, err
	}
	return HindexedBlock(m, blockLen, bytes)
}

// inBytes turns numbers of elements into bytes.
func (m *Map) inBytes(displs []int) ([]int, error) {
	var c checked
	bytes := make([]int, len(displs))
	for i, d := range displs {
		bytes[i] = c.mul(d, m.extent)
	}
	return bytes, c.err()
}

// Struct is blocks of elements of several maps: blockLens[i] of maps[i] at displs[i] bytes (MPI
// 4.1, section 5.1.2).
//
// Preconditions:
//   - all slices have one length, and no block has a negative one.
func Struct(blockLens, displs []int, maps []*Map) (*Map, error) {
	var b blocks
	for i, m := range maps {
		b.add(m, blockLens[i], displs[i])
	}
	return b.done()
}

// Resized is m with other bounds (MPI 4.1, section 5.1.7).
func Resized(m *Map, lb, extent int) (*Map, error) {
	var c checked
	ub := c.add(lb, extent)
	if c.over {
		return nil, ErrTooLarge
	}
	r := *m
	r.lb, r.ub, r.extent, r.marked, r.void = lb, ub, extent, true, false
	return &r, nil
}

// block is n elements of m at disp.
type block struct {
	m       *Map
	n, disp int
}

// blocks composes a map of blocks.
type blocks struct {
	list []block
}

// add joins a block to the one before if it continues that.
func (b *blocks) add(m *Map, n, disp int) {
	if n == 0 || m.void {
		return
	}
	if k := len(b.list); k > 0 {
		last := &b.list[k-1]
		var c checked
		if next := c.add(last.disp, c.mul(last.n, m.extent)); last.m == m && next == disp && c.add(last.n, n) > 0 && !c.over {
			last.n += n
			return
		}
	}
	b.list = append(b.list, block{m, n, disp})
}

func (b *blocks) done() (*Map, error) {
	f := newFrame()
	for _, e := range b.list {
		span := f.c.mul(e.n-1, e.m.extent)
		f.add(e.m, e.n, f.c.add(e.disp, min(0, span)), f.c.add(e.disp, max(0, span)))
	}
	if !f.ok() {
		return nil, ErrTooLarge
	}
	return f.with(b.data())
}

// data makes the blocks' nodes: one for all blocks of a length, if they follow each other.
func (b *blocks) data() ref {
	refs := make([]ref, len(b.list))
	var before block
	var made ref
	for i, e := range b.list {
		if e.m != before.m || e.n != before.n {
			before, made = e, loop(e.m.root, e.n, e.m.extent)
		}
		refs[i] = ref{e.disp + made.disp, made.n}
	}
	return sequence(refs)
}
