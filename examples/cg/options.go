package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `cg solves a sparse system of linear equations by conjugate gradients and checks the solution.

Usage:
  fitrun -n RANKS ./examples/cg [options]

Options:
  -grid N           Poisson's equation on N x N x N points, 7 entries a row (default 48)
  -matrix FILE.mtx  a symmetric positive definite matrix in the Matrix Market format instead: coordinate;
                    real, integer or pattern; symmetric or general
  -tol T            wanted residual |b - Ax| / |b| (default 1e-8)
  -max N            give up after N iterations (default 10000)
  -time N           solve it N times, and N times without overlap: a line for each, for programs
`

const (
	defaultGrid = 48
	maxGrid     = 1290 // rows are counted in 32 bits
)

type options struct {
	matrix string
	grid   int
	tol    float64
	limit  int
	times  int
}

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("cg", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.matrix, "matrix", "", "")
	fs.IntVar(&o.grid, "grid", 0, "")
	fs.Float64Var(&o.tol, "tol", 1e-8, "")
	fs.IntVar(&o.limit, "max", 10_000, "")
	fs.IntVar(&o.times, "time", 0, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case err == nil:
		err = o.complete()
	}
	if err != nil {
		return o, fmt.Errorf("cg: %w (-h shows the options)", err)
	}
	return o, nil
}

// complete checks o and fills in the default of -grid.
func (o *options) complete() error {
	switch {
	case o.matrix != "" && o.grid != 0:
		return errors.New("give -matrix or -grid, not both")
	case o.grid < 0 || o.grid > maxGrid:
		return fmt.Errorf("-grid %d: choose 1 to %d", o.grid, maxGrid)
	case !(o.tol > 0 && o.tol < 1):
		return fmt.Errorf("-tol %v: choose a number between 0 and 1, such as 1e-8", o.tol)
	case o.times < 0:
		return fmt.Errorf("-time %d: choose 1 or more", o.times)
	case o.limit < 1:
		return fmt.Errorf("-max %d: choose 1 or more", o.limit)
	}
	if o.grid == 0 {
		o.grid = defaultGrid
	}
	return nil
}
