package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/examples/internal/timing/timingtest"
	"github.com/fitmpi/fitmpi/mpi"
)

// fft3d runs the program on n ranks and returns what it printed.
func fft3d(t *testing.T, n int, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		if world.Rank() == 0 {
			return run(ctx, world, args, &out)
		}
		return run(ctx, world, args, nil)
	})
	return out.String(), err
}

// Cubes of all frequencies and larger ones, slabs of equal and unequal thickness, ranks without a
// plane.
func TestTransforms(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		for _, n := range []int{1, 2, 4, 8, 32} {
			out, err := fft3d(t, ranks, "-n", fmt.Sprint(n), "-repeat", "1")
			if err != nil {
				t.Errorf("%d points on %d ranks: %v\n%s", n, ranks, err, out)
			} else if !strings.Contains(out, "checked: ") {
				t.Errorf("%d points on %d ranks: not checked:\n%s", n, ranks, out)
			}
		}
	}
}

// The transform of a line against its definition.
func TestLine(t *testing.T) {
	for n := 1; n <= 64; n *= 2 {
		x := make([]complex128, n)
		for i := range x {
			x[i] = value(1, 2, i)
		}
		got := append([]complex128(nil), x...)
		newLines(n).transform(got)
		for k := range x {
			var want complex128
			for i, v := range x {
				want += v * cmplx.Rect(1, -2*math.Pi*float64(k*i%n)/float64(n))
			}
			if cmplx.Abs(got[k]-want) > 1e-13 {
				t.Errorf("%d points: frequency %d is %v, want %v", n, k, got[k], want)
			}
		}
	}
}

// The check finds one wrong number, on whichever rank.
func TestCheckFinds(t *testing.T) {
	for _, spoil := range []func(rank int, there, back []complex128){
		func(rank int, there, _ []complex128) {
			if rank == 2 {
				there[0] += 1e-9
			}
		},
		func(rank int, there, _ []complex128) {
			if rank == 0 {
				there[3] = cmplx.NaN()
			}
		},
		func(rank int, _, back []complex128) {
			if rank == 1 {
				back[1], back[2] = back[2], back[1]
			}
		},
	} {
		err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
			c := newCube(world, 8)
			input := c.makeInput()
			there, err := c.forward(input)
			if err != nil {
				return err
			}
			back, err := c.backward(there)
			if err != nil {
				return err
			}
			spoil(world.Rank(), there, back)
			return c.check(new(bytes.Buffer), input, there, back)
		})
		if err == nil || !strings.Contains(err.Error(), "the differences should be below") {
			t.Errorf("error %v, want one about differences", err)
		}
	}
}

func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-n 48", "choose a power of two"},
		{"-n 0", "choose a power of two"},
		{"-n 1024", "from 1 to 512"},
		{"-repeat 0", "choose 1 or more"},
		{"-time -1", "-time -1: choose 1 or more"},
		{"more", "unexpected argument"},
		{"-x", "-h shows the options"},
	} {
		if _, err := fft3d(t, 2, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("fft3d %s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, err := fft3d(t, 2, "-h")
	if err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}

// With -time a line is printed for each time and way, with the same answer on any number of ranks.
func TestTimes(t *testing.T) {
	timingtest.Check(t, "fft3d", 8, 2, []string{timing.Blocking}, func(ranks int) (string, error) {
		return fft3d(t, ranks, "-n", "8", "-time", "2")
	})
}
