package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// survive runs the program on n ranks, none of which dies: they share a process. The package tests
// has those that do.
func survive(n int, args ...string) (string, error) {
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		return run(ctx, world, args, &out)
	})
	return out.String(), err
}

func TestCounts(t *testing.T) {
	for n := 1; n <= 4; n++ {
		out, err := survive(n, "-limit", "1000", "-rounds", "7")
		if err != nil || !strings.HasPrefix(out, "168 primes below 1000, as a sieve finds too") {
			t.Errorf("%d ranks: %v\n%s", n, err, out)
		}
	}
}

func TestUsage(t *testing.T) {
	if out, err := survive(2, "-h"); err != nil || out != usage {
		t.Errorf("%q, %v", out, err)
	}
	for _, args := range [][]string{{"-limit", "0"}, {"-rounds", "0"}, {"-die", "x"}, {"more"}} {
		if _, err := survive(2, args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
