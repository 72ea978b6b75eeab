package mpi_test

import (
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// What a collective of a short buffer allocates at each rank.
func TestAllocsCollective(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	in, out := func(n int) []float64 { return make([]float64, n) }, make([]float64, 64)
	_ = out
	for name, x := range map[string]func(c *mpi.Comm, in, out []float64) error{
		"bcast":      func(c *mpi.Comm, in, _ []float64) error { return mpi.Bcast(c, in, 0) },
		"gather":     func(c *mpi.Comm, in, out []float64) error { return mpi.Gather(c, in, out, 0) },
		"scatter":    func(c *mpi.Comm, in, out []float64) error { return mpi.Scatter(c, out, in, 0) },
		"allgather":  func(c *mpi.Comm, in, out []float64) error { return mpi.Allgather(c, in, out) },
		"alltoall":   func(c *mpi.Comm, in, out []float64) error { return mpi.Alltoall(c, in, out) },
		"gatherv":    func(c *mpi.Comm, in, out []float64) error { return mpi.Gatherv(c, in, out, []int{8, 8}, nil, 0) },
		"allgatherv": func(c *mpi.Comm, in, out []float64) error { return mpi.Allgatherv(c, in, out, []int{8, 8}, nil) },
		"alltoallv": func(c *mpi.Comm, in, out []float64) error {
			return mpi.Alltoallv(c, in, []int{4, 4}, nil, out, []int{4, 4}, nil)
		},
		"allreduce": func(c *mpi.Comm, in, out []float64) error { return mpi.Allreduce(c, in, out, mpi.Sum) },
	} {
		n := allocations(t, 500, func(c *mpi.Comm) func() error {
			in, out := in(8), in(16)
			return func() error { return x(c, in, out) }
		}) / 2
		t.Logf("%s: %.2f", name, n)
	}
}
