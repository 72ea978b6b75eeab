// Command fft3d transforms a cube of complex numbers by the discrete Fourier transform in three
// dimensions, forth and back.
//
//	fitrun -n 4 ./examples/fft3d                 a cube of 64 x 64 x 64
//	fitrun -n 4 ./examples/fft3d -n 128 -repeat 5
//
// # What it shows
//
// Each rank has a slab of consecutive x-planes, evenly dealt out. With more ranks than planes some
// ranks have none. Within its slab a rank transforms along z and y without any other rank. For x
// every rank needs whole lines of x, of which each rank has a piece. Alltoallw exchanges the pieces
// all at once and makes slabs of y from slabs of x. For each rank one Subarray says which part of
// the old slab goes to that rank. Another says where in the new slab the part from that rank
// belongs. So there is nothing to pack and unpack by hand. This transposition is most of the
// communication of a parallel FFT, and the reason why its speed follows the network's. The inverse
// transform goes the same way back, by the same types.
//
// # How the result is checked
//
// Some frequencies (all of them if the cube has 8 or fewer points a side) are computed from their
// definition, each rank adding up its slab, and Allreduce the ranks. Forth and back must give the
// input again. Both differences are printed and must be about as small as rounding makes them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		return run(ctx, world, os.Args[1:], os.Stdout)
	})
}

const usage = `fft3d transforms a cube of complex numbers by the Fourier transform in three dimensions, forth and back.

Usage:
  fitrun -n RANKS ./examples/fft3d [options]

Options:
  -n N         points along each side, a power of two up to 512 (default 64)
  -repeat N    how often to transform, for the time (default 3)
  -time N      transform N times, forth and back, and print a line for each, for programs
`

const maxSide = 512

type options struct{ n, repeat, times int }

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("fft3d", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.n, "n", 64, "")
	fs.IntVar(&o.repeat, "repeat", 3, "")
	fs.IntVar(&o.times, "time", 0, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.n < 1 || o.n > maxSide || bits.OnesCount(uint(o.n)) != 1:
		err = fmt.Errorf("-n %d: choose a power of two from 1 to %d", o.n, maxSide)
	case o.times < 0:
		err = fmt.Errorf("-time %d: choose 1 or more", o.times)
	case o.repeat < 1:
		err = fmt.Errorf("-repeat %d: choose 1 or more", o.repeat)
	}
	if err != nil {
		return o, fmt.Errorf("fft3d: %w (-h shows the options)", err)
	}
	return o, nil
}

// run is the program of one rank. Only rank 0 writes to stdout.
func run(_ context.Context, world *mpi.Comm, args []string, stdout io.Writer) error {
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
	c := newCube(world, o.n)
	input := c.makeInput()
	if o.times > 0 {
		return c.measure(o.times, input, stdout)
	}
	var forth, exchanging time.Duration
	var there, back []complex128
	for range o.repeat {
		if err := mpi.Barrier(world); err != nil {
			return err
		}
		c.exchanging = 0
		began := time.Now()
		if there, err = c.forward(input); err != nil {
			return err
		}
		forth, exchanging = time.Since(began), c.exchanging
		if back, err = c.backward(there); err != nil {
			return err
		}
	}
	flops := 5 * math.Pow(float64(o.n), 3) * 3 * math.Log2(float64(o.n))
	fmt.Fprintf(stdout, "%d x %[1]d x %[1]d points on %d ranks: %.2f ms, %.2f Gflop/s; %.0f%% of the time is Alltoallw\n",
		o.n, world.Size(), forth.Seconds()*1e3, flops/forth.Seconds()/1e9, 100*exchanging.Seconds()/forth.Seconds())
	return c.check(stdout, input, there, back)
}
