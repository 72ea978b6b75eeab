package layout

import "sort"

// BasicsIn is the number of values in the first size bytes of the data of some elements. whole is
// false if those bytes end within a value, which is not counted.
//
// Preconditions:
//   - size >= 0, and 0 if the map has no data.
func (m *Map) BasicsIn(size int) (n int, whole bool) {
	if size == 0 {
		return 0, true
	}
	full := size / m.Size()
	n, whole = m.root.n.basicsIn(size % m.Size())
	return full*m.Basics() + n, whole
}

// basicsIn is BasicsIn for n's data, off < n.size.
func (n *node) basicsIn(off int) (basics int, whole bool) {
	switch {
	case off == 0:
		return 0, true
	case n.op == opRun:
		size := n.kind.Size()
		return off / size, off%size == 0
	case n.op == opLoop:
		i := off / n.child.size
		basics, whole = n.child.basicsIn(off - i*n.child.size)
		return i*n.child.basics + basics, whole
	default:
		p := &n.parts[n.partAt(off)]
		basics, whole = p.n.basicsIn(off - p.start)
		return p.index + basics, whole
	}
}

// SizeOf is the number of bytes of the first n values of as many elements as have so many: the
// reverse of BasicsIn.
//
// Preconditions:
//   - n >= 0, and 0 if the map has no data.
func (m *Map) SizeOf(n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	var c checked
	size := c.add(c.mul(n/m.Basics(), m.Size()), m.root.n.sizeOf(n%m.Basics()))
	return size, c.err()
}

// sizeOf is SizeOf for n's data, i < n.basics.
func (n *node) sizeOf(i int) int {
	switch {
	case i == 0:
		return 0
	case n.op == opRun:
		return i * n.kind.Size()
	case n.op == opLoop:
		k := i / n.child.basics
		return k*n.child.size + n.child.sizeOf(i-k*n.child.basics)
	default:
		next := sort.Search(len(n.parts), func(k int) bool { return n.parts[k].index > i })
		p := &n.parts[next-1]
		return p.start + p.n.sizeOf(i-p.index)
	}
}
