package mpitest_test

import (
	"context"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
	"github.com/fitmpi/fitmpi/mpi/mpitest"
)

// A test of a function that all ranks call. What one finds wrong ends the test for all.
func ExampleRun() {
	var t *testing.T // which the test function is given

	mpitest.Run(t, 4, func(ctx context.Context, world *mpi.Comm) error {
		sum := []int{0}
		if err := mpi.Allreduce(world, []int{world.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if sum[0] != 6 {
			t.Fatalf("the sum is %d, want 6", sum[0])
		}
		return nil
	})
}
