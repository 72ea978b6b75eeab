package layout

// Map is where the values of one element lie in memory, and in which order they travel. Immutable;
// safe for concurrent use.
type Map struct {
	root ref // the data; zero if there are none

	lb, ub         int  // bounds as composed, before ub is rounded for alignment
	marked         bool // the bounds were set by Resized: they stand for themselves and outweigh others
	void           bool // no entry at all, neither data nor bounds
	trueLB, trueUB int  // the data lie between these; both 0 if there are none
	align          int  // the strictest alignment of the values
	extent         int  // from an element to the next
}

// frame gathers what entries do to the bounds of a map.
type frame struct {
	m    Map
	size int
	c    checked
}

func newFrame() frame { return frame{m: Map{void: true, align: 1}} }

// add places n elements of m, the displacements of whose origins lie between first and last, and
// reach both.
func (f *frame) add(m *Map, n, first, last int) {
	if n == 0 || m.void {
		return
	}
	lb, ub := f.c.add(first, m.lb), f.c.add(last, m.ub)
	switch {
	case f.m.void || m.marked && !f.m.marked:
		// The bounds are those of the markers, if there are any (MPI 4.1, section 5.1.6): they
		// outweigh what is not marked.
		f.m.lb, f.m.ub, f.m.marked = lb, ub, m.marked
	case m.marked == f.m.marked:
		f.m.lb, f.m.ub = min(f.m.lb, lb), max(f.m.ub, ub)
	}
	if m.Size() > 0 {
		lb, ub := f.c.add(first, m.trueLB), f.c.add(last, m.trueUB)
		if f.size == 0 {
			f.m.trueLB, f.m.trueUB = lb, ub
		} else {
			f.m.trueLB, f.m.trueUB = min(f.m.trueLB, lb), max(f.m.trueUB, ub)
		}
	}
	f.m.void = false
	f.m.align = max(f.m.align, m.align)
	f.size = f.c.add(f.size, f.c.mul(n, m.Size()))
}

// ok reports whether the map can be; its data may be made only then.
func (f *frame) ok() bool {
	m := &f.m
	m.extent = m.ub - m.lb
	if over := m.extent % m.align; over != 0 && !m.marked {
		// "rounded up to satisfy alignment requirements" (MPI 4.1, section 5.1).
		m.extent += m.align - over
	}
	f.c.keep(m.extent)
	f.c.keep(m.trueUB - m.trueLB)
	return !f.c.over
}

// with is the map, given its data.
func (f *frame) with(data ref) (*Map, error) {
	m := f.m
	m.root = data
	return &m, nil
}

// Size is the number of bytes of data (MPI 4.1, section 5.1.5).
func (m *Map) Size() int {
	if m.root.n == nil {
		return 0
	}
	return m.root.n.size
}

// Extent is the lower bound, and the distance from the lower to the upper bound, which is that from
// one element to the next (MPI 4.1, section 5.1.7).
func (m *Map) Extent() (lb, extent int) { return m.lb, m.extent }

// TrueExtent is like Extent for the data alone (MPI 4.1, section 5.1.8).
func (m *Map) TrueExtent() (lb, extent int) { return m.trueLB, m.trueUB - m.trueLB }

// Basics is the number of basic values.
func (m *Map) Basics() int {
	if m.root.n == nil {
		return 0
	}
	return m.root.n.basics
}

// Runs is the number of contiguous runs that the data of one element are, in the order in which
// they travel.
func (m *Map) Runs() int {
	if m.root.n == nil {
		return 0
	}
	return m.root.n.runs
}

// IsContiguous reports whether the data of any number of elements are one run without gaps, in
// order: memory that can travel as it is, from the true lower bound on. Of the map of a Go type it
// says that the type has no padding.
func (m *Map) IsContiguous() bool { return m.Size() == m.extent && m.Runs() <= 1 }

// PackedSize is the number of bytes of data of count elements.
//
// Preconditions:
//   - count >= 0.
func (m *Map) PackedSize(count int) (int, error) {
	var c checked
	n := c.mul(count, m.Size())
	return n, c.err()
}

// Bounds says between which bytes the data of count elements lie, as displacements from the origin
// of the first. Both are 0 if there are no data.
//
// Preconditions:
//   - count >= 0.
func (m *Map) Bounds(count int) (lo, hi int, err error) {
	if count == 0 || m.Size() == 0 {
		return 0, 0, nil
	}
	var c checked
	last := c.mul(count-1, m.extent)
	lo, hi = c.add(min(0, last), m.trueLB), c.add(max(0, last), m.trueUB)
	c.mul(count, m.Size())
	return lo, hi, c.err()
}

// EachRun calls f for every contiguous run of the data of one element, in the order in which they
// travel: where it lies, as a displacement from the origin, and how long it is, in bytes.
func (m *Map) EachRun(f func(disp, n int)) {
	if m.root.n != nil {
		m.root.n.eachRun(m.root.disp, f)
	}
}

func (n *node) eachRun(disp int, f func(disp, n int)) {
	switch {
	case n.runs == 1:
		f(disp, n.size)
	case n.op == opLoop:
		for i := range n.n {
			n.child.eachRun(disp+i*n.stride, f)
		}
	default:
		for i := range n.parts {
			n.parts[i].n.eachRun(disp+n.parts[i].disp, f)
		}
	}
}
