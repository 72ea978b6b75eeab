package main

import (
	"context"
	"io"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure solves A·x = b as often as -time says, with and without overlap, and prints a line for
// each time: the answer is the number of iterations, the value depends on all elements of x. It is
// collective over the ranks of a.
func measure(ctx context.Context, a *distributed, o options, b []float64, stdout io.Writer) error {
	for range o.times {
		for _, way := range timing.Both {
			a.waits, a.waited = way == timing.Blocking, 0
			s := &solver{ctx: ctx, a: a, tol: o.tol, limit: o.limit, out: io.Discard}
			clock, err := timing.Start(a.world)
			if err != nil {
				return err
			}
			x, err := s.solve(b)
			if err != nil {
				return err
			}
			clock.Stop(a.waited)
			l := timing.Line{Program: "cg", Size: o.grid, Way: way, Answer: timing.Hash(s.iterations)}
			if l.Value, err = a.weigh(x); err != nil {
				return err
			}
			if err := clock.Report(stdout, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// weigh is the sum of the elements of a vector that is dealt out, each times the weight of its
// place.
func (a *distributed) weigh(x []float64) (float64, error) {
	first := firstRow(a.world.Rank(), a.world.Size(), a.size)
	var sum [1]float64
	for i, v := range x {
		sum[0] += v * timing.Weight(first+i)
	}
	err := mpi.Allreduce(a.world, sum[:], sum[:], mpi.Sum)
	return sum[0], err
}
