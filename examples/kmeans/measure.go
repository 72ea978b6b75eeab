package main

import (
	"io"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure clusters the points as often as -time says, with and without overlap, and prints a line
// for each time. The answer depends on every centre and on the number of iterations. It is
// collective over world.
func measure(world *mpi.Comm, o options, stdout io.Writer) error {
	b := newShare(world, o)
	for range o.times {
		for _, way := range timing.Both {
			b.forget()
			clock, err := timing.Start(world)
			if err != nil {
				return err
			}
			r, waited, err := cluster(world, b, way == timing.Overlap)
			if err != nil {
				return err
			}
			clock.Stop(waited)
			l := timing.Line{Program: "kmeans", Size: o.points, Way: way}
			l.Answer.AddFloats(r.centres)
			l.Answer.Add(uint64(r.iterations))
			if err := clock.Report(stdout, l); err != nil {
				return err
			}
		}
	}
	return nil
}
