// Command life plays Conway's Game of Life on a world that is cut into blocks, one for each rank.
//
//	fitrun -n 4 ./examples/life
//	fitrun -n 6 ./examples/life -width 2000 -height 1500 -steps 500
//	fitrun -n 4 ./examples/life -bounded -start glider -width 20 -height 10 -steps 40 -show
//
// # What it shows
//
// DimsCreate chooses a grid of blocks that are about as wide as high. CartCreate arranges the ranks
// in it, those of one host or process beside each other where that helps. CartSub makes a
// communicator of each row and of each column of blocks. A cell lives or dies by its eight
// neighbours, so a block needs the cells around it. First come the columns left and right of it, by
// a persistent NeighborAlltoall in its row. Then come the rows above and below, by another in its
// column; they include those cells of the corners that came with the columns. Inner cells are
// computed while messages move.
//
// The world is a torus, so the grid is periodic; with -bounded it ends, the outer blocks have
// ProcNull for a neighbour, and what is outside stays dead, because nothing is ever received there.
//
// # How the result is checked
//
// The first generation is a function of the cell and -seed, so the result does not depend on the
// number of ranks. Small worlds (and all with -check) are computed again by serial code, cell by
// cell, and compared; of others the population and a checksum are printed.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		return run(ctx, world, os.Args[1:], os.Stdout)
	})
}

// run is the program of one rank. Only rank 0 of the grid writes to stdout.
func run(ctx context.Context, world *mpi.Comm, args []string, stdout io.Writer) error {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		if world.Rank() == 0 {
			io.WriteString(stdout, usage)
		}
		return nil
	case err != nil:
		return err
	}
	grid, err := newGrid(world, o)
	if err != nil {
		return err
	}
	b, err := newBlock(grid, o)
	if err != nil {
		return err
	}
	began := time.Now()
	for range o.steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := b.step(); err != nil {
			return err
		}
	}
	took := time.Since(began)
	last, err := collect(grid, b, o)
	if err != nil || grid.Rank() != 0 {
		return err
	}
	return conclude(stdout, o, last, grid, took)
}
