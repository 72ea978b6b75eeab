package dist

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/mpi"
	"github.com/fitmpi/fitmpi/mpi/mpitest"
)

// share is the elements of rank r of n: none for the last of many ranks.
func share(n, r, ranks int) (first, end int) {
	block := (n + ranks - 1) / ranks
	return min(n, r*block), min(n, (r+1)*block)
}

// own is a rank's elements of f, as a vector.
func own(first, end int, f func(i int) float64) *mat.VecDense {
	if first == end {
		return new(mat.VecDense)
	}
	v := mat.NewVecDense(end-first, nil)
	for i := first; i < end; i++ {
		v.SetVec(i-first, f(i))
	}
	return v
}

// laplace is the matrix with 2 on the diagonal and -1 beside it, plus a little. Neighbours exchange
// the elements at their borders, through all of which MulVecTo sends something.
type laplace struct{ c *mpi.Comm }

func (l laplace) at(i, j int) float64 {
	switch i - j {
	case 0:
		return 2.1
	case 1, -1:
		return -1
	}
	return 0
}

func (l laplace) MulVecTo(dst *mat.VecDense, x mat.Vector) error {
	n := x.Len()
	edge := []float64{x.AtVec(0), x.AtVec(n - 1)}
	beyond := []float64{0, 0}
	left, right := l.c.Rank()-1, l.c.Rank()+1
	if left < 0 {
		left = mpi.ProcNull
	}
	if right == l.c.Size() {
		right = mpi.ProcNull
	}
	if _, err := mpi.WaitAll(mpi.Irecv(l.c, beyond[:1], left, 0), mpi.Irecv(l.c, beyond[1:], right, 0),
		mpi.Isend(l.c, edge[:1], left, 0), mpi.Isend(l.c, edge[1:], right, 0)); err != nil {
		return err
	}
	for i := range n {
		before, after := beyond[0], beyond[1]
		if i > 0 {
			before = x.AtVec(i - 1)
		}
		if i+1 < n {
			after = x.AtVec(i + 1)
		}
		dst.SetVec(i, 2.1*x.AtVec(i)-before-after)
	}
	return nil
}

// cgRanks solves a system, and compares each rank's elements with gonum's.
func cgRanks(t *testing.T, ranks, n int, at func(i, j int) float64, operator func(c *mpi.Comm, first, end int) (Operator, error)) {
	f := func(i int) float64 { return element(9, i, 0) }
	var alone mat.Cholesky
	if !alone.Factorize(mat.NewSymDense(n, dense(n, n, at).RawMatrix().Data)) {
		t.Fatal("gonum finds no factor")
	}
	var want mat.VecDense
	if err := alone.SolveVecTo(&want, own(0, n, f)); err != nil {
		t.Fatal(err)
	}
	mpitest.Run(t, ranks, func(ctx context.Context, world *mpi.Comm) error {
		first, end := share(n, world.Rank(), ranks)
		a, err := operator(world, first, end)
		if err != nil {
			return err
		}
		x := own(first, end, func(int) float64 { return 1 })
		res, err := CG(world, a, x, own(first, end, f), CGSettings{Tolerance: 1e-12})
		if err != nil {
			return err
		}
		if res.Steps == 0 || res.Residual > 1e-12 {
			return fmt.Errorf("result %+v", res)
		}
		for i := first; i < end; i++ {
			if d := x.AtVec(i-first) - want.AtVec(i); d > 1e-9 || d < -1e-9 {
				return fmt.Errorf("element %d is %v, by gonum %v", i, x.AtVec(i-first), want.AtVec(i))
			}
		}
		return nil
	})
}

func TestCG(t *testing.T) {
	for _, s := range []struct{ ranks, n int }{{1, 9}, {2, 9}, {4, 30}, {4, 5}} { // of 5, rank 3 has none
		t.Run(fmt.Sprintf("rows, %d ranks, %d", s.ranks, s.n), func(t *testing.T) {
			cgRanks(t, s.ranks, s.n, positive(s.n), func(c *mpi.Comm, first, end int) (Operator, error) {
				return NewRows(c, dense(end-first, s.n, func(i, j int) float64 { return positive(s.n)(first+i, j) }))
			})
		})
	}
	t.Run("laplace", func(t *testing.T) {
		cgRanks(t, 3, 40, laplace{}.at, func(c *mpi.Comm, first, end int) (Operator, error) { return laplace{c}, nil })
	})
}

// What cannot be solved is said at every rank.
func TestCGErrors(t *testing.T) {
	mpitest.Run(t, 2, func(ctx context.Context, world *mpi.Comm) error {
		rows := func(x, y float64) (*Rows, error) { // a diagonal matrix
			d := []float64{0, 0}
			d[world.Rank()] = [2]float64{x, y}[world.Rank()]
			return NewRows(world, mat.NewDense(1, 2, d))
		}
		negative, err := rows(1, -3)
		if err != nil {
			return err
		}
		one := func() *mat.VecDense { return mat.NewVecDense(1, []float64{1}) }
		if _, err := CG(world, negative, mat.NewVecDense(1, nil), one(), CGSettings{}); !errors.Is(err, ErrNotPositiveDefinite) {
			return fmt.Errorf("a negative matrix: %v", err)
		}
		good, err := rows(1, 5)
		if err != nil {
			return err
		}
		if _, err := CG(world, good, mat.NewVecDense(1, nil), one(), CGSettings{Steps: 1}); !errors.Is(err, ErrNotConverged) {
			return fmt.Errorf("one step: %v", err)
		}
		x := mat.NewVecDense(1+world.Rank(), nil)
		if _, err := CG(world, good, x, one(), CGSettings{}); !errors.Is(err, ErrShape) {
			return fmt.Errorf("lengths: %v", err)
		}
		if res, err := CG(world, good, one(), mat.NewVecDense(1, nil), CGSettings{}); err != nil || res.Steps != 0 {
			return fmt.Errorf("nothing at the right side: %+v, %w", res, err)
		}
		if _, err := NewRows(world, mat.NewDense(1, 3, nil)); !errors.Is(err, ErrShape) {
			return fmt.Errorf("3 columns: %v", err)
		}
		return nil
	})
}
