package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/examples/internal/timing/timingtest"
	"github.com/fitmpi/fitmpi/mpi"
)

// kmeans runs the program on n ranks and returns what it printed.
func kmeans(n int, args ...string) (string, error) {
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(_ context.Context, world *mpi.Comm) error {
		if world.Rank() == 0 {
			return run(world, args, &out)
		}
		return run(world, args, nil)
	})
	return out.String(), err
}

// Every number of ranks and batches finds what serial code finds: also ranks and batches without a
// point.
func TestEqualsSerial(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, points := range []int{3, 4, 1000} {
			for _, batches := range []int{1, 3, 7} {
				args := []string{"-points", fmt.Sprint(points), "-clusters", "3", "-dims", "2", "-batches", fmt.Sprint(batches)}
				out, err := kmeans(n, args...)
				if err != nil || !strings.Contains(out, "equal to the serial program") {
					t.Errorf("%d ranks, %v: %v\n%s", n, args, err, out)
				}
			}
		}
	}
}

// At the end every centre is the mean of the points that it is nearest to: another iteration
// changes nothing. The points are in no order that would give that at once.
func TestEndsAtRest(t *testing.T) {
	o := options{points: 6000, dims: 8, clusters: 6, iterations: 1000, seed: 1}
	r := serial(o)
	if r.iterations < 5 || r.iterations == o.iterations {
		t.Errorf("%d iterations", r.iterations)
	}
	b, tally := newBlock(o, 0, o.points), o.newTally()
	b.assign(0, o.points, r.centres, tally)
	again := &result{centres: slices.Clone(r.centres), sizes: make([]int, o.clusters), iterations: r.iterations - 1}
	again.move(o, tally)
	if err := again.equals(r); err != nil {
		t.Error(err)
	}
}

func TestEqualsTellsEachDifference(t *testing.T) {
	o := options{points: 50, dims: 2, clusters: 3, iterations: 5, seed: 1}
	for what, spoil := range map[string]func(*result){
		"iterations": func(r *result) { r.iterations++ },
		"clusters":   func(r *result) { r.sizes[1]++ },
		"centres":    func(r *result) { r.centres[2] += 1e-9 },
	} {
		r := serial(o)
		if err := r.equals(serial(o)); err != nil {
			t.Errorf("two runs differ: %v", err)
		}
		spoil(r)
		if err := r.equals(serial(o)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s differ, but the error is %v", what, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-points 2":  "-points 2: choose 12",
		"-batches 0": "choose 1 or more",
		"-time -1":   "-time -1: choose 1 or more",
		"more":       `unexpected argument "more"`,
		"-speed":     "not defined",
	} {
		if _, err := kmeans(2, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", args, err, want)
		}
	}
	if out, err := kmeans(2, "-h"); err != nil || out != usage {
		t.Errorf("-h: %v\n%s", err, out)
	}
}

// With -time a line is printed for each time and way, with the same answer on any number of ranks.
func TestTimes(t *testing.T) {
	timingtest.Check(t, "kmeans", 1000, 4, timing.Both, func(ranks int) (string, error) {
		return kmeans(ranks, "-points", "1000", "-time", "2")
	})
}
