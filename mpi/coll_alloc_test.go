package mpi_test

import (
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
