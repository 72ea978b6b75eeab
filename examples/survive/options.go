package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

const usage = `survive counts the primes below a number, and goes on when ranks die (fitrun --with-ft).

  -limit N       count below N (default 200000)
  -rounds N      in so many rounds (default 20)
  -die R@N,...   rank R of world kills itself in round N, from 0
  -replace       start a new rank for each that has died
`

// options is the command line.
type options struct {
	limit   int64
	rounds  int
	deaths  []death
	replace bool
}

// death is a rank that kills itself in a round.
type death struct{ rank, round int }

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("survive", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Int64Var(&o.limit, "limit", 200000, "")
	fs.IntVar(&o.rounds, "rounds", 20, "")
	fs.BoolVar(&o.replace, "replace", false, "")
	fs.Func("die", "", func(s string) error {
		for word := range strings.SplitSeq(s, ",") {
			var d death
			if _, err := fmt.Sscanf(word, "%d@%d", &d.rank, &d.round); err != nil {
				return err
			}
			o.deaths = append(o.deaths, d)
		}
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.limit < 1 || o.rounds < 1 || fs.NArg() > 0 {
		return o, fmt.Errorf("survive: want a limit and rounds of at least 1, and no arguments; -h says more")
	}
	return o, nil
}
