package main

import (
	"io"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure computes each product with all ranks as often as -time says, and prints a line for each
// time. It is collective over world.
func measure(world *mpi.Comm, o options, stdout io.Writer) error {
	for _, rows := range o.rows {
		var p problem
		if world.Rank() == 0 {
			p = newProblem(rows, o.width)
		}
		for range o.times {
			if err := measureOnce(world, o, p, stdout); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureOnce computes one product. The answer depends on every element of it.
func measureOnce(world *mpi.Comm, o options, p problem, stdout io.Writer) error {
	clear(p.c)
	clock, err := timing.Start(world)
	if err != nil {
		return err
	}
	if err := work(world, o, p); err != nil {
		return err
	}
	clock.Stop(0)
	l := timing.Line{Program: "matmul", Size: p.rows, Way: timing.Overlap}
	l.Answer.AddFloats(p.c)
	return clock.Report(stdout, l)
}
