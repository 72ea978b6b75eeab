// Command cg solves a system of linear equations by conjugate gradients. The matrix is sparse,
// symmetric and positive definite: one from a Matrix Market file, or that of a three-dimensional
// Poisson problem.
//
//	fitrun -n 4 ./examples/cg                           Poisson on a grid of 48 x 48 x 48 points
//	fitrun -n 4 ./examples/cg -grid 100 -tol 1e-10
//	fitrun -n 4 ./examples/cg -matrix examples/cg/testdata/plate12.mtx
//
// # What it shows
//
// Each rank has a block of consecutive rows and the same part of every vector. With more ranks than
// rows some ranks have none. For its part of a product A·p a rank needs the ghosts: those elements
// of p that belong to other ranks but stand in a column where it has an entry. The ranks find out
// once which elements each of them needs: Alltoall tells how many, Alltoallv which. From then on
// each product starts persistent requests (SendInit, RecvInit, StartAll) for just those elements.
// While they move, the rank computes with the entries in its own columns, and then with the rest.
// Allreduce adds up the dot products. Rank 0 reads a matrix from a file, and deals it out by Bcast
// and Scatterv.
//
// # How the result is checked
//
// The right-hand side is made for a solution that is known. It is computed row by row from the
// matrix alone, without any communication, so a wrong exchange of ghosts cannot make up for itself.
// At the end the residual ‖b − A·x‖ / ‖b‖ is computed afresh, not taken from the recurrence of the
// method, and compared with -tol. If it is too large the method starts again from where it is, and
// gives up when that no longer helps.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		return run(ctx, world, os.Args[1:], os.Stdout)
	})
}

// run is the program of one rank. Only rank 0 writes to stdout.
func run(ctx context.Context, world *mpi.Comm, args []string, stdout io.Writer) error {
	if world.Rank() != 0 {
		stdout = io.Discard
	}
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(stdout, usage)
		return nil
	case err != nil:
		return err
	}
	rows, err := load(world, o)
	if err != nil {
		return err
	}
	b := rightHandSide(rows)
	a, err := distribute(world, rows)
	if err != nil {
		return err
	}
	if o.times > 0 {
		return measure(ctx, a, o, b, stdout)
	}
	if err := a.describe(stdout, o); err != nil {
		return err
	}
	s := &solver{ctx: ctx, a: a, tol: o.tol, limit: o.limit, out: stdout}
	x, err := s.solve(b)
	if err != nil {
		return err
	}
	return s.report(x)
}

// load makes the rank's rows of the matrix.
func load(world *mpi.Comm, o options) (csr, error) {
	if o.matrix != "" {
		return readMatrix(world, o.matrix)
	}
	n := o.grid * o.grid * o.grid
	first := firstRow(world.Rank(), world.Size(), n)
	return poisson(o.grid, first, firstRow(world.Rank()+1, world.Size(), n)), nil
}

// firstRow is the first row of rank r of size; rows are dealt out evenly.
func firstRow(r, size, rows int) int { return r * rows / size }

// solution is element i of the solution that the right-hand side is made for.
func solution(i int) float64 { return 1 + float64(i%10)/10 }

// rightHandSide is the rank's part of A·solution.
func rightHandSide(a csr) []float64 {
	b := make([]float64, a.rows())
	for r := range b {
		for k := a.ptr[r]; k < a.ptr[r+1]; k++ {
			b[r] += a.val[k] * solution(int(a.col[k]))
		}
	}
	return b
}
