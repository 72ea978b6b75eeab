package mpi_test

import (
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// A round of a partitioned message allocates nothing, however many partitions it has.
func TestAllocsPartitioned(t *testing.T) {
	effort.Need(t, effort.Usual, "it counts thousands of long messages")
	eachAllocation(t, func(c *mpi.Comm, n int) func() error {
		return partitionedRound(c, c, n)
	})
}

// Nor does one with layouts at both ends, which are packed and unpacked.
func TestAllocsPartitionedLayouts(t *testing.T) {
	effort.Need(t, effort.Usual, "long messages by layouts take seconds")
	eachAllocation(t, func(c *mpi.Comm, n int) func() error {
		f := mpi.TypeOf[float64]()
		columns := mpi.Resized(mpi.Vector(n, 1, 4, f), 0, 8)
		rows := mpi.Resized(mpi.Vector(2*n, 1, 2, f), 0, 8)
		return partitionedRound(c.WithType(columns), c.WithType(rows), n)
	})
}

// partitionedRound is a round each way between two ranks, of four partitions of n values and half
// as many.
func partitionedRound(sc, rc *mpi.Comm, n int) func() error {
	const parts = 4
	in, out, other := make([]float64, parts*n), make([]float64, parts*n), 1-sc.Rank()
	r, s := mpi.PrecvInit(rc, in, parts/2, other, 1), mpi.PsendInit(sc, out, parts, other, 1)
	return func() error { // both ways at once: two messages
		if err := r.Start(); err != nil {
			return err
		}
		if err := s.Start(); err != nil {
			return err
		}
		if err := s.PreadyRange(1, parts-1); err != nil {
			return err
		}
		if err := s.Pready(0); err != nil {
			return err
		}
		if _, err := r.Parrived(0); err != nil {
			return err
		}
		if _, err := s.Wait(); err != nil {
			return err
		}
		_, err := r.Wait()
		return err
	}
}
