package main

import (
	"math/cmplx"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// cube is a cube of n x n x n points of which each rank has a slab: planes [first, end) of the first axis. Element (a, b, c)
// of a slab is at ((a-first)*n+b)*n+c.
type cube struct {
	comm       *mpi.Comm
	n          int
	first, end int
	lines      *lines
	exchanging time.Duration // spent in Alltoallv
}

func newCube(comm *mpi.Comm, n int) *cube {
	c := &cube{comm: comm, n: n, lines: newLines(n)}
	c.first, c.end = c.planes(comm.Rank())
	return c
}

// planes are those of rank r.
func (c *cube) planes(r int) (first, end int) {
	return r * c.n / c.comm.Size(), (r + 1) * c.n / c.comm.Size()
}

// slab is room for the planes of this rank.
func (c *cube) slab() []complex128 { return make([]complex128, (c.end-c.first)*c.n*c.n) }

// forward returns the transform of the slab [x][y][z] in, as a slab [y][z][x].
func (c *cube) forward(in []complex128) ([]complex128, error) {
	s := append(c.slab()[:0], in...)
	c.transformPlanes(s)
	turned, err := c.turn(s)
	if err != nil {
		return nil, err
	}
	for line := range c.lines.rows(turned) {
		c.lines.transform(line)
	}
	return turned, nil
}

// backward returns what forward has made its argument of: the transform of the conjugate, conjugated and divided by n³.
func (c *cube) backward(in []complex128) ([]complex128, error) {
	s := append(c.slab()[:0], in...)
	conjugate(s, 1)
	for line := range c.lines.rows(s) {
		c.lines.transform(line)
	}
	turned, err := c.turnBack(s)
	if err != nil {
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

// transformPlanes transforms a slab along its second and third axes.
func (c *cube) transformPlanes(s []complex128) {
	for line := range c.lines.rows(s) {
		c.lines.transform(line)
	}
	for ; len(s) > 0; s = s[c.n*c.n:] {
		c.lines.transformColumns(s[:c.n*c.n])
	}
}

// turn makes a slab [b][c][a] of a slab [a][b][c]: element (a, b, c) moves from the rank with plane a to the one with plane
// b. Blocks travel in the order of a, then b, then c.
func (c *cube) turn(s []complex128) ([]complex128, error) {
	out := make([]complex128, 0, len(s))
	for r := range c.comm.Size() {
		from, to := c.planes(r)
		for a := range c.end - c.first {
			out = append(out, s[(a*c.n+from)*c.n:(a*c.n+to)*c.n]...)
		}
	}
	in, err := c.exchange(out)
	if err != nil {
		return nil, err
	}
	t, n := c.slab(), c.n
	for a := range n { // as ranks are in the order of their planes, so are the blocks
		for b := range c.end - c.first {
			for i, v := range in[:n] {
				t[(b*n+i)*n+a] = v
			}
			in = in[n:]
		}
	}
	return t, nil
}

// turnBack undoes turn: what that unpacked is packed, and the other way round.
func (c *cube) turnBack(t []complex128) ([]complex128, error) {
	n := c.n
	out := make([]complex128, 0, len(t))
	for a := range n {
		for b := range c.end - c.first {
			for i := range n {
				out = append(out, t[(b*n+i)*n+a])
			}
		}
	}
	in, err := c.exchange(out)
	if err != nil {
		return nil, err
	}
	s := c.slab()
	for r := range c.comm.Size() {
		from, to := c.planes(r)
		for a := range c.end - c.first {
			in = in[copy(s[(a*n+from)*n:(a*n+to)*n], in):]
		}
	}
	return s, nil
}

// exchange sends every rank its block and returns the blocks of all, both in the order of ranks. Either way the block
// between two ranks has as many lines of n points as the product of their planes.
func (c *cube) exchange(out []complex128) ([]complex128, error) {
	counts := make([]int, c.comm.Size())
	for r := range counts {
		from, to := c.planes(r)
		counts[r] = (c.end - c.first) * (to - from) * c.n
	}
	in := make([]complex128, len(out))
	began := time.Now()
	err := mpi.Alltoallv(c.comm, out, counts, nil, in, counts, nil)
	c.exchanging += time.Since(began)
	return in, err
}
