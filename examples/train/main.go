// Command train trains a network to read handwritten digits: each rank works on a part of every
// batch of images, and the gradients are added up over all ranks.
//
//	fitrun -n 4 ./examples/train
//	fitrun -n 2 ./examples/train -hidden 512,256 -compare                   speed-up, and time hidden
//	fitrun -n 4 --restart 1 ./examples/train -every 50 -die 2@130           rank 2 dies; all start again
//	fitrun -n 4 --with-ft ./examples/train -die 2@130                       rank 2 dies; the others go on
//	fitrun -n 4 --with-ft ./examples/train -die 2@130 -replace              and another comes
//	fitrun -n 1 ./examples/train -grow 2@130                                two more ranks come
//
// # What it shows
//
// Iallreduce overlapped with the backward pass. That goes from the last layer to the first. Once
// the gradients of some layers, a bucket, are complete their sum is started, and the library's
// worker moves and adds it while the program works on the layers before. FileCheckpoint saves the
// parameters. When a rank dies the others Shrink the communicator, take the parameters of the rank
// that has come furthest, and divide batches of the same size among fewer. To become more they
// Spawn ranks of this program and Merge with them: the newcomers get the parameters in the same
// way.
//
// # How the result is checked
//
// 357 images that were not trained with are read: eight of ten must be right. The test compares
// the parameters with those that one rank alone finds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		_, err := run(ctx, world, os.Args[1:], os.Stdout)
		return err
	})
}

// run is the program of one rank, and returns what it has learnt. Only the first that lives writes
// to stdout.
func run(ctx context.Context, world *mpi.Comm, args []string, stdout io.Writer) (*trainer, error) {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		if world.Rank() == 0 {
			io.WriteString(stdout, usage)
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	data, err := load()
	if err != nil {
		return nil, err
	}
	if o.compare {
		return nil, compare(ctx, world, o, data, stdout)
	}
	c, isLate, err := join(world)
	if err != nil {
		return nil, err
	}
	t := newTrainer(c, o, data)
	t.mortal = func(step int) {
		if world.Rank() == o.dieRank && step == o.dieStep && world.Restarts() == 0 && !isLate {
			world.Die()
		}
	}
	if o.every > 0 {
		t.store = &mpi.FileCheckpoint{Dir: o.dir}
	}
	if isLate {
		t.step = torn // the others tell
	} else if t.store != nil {
		if err := t.restore(); err != nil {
			return nil, err
		}
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	if t.store != nil {
		if err := t.store.Clear(t.c); err != nil {
			return nil, err
		}
	}
	return t, t.conclude(stdout)
}

// conclude tests what was learnt. All ranks have the same network: the first one does it.
func (t *trainer) conclude(stdout io.Writer) error {
	if t.c.Rank() != 0 {
		return nil
	}
	if t.past.Resume > 0 {
		fmt.Fprintf(stdout, "went on from step %d\n", t.past.Resume)
	}
	if t.past.Lost > 0 {
		fmt.Fprintf(stdout, "went on without %d ranks\n", t.past.Lost)
	}
	if t.past.Come > 0 {
		fmt.Fprintf(stdout, "went on with %d more ranks\n", t.past.Come)
	}
	tests := t.data.tests()
	right := t.net.right(tests)
	fmt.Fprintf(stdout, "%d steps on %d ranks: reads %d of %d digits\n", t.total, t.c.Size(), right, len(tests.labels))
	if 10*right < 8*len(tests.labels) {
		return fmt.Errorf("only %d of %d digits are read", right, len(tests.labels))
	}
	return nil
}

// compare times the training by one rank, by all without overlap, and by all with it.
func compare(ctx context.Context, world *mpi.Comm, o options, data images, stdout io.Writer) error {
	o.every, o.grow, o.replace = 0, 0, false // all three times with the same ranks
	timed := func(c *mpi.Comm, blocking bool) (time.Duration, *trainer, error) {
		o.blocking = blocking
		t := newTrainer(c, o, data)
		began := time.Now()
		err := t.run(ctx)
		return time.Since(began), t, err
	}
	var alone time.Duration
	if world.Rank() == 0 {
		var err error
		if alone, _, err = timed(world.Self(), true); err != nil {
			return err
		}
	}
	if err := mpi.Barrier(world); err != nil {
		return err
	}
	after, blocking, err := timed(world, true)
	if err != nil {
		return err
	}
	if err := mpi.Barrier(world); err != nil {
		return err
	}
	beside, overlapped, err := timed(world, false)
	if err != nil || world.Rank() != 0 {
		return err
	}
	fmt.Fprintf(stdout, "one rank:               %.3f s\n", alone.Seconds())
	fmt.Fprintf(stdout, "%d ranks, sums after:    %.3f s, of which %.3f s in waits; speed-up %.2f\n",
		world.Size(), after.Seconds(), blocking.waited.Seconds(), alone.Seconds()/after.Seconds())
	fmt.Fprintf(stdout, "%d ranks, sums beside:   %.3f s, of which %.3f s in waits; speed-up %.2f\n",
		world.Size(), beside.Seconds(), overlapped.waited.Seconds(), alone.Seconds()/beside.Seconds())
	return overlapped.conclude(stdout)
}
