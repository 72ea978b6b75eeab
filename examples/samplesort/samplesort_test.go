package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/examples/internal/timing/timingtest"
	"github.com/fitmpi/fitmpi/mpi"
)

// samplesortOn runs the program on n ranks and returns what it printed.
func samplesortOn(t *testing.T, n int, args ...string) (string, error) {
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

// All inputs, few numbers and many, and more ranks than numbers.
func TestSorts(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		for input := range inputs {
			for _, n := range []int{0, 1, 2, 7, 24, 25, 26, 1000, 20000} {
				out, err := samplesortOn(t, ranks, "-n", fmt.Sprint(n), "-input", input, "-seed", fmt.Sprint(n))
				if err != nil {
					t.Errorf("%d %s numbers on %d ranks: %v", n, input, ranks, err)
				} else if !strings.Contains(out, "checked: in order") {
					t.Errorf("%d %s numbers on %d ranks:\n%s", n, input, ranks, out)
				}
			}
		}
	}
}

// The check finds what is wrong, on whichever rank.
func TestCheckFinds(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spoil      func(c *mpi.Comm, sorted []item) ([]item, error)
	}{
		{"another number", "went in", func(c *mpi.Comm, sorted []item) ([]item, error) {
			if c.Rank() == 1 {
				sorted[0].Key--
			}
			return sorted, nil
		}},
		{"disorder within a rank", "rank 2 is not in order", func(c *mpi.Comm, sorted []item) ([]item, error) {
			if c.Rank() == 2 {
				sorted[0], sorted[1] = sorted[1], sorted[0]
			}
			return sorted, nil
		}},
		{"disorder between ranks", "on a rank before", func(c *mpi.Comm, sorted []item) ([]item, error) {
			got, other := make([]item, 300), 2-c.Rank()
			in, err := mpi.Sendrecv(c, sorted, other, 0, got, other, 0)
			return got[:in.Count], err
		}},
		{"everything on one rank", "regular sampling allows", func(c *mpi.Comm, sorted []item) ([]item, error) {
			if c.Rank() > 0 {
				return nil, mpi.Send(c, sorted, 0, 0)
			}
			for r := 1; r < c.Size(); r++ {
				more, _, err := mpi.RecvNew[item](c, r, 0)
				if err != nil {
					return nil, err
				}
				sorted = append(sorted, more...)
			}
			return sorted, nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
				mine := makeItems(world, options{n: 300, input: "random"})
				before, err := digestOf(world, mine)
				if err != nil {
					return err
				}
				sorted, err := samplesort(world, mine)
				if err != nil {
					return err
				}
				if sorted, err = tt.spoil(world, sorted); err != nil {
					return err
				}
				_, err = check(world, sorted, before)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-n -1", "choose 0 or more"},
		{"-time -1", "-time -1: choose 1 or more"},
		{"-input foo", "choose random, skewed, sorted, reversed or scattered"},
		{"more", "unexpected argument"},
		{"-x", "-h shows the options"},
	} {
		if _, err := samplesortOn(t, 2, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("samplesort %s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, err := samplesortOn(t, 2, "-h")
	if err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}

// With -time a line is printed for each time and way, with the same answer on any number of ranks.
func TestTimes(t *testing.T) {
	timingtest.Check(t, "samplesort", 1000, 2, []string{timing.Blocking}, func(ranks int) (string, error) {
		return samplesortOn(t, ranks, "-n", "1000", "-input", "scattered", "-time", "2")
	})
}
