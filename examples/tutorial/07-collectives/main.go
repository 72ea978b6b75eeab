// Command 07-collectives: calls that all ranks make together.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) error {
	rank := world.Rank()
	sizes := []int{0, 0} // least and most that a rank has
	if rank == 0 {
		sizes = []int{3, 5}
	}
	if err := mpi.Bcast(world, sizes, 0); err != nil { // now all have rank 0's
		return err
	}
	n := sizes[0] + rank%(sizes[1]-sizes[0]+1) // this rank's numbers
	all, err := mpi.AllreduceValue(world, n, mpi.Sum)
	if err != nil {
		return err
	}
	first, err := mpi.ExscanValue(world, n, mpi.Sum) // of the ranks before this one; 0 at rank 0
	if err != nil {
		return err
	}
	longest := func(x, y string) string { // any function of two values is an operation
		if len(y) > len(x) {
			return y
		}
		return x
	}
	bar, err := mpi.AllreduceValue(world, strings.Repeat("*", n), mpi.OpOf(longest))
	if err != nil {
		return err
	}
	lines, err := mpi.GatherValue(world, fmt.Sprintf("rank %d has %d to %d of %d", rank, first, first+n-1, all), 0)
	for _, line := range lines {
		fmt.Println(line)
	}
	if rank == 0 {
		fmt.Printf("the longest bar is %s\n", bar)
	}
	return err
}
