// Command samplesort sorts numbers that are spread over the ranks: by samples, as large data are
// sorted in parallel.
//
//	fitrun -n 4 ./examples/samplesort                      a million numbers
//	fitrun -n 4 ./examples/samplesort -n 20000000 -input skewed
//
// # What it shows
//
// Each rank sorts its own numbers and gives a few of them, evenly spaced, as samples. Allgather
// collects the samples. From all of them every rank takes the same splitters: rank r is to have
// what lies between splitter r-1 and splitter r. A number travels with its rank and index, which
// break ties, so that many equal numbers are spread too. Alltoall tells every rank how many numbers
// come from which rank. Alltoallv moves them all at once, and each rank merges the sorted runs that
// it got.
//
// # How the result is checked
//
// Every rank looks at its own order and, by Exscan, at the last number of the ranks before it. The
// count, the sum and a hash that does not depend on the order, added up by Allreduce, are the same
// before and after. Regular sampling bounds the share of a rank by about twice the mean, however
// the numbers are distributed: that is checked too.
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
		return run(ctx, world, os.Args[1:], os.Stdout)
	})
}

const usage = `samplesort sorts numbers that are spread over the ranks.

Usage:
  fitrun -n RANKS ./examples/samplesort [options]

Options:
  -n N           how many numbers (default 1000000)
  -input KIND    random, skewed (half of them are equal), sorted, reversed, or scattered: random, but
                 the same for any number of ranks (default random)
  -seed N        of the random numbers (default 1)
  -time N        sort N times, and print a line for each, for programs
`

type options struct {
	n     int
	input string
	seed  uint64
	times int
}

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("samplesort", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.n, "n", 1_000_000, "")
	fs.StringVar(&o.input, "input", "random", "")
	fs.Uint64Var(&o.seed, "seed", 1, "")
	fs.IntVar(&o.times, "time", 0, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.n < 0:
		err = fmt.Errorf("-n %d: choose 0 or more", o.n)
	case o.times < 0:
		err = fmt.Errorf("-time %d: choose 1 or more", o.times)
	case inputs[o.input] == nil:
		err = fmt.Errorf("-input %q: choose random, skewed, sorted, reversed or scattered", o.input)
	}
	if err != nil {
		return o, fmt.Errorf("samplesort: %w (-h shows the options)", err)
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
	mine := makeItems(world, o)
	if o.times > 0 {
		return measure(world, o, mine, stdout)
	}
	before, err := digestOf(world, mine)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "sorting %d %s numbers on %d ranks\n", o.n, o.input, world.Size())
	began := time.Now()
	sorted, err := samplesort(world, mine)
	if err != nil {
		return err
	}
	took := time.Since(began)
	largest, err := check(world, sorted, before)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "checked: in order, and the same numbers as before (sum %d, hash %016x)\n", before.Sum, before.Hash)
	fmt.Fprintf(stdout, "%.1f ms, %.1f million numbers per second; the largest share of a rank is %d, the mean %.1f\n",
		took.Seconds()*1e3, float64(o.n)/max(took.Seconds(), 1e-9)/1e6, largest, float64(o.n)/float64(world.Size()))
	return nil
}
