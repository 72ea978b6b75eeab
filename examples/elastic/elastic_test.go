package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// elastic runs the program on n ranks of this process, which cannot become more: the package tests
// has those that do.
func elastic(n int, args ...string) (string, error) {
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		return run(world, args, &out)
	})
	return out.String(), err
}

func TestShrinks(t *testing.T) {
	out, err := elastic(4, "-teams", "4,2,2,1", "-steps", "200000")
	want := "part 1 of 4 by 4 ranks\npart 2 of 4 by 2 ranks\npart 3 of 4 by 2 ranks\npart 4 of 4 by 1 ranks\npi is 3.141593\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUsage(t *testing.T) {
	if out, err := elastic(2, "-h"); err != nil || out != usage {
		t.Errorf("%q, %v", out, err)
	}
	for _, args := range [][]string{{"-teams", "0"}, {"-teams", "1,x"}, {"-steps", "0"}, {"more"}} {
		if _, err := elastic(2, args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
