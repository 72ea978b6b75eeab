// Command 02-ring: a list of numbers goes once around the ranks, and each adds its own.
package main

import (
	"context"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

const tag = 7

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) error {
	rank, size := world.Rank(), world.Size()
	right, left := (rank+1)%size, (rank+size-1)%size
	if rank == 0 {
		if err := mpi.Send(world, []int{0}, right, tag); err != nil {
			return err
		}
	}
	list, status, err := mpi.RecvNew[int](world, left, tag)
	if err != nil {
		return err
	}
	if rank == 0 {
		fmt.Printf("%v came back from rank %d\n", list, status.Source)
		return nil
	}
	return mpi.Send(world, append(list, rank), right, tag)
}
