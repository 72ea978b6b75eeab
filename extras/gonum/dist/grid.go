// Package dist has matrices of gonum that are spread over the ranks of a job, and what is computed
// with them: products, solutions of linear systems by Cholesky's method, and by conjugate
// gradients.
//
//	g, err := dist.NewGrid(world)               // ranks in rows and columns
//	a, err := dist.New(g, n, n, 64)             // blocks of 64 by 64, dealt out in turn both ways
//	a.Fill(func(i, j int) float64 { ... })      // each rank its own elements
//	f, err := dist.Cholesky(a)                  // overwrites a
//	x, err := f.Solve(b)                        // b and x are whole at every rank
//
// The distribution is that of ScaLAPACK: block i, j belongs to the rank in row i mod P and column
// j mod Q of a grid of P by Q ranks, so that all have work until the end of a factorization. Local
// work is gonum's BLAS and LAPACK.
//
// Functions that say so are collective: all ranks of the grid call them, in the same order, with
// matrices of the same shape. An error that they return without a message is the same at all
// ranks. Errors of messages are those of package mpi. A Matrix is for one goroutine at a time.
package dist

import (
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// ErrShape is wrapped by errors about matrices that do not fit each other.
var ErrShape = errors.New("shapes do not fit")

// Grid is ranks in rows and columns. All is immutable after NewGrid.
type Grid struct {
	// Rows and Cols are how many there are, I and J where the calling rank is.
	Rows, Cols, I, J int

	all *mpi.Comm // row by row
	row *mpi.Comm // the ranks of row I; the rank there is J
	col *mpi.Comm // the ranks of column J; the rank there is I
}

// NewGrid arranges the ranks of c in a grid that is as square as their number permits (MPI 4.1,
// section 8.5.2). Collective over c. Free it.
func NewGrid(c *mpi.Comm) (*Grid, error) {
	dims, err := mpi.DimsCreate(c.Size(), make([]int, 2))
	if err != nil {
		return nil, err
	}
	all, err := c.CartCreate(dims, nil, false)
	if err != nil {
		return nil, err
	}
	g := &Grid{Rows: dims[0], Cols: dims[1], all: all}
	_, _, coords, err := all.CartGet()
	if err != nil {
		return nil, err
	}
	g.I, g.J = coords[0], coords[1]
	if g.row, err = all.CartSub([]bool{false, true}); err != nil {
		return nil, err
	}
	if g.col, err = all.CartSub([]bool{true, false}); err != nil {
		return nil, err
	}
	return g, nil
}

// Free frees the communicators of g. Collective over the grid.
func (g *Grid) Free() error { return errors.Join(g.row.Free(), g.col.Free(), g.all.Free()) }

// owner is the rank of g.all that has block i, j.
func (g *Grid) owner(i, j int) int { return i%g.Rows*g.Cols + j%g.Cols }

// axis is how one dimension of a matrix is dealt out: blocks of a number of elements, the last one
// perhaps shorter, in turn to so many ranks.
type axis struct{ n, block, ranks int }

// blocks is how many blocks there are.
func (a axis) blocks() int { return (a.n + a.block - 1) / a.block }

// length is how many elements block k has.
func (a axis) length(k int) int { return min(a.block, a.n-k*a.block) }

// before is how many elements rank r has of the blocks before block k: where block k begins in the
// memory of its rank, and how many elements rank r has at all if k is blocks().
func (a axis) before(r, k int) int {
	if k <= r {
		return 0
	}
	n := (k - r + a.ranks - 1) / a.ranks * a.block
	if last := a.blocks() - 1; k > last && last%a.ranks == r {
		n -= a.block - a.length(last)
	}
	return n
}

// shape checks sizes.
func shape(rows, cols, block int) error {
	if rows < 0 || cols < 0 || block < 1 {
		return fmt.Errorf("dist: a matrix of %d by %d in blocks of %d: want no negative size, and blocks of 1 or more", rows, cols, block)
	}
	return nil
}
