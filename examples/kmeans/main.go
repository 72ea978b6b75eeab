// Command kmeans divides points into clusters by Lloyd's algorithm, and adds up the ranks' parts
// while it computes.
//
//	fitrun -n 4 ./examples/kmeans
//	fitrun -n 4 ./examples/kmeans -points 4000000 -clusters 32 -batches 8
//
// # What it shows
//
// Every rank has a block of the points. In each iteration it finds the nearest centre of each of
// them; the new centres are the means of the points of all ranks, which takes a sum over all ranks.
// The rank goes through its block in batches: when one is done it starts the sum of that batch
// (Iallreduce) and goes on with the next, so all sums but the last are made beside the computation.
// What is left to wait for at the end of the iterations is printed.
//
// # How the result is checked
//
// Coordinates are whole numbers, so sums are exact, whatever their order, and every rank computes
// the same centres. Up to 200,000 points rank 0 does the same by itself, in serial code, and
// compares: every centre to the last bit, the number of iterations and the size of every cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		return run(world, os.Args[1:], os.Stdout)
	})
}

// run is the program of one rank. Only rank 0 writes to stdout.
func run(world *mpi.Comm, args []string, stdout io.Writer) error {
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
	began := time.Now()
	got, waited, err := cluster(world, newShare(world, o), true)
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Fprintf(stdout, "%d points of %d coordinates, %d clusters, %d ranks\n", o.points, o.dims, o.clusters, world.Size())
	fmt.Fprintf(stdout, "%d iterations in %v, %v each\n", got.iterations, took.Round(time.Millisecond), (took / time.Duration(got.iterations)).Round(time.Microsecond))
	fmt.Fprintf(stdout, "waited for sums %.1f %% of the time, at rank 0\n", 100*waited.Seconds()/took.Seconds())
	fmt.Fprintf(stdout, "clusters have %d to %d points\n", slices.Min(got.sizes), slices.Max(got.sizes))
	if world.Rank() != 0 || o.points > checkedPoints {
		return nil
	}
	if err := got.equals(serial(o)); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "equal to the serial program, to the last bit")
	return nil
}
