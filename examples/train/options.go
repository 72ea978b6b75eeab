package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const usage = `train trains a network to read handwritten digits (fitrun -n 4).

  -epochs N        how often each image is seen (default 20)
  -batch N         images of a step, of all ranks together (default 120)
  -hidden N,N,...  units of the hidden layers (default 128,64)
  -rate R          of learning (default 0.05)
  -bucket N        gradients are added up in pieces of at least N numbers (default 4096)
  -blocking        add up after the backward pass, not beside it
  -compare         time one rank alone, all without overlap, and all with it; no ranks come later
  -every N         save a checkpoint every N steps; 0 saves none (default 0)
  -dir DIR         where (default: what fitrun --restart-dir says)
  -die R@S         rank R dies in step S, unless the job was started again
  -grow N@S        N more ranks are started before step S, and train with the others
  -replace         as many ranks are started as have died
`

// options is the command line.
type options struct {
	epochs, batch, bucket, every int
	hidden                       []int
	rate                         float64
	blocking, compare, replace   bool
	dir                          string
	dieRank, dieStep             int
	grow, growStep               int
	args                         []string // what all of these were read from
}

func parse(args []string) (options, error) {
	o := options{hidden: []int{128, 64}, dieRank: -1, args: args}
	fs := flag.NewFlagSet("train", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.epochs, "epochs", 20, "")
	fs.IntVar(&o.batch, "batch", 120, "")
	fs.IntVar(&o.bucket, "bucket", 4096, "")
	fs.IntVar(&o.every, "every", 0, "")
	fs.Float64Var(&o.rate, "rate", 0.05, "")
	fs.BoolVar(&o.blocking, "blocking", false, "")
	fs.BoolVar(&o.compare, "compare", false, "")
	fs.BoolVar(&o.replace, "replace", false, "")
	fs.StringVar(&o.dir, "dir", "", "")
	fs.Func("hidden", "", func(s string) error {
		o.hidden = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("a layer of %q units", word)
			}
			o.hidden = append(o.hidden, n)
		}
		return nil
	})
	atStep := func(name string, n, step *int) {
		fs.Func(name, "", func(s string) error {
			first, second, _ := strings.Cut(s, "@")
			var err1, err2 error
			*n, err1 = strconv.Atoi(first)
			*step, err2 = strconv.Atoi(second)
			return errors.Join(err1, err2)
		})
	}
	atStep("die", &o.dieRank, &o.dieStep)
	atStep("grow", &o.grow, &o.growStep)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.epochs < 1 || o.batch < 1 || o.batch > trained || o.bucket < 1 || o.every < 0 || o.grow < 0 || fs.NArg() > 0 {
		return o, fmt.Errorf("train: want 1 epoch or more, batches of 1 to %d, buckets of 1 or more, no fewer than 0 more ranks, and no arguments; -h says more", trained)
	}
	return o, nil
}
