package mpi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fitmpi/fitmpi/mpi"
)

// Each rank puts its number to its right neighbour's window, between two fences.
func ExamplePut() {
	err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
		w, mem, err := mpi.WinAllocate[int](world, 1, nil)
		if err != nil {
			return err
		}
		if err := w.Fence(0); err != nil {
			return err
		}
		if err := mpi.Put(w, []int{world.Rank()}, (world.Rank()+1)%world.Size(), 0); err != nil {
			return err
		}
		if err := w.Fence(mpi.NoSucceed); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("put to rank 0:", mem[0])
		}
		return w.Free()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// put to rank 0: 2
}

// Ranks draw tickets from a counter at rank 0, which need not take part.
func ExampleFetchAndOp() {
	err := mpi.RunThreads(4, func(_ context.Context, world *mpi.Comm) error {
		w, _, err := mpi.WinAllocate[int64](world, 1, nil)
		if err != nil {
			return err
		}
		if err := w.Lock(mpi.LockShared, 0, 0); err != nil {
			return err
		}
		var ticket int64
		if err := mpi.FetchAndOp(w, 1, &ticket, 0, 0, mpi.Sum); err != nil {
			return err
		}
		if err := w.Unlock(0); err != nil {
			return err
		}
		sum := make([]int64, 1)
		if err := mpi.Allreduce(world, []int64{ticket}, sum, mpi.Sum); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("all tickets together:", sum[0])
		}
		return w.Free()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// all tickets together: 6
}
