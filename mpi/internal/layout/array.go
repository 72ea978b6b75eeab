package layout

// Order is how the elements of an array of several dimensions lie in memory.
type Order uint8

// The orders.
const (
	RowMajor    Order = iota // the last index moves fastest: C, and Go's arrays of arrays
	ColumnMajor              // the first index moves fastest: Fortran
)

// dim is the i-th dimension, counted from the fastest on.
func (o Order) dim(i, ndims int) int {
	if o == RowMajor {
		return ndims - 1 - i
	}
	return i
}

// Subarray is a part of an array of several dimensions: subsizes[d] of the sizes[d] elements of
// dimension d, from starts[d] on. Its bounds are those of the whole array (MPI 4.1, section 5.1.3).
//
// Preconditions:
//   - all slices have one length, and 0 <= starts[d], 0 <= subsizes[d], starts[d]+subsizes[d] <=
//     sizes[d].
func Subarray(m *Map, sizes, subsizes, starts []int, order Order) (*Map, error) {
	return array(m, sizes, order, func(m *Map, d int) (*Map, error) {
		var c checked
		at := c.mul(starts[d], m.extent)
		if c.over {
			return nil, ErrTooLarge
		}
		return Hindexed(m, subsizes[d:d+1], []int{at})
	})
}

// Share is the part of one dimension that one process has: of its blocks of Block elements, every
// Of-th from the Index-th on. The last block may be shorter.
type Share struct{ Block, Of, Index int }

// Darray is the part that one process has of an array that is distributed over a grid: the product
// of its shares of all dimensions. Its bounds are those of the whole array (MPI 4.1, section
// 5.1.4).
//
// Preconditions:
//   - sizes and shares have one length, no size is negative, and of each share 1 <= Block, 0 <=
//     Index < Of.
func Darray(m *Map, sizes []int, shares []Share, order Order) (*Map, error) {
	return array(m, sizes, order, func(m *Map, d int) (*Map, error) {
		return shares[d].of(m, sizes[d])
	})
}

// of is the share of size elements of m, an array of which has bounds that can be.
func (s Share) of(m *Map, size int) (*Map, error) {
	var c checked
	first := c.mul(s.Index, s.Block)
	if c.over || first >= size {
		return Contiguous(m, 0)
	}
	round := c.mul(s.Of, s.Block)
	if c.over || round > size {
		round = size
	}
	block := min(s.Block, size)
	// Of the elements from first on, whole rounds begin with a whole block of ours; then comes what
	// is left of one.
	whole, rest := (size-first)/round, (size-first)%round
	if rest >= block {
		whole, rest = whole+1, 0
	}
	blocks, err := Hvector(m, whole, block, round*m.extent)
	if err != nil {
		return nil, err
	}
	at := first * m.extent
	return Struct([]int{1, rest}, []int{at, at + whole*round*m.extent}, []*Map{blocks, m})
}

// array composes what part takes of each dimension, from the fastest on, and gives it the bounds of
// the whole array.
func array(m *Map, sizes []int, order Order, part func(m *Map, d int) (*Map, error)) (*Map, error) {
	extent := m.extent
	for i := range sizes {
		d := order.dim(i, len(sizes))
		var c checked
		extent = c.mul(extent, sizes[d])
		if c.over {
			return nil, ErrTooLarge
		}
		p, err := part(m, d)
		if err != nil {
			return nil, err
		}
		if m, err = Resized(p, 0, extent); err != nil {
			return nil, err
		}
	}
	return m, nil
}
