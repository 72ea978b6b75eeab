package main

import (
	"math/cmplx"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// cube is a cube of n x n x n points [x][y][z] of which each rank has a slab: the planes x in
// [first, end) before it is turned, the planes y in [first, end) after. Element (x, y, z) is at
// ((x-first)*n+y)*n+z of the one slab and at (x*(end-first)+y-first)*n+z of the other.
type cube struct {
	comm       *mpi.Comm
	n          int
	first, end int
	lines      *lines
	byX, byY   []*mpi.Datatype // the part of a slab, by x and by y, that belongs to each rank after the turn; nil if it is empty
	exchanging time.Duration   // spent in Alltoallw
}

func newCube(comm *mpi.Comm, n int) *cube {
	c := &cube{comm: comm, n: n, lines: newLines(n)}
	c.first, c.end = c.planes(comm.Rank())
	mine := c.end - c.first
	for r := range comm.Size() {
		from, to := c.planes(r)
		var x, y *mpi.Datatype
		if mine > 0 && to > from {
			point := mpi.TypeOf[complex128]()
			x = mpi.Subarray([]int{mine, n, n}, []int{mine, to - from, n}, []int{0, from, 0}, mpi.OrderC, point)
			y = mpi.Subarray([]int{n, mine, n}, []int{to - from, mine, n}, []int{from, 0, 0}, mpi.OrderC, point)
		}
		c.byX, c.byY = append(c.byX, x), append(c.byY, y)
	}
	return c
}

// planes are those of rank r.
func (c *cube) planes(r int) (first, end int) {
	return r * c.n / c.comm.Size(), (r + 1) * c.n / c.comm.Size()
}

// slab is room for the planes of this rank.
func (c *cube) slab() []complex128 { return make([]complex128, (c.end-c.first)*c.n*c.n) }

// forward returns the transform of the slab by x in, as a slab by y.
func (c *cube) forward(in []complex128) ([]complex128, error) {
	s := append(c.slab()[:0], in...)
	c.transformPlanes(s)
	turned := c.slab()
	if err := c.turn(s, c.byX, turned, c.byY); err != nil {
		return nil, err
	}
	c.lines.transformColumns(turned)
	return turned, nil
}

// backward returns what forward has made its argument of: the transform of the conjugate,
// conjugated and divided by n³.
func (c *cube) backward(in []complex128) ([]complex128, error) {
	s := append(c.slab()[:0], in...)
	conjugate(s, 1)
	c.lines.transformColumns(s)
	turned := c.slab()
	if err := c.turn(s, c.byY, turned, c.byX); err != nil {
		return nil, err
	}
	c.transformPlanes(turned)
	conjugate(turned, 1/float64(c.n*c.n*c.n))
	return turned, nil
}

func conjugate(s []complex128, factor float64) {
	for i, v := range s {
		s[i] = cmplx.Conj(v) * complex(factor, 0)
	}
}

// transformPlanes transforms a slab by x along z and y.
func (c *cube) transformPlanes(s []complex128) {
	for line := range c.lines.rows(s) {
		c.lines.transform(line)
	}
	for ; len(s) > 0; s = s[c.n*c.n:] {
		c.lines.transformColumns(s[:c.n*c.n])
	}
}

// turn makes a slab by y of one by x, or the other way round: every element moves from the rank
// that has its plane of the one kind to that which has its plane of the other. The types say where
// that is in either slab, so nothing is packed here.
func (c *cube) turn(from []complex128, parts []*mpi.Datatype, to []complex128, places []*mpi.Datatype) error {
	began := time.Now()
	err := mpi.Alltoallw(c.comm, from, parts, to, places)
	c.exchanging += time.Since(began)
	return err
}
