package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `life plays the Game of Life on a grid of ranks.

Usage:
  fitrun -n RANKS ./examples/life [options]

Options:
  -width N    cells in a row (default 300)
  -height N   rows (default 200)
  -steps N    generations (default 200)
  -start S    the first generation: random, or a glider (default random)
  -seed N     of the random one (default 1)
  -bounded    the world has edges, and what is outside is dead (default: a torus)
  -show       print the last generation
  -check      compare with serial code however large the world is
`

type options struct {
	width, height, steps int
	start                string
	seed                 uint64
	bounded, show, check bool
}

// checkUpTo is the number of cell generations that serial code computes again unasked: half a
// second's work.
const checkUpTo = 50_000_000

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("life", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.width, "width", 300, "")
	fs.IntVar(&o.height, "height", 200, "")
	fs.IntVar(&o.steps, "steps", 200, "")
	fs.StringVar(&o.start, "start", startRandom, "")
	fs.Uint64Var(&o.seed, "seed", 1, "")
	fs.BoolVar(&o.bounded, "bounded", false, "")
	fs.BoolVar(&o.show, "show", false, "")
	fs.BoolVar(&o.check, "check", false, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
	case o.width < 1 || o.height < 1 || o.width > 1<<30/o.height:
		err = fmt.Errorf("a world of %d by %d cells: choose 1 to 2^30 of them", o.width, o.height)
	case o.steps < 0:
		err = fmt.Errorf("-steps %d: choose 0 or more", o.steps)
	case o.start != startRandom && o.start != startGlider:
		err = fmt.Errorf("-start %s: choose %s or %s", o.start, startRandom, startGlider)
	case fs.NArg() > 0:
		err = fmt.Errorf("%q is not an option", fs.Arg(0))
	}
	if err != nil {
		return o, fmt.Errorf("life: %w (-h shows the options)", err)
	}
	return o, nil
}

const (
	startRandom = "random"
	startGlider = "glider"
)

// first says whether a cell lives in the first generation: 1 or 0.
func (o options) first(x, y int) uint8 {
	if o.start == startGlider {
		return glider[[2]int{x, y}]
	}
	h := o.seed + uint64(y)<<32 + uint64(x)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	if (h^h>>31)%3 == 0 {
		return 1
	}
	return 0
}

// glider moves by one cell to the right and one down in four generations.
var glider = map[[2]int]uint8{{1, 0}: 1, {2, 1}: 1, {0, 2}: 1, {1, 2}: 1, {2, 2}: 1}
