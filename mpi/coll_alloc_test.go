package mpi_test

import (
	"context"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// A collective of a short buffer without layouts allocates what its steps capture, and no request,
// and no more for it that there are collectives with layouts. These are kinds in which no rank gets
// ahead of another.
func TestAllocsCollective(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, x := range map[string]struct {
		most float64 // at each rank
		run  func(c *mpi.Comm, in, out []float64) error
	}{
		"Allgather": {6, mpi.Allgather[float64]},
		"Alltoall":  {7, mpi.Alltoall[float64]},
		"Allgatherv": {10, func(c *mpi.Comm, in, out []float64) error {
			return mpi.Allgatherv(c, in, out, []int{8, 8}, nil)
		}},
		"Alltoallv": {13, func(c *mpi.Comm, in, out []float64) error {
			return mpi.Alltoallv(c, in, []int{4, 4}, nil, out, []int{4, 4}, nil)
		}},
		"Allreduce": {5, func(c *mpi.Comm, in, out []float64) error { return mpi.Allreduce(c, in, out, mpi.Sum) }},
	} {
		t.Run(name, func(t *testing.T) {
			n := allocations(t, 500, func(c *mpi.Comm) func() error {
				in, out := make([]float64, 8), make([]float64, 16)
				return func() error { return x.run(c, in, out) }
			}) / 2
			t.Logf("%.2f allocations at each rank", n)
			if n > x.most+0.5 {
				t.Errorf("%.2f allocations at each rank, want at most %v", n, x.most)
			}
		})
	}
}

// TestRecipesAllocateNothing: a collective that has a recipe needs no new memory.
func TestRecipesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	calls := map[string]func(c *mpi.Comm, a, b []int64) error{
		"Barrier":   func(c *mpi.Comm, _, _ []int64) error { return mpi.Barrier(c) },
		"Bcast":     func(c *mpi.Comm, a, _ []int64) error { return mpi.Bcast(c, a[:1], 0) },
		"Reduce":    func(c *mpi.Comm, a, b []int64) error { return mpi.Reduce(c, a[:1], b, mpi.Sum, 0) },
		"Allreduce": func(c *mpi.Comm, a, b []int64) error { return mpi.Allreduce(c, a[:1], b, mpi.Sum) },
		"Scan":      func(c *mpi.Comm, a, b []int64) error { return mpi.Scan(c, a[:1], b, mpi.Sum) },
		"Gather":    func(c *mpi.Comm, a, b []int64) error { return mpi.Gather(c, a[:1], b, 0) },
		"Scatter":   func(c *mpi.Comm, a, b []int64) error { return mpi.Scatter(c, a, b[:1], 0) },
		"Allgather": func(c *mpi.Comm, a, b []int64) error { return mpi.Allgather(c, a[:1], b) },
		"Alltoall":  func(c *mpi.Comm, a, b []int64) error { return mpi.Alltoall(c, a, b) },
	}
	if err := mpi.RunThreads(4, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() != 0 {
			return nil
		}
		defer mpi.MoveNothing(c)()
		a, b := make([]int64, 4), make([]int64, 4)
		for name, call := range calls {
			if n := testing.AllocsPerRun(1000, func() {
				if err := call(c, a, b); err != nil {
					t.Error(name, err)
				}
			}); n >= 1 {
				t.Errorf("%s allocates %v times", name, n)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
