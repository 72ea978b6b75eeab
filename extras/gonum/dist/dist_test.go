package dist

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/mpi"
	"github.com/fitmpi/fitmpi/mpi/mpitest"
)

// What ranks compute together is what gonum computes alone.

// element is a number for each place, the same at every rank.
func element(seed uint64, i, j int) float64 {
	return rand.New(rand.NewPCG(seed, uint64(i)<<32|uint64(j))).NormFloat64()
}

// dense is the whole matrix of elements.
func dense(r, c int, f func(i, j int) float64) *mat.Dense {
	if r == 0 || c == 0 {
		return new(mat.Dense)
	}
	a := mat.NewDense(r, c, nil)
	for i := range r {
		for j := range c {
			a.Set(i, j, f(i, j))
		}
	}
	return a
}

// positive is the elements of a symmetric matrix that is positive definite: the diagonal outweighs
// the rest of its row.
func positive(n int) func(i, j int) float64 {
	return func(i, j int) float64 {
		x := element(1, min(i, j), max(i, j))
		if i == j {
			x += 8 * float64(n)
		}
		return x
	}
}

// sizes are ranks with a size of matrices and blocks: one block, many, a last one that is shorter,
// fewer blocks than ranks.
var sizes = []struct{ ranks, n, block int }{
	{1, 7, 3}, {2, 12, 3}, {3, 10, 4}, {4, 23, 5}, {4, 3, 5}, {6, 40, 7}, {4, 1, 1}, {5, 16, 2},
}

// onGrid runs f for each of the sizes.
func onGrid(t *testing.T, f func(g *Grid, n, block int) error) {
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%d ranks, %d in %d", s.ranks, s.n, s.block), func(t *testing.T) {
			mpitest.Run(t, s.ranks, func(ctx context.Context, world *mpi.Comm) error {
				g, err := NewGrid(world)
				if err != nil {
					return err
				}
				return errors.Join(f(g, s.n, s.block), g.Free())
			})
		})
	}
}

// filled is a matrix with elements.
func filled(g *Grid, r, c, block int, f func(i, j int) float64) (*Matrix, error) {
	m, err := New(g, r, c, block)
	if err == nil {
		m.Fill(f)
	}
	return m, err
}

// same compares with the whole at rank 0.
func same(m *Matrix, want mat.Matrix, tolerance float64) error {
	got := mat.NewDense(m.r.n, m.c.n, nil)
	if err := m.Gather(got, 0); err != nil {
		return err
	}
	if m.grid.all.Rank() == 0 && !mat.EqualApprox(got, want, tolerance) {
		return fmt.Errorf("got\n%v\nwant\n%v", mat.Formatted(got), mat.Formatted(want))
	}
	return nil
}

// The blocks of an axis are a division: every element has one rank, and its place there.
func TestAxis(t *testing.T) {
	for n := range 20 {
		for block := 1; block < 6; block++ {
			for ranks := 1; ranks < 5; ranks++ {
				a, total := axis{n, block, ranks}, 0
				for r := range ranks {
					mine := a.before(r, a.blocks())
					total += mine
					local := 0
					for k := range a.blocks() {
						if a.before(r, k) != local {
							t.Fatalf("%+v: block %d begins at %d of rank %d, want %d", a, k, a.before(r, k), r, local)
						}
						for i := range a.length(k) {
							if k%ranks != r {
								break
							}
							if a.global(r, local) != k*block+i {
								t.Fatalf("%+v: element %d of rank %d is %d, want %d", a, local, r, a.global(r, local), k*block+i)
							}
							local++
						}
					}
					if local != mine {
						t.Fatalf("%+v: rank %d has %d, says %d", a, r, local, mine)
					}
				}
				if total != n {
					t.Fatalf("%+v: the ranks have %d", a, total)
				}
			}
		}
	}
}

// A matrix that is a view is dealt out and gathered, element by element.
func TestScatterGather(t *testing.T) {
	onGrid(t, func(g *Grid, n, block int) error {
		f := func(i, j int) float64 { return float64(1000*i + j) }
		for _, root := range []int{0, g.all.Size() - 1} {
			m, err := New(g, n, n+3, block)
			if err != nil {
				return err
			}
			var whole *mat.Dense
			if g.all.Rank() == root {
				whole = dense(n+1, n+4, func(i, j int) float64 { return f(i-1, j-1) }).Slice(1, n+1, 1, n+4).(*mat.Dense)
			}
			if err := m.Scatter(whole, root); err != nil {
				return err
			}
			m.each(func(i, j int, x *float64) {
				if *x != f(i, j) {
					err = fmt.Errorf("%d, %d is %v", i, j, *x)
				}
				*x = -*x
			})
			if r, c := m.Local().Dims(); r*c != len(m.local.Data) {
				err = fmt.Errorf("the local part is %d by %d", r, c)
			}
			if err != nil {
				return err
			}
			if err := m.Gather(whole, root); err != nil {
				return err
			}
			if whole != nil && !mat.Equal(whole, dense(n, n+3, func(i, j int) float64 { return -f(i, j) })) {
				return fmt.Errorf("gathered %v", mat.Formatted(whole))
			}
		}
		return nil
	})
}

