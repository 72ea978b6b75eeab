package mpi_test

import (
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// A round of a persistent collective allocates nothing: its schedule and memory are its own. These
// are kinds in which no rank gets ahead of another: what it sends too early needs memory at the
// receiver.
func TestAllocsPersistentCollective(t *testing.T) {
	effort.Need(t, effort.Usual, "it counts hundreds of thousands of collectives")
	kinds := map[string]func(c *mpi.Comm, in, out []float64) *mpi.Request{
		"Barrier": func(c *mpi.Comm, _, _ []float64) *mpi.Request { return mpi.BarrierInit(c) },
		"Allgather": func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.AllgatherInit(c, in[:len(in)/2], out)
		},
		"Allreduce": func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.AllreduceInit(c, in, out[:len(in)], mpi.Sum)
		},
		"Alltoall": func(c *mpi.Comm, in, out []float64) *mpi.Request {
			return mpi.AlltoallInit(c, in, out[:len(in)])
		},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			eachAllocation(t, func(c *mpi.Comm, n int) func() error {
				n = (n + 1) / 2 * 2
				r := kind(c, make([]float64, n), make([]float64, n))
				return func() error {
					if err := r.Start(); err != nil {
						return err
					}
					_, err := r.Wait()
					return err
				}
			})
		})
	}
}
