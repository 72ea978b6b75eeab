// Command 06-deadlock: the workers answer with a tag that rank 0 does not ask for.
package main

import (
	"context"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

const (
	tagWork   = 1
	tagResult = 2
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		if world.Rank() > 0 {
			return worker(world)
		}
		for w := 1; w < world.Size(); w++ {
			if err := mpi.SendValue(world, 10*w, w, tagWork); err != nil {
				return err
			}
		}
		for range world.Size() - 1 {
			square, status, err := mpi.RecvValue[int](world, mpi.AnySource, tagResult)
			if err != nil {
				return err
			}
			fmt.Println(square, "from rank", status.Source)
		}
		return mpi.Barrier(world)
	})
}

func worker(world *mpi.Comm) error {
	n, status, err := mpi.RecvValue[int](world, 0, tagWork)
	if err != nil {
		return err
	}
	if err := mpi.SendValue(world, n*n, 0, status.Tag); err != nil { // the mistake: this is tagWork
		return err
	}
	return mpi.Barrier(world)
}
