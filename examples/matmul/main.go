// Command matmul multiplies matrices by a master that hands out work, and shows how the time falls
// with more workers: A (-rows x 1200) times B (1200 x 500), the benchmark of the PMPI paper.
//
//	fitrun -n 4 ./examples/matmul                            2400 rows on 1, 2 and 3 workers
//	fitrun -n 7 ./examples/matmul -rows 2400,4800,9600,19200 the sizes of the paper
//
// # What it shows
//
// Rank 0 is the master and has A; the others are workers. All workers get B by Bcast. The master
// deals out A in blocks of rows, on demand: a worker that returns a result gets the next block, so
// fast workers do more. A worker always has two blocks: it posts the receive of one (Irecv) and
// returns the product of the last (Isend) while it computes. The number of the block is the tag.
// The master does not know which worker will be next, nor with which block. Probe with AnySource
// and AnyTag tells it, and then it receives the rows in their place in the result. An empty message
// ends the work.
//
// For the table, Split makes a communicator of the master and the first 1, 2, ... workers in turn,
// and the product is computed anew. The time is from the start of Bcast to the last result. With
// one rank the master computes by itself.
//
// # How the result is checked
//
// The elements of A and B are small whole numbers, so floating-point sums are exact, whatever their
// order. Freivalds' algorithm compares A·(B·x) with C·x for random vectors x of whole numbers below
// 65536, at the cost of a few matrix-vector products: a wrong C passes one such test with a
// probability of at most 1/65536. Each product is tested twice.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/fitmpi/fitmpi/examples/internal/cores"
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
	if o.times > 0 {
		return measure(world, o, stdout)
	}
	count, err := cores.Of(world)
	if err != nil {
		return err
	}
	tab := newTable(stdout, world.Size(), count, o)
	for _, rows := range o.rows {
		if err := scale(ctx, world, o, rows, tab); err != nil {
			return err
		}
	}
	tab.end()
	return nil
}

// scale computes the product with 1, 2, ... workers; with none if there is but one rank.
func scale(ctx context.Context, world *mpi.Comm, o options, rows int, tab *table) error {
	var p problem
	if world.Rank() == 0 {
		p = newProblem(rows, o.width)
	}
	for workers := min(1, world.Size()-1); workers < world.Size(); workers++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		color := 0
		if world.Rank() > workers {
			color = mpi.Undefined
		}
		team, err := world.Split(color, world.Rank())
		if err != nil {
			return err
		}
		if team != nil {
			if err := show(team, o, p, tab); err != nil {
				return err
			}
		}
		if err := mpi.Barrier(world); err != nil { // idle ranks wait, so that they disturb no other rank
			return err
		}
	}
	return nil
}
