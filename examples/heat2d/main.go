// Command heat2d lets heat spread over a plate: the explicit scheme for the two-dimensional heat
// equation, on a picture.
//
//	fitrun -n 4 ./examples/heat2d                       a built-in pattern, written to heat.png
//	fitrun -n 4 ./examples/heat2d -in photo.png         any PNG: white is hot, black is cold
//	fitrun -n 4 ./examples/heat2d -size 2000 -check     also compare with serial code
//
// # What it shows
//
// The plate is cut into strips of whole rows, one for each rank; ranks beyond the number of rows
// sit out (Comm.Split). In each step a rank needs the row above its strip and the row below it,
// which its neighbours have. The messages are persistent requests (SendInit, RecvInit, StartAll) on
// the rows themselves, so nothing is copied or packed, and ProcNull stands for the neighbour that
// the outermost strips lack. They are started first; while they move, the rank computes all rows
// that need no neighbour; then it waits and computes its first and last row. The progress report is
// an Ireduce with an operation of our own, which the worker completes during the next step. Bcast,
// Scatterv and Gatherv deal out the picture and collect it.
//
// # What is computed
//
// new = old + 0.2 * (above + below + left + right - 4 * old) for every cell. The edges of the plate
// are insulated: a cell beyond the edge is as warm as the one within, so the plate keeps its heat,
// which every run checks. Each cell is computed by the same operations in the same order wherever
// it is, so results agree to the last bit for any number of ranks; -check compares them with serial
// code.
//
// # How much communication is hidden
//
// Messages of a step are in flight from StartAll until the rank sees that all are complete: it
// looks after each row that it computes, and then in WaitAll. The share hidden is 1 - (time in
// WaitAll) / (time in flight), summed over steps and ranks. The time includes waiting for a
// neighbour that is late, because it computes more slowly or because ranks share cores.
//
// With -time the program takes all steps several times, in turn with and without overlap, and
// prints how long that took. It does not look for messages after each row then: that would move
// them also where nothing but the program's own calls does.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"

	_ "github.com/fitmpi/fitmpi/metrics" // serves them if asked, as deploy/k8s does
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
	before, err := initial(world, o)
	if err != nil {
		return err
	}
	team, err := recruit(world, before.height)
	if err != nil || team == nil {
		return err
	}
	if o.times > 0 {
		return measure(team, o, before, stdout)
	}
	after, sum, err := simulate(ctx, team, o, before, newProgress(stdout, o))
	if err != nil || team.Rank() != 0 {
		return err
	}
	return conclude(stdout, o, sum, before, after)
}

// recruit returns a communicator of the ranks that get rows, nil to the others.
func recruit(world *mpi.Comm, rows int) (*mpi.Comm, error) {
	color := 0
	if world.Rank() >= rows {
		color = mpi.Undefined
	}
	return world.Split(color, world.Rank())
}
