// Command checkpoint lets heat flow along a rod, and survives the death of a rank: it saves its
// state from time to time, and when fitrun starts it again it goes on from there.
//
//	fitrun -n 4 --restart 3 ./examples/checkpoint                   then kill -9 one of its processes
//	fitrun -n 4 --restart 3 ./examples/checkpoint -die 2@750        rank 2 kills itself in step 750, the first time
//	fitrun -n 4 --restart 3 --restart-dir /scratch/rod ./examples/checkpoint -cells 1000000 -steps 100000 -every 5000
//
// # What it shows
//
// FileCheckpoint: Load at the start, which finds nothing the first time; Save every so many steps,
// of what the rest of the computation depends on, and of that only; Clear at the end. The version
// is the number of the step. Restarts says whether the job was started before; a program need not
// ask, as Load says all that it must know.
//
// # How the result is checked
//
// Each cell is computed from its neighbours in one order only, so the result depends neither on the
// number of ranks nor on how often the job was interrupted: it is compared with serial code to the
// last bit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
	if o.cells < world.Size() {
		return fmt.Errorf("checkpoint: %d cells for %d ranks: each needs one", o.cells, world.Size())
	}
	p := newPiece(world, o.cells)
	store := &mpi.FileCheckpoint{Dir: o.dir}
	first, found, err := store.Load(world, p.read)
	if err != nil {
		return err
	}
	if found && world.Rank() == 0 {
		fmt.Fprintf(stdout, "going on from step %d\n", first)
	}
	for step := first; step < o.steps; step++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if step > first && step%o.every == 0 {
			if err := store.Save(world, step, p.write); err != nil {
				return err
			}
		}
		if err := o.maybeDie(world, step); err != nil {
			return err
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	if err := conclude(world, p, o, stdout); err != nil {
		return err
	}
	return store.Clear(world)
}

// errDied is the death of a rank that shares its process with other ranks, or that has a process of
// its own where nothing starts it again.
var errDied = errors.New("died, as -die says")

// maybeDie is what kill -9 would do to the rank that -die names, if this is the step and the job
// was not started again yet.
func (o *options) maybeDie(world *mpi.Comm, step int64) error {
	if world.Rank() != o.dieRank || step != o.dieStep || world.Restarts() > 0 {
		return nil
	}
	if o.gently {
		return errDied
	}
	world.Die()
	return nil // never
}

// conclude compares the result with serial code.
func conclude(world *mpi.Comm, p *piece, o options, stdout io.Writer) error {
	all, err := p.collect()
	if err != nil || world.Rank() != 0 {
		return err
	}
	want := serial(o.cells, o.steps)
	for i := range all {
		if all[i] != want[i] {
			return fmt.Errorf("cell %d is %v, and %v by serial code", i, all[i], want[i])
		}
	}
	fmt.Fprintf(stdout, "%d steps of %d cells on %d ranks: every bit is that of serial code, checksum %08x\n", o.steps, o.cells, world.Size(), checksum(all))
	return nil
}
