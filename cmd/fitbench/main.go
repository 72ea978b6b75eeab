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
	if opt.bind == "core" && !launched() {
		return errors.New("-bind core: ranks that are threads share their cores: start it with fitrun")
	}
	before(opt)
	rank := func(ctx context.Context, world *mpi.Comm) error {
		if opt.bind == "core" {
			if err := bindProcess(world.Rank()); err != nil {
				return err
			}
		}
		return runTest(ctx, world, opt, stdout)
	}
	if launched() {
		mpi.Main(rank)
		return nil
	}
	return mpi.RunThreads(opt.ranks, rank)
}

// launched reports whether a launcher started this process as a rank. It remembers,
// for Init takes the variable away.
var launched = sync.OnceValue(func() bool { return os.Getenv("FITMPI_BOOT_FD") != "" })
