package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `wordcount counts the words of files and prints the most frequent ones.

Usage:
  fitrun -n RANKS ./examples/wordcount [options] FILE...

Options:
  -top N      words to print (default 10)
  -piece N    cut files into pieces of about N bytes (default: by the number of ranks, at least 64 KiB)
  -check      count everything again by serial code and compare
`

type options struct {
	files []string
	top   int
	piece int64 // 0 = choose
	check bool
}

// parse reads the arguments. The error is flag.ErrHelp if they ask for help.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("wordcount", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.top, "top", 10, "")
	fs.Int64Var(&o.piece, "piece", 0, "")
	fs.BoolVar(&o.check, "check", false, "")
	err := fs.Parse(args)
	o.files = fs.Args()
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
	case o.top < 0:
		err = fmt.Errorf("-top %d: choose 0 or more", o.top)
	case o.piece < 0:
		err = fmt.Errorf("-piece %d: choose 1 or more", o.piece)
	case len(o.files) == 0:
		err = errors.New("no files: name those to count, as in wordcount README.md")
	}
	if err != nil {
		return o, fmt.Errorf("wordcount: %w (-h shows the options)", err)
	}
	return o, nil
}