func TestMul(t *testing.T) {
	onGrid(t, func(g *Grid, n, block int) error {
		fa := func(i, j int) float64 { return element(2, i, j) }
		fb := func(i, j int) float64 { return element(3, i, j) }
		a, err := filled(g, n, n+5, block, fa)
		if err != nil {
			return err
		}
		b, err := filled(g, n+5, n+2, block, fb)
		if err != nil {
			return err
		}
		c, err := filled(g, n, n+2, block, fa) // what was there does not count
		if err != nil {
			return err
		}
		if err := Mul(c, a, b); err != nil {
			return err
		}
		var want mat.Dense
		want.Mul(dense(n, n+5, fa), dense(n+5, n+2, fb))
		return same(c, &want, 1e-12*float64(n+5))
	})
}

func TestCholesky(t *testing.T) {
	onGrid(t, func(g *Grid, n, block int) error {
		a, err := filled(g, n, n, block, positive(n))
		if err != nil {
			return err
		}
		whole := a.Clone()
		f, err := Cholesky(a)
		if err != nil {
			return err
		}
		b := dense(n, 2, func(i, j int) float64 { return element(4, i, j) })
		x, err := f.Solve(b)
		if err != nil {
			return err
		}
		var alone mat.Cholesky
		sym := mat.NewSymDense(n, dense(n, n, positive(n)).RawMatrix().Data)
		if !alone.Factorize(sym) {
			return errors.New("gonum finds no factor")
		}
		var want mat.Dense
		if err := alone.SolveTo(&want, b); err != nil {
			return err
		}
		if !mat.EqualApprox(x, &want, 1e-12) {
			return fmt.Errorf("x is\n%v\nby gonum\n%v", mat.Formatted(x), mat.Formatted(&want))
		}
		if r, err := Residual(whole, x, b); err != nil || r > 16 {
			return fmt.Errorf("the residual is %v: %w", r, err)
		}
		x.Set(0, 0, x.At(0, 0)*(1+1e-6)) // a residual that sees nothing would be no measure
		if r, err := Residual(whole, x, b); err != nil || r < 16 {
			return fmt.Errorf("the residual of what is no solution is %v: %w", r, err)
		}
		var l mat.TriDense
		alone.LTo(&l)
		a.each(func(i, j int, x *float64) {
			if i < j {
				*x = 0
			}
		})
		return same(a, &l, 1e-12*float64(n))
	})
}

// All ranks hear that there is no factor, wherever the block stands, and go on.
func TestNotPositiveDefinite(t *testing.T) {
	onGrid(t, func(g *Grid, n, block int) error {
		for _, bad := range []int{0, n / 2, n - 1} {
			a, err := filled(g, n, n, block, func(i, j int) float64 {
				if i == j && i == bad {
					return -1
				}
				return positive(n)(i, j)
			})
			if err != nil {
				return err
			}
			if _, err := Cholesky(a); !errors.Is(err, ErrNotPositiveDefinite) {
				return fmt.Errorf("row %d: %v", bad, err)
			}
		}
		return mpi.Barrier(g.all)
	})
}

func TestShapes(t *testing.T) {
	mpitest.Run(t, 2, func(ctx context.Context, world *mpi.Comm) error {
		g, err := NewGrid(world)
		if err != nil {
			return err
		}
		if _, err := New(g, 2, 2, 0); err == nil {
			return errors.New("blocks of 0 are taken")
		}
		m, err := filled(g, 4, 5, 2, func(i, j int) float64 { return 1 })
		if err != nil {
			return err
		}
		_, square := Cholesky(m)
		_, vector := m.MulDense(mat.NewDense(4, 1, nil))
		for i, err := range []error{square, vector, Mul(m, m, m), m.Scatter(mat.NewDense(5, 4, nil), 1), m.Gather(nil, 0)} {
			if !errors.Is(err, ErrShape) {
				return fmt.Errorf("%d: %v", i, err)
			}
		}
		empty, err := New(g, 0, 0, 3)
		if err != nil {
			return err
		}
		f, err := Cholesky(empty)
		if err != nil {
			return err
		}
		if x, err := f.Solve(new(mat.Dense)); err != nil || !x.IsEmpty() {
			return fmt.Errorf("of nothing: %v, %w", x, err)
		}
		return g.Free()
	})
}
