//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "fitbench:", err)
			os.Exit(2)
		}
	}
}

// run measures as the arguments say: under a launcher as a rank of its job, alone as
// threads of this process.
func run(args []string, stdout, stderr io.Writer) error {
	opt, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	if err := opt.apply(); err != nil {
		return err
	}
	before(opt)
	rank := func(ctx context.Context, world *mpi.Comm) error { return runTest(ctx, world, opt, stdout) }
	if launched() > 0 {
		mpi.Main(rank)
		return nil
	}
	return mpi.RunThreads(opt.ranks, rank)
}

// launched is how many ranks of a launcher's job this process is, 0 if no launcher
// started it. It remembers, for Init makes the process forget.
var launched = sync.OnceValue(mpi.RanksHere)

// within is how many of n ranks are in the process of rank 0: a launcher gives a
// process ranks that follow each other, without one all ranks are here.
func within(n int) int {
	if launched() == 0 {
		return n
	}
	return min(n, launched())
}
