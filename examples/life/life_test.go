package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// life runs the program on n ranks and returns what it printed.
func life(t *testing.T, n int, args ...string) (string, error) {
	t.Helper()
	outs := make([]bytes.Buffer, n) // only one rank writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		return run(ctx, world, args, &outs[world.Rank()])
	})
	var all strings.Builder
	for i := range outs {
		all.Write(outs[i].Bytes())
	}
	return all.String(), err
}

// Ranks compute what serial code computes, in worlds that are cut evenly and not, down to blocks of
// one cell, with and without edges. One and two ranks are their own neighbours, or have one on both
// sides.
func TestEqualsSerial(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for _, size := range [][2]int{{24, 17}, {17, 24}, {7, 6}, {6, 3}} {
			for _, bounded := range []bool{false, true} {
				args := []string{"-width", fmt.Sprint(size[0]), "-height", fmt.Sprint(size[1]), "-steps", "30", "-seed", fmt.Sprint(n),
					fmt.Sprint("-bounded=", bounded)}
				out, err := life(t, n, args...)
				if err != nil {
					t.Errorf("%d ranks, %v: %v", n, args, err)
				} else if !strings.Contains(out, "every cell is that of serial code") {
					t.Errorf("%d ranks, %v: not checked:\n%s", n, args, out)
				}
			}
		}
	}
}

// A glider moves by one cell right and down in four generations, over the borders of blocks and of
// the world.
func TestGlider(t *testing.T) {
	for n := 1; n <= 4; n++ {
		out, err := life(t, n, "-start", "glider", "-width", "8", "-height", "6", "-steps", "24", "-show")
		if err != nil {
			t.Fatal(err)
		}
		// Six to the right, and once around the world from top to bottom: at columns 6, 7 and 0.
		want := ".......#\n#.......\n#.....##\n........\n........\n........\n"
		if !strings.HasPrefix(out, want) || !strings.Contains(out, "5 cells live") {
			t.Errorf("%d ranks show\n%swant\n%s", n, out, want)
		}
	}
}

func TestLargeWorld(t *testing.T) {
	args := []string{"-width", "1000", "-height", "600", "-steps", "100"}
	out, err := life(t, 2, args...)
	if err != nil || !strings.Contains(out, "-check compares") {
		t.Errorf("error %v:\n%s", err, out)
	}
}

func TestArguments(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"-width", "0"}, "a world of 0 by 200 cells"},
		{[]string{"-width", "4294967296", "-height", "4294967296"}, "choose 1 to 2^30"},
		{[]string{"-steps", "-1"}, "-steps -1"},
		{[]string{"-start", "gun"}, "choose random or glider"},
		{[]string{"file"}, `"file" is not an option`},
		{[]string{"-nonsense"}, "-h shows the options"},
		{[]string{"-width", "1", "-height", "1"}, "cannot be cut into 2 by 1 blocks"},
	} {
		if _, err := life(t, 2, test.args...); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: error is %v, want one that says %q", test.args, err, test.says)
		}
	}
	if out, err := life(t, 2, "-h"); err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}
