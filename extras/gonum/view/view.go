// Package view makes parts of gonum's matrices and vectors buffers of MPI calls. Nothing is copied
// by hand: the distance between rows, or between elements of a vector, becomes a layout.
//
//	col := view.Col(a, 3)
//	err := mpi.Send(col.On(world), col.Data, dest, tag)
//
//	row := view.Row(b, 0)
//	_, err := mpi.Recv(row.On(world), row.Data, source, tag)
//
// A message has values, not places. So the two ends may have different parts, if these have as many
// elements, and what is sent as a column may be received as a row. A plain []float64 is received
// and sent through the communicator as it is.
//
// A Buffer shows the memory of its matrix, which it shares as mat.Dense.Slice does. It belongs to
// the library as long as any buffer of the call does.
//
// Indices are those of gonum, and what gonum panics at these functions panic at, with gonum's
// values: a wrong index is a mistake in the program.
package view

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/mpi"
)

// Buffer is elements in memory, and which of them are meant.
type Buffer struct {
	Data []float64     // from the first element on to the last
	Type *mpi.Datatype // where they lie in Data
}

// On is c with the layout of b for the buffers of a call, both of what it sends and receives. It is
// Comm.WithType (MPI 4.1, section 5.1).
func (b Buffer) On(c *mpi.Comm) *mpi.Comm { return c.WithType(b.Type) }

// Both is c with the layout of one buffer for what a call sends and of another for what it
// receives, as Sendrecv, Allreduce or Gather have two. It is Comm.WithTypes.
func Both(c *mpi.Comm, send, recv Buffer) *mpi.Comm { return c.WithTypes(send.Type, recv.Type) }

// number is the type of every element.
var number = mpi.TypeOf[float64]()

// General is a matrix of blas64, row by row.
func General(a blas64.General) Buffer {
	if a.Rows == 0 || a.Cols == 0 {
		return Buffer{Type: mpi.Contiguous(0, number)}
	}
	return Buffer{a.Data[:(a.Rows-1)*a.Stride+a.Cols], mpi.Vector(a.Rows, a.Cols, a.Stride, number)}
}

// Of is a whole matrix, row by row. It may be a view: a Slice of another.
func Of(a *mat.Dense) Buffer { return General(a.RawMatrix()) }

// Block is the rows from i on before k, and of these the columns from j on before l: the arguments
// are those of mat.Dense.Slice.
//
// Unlike Slice it refuses what lies beyond the matrix in memory that it is a view of.
func Block(a *mat.Dense, i, k, j, l int) Buffer {
	g := a.RawMatrix()
	switch {
	case i < 0 || k < i || k > g.Rows:
		panic(mat.ErrRowAccess)
	case j < 0 || l < j || l > g.Cols:
		panic(mat.ErrColAccess)
	case i == k || j == l:
		return General(blas64.General{})
	}
	return General(blas64.General{Rows: k - i, Cols: l - j, Stride: g.Stride, Data: g.Data[i*g.Stride+j:]})
}

// Row is row i.
func Row(a *mat.Dense, i int) Buffer { return Block(a, i, i+1, 0, a.RawMatrix().Cols) }

// Col is column j, from the top.
func Col(a *mat.Dense, j int) Buffer { return Block(a, 0, a.RawMatrix().Rows, j, j+1) }

// Turned is a whole matrix, column by column: received into it, or sent from it, a matrix is
// transposed.
func Turned(a *mat.Dense) Buffer {
	g := a.RawMatrix()
	if g.Rows == 0 || g.Cols == 0 {
		return General(g)
	}
	b := General(g)
	column := mpi.Resized(mpi.Vector(g.Rows, 1, g.Stride, number), 0, 8)
	b.Type = mpi.Contiguous(g.Cols, column)
	return b
}

// Vec is a vector. It may be a column of a matrix (mat.Dense.ColView), or a slice of a vector.
func Vec(v *mat.VecDense) Buffer {
	g := v.RawVector()
	if g.N == 0 {
		return Buffer{Type: mpi.Contiguous(0, number)}
	}
	return Buffer{g.Data[:(g.N-1)*g.Inc+1], mpi.Vector(g.N, 1, g.Inc, number)}
}

// Sym is a symmetric matrix: the n(n+1)/2 elements that it keeps, row by row from the diagonal on.
func Sym(a *mat.SymDense) Buffer {
	g := a.RawSymmetric()
	lens, displs := make([]int, g.N), make([]int, g.N)
	for i := range g.N {
		lens[i], displs[i] = g.N-i, i*g.Stride+i
	}
	if g.N == 0 {
		return Buffer{Type: mpi.Contiguous(0, number)}
	}
	return Buffer{g.Data[:(g.N-1)*(g.Stride+1)+1], mpi.Indexed(lens, displs, number)}
}

// RowBands is a matrix in n bands of as many rows, one for each rank: for Scatter, Gather,
// Allgather and Alltoall, at the end that has the whole. It panics with mat.ErrShape unless n
// divides the rows.
func RowBands(a *mat.Dense, n int) Buffer {
	g := a.RawMatrix()
	if n <= 0 || g.Rows%n != 0 {
		panic(mat.ErrShape)
	}
	b := General(g)
	if g.Rows > 0 && g.Cols > 0 {
		h := g.Rows / n
		b.Type = mpi.Resized(mpi.Vector(h, g.Cols, g.Stride, number), 0, 8*h*g.Stride)
	}
	return b
}

// ColBands is a matrix in n bands of as many columns, as RowBands has rows.
func ColBands(a *mat.Dense, n int) Buffer {
	g := a.RawMatrix()
	if n <= 0 || g.Cols%n != 0 {
		panic(mat.ErrShape)
	}
	b := General(g)
	if g.Rows > 0 && g.Cols > 0 {
		w := g.Cols / n
		b.Type = mpi.Resized(mpi.Vector(g.Rows, w, g.Stride, number), 0, 8*w)
	}
	return b
}
