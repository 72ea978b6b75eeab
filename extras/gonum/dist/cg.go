package dist

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/mpi"
)

// Operator is a symmetric, positive definite map of vectors whose elements are spread over the
// ranks of a communicator.
type Operator interface {
	// MulVecTo sets dst to the product with x. Each rank has its own elements of both, and all
	// ranks call it together. dst and x are different vectors.
	MulVecTo(dst *mat.VecDense, x mat.Vector) error
}

// ErrNotConverged is wrapped by the error of CG where too many steps would be needed.
var ErrNotConverged = errors.New("conjugate gradients have not converged")

// CGSettings bound the work of CG. The zero value is ready for use.
type CGSettings struct {
	// Tolerance is how small the residual becomes in relation to the right side, in the Euclidean
	// norm; 0 is 1e-10.
	Tolerance float64
	// Steps is how many there are at most; 0 is ten times the length of the whole vector.
	Steps int
}

// CGResult is what CG did, the same at all ranks.
type CGResult struct {
	Steps    int
	Residual float64 // in relation to the right side, as the recurrence has it
}

// CG improves x until a x = b, by conjugate gradients. x and b are the calling rank's elements, of
// which it may have none. x holds the first guess, and the result. The error, at all ranks alike,
// wraps ErrNotConverged, or ErrNotPositiveDefinite if a shows that it is not; ErrShape if x and b
// differ in length at a rank. What a returns is returned as it is, and then other ranks may wait,
// until this one ends. Each step has one product and two sums over all ranks. Collective over c.
func CG(c *mpi.Comm, a Operator, x, b *mat.VecDense, s CGSettings) (CGResult, error) {
	sums := []float64{float64(b.Len()), 0, square(b)} // elements, wrong shapes
	if x.Len() != b.Len() {
		sums[1] = 1
	}
	if err := mpi.Allreduce(c, sums, sums, mpi.Sum); err != nil {
		return CGResult{}, err
	}
	if sums[1] > 0 {
		return CGResult{}, fmt.Errorf("dist: %w: at %v ranks x and b have different lengths", ErrShape, sums[1])
	}
	if s.Tolerance == 0 {
		s.Tolerance = 1e-10
	}
	if s.Steps == 0 {
		s.Steps = 10 * int(sums[0])
	}
	if sums[2] == 0 {
		x.Zero()
		return CGResult{}, nil
	}
	it := iteration{c: c, a: a, x: x, r: clone(b), q: clone(b)}
	return it.run(s, math.Sqrt(sums[2]))
}

// iteration is the state of CG. All of it is the caller's of CG.
type iteration struct {
	c       *mpi.Comm
	a       Operator
	x, r    *mat.VecDense // solution, residual
	p, q    *mat.VecDense // direction, its product with a
	squares float64       // of r, over all ranks
}

// run makes the steps. norm is that of the right side.
func (it *iteration) run(s CGSettings, norm float64) (res CGResult, err error) {
	if err := it.a.MulVecTo(it.q, it.x); err != nil {
		return res, err
	}
	addScaled(it.r, -1, it.q)
	it.p = clone(it.r)
	if it.squares, err = mpi.AllreduceValue(it.c, square(it.r), mpi.Sum); err != nil {
		return res, err
	}
	for {
		res.Residual = math.Sqrt(it.squares) / norm
		switch {
		case res.Residual <= s.Tolerance:
			return res, nil
		case res.Steps == s.Steps || math.IsNaN(res.Residual):
			return res, fmt.Errorf("dist: %w after %d steps: the residual is %.3g of the right side", ErrNotConverged, res.Steps, res.Residual)
		}
		if err := it.step(); err != nil {
			return res, err
		}
		res.Steps++
	}
}

// step goes as far as it is worth in the direction, and chooses the next one.
func (it *iteration) step() error {
	if err := it.a.MulVecTo(it.q, it.p); err != nil {
		return err
	}
	curvature, err := mpi.AllreduceValue(it.c, dot(it.p, it.q), mpi.Sum)
	switch {
	case err != nil:
		return err
	case curvature <= 0:
		return fmt.Errorf("dist: %w: a direction has the product %.3g with its image", ErrNotPositiveDefinite, curvature)
	}
	alpha := it.squares / curvature
	addScaled(it.x, alpha, it.p)
	addScaled(it.r, -alpha, it.q)
	squares, err := mpi.AllreduceValue(it.c, square(it.r), mpi.Sum)
	if err != nil {
		return err
	}
	if it.p.Len() > 0 {
		it.p.AddScaledVec(it.r, squares/it.squares, it.p)
	}
	it.squares = squares
	return nil
}

// What gonum does not do for vectors without elements, which a rank may have.

func clone(v *mat.VecDense) *mat.VecDense {
	if v.Len() == 0 {
		return new(mat.VecDense)
	}
	return mat.VecDenseCopyOf(v)
}

func dot(a, b *mat.VecDense) float64 {
	if a.Len() == 0 {
		return 0
	}
	return mat.Dot(a, b)
}

func square(v *mat.VecDense) float64 { return dot(v, v) }

func addScaled(to *mat.VecDense, alpha float64, v *mat.VecDense) {
	if to.Len() > 0 {
		to.AddScaledVec(to, alpha, v)
	}
}

// Rows is an Operator of a matrix of which each rank has some rows, in the order of ranks. The
// product brings the whole vector to every rank, so it is for matrices whose rows are dense.
type Rows struct {
	// Immutable after NewRows.
	c      *mpi.Comm
	a      mat.Matrix // this rank's rows
	counts []int      // of rows, of each rank

	whole []float64 // of MulVecTo's caller: the vector
}

// NewRows is the matrix whose rows at the calling rank are a, which keeps its memory: all columns,
// and perhaps no row (new(mat.Dense)). The error, at all ranks, wraps ErrShape unless the rows of
// all ranks together are as many as the columns. Collective over c.
func NewRows(c *mpi.Comm, a mat.Matrix) (*Rows, error) {
	rows, cols := a.Dims()
	counts, err := mpi.AllgatherValue(c, [2]int{rows, cols})
	if err != nil {
		return nil, err
	}
	o, n := &Rows{c: c, a: a}, 0
	for _, there := range counts {
		o.counts = append(o.counts, there[0])
		n += there[0]
	}
	for r, there := range counts {
		if there[0] > 0 && there[1] != n {
			return nil, fmt.Errorf("dist: %w: %d rows in all, and %d columns at rank %d", ErrShape, n, there[1], r)
		}
	}
	o.whole = make([]float64, n)
	return o, nil
}

// MulVecTo sets dst to this rank's elements of the product. Collective.
func (o *Rows) MulVecTo(dst *mat.VecDense, x mat.Vector) error {
	mine := make([]float64, x.Len())
	for i := range mine {
		mine[i] = x.AtVec(i)
	}
	if err := mpi.Allgatherv(o.c, mine, o.whole, o.counts, nil); err != nil {
		return err
	}
	if dst.Len() > 0 {
		dst.MulVec(o.a, mat.NewVecDense(len(o.whole), o.whole))
	}
	return nil
}
