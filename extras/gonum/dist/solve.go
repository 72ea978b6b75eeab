package dist

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/mpi"
)

// Solve returns x with A x = b. b has one column or more and is the same at all ranks; so is x,
// which is new. Collective.
func (f *Factor) Solve(b *mat.Dense) (*mat.Dense, error) {
	n, m := b.Dims()
	if n != f.l.r.n {
		return nil, fmt.Errorf("dist: %w: %d by %d and a right side of %d rows", ErrShape, f.l.r.n, f.l.c.n, n)
	}
	if n == 0 || m == 0 {
		return new(mat.Dense), nil
	}
	x := mat.DenseCopyOf(b)
	blocks := f.l.r.blocks()
	for k := range blocks { // L y = b
		if err := f.block(x.RawMatrix(), k, blas.NoTrans, f.l.left(k, x.RawMatrix())); err != nil {
			return nil, err
		}
	}
	for k := blocks - 1; k >= 0; k-- { // Lᵀ x = y
		if err := f.block(x.RawMatrix(), k, blas.Trans, f.l.under(k, x.RawMatrix())); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// block solves for block k of x, at all ranks. known is this rank's share of what the blocks of x
// that are solved already contribute.
func (f *Factor) block(x blas64.General, k int, t blas.Transpose, known blas64.General) error {
	g, kb := f.l.grid, f.l.r.length(k)
	owner := g.owner(k, k)
	sum := make([]float64, len(known.Data))
	if err := mpi.Reduce(g.all, known.Data, sum, mpi.Sum, owner); err != nil {
		return err
	}
	at := k * f.l.r.block
	xk := part(x, at, at+kb, 0, x.Cols) // whole rows: in one piece of memory, as x is a copy
	if g.all.Rank() == owner {
		for i, s := range sum {
			xk.Data[i] -= s
		}
		r, c := f.l.r.before(g.I, k), f.l.c.before(g.J, k)
		blas64.Trsm(blas.Left, t, 1, lower(part(f.l.local, r, r+kb, c, c+kb)), xk)
	}
	return mpi.Bcast(g.all, xk.Data, owner)
}

// left is this rank's share of the product of what is left of diagonal block k with x.
func (m *Matrix) left(k int, x blas64.General) blas64.General {
	g, kb := m.grid, m.r.length(k)
	s := general(kb, x.Cols)
	if g.I == k%g.Rows {
		at, cols := m.r.before(g.I, k), m.c.before(g.J, k)
		gemm(blas.NoTrans, 1, part(m.local, at, at+kb, 0, cols), m.c.take(g.J, x, 0, cols), s)
	}
	return s
}

// under is this rank's share of the product of the transpose of what is below diagonal block k with
// x.
func (m *Matrix) under(k int, x blas64.General) blas64.General {
	g, kb := m.grid, m.r.length(k)
	s := general(kb, x.Cols)
	if g.J == k%g.Cols {
		at, first := m.c.before(g.J, k), m.r.before(g.I, k+1)
		a := part(m.local, first, m.local.Rows, at, at+kb)
		if b := m.r.take(g.I, x, first, m.local.Rows); b.Rows > 0 {
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, a, b, 1, s)
		}
	}
	return s
}

// take is a copy of the rows of x that elements i to k of rank r have in the whole.
func (a axis) take(r int, x blas64.General, i, k int) blas64.General {
	t := general(k-i, x.Cols)
	for n := range t.Rows {
		at := a.global(r, i+n)
		copy(t.Data[n*t.Stride:n*t.Stride+t.Cols], x.Data[at*x.Stride:at*x.Stride+x.Cols])
	}
	return t
}

// MulDense returns a x, whole at every rank, for x that is whole at every rank. Collective.
func (m *Matrix) MulDense(x *mat.Dense) (*mat.Dense, error) {
	n, cols := x.Dims()
	if n != m.c.n {
		return nil, fmt.Errorf("dist: %w: a product of %d by %d and %d by %d", ErrShape, m.r.n, m.c.n, n, cols)
	}
	if m.r.n == 0 || cols == 0 {
		return new(mat.Dense), nil
	}
	mine := general(m.local.Rows, cols)
	gemm(blas.NoTrans, 1, m.local, m.c.take(m.grid.J, x.RawMatrix(), 0, m.local.Cols), mine)
	y := mat.NewDense(m.r.n, cols, nil)
	raw := y.RawMatrix()
	for i := range mine.Rows {
		copy(raw.Data[m.r.global(m.grid.I, i)*raw.Stride:], mine.Data[i*mine.Stride:i*mine.Stride+cols])
	}
	return y, mpi.Allreduce(m.grid.all, raw.Data, raw.Data, mpi.Sum)
}

// Residual says how well x solves a x = b: the largest element of b - a x, divided by n, by the
// distance of 1 to the next number, and by the norm (largest sum of a row) of a times that of x. It
// is the measure of the Linpack benchmark: a solution that is as good as rounding permits has a few
// units, and 16 is its limit. Collective.
func Residual(a *Matrix, x, b *mat.Dense) (float64, error) {
	r, err := a.MulDense(x)
	if err != nil {
		return 0, err
	}
	if br, bc := b.Dims(); br != a.r.n || bc != r.RawMatrix().Cols {
		return 0, fmt.Errorf("dist: %w: a right side of %d by %d", ErrShape, br, bc)
	}
	sums := make([]float64, a.r.n)
	a.each(func(i, _ int, x *float64) { sums[i] += math.Abs(*x) })
	if err := mpi.Allreduce(a.grid.all, sums, sums, mpi.Sum); err != nil {
		return 0, err
	}
	if a.r.n == 0 || r.IsEmpty() {
		return 0, nil
	}
	r.Sub(b, r)
	norm := 0.0
	for _, s := range sums {
		norm = math.Max(norm, s)
	}
	eps := math.Nextafter(1, 2) - 1
	return largest(r) / (norm * largest(x) * float64(a.r.n) * eps), nil
}

// largest is the largest absolute value of an element.
func largest(a *mat.Dense) float64 {
	return math.Max(mat.Max(a), -mat.Min(a))
}
