// Command wordcount counts the words of files and prints the most frequent ones.
//
//	fitrun -n 4 ./examples/wordcount README.md docs/*.md
//	fitrun -n 4 ./examples/wordcount -top 20 -check book.txt
//
// # What it shows
//
// Rank 0 looks at the files, cuts large ones into pieces and deals the pieces out so that all ranks
// get about the same number of bytes. SendValue and RecvValue carry a slice of structs with strings
// in them, as they carry any Go value. Each rank counts the words of its pieces in a map. Reduce
// combines the maps of all ranks by an operation of our own: an element of the reduction may be of
// any type, here map[string]int, and an operation is any function that combines two slices of them.
// Totals are reduced as plain numbers.
//
// # Words
//
// A word is a run of letters, marks and numbers, as Unicode classifies them, in lower case; an
// apostrophe between two of them belongs to the word and is written '. Text is UTF-8, not
// normalised; other bytes separate words. A piece begins and ends at ASCII white space, which is no
// part of a word nor of a longer UTF-8 sequence, so pieces are counted without a look at their
// neighbours.
//
// # How the result is checked
//
// Every run compares the bytes read with the sizes of the files, and the sum of the counts with the
// words that ranks have seen. With -check rank 0 counts everything again, by a regular expression.
//
// Ranks on several hosts need the files under the same names.
package main

import (
	"context"
	"errors"
	"flag"
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

// run is the program of one rank. Only rank 0 writes to stdout.
func run(ctx context.Context, world *mpi.Comm, args []string, stdout io.Writer) error {
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
	began := time.Now()
	sh, pieces, err := deal(world, o)
	if err != nil {
		return err
	}
	mine, err := count(ctx, pieces)
	if err != nil {
		return err
	}
	all, err := reduce(world, mine)
	if err != nil || world.Rank() != 0 {
		return err
	}
	return conclude(stdout, o, sh, all, world.Size(), time.Since(began))
}
