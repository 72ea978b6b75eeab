package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const usage = `matmul multiplies A (rows x 1200) by B (1200 x width) with a master and 1, 2, ... workers, and shows how they scale.

Usage:
  fitrun -n RANKS ./examples/matmul [options]

Options:
  -rows N,...   rows of A, one table for each number (default 2400; the PMPI paper has 2400,4800,9600,19200)
  -block N      rows that the master hands out at a time (default 40)
  -width N      columns of B (default 500, as in the paper)
  -time N       compute each product N times, with all workers, and print a line for each, for programs
`

const maxRows = 1 << 20

type options struct {
	rows  []int
	block int
	width int
	times int
}

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("matmul", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	rows := fs.String("rows", "2400", "")
	fs.IntVar(&o.block, "block", 40, "")
	fs.IntVar(&o.width, "width", cols, "")
	fs.IntVar(&o.times, "time", 0, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case err == nil && o.block < 1:
		err = fmt.Errorf("-block %d: choose 1 or more", o.block)
	case err == nil && (o.width < 1 || o.width > maxRows):
		err = fmt.Errorf("-width %d: choose 1 to %d", o.width, maxRows)
	case err == nil && o.times < 0:
		err = fmt.Errorf("-time %d: choose 1 or more", o.times)
	case err == nil:
		o.rows, err = parseRows(*rows)
	}
	if err != nil {
		return o, fmt.Errorf("matmul: %w (-h shows the options)", err)
	}
	return o, nil
}

func parseRows(s string) ([]int, error) {
	var rows []int
	for w := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 1 || n > maxRows {
			return nil, fmt.Errorf("-rows %s: %q is no number from 1 to %d", s, w, maxRows)
		}
		rows = append(rows, n)
	}
	return rows, nil
}
