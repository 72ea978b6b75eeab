package dist

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/fitmpi/fitmpi/extras/gonum/view"
	"github.com/fitmpi/fitmpi/mpi"
)

// ErrNotPositiveDefinite is wrapped by the error of Cholesky for a matrix that is not.
var ErrNotPositiveDefinite = errors.New("the matrix is not positive definite")

// Factor is a matrix L, zero above the diagonal, with A = L Lᵀ.
type Factor struct {
	l *Matrix // below the diagonal and on it; above is of no meaning
}

// Cholesky is the factor of a symmetric, positive definite matrix, of which it reads the diagonal
// and what is below. It overwrites a, whose memory is then the factor's. The error wraps
// ErrNotPositiveDefinite, at all ranks, if a is not; ErrShape, if a is not square. Collective.
func Cholesky(a *Matrix) (*Factor, error) {
	if a.r.n != a.c.n {
		return nil, fmt.Errorf("dist: %w: a factorization of %d by %d", ErrShape, a.r.n, a.c.n)
	}
	for k := range a.r.blocks() {
		p, err := a.panel(k)
		if err != nil {
			return nil, err
		}
		if err := a.update(k, p); err != nil {
			return nil, err
		}
	}
	return &Factor{a}, nil
}

// panel finishes column k of blocks, and returns the blocks of it below the diagonal that stand in
// the calling rank's rows.
func (m *Matrix) panel(k int) (blas64.General, error) {
	g, kb := m.grid, m.r.length(k)
	isColumn := g.J == k%g.Cols
	first := m.r.before(g.I, k) // of this rank's rows, the first that is not above the diagonal block
	status := []float64{1}      // 0 where the block is not positive definite
	below := first
	if g.I == k%g.Rows {
		below += kb
	}
	p := general(m.local.Rows-below, kb)
	if isColumn {
		at := m.c.before(g.J, k)
		diagonal := general(kb, kb)
		if g.I == k%g.Rows {
			diagonal = part(m.local, first, first+kb, at, at+kb)
			if _, ok := lapack64.Potrf(blas64.Symmetric{N: kb, Stride: diagonal.Stride, Data: diagonal.Data, Uplo: blas.Lower}); !ok {
				status[0] = 0
			}
		}
		if err := mpi.Bcast(g.col, status, k%g.Rows); err != nil {
			return p, err
		}
		b := view.General(diagonal)
		if err := mpi.Bcast(b.On(g.col), b.Data, k%g.Rows); err != nil {
			return p, err
		}
		p = part(m.local, below, m.local.Rows, at, at+kb)
		if p.Rows > 0 && status[0] == 1 {
			blas64.Trsm(blas.Right, blas.Trans, 1, lower(diagonal), p)
		}
	}
	if err := mpi.Bcast(g.row, status, k%g.Cols); err != nil {
		return p, err
	}
	if status[0] == 0 {
		return p, fmt.Errorf("dist: %w: the block of rows %d to %d has no factor", ErrNotPositiveDefinite, k*m.r.block, k*m.r.block+kb-1)
	}
	b := view.General(p)
	return p, mpi.Bcast(b.On(g.row), b.Data, k%g.Cols)
}

// lower is the triangle of a with the diagonal.
func lower(a blas64.General) blas64.Triangular {
	return blas64.Triangular{N: a.Rows, Stride: a.Stride, Data: a.Data, Uplo: blas.Lower, Diag: blas.NonUnit}
}

// update subtracts the product of column k and its transpose from what is right of it. p is the
// blocks of the column that stand in this rank's rows.
func (m *Matrix) update(k int, p blas64.General) error {
	q, starts, err := m.turn(k, p)
	if err != nil {
		return err
	}
	g := m.grid
	top := m.local.Rows - p.Rows // the row of p's first
	for j := k + 1; j < m.c.blocks(); j++ {
		if j%g.Cols != g.J {
			continue
		}
		jb := m.c.length(j)
		i, at := m.r.before(g.I, j), m.c.before(g.J, j) // this rank's first row in block j or below
		right := part(q, starts[j], starts[j]+jb, 0, q.Cols)
		gemm(blas.Trans, -1, part(p, i-top, p.Rows, 0, p.Cols), right, part(m.local, i, m.local.Rows, at, at+jb))
	}
	return nil
}

// turn returns the blocks of column k whose numbers are those of the calling rank's columns, right
// of k. Each is at a rank of the same column of the grid. starts says in which row of the result
// each begins.
func (m *Matrix) turn(k int, p blas64.General) (q blas64.General, starts map[int]int, err error) {
	g, kb := m.grid, m.r.length(k)
	counts, rows := make([]int, g.Rows), 0
	starts = make(map[int]int)
	var mine []float64
	for r := range g.Rows {
		for j := k + 1; j < m.c.blocks(); j++ {
			if j%g.Cols != g.J || j%g.Rows != r {
				continue
			}
			jb := m.r.length(j)
			starts[j] = rows
			rows += jb
			counts[r] += jb * kb
			if r == g.I {
				at := m.r.before(g.I, j) - (m.local.Rows - p.Rows)
				for i := at; i < at+jb; i++ {
					mine = append(mine, p.Data[i*p.Stride:i*p.Stride+kb]...)
				}
			}
		}
	}
	q = general(rows, kb)
	return q, starts, mpi.Allgatherv(g.col, mine, q.Data, counts, nil)
}
