package main

import (
	"flag"
	"fmt"
	"io"
)

const usage = `checkpoint lets heat flow along a rod, and goes on from its last checkpoint when it is started again.

  -cells N       cells of the rod (default 4000)
  -steps N       steps in time (default 2000)
  -every N       save every so many steps (default 100)
  -dir DIR       directory of the checkpoints (default: that of fitrun --restart-dir, or .fitmpi-checkpoint)
  -die RANK@STEP the rank kills itself before that step, unless the job was started again
`

// options is the command line.
type options struct {
	cells   int
	steps   int64
	every   int64
	dir     string
	dieRank int // -1 if none is to die
	dieStep int64
	gently  bool // die by an error, in tests whose ranks share a process
}

func parse(args []string) (options, error) {
	o := options{dieRank: -1}
	fs := flag.NewFlagSet("checkpoint", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.cells, "cells", 4000, "")
	fs.Int64Var(&o.steps, "steps", 2000, "")
	fs.Int64Var(&o.every, "every", 100, "")
	fs.StringVar(&o.dir, "dir", "", "")
	fs.BoolVar(&o.gently, "gently", false, "")
	fs.Func("die", "", func(s string) error {
		_, err := fmt.Sscanf(s, "%d@%d", &o.dieRank, &o.dieStep)
		return err
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.cells < 1 || o.steps < 0 || o.every < 1 || fs.NArg() > 0 {
		return o, fmt.Errorf("checkpoint: want at least 1 cell, 0 steps and 1 step between checkpoints, and no arguments; -h says more")
	}
	return o, nil
}
