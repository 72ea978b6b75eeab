package main

import (
	"io"
	"slices"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure sorts the items as often as -time says, and prints a line for each time. The answer
// depends on every number and on its place. It is collective over c.
func measure(c *mpi.Comm, o options, items []item, stdout io.Writer) error {
	for range o.times {
		mine := slices.Clone(items)
		clock, err := timing.Start(c)
		if err != nil {
			return err
		}
		slices.SortFunc(mine, compare)
		runs, counts, exchanging, err := exchange(c, mine)
		if err != nil {
			return err
		}
		sorted := merge(runs, counts)
		clock.Stop(exchanging)
		answer, err := places(c, sorted)
		if err != nil {
			return err
		}
		if err := clock.Report(stdout, timing.Line{Program: "samplesort", Size: o.n, Way: timing.Blocking, Answer: answer}); err != nil {
			return err
		}
	}
	return nil
}

// places adds up, over the items of all ranks, what tells a number at its place in the order of all
// from any other.
func places(c *mpi.Comm, sorted []item) (timing.Hash, error) {
	before := []int{0}
	if err := mpi.Exscan(c, []int{len(sorted)}, before, mpi.Sum); err != nil {
		return 0, err
	}
	if c.Rank() == 0 {
		before[0] = 0 // Exscan leaves it as it was: undefined, says the standard
	}
	sum := []uint64{0}
	for i, x := range sorted {
		sum[0] += timing.Mix(uint64(x.Key) + timing.Scattered(1, uint64(before[0]+i)))
	}
	err := mpi.Allreduce(c, sum, sum, mpi.Sum)
	return timing.Hash(sum[0]), err
}
