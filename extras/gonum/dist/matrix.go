package dist

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/extras/gonum/view"
	"github.com/fitmpi/fitmpi/mpi"
)

// Matrix is a matrix in blocks that are dealt out in turn to the ranks of a grid.
type Matrix struct {
	// Immutable after New.
	grid *Grid
	r, c axis

	// local is this rank's blocks beside and below each other, in their order. The methods' caller
	// owns its elements.
	local blas64.General
}

// New is a matrix of zeros in square blocks of so many rows and columns. Every rank of the grid
// makes it with the same sizes; it is local. Blocks of 32 to 128 keep BLAS busy; smaller ones
// divide the work more evenly.
func New(g *Grid, rows, cols, block int) (*Matrix, error) {
	if err := shape(rows, cols, block); err != nil {
		return nil, err
	}
	m := &Matrix{grid: g, r: axis{rows, block, g.Rows}, c: axis{cols, block, g.Cols}}
	m.local = general(m.r.before(g.I, m.r.blocks()), m.c.before(g.J, m.c.blocks()))
	return m, nil
}

// general is a matrix of zeros.
func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

// part is rows i to k and columns j to l of a, in the same memory.
func part(a blas64.General, i, k, j, l int) blas64.General {
	p := blas64.General{Rows: k - i, Cols: l - j, Stride: a.Stride}
	if p.Rows > 0 && p.Cols > 0 {
		p.Data = a.Data[i*a.Stride+j : (k-1)*a.Stride+l]
	}
	return p
}

// Dims is how many rows and columns the whole matrix has.
func (m *Matrix) Dims() (rows, cols int) { return m.r.n, m.c.n }

// Local is this rank's part, in the memory of m. It is empty if the rank has none.
func (m *Matrix) Local() *mat.Dense {
	var d mat.Dense
	if m.local.Rows > 0 && m.local.Cols > 0 {
		d.SetRawMatrix(m.local)
	}
	return &d
}

// Fill sets each element of this rank to f of its row and column in the whole matrix. It is local.
func (m *Matrix) Fill(f func(i, j int) float64) {
	m.each(func(i, j int, x *float64) { *x = f(i, j) })
}

// each calls f for each element of this rank with its place in the whole matrix.
func (m *Matrix) each(f func(i, j int, x *float64)) {
	for li := range m.local.Rows {
		i := m.r.global(m.grid.I, li)
		for lj := range m.local.Cols {
			f(i, m.c.global(m.grid.J, lj), &m.local.Data[li*m.local.Stride+lj])
		}
	}
}

// global is the place in the whole of element i of rank r.
func (a axis) global(r, i int) int { return (i/a.block*a.ranks+r)*a.block + i%a.block }

// Clone is a copy of m. It is local.
func (m *Matrix) Clone() *Matrix {
	c := *m
	c.local.Data = append([]float64(nil), m.local.Data...)
	return &c
}

// tag is of the messages of Scatter and Gather, in the grid's own communicator.
const tag = 1

// Scatter deals out a, which counts at rank root of the grid only, where it must have the size of
// m. Each rank's blocks are sent from where they lie in a. Collective.
func (m *Matrix) Scatter(a *mat.Dense, root int) error {
	if err := m.check(a, root); err != nil {
		return err
	}
	own := view.General(m.local)
	rs := []*mpi.Request{mpi.Irecv(own.On(m.grid.all), own.Data, root, tag)}
	if m.grid.all.Rank() == root {
		for r := range m.grid.all.Size() {
			rs = append(rs, mpi.Isend(m.grid.all.WithType(m.layout(a, r)), a.RawMatrix().Data, r, tag))
		}
	}
	_, err := mpi.WaitAll(rs...)
	return err
}

// Gather puts m together in a, which counts at rank root of the grid only, where it must have the
// size of m. Collective.
func (m *Matrix) Gather(a *mat.Dense, root int) error {
	if err := m.check(a, root); err != nil {
		return err
	}
	own := view.General(m.local)
	rs := []*mpi.Request{mpi.Isend(own.On(m.grid.all), own.Data, root, tag)}
	if m.grid.all.Rank() == root {
		for r := range m.grid.all.Size() {
			rs = append(rs, mpi.Irecv(m.grid.all.WithType(m.layout(a, r)), a.RawMatrix().Data, r, tag))
		}
	}
	_, err := mpi.WaitAll(rs...)
	return err
}

// check checks a at the root, and tells all others.
func (m *Matrix) check(a *mat.Dense, root int) error {
	size := [2]int{m.r.n, m.c.n}
	if m.grid.all.Rank() == root && a == nil {
		size = [2]int{-1, -1}
	} else if m.grid.all.Rank() == root {
		size[0], size[1] = a.Dims()
	}
	there, err := mpi.BcastValue(m.grid.all, size, root)
	if err == nil && there != [2]int{m.r.n, m.c.n} {
		err = fmt.Errorf("dist: %w: the whole matrix is %d by %d, this one %d by %d", ErrShape, there[0], there[1], m.r.n, m.c.n)
	}
	return err
}

// layout is where the part of a rank lies in the whole matrix a.
func (m *Matrix) layout(a *mat.Dense, rank int) *mpi.Datatype {
	lens, displs := m.c.of(rank % m.grid.Cols)
	row := mpi.Indexed(lens, displs, mpi.TypeOf[float64]())
	lens, displs = m.r.of(rank / m.grid.Cols)
	return mpi.Indexed(lens, displs, mpi.Resized(row, 0, 8*max(1, a.RawMatrix().Stride)))
}

// of is the blocks of rank r: how long they are, and where they begin in the whole.
func (a axis) of(r int) (lens, begins []int) {
	for k := r; k < a.blocks(); k += a.ranks {
		lens, begins = append(lens, a.length(k)), append(begins, k*a.block)
	}
	return lens, begins
}
