package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// rod runs the program on n ranks and returns what it printed.
func rod(n int, args ...string) (string, error) {
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		world.SetErrhandler(mpi.ErrorsReturn)
		return run(ctx, world, args, &out)
	})
	return out.String(), err
}

var sum = regexp.MustCompile(`checksum [0-9a-f]{8}`)

// Wherever a rank dies, the job goes on from the last checkpoint, and every bit of the result is
// that of a job that nothing happened to.
func TestGoesOn(t *testing.T) {
	whole, err := rod(1, "-dir", filepath.Join(t.TempDir(), "c"), "-cells", "50", "-steps", "60")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 4; n++ {
		for _, step := range []int{0, 9, 10, 11, 35, 59} {
			dir := filepath.Join(t.TempDir(), "c")
			args := []string{"-dir", dir, "-cells", "50", "-steps", "60", "-every", "10", "-gently"}
			_, err := rod(n, append(args, "-die", fmt.Sprintf("%d@%d", step%n, step))...)
			if !errors.Is(err, errDied) {
				t.Fatalf("%d ranks, step %d: %v", n, step, err)
			}
			out, err := rod(n, args...)
			if err != nil {
				t.Fatalf("%d ranks, step %d: %v", n, step, err)
			}
			if sum.FindString(out) != sum.FindString(whole) || sum.FindString(out) == "" {
				t.Errorf("%d ranks, died in step %d, and then:\n%swithout that:\n%s", n, step, out, whole)
			}
			if from := fmt.Sprintf("going on from step %d\n", step/10*10); step >= 10 != strings.Contains(out, from) {
				t.Errorf("%d ranks, died in step %d, and then:\n%s", n, step, out)
			}
			if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	if out, err := rod(2, "-h"); err != nil || out != usage {
		t.Errorf("%q, %v", out, err)
	}
	for _, args := range [][]string{{"-cells", "0"}, {"-every", "0"}, {"-cells", "1"}, {"-die", "x"}, {"more"}} {
		if _, err := rod(2, args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
