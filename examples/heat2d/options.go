package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `heat2d lets heat spread over a plate with insulated edges and writes what becomes of it as a picture.

Usage:
  fitrun -n RANKS ./examples/heat2d [options]

Options:
  -in FILE.png   start from this picture: white is hot, black is cold (default: a built-in pattern)
  -out FILE.png  where to write the result (default heat.png; "" writes none)
  -size N        rows and columns of the built-in pattern (default 512)
  -steps N       time steps (default 1000)
  -every N       report progress every N steps (default: a tenth of the steps)
  -check         compute it again by serial code and compare to the last bit
  -time N        compute it N times, and N times without overlap: a line for each, for programs; no picture
`

const (
	defaultSize  = 512
	defaultSteps = 1000
	maxSize      = 1 << 15
)

type options struct {
	in, out            string
	size, steps, every int
	check              bool
	times              int
}

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("heat2d", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.in, "in", "", "")
	fs.StringVar(&o.out, "out", "heat.png", "")
	fs.IntVar(&o.size, "size", 0, "")
	fs.IntVar(&o.steps, "steps", defaultSteps, "")
	fs.IntVar(&o.every, "every", 0, "")
	fs.BoolVar(&o.check, "check", false, "")
	fs.IntVar(&o.times, "time", 0, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case err == nil:
		err = o.complete()
	}
	if err != nil {
		return o, fmt.Errorf("heat2d: %w (-h shows the options)", err)
	}
	return o, nil
}

// complete checks o and fills in the defaults that depend on other options.
func (o *options) complete() error {
	switch {
	case o.in != "" && o.size != 0:
		return errors.New("give -in or -size: a picture has its own size")
	case o.size < 0 || o.size > maxSize:
		return fmt.Errorf("-size %d: choose 1 to %d", o.size, maxSize)
	case o.steps < 0:
		return fmt.Errorf("-steps %d: choose 0 or more", o.steps)
	case o.times < 0:
		return fmt.Errorf("-time %d: choose 1 or more", o.times)
	case o.every < 0:
		return fmt.Errorf("-every %d: choose 1 or more", o.every)
	}
	if o.size == 0 {
		o.size = defaultSize
	}
	if o.every == 0 {
		o.every = max(1, o.steps/10)
	}
	return nil
}
