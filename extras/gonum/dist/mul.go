package dist

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/fitmpi/fitmpi/extras/gonum/view"
	"github.com/fitmpi/fitmpi/mpi"
)

// Mul sets c to the product of a and b, which must be other matrices, of the same grid and blocks.
// It is SUMMA: for each block of the inner dimension the ranks that have those columns of a give
// them to their rows of the grid, those that have the rows of b to their columns, and each rank
// multiplies. The next blocks travel meanwhile. Collective.
func Mul(c, a, b *Matrix) error {
	if a.grid != c.grid || b.grid != c.grid || a.r != c.r || b.c != c.c || a.c.n != b.r.n || a.c.block != b.r.block {
		return fmt.Errorf("dist: %w: a product of %d by %d and %d by %d into %d by %d, in blocks of %d, %d and %d",
			ErrShape, a.r.n, a.c.n, b.r.n, b.c.n, c.r.n, c.c.n, a.c.block, b.r.block, c.r.block)
	}
	if c == a || c == b {
		return fmt.Errorf("dist: the product cannot be put into one of its factors")
	}
	clear(c.local.Data)
	n := a.c.blocks()
	var next panels
	if n > 0 {
		next = startPanels(a, b, 0)
	}
	for k := range n {
		now := next
		if _, err := mpi.WaitAll(now.requests...); err != nil {
			return err
		}
		if k+1 < n {
			next = startPanels(a, b, k+1)
		}
		gemm(blas.NoTrans, 1, now.a, now.b, c.local)
	}
	return nil
}

// gemm adds alpha a b, or alpha a bᵀ, to c; any may be empty.
func gemm(tb blas.Transpose, alpha float64, a, b, c blas64.General) {
	if c.Rows > 0 && c.Cols > 0 && a.Cols > 0 {
		blas64.Gemm(blas.NoTrans, tb, alpha, a, b, 1, c)
	}
}

// panels are what a rank needs for a block of the inner dimension.
type panels struct {
	a, b     blas64.General
	requests []*mpi.Request // until they are done
}

// startPanels starts the broadcasts of block k. Where the block is the rank's own it stays in its
// matrix.
func startPanels(a, b *Matrix, k int) panels {
	g, kb := a.grid, a.c.length(k)
	var p panels
	owner := k % g.Cols
	if g.J == owner {
		at := a.c.before(g.J, k)
		p.a = part(a.local, 0, a.local.Rows, at, at+kb)
	} else {
		p.a = general(a.local.Rows, kb)
	}
	of := view.General(p.a)
	p.requests = append(p.requests, mpi.Ibcast(of.On(g.row), of.Data, owner))
	owner = k % g.Rows
	if g.I == owner {
		at := b.r.before(g.I, k)
		p.b = part(b.local, at, at+kb, 0, b.local.Cols)
	} else {
		p.b = general(kb, b.local.Cols)
	}
	of = view.General(p.b)
	p.requests = append(p.requests, mpi.Ibcast(of.On(g.col), of.Data, owner))
	return p
}
