package layout

import "sort"

// Walk visits where the data of elements lie that follow each other without end, the first with its
// origin at 0. It visits n bytes from off on, in the order in which they travel, as runs of size
// bytes at a displacement. Runs that touch may come apart. It stops when visit returns false, and
// reports whether it did not.
//
// Preconditions:
//   - the map has data, off >= 0, n >= 0, and the displacements are no larger than an int.
func (m *Map) Walk(off, n int, visit func(at, size int) bool) bool {
	return walkLoop(m.root.disp, off, n, m.root.n, m.extent, visit)
}

// walkLoop is Walk of nodes at a stride, however many, the first with its origin at at.
func walkLoop(at, off, n int, child *node, stride int, visit func(at, size int) bool) bool {
	if child.runs == 1 && stride == child.size {
		return n == 0 || visit(at+off, n)
	}
	i := off / child.size
	at, off = at+i*stride, off-i*child.size
	for n > 0 {
		k := min(child.size-off, n)
		if !child.walk(at, off, k, visit) {
			return false
		}
		n, off, at = n-k, 0, at+stride
	}
	return true
}

// walk is Walk of n's data.
//
// Preconditions:
//   - 0 < size, off+size <= n.size.
func (n *node) walk(at, off, size int, visit func(at, size int) bool) bool {
	switch {
	case n.runs == 1:
		return visit(at+off, size)
	case n.op == opLoop:
		return walkLoop(at, off, size, n.child, n.stride, visit)
	}
	for i := n.partAt(off); size > 0; i++ {
		p := &n.parts[i]
		k := min(p.start+p.n.size-off, size)
		if !p.n.walk(at+p.disp, off-p.start, k, visit) {
			return false
		}
		size, off = size-k, off+k
	}
	return true
}

// At is the displacement of the byte at off of the data of elements that follow each other without
// end, the first with its origin at 0.
//
// Preconditions:
//   - the map has data, off >= 0, and the displacement is no larger than an int.
func (m *Map) At(off int) int {
	n := m.root.n
	i := off / n.size
	at, off := m.root.disp+i*m.extent, off%n.size
	for n.runs != 1 {
		if n.op == opLoop {
			i := off / n.child.size
			at, off, n = at+i*n.stride, off-i*n.child.size, n.child
			continue
		}
		p := &n.parts[n.partAt(off)]
		at, off, n = at+p.disp, off-p.start, p.n
	}
	return at + off
}

// Before is how many bytes of the data of elements that follow each other without end lie before
// the displacement at.
//
// Preconditions:
//   - the map has data and is ascending.
func (m *Map) Before(at int) int {
	n := m.root.n
	at -= m.root.disp
	if at <= 0 {
		return 0
	}
	full := at / m.extent
	in := at - full*m.extent // the data of this element lie from 0 on
	return full*n.size + sort.Search(n.size, func(off int) bool { return m.At(off)-m.root.disp >= in })
}

// IsAscending reports whether each byte of the data of elements that follow each other lies behind
// the one that travels before it. No two overlap then.
func (m *Map) IsAscending() bool {
	n := m.root.n
	return n == nil || n.isAscending() && n.hi <= m.extent
}

func (n *node) isAscending() bool {
	switch {
	case n.runs == 1:
		return true
	case n.op == opLoop:
		return n.child.isAscending() && n.child.hi <= n.stride
	}
	end := 0
	for i := range n.parts {
		p := &n.parts[i]
		if p.disp < end || !p.n.isAscending() {
			return false
		}
		end = p.disp + p.n.hi
	}
	return true
}

// IsNondecreasing reports whether each value of the data of elements that follow each other begins
// no earlier than the one that travels before it. They may overlap.
func (m *Map) IsNondecreasing() bool {
	n := m.root.n
	return n == nil || n.isNondecreasing() && n.last() <= m.extent
}

func (n *node) isNondecreasing() bool {
	switch {
	case n.runs == 1:
		return true
	case n.op == opLoop:
		return n.child.isNondecreasing() && n.child.last() <= n.stride
	}
	last := 0
	for i := range n.parts {
		p := &n.parts[i]
		if p.disp < last || !p.n.isNondecreasing() {
			return false
		}
		last = p.disp + p.n.last()
	}
	return true
}

// last is where the last value that travels begins.
func (n *node) last() int {
	at := 0
	for n.op != opRun {
		if n.op == opLoop {
			at, n = at+(n.n-1)*n.stride, n.child
			continue
		}
		p := &n.parts[len(n.parts)-1]
		at, n = at+p.disp, p.n
	}
	return at + n.size - kindFacts[n.kind].size
}
