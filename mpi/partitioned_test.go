package mpi_test

import (
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// A round of a partitioned message allocates nothing, however many partitions it has.
func TestAllocsPartitioned(t *testing.T) {
	const parts = 4
	eachAllocation(t, func(c *mpi.Comm, n int) func() error {
		in, out, other := make([]float64, parts*n), make([]float64, parts*n), 1-c.Rank()
		r, s := mpi.PrecvInit(c, in, parts/2, other, 1), mpi.PsendInit(c, out, parts, other, 1)
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
	})
}
