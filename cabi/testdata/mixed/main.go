// Command mixed is the rank in Go of a job whose other rank is testdata/mixed.c.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() { mpi.Main(run) }

func run(_ context.Context, world *mpi.Comm) error {
	other := 1 - world.Rank()
	in := make([]int32, 3)
	if _, err := mpi.Recv(world, in, other, 0); err != nil {
		return err
	}
	if !slices.Equal(in, []int32{1, 2, 3}) {
		return fmt.Errorf("received %v", in)
	}
	if err := mpi.Send(world, []float64{1.5, 2.5}, other, 0); err != nil {
		return err
	}
	if err := mpi.Send(world, []int32{4, 5, 6}, other, 1); err != nil {
		return err
	}
	sum := make([]int32, 1)
	if err := mpi.Allreduce(world, []int32{1}, sum, mpi.Sum[int32]); err != nil {
		return err
	}
	if sum[0] != 2 {
		return fmt.Errorf("the sum is %d", sum[0])
	}
	if _, err := mpi.Recv(world, in, other, 2); !errors.Is(err, mpi.ErrType) {
		return fmt.Errorf("a double received as int32: %v", err)
	}
	return nil
}
