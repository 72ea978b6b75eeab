package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `kmeans divides points into clusters, and adds up the ranks' parts while it computes.

Usage:
  fitrun -n RANKS ./examples/kmeans [options]

Options:
  -points N      how many (default 100000); up to 200000 the result is compared with a serial run
  -dims N        coordinates of a point (default 8)
  -clusters N    how many (default 12)
  -batches N     parts of a rank's points whose sums are made one by one (default 4)
  -iterations N  at most (default 100)
  -seed N        of the points (default 1)
  -time N        do it N times, and N times without overlap: a line for each, for programs
`

// checkedPoints is how many points are few enough to do all again in serial code.
const checkedPoints = 200_000

type options struct {
	points, dims, clusters, batches, iterations int
	seed                                        uint64
	times                                       int
}

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("kmeans", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.points, "points", 100_000, "")
	fs.IntVar(&o.dims, "dims", 8, "")
	fs.IntVar(&o.clusters, "clusters", 12, "")
	fs.IntVar(&o.batches, "batches", 4, "")
	fs.IntVar(&o.iterations, "iterations", 100, "")
	fs.Uint64Var(&o.seed, "seed", 1, "")
	fs.IntVar(&o.times, "time", 0, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case err == nil && min(o.dims, o.clusters, o.batches, o.iterations) < 1:
		err = errors.New("-dims, -clusters, -batches and -iterations: choose 1 or more")
	case err == nil && o.times < 0:
		err = fmt.Errorf("-time %d: choose 1 or more", o.times)
	case err == nil && o.points < o.clusters:
		err = fmt.Errorf("-points %d: choose %d, the number of clusters, or more", o.points, o.clusters)
	}
	if err != nil {
		return o, fmt.Errorf("kmeans: %w (-h shows the options)", err)
	}
	return o, nil
}
