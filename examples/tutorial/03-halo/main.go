// Command 03-halo: heat flows along a rod that the ranks share.
package main

import (
	"context"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

const (
	cells = 12 // of the rod
	steps = 1000
)

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) error {
	rank, size := world.Rank(), world.Size()
	if cells%size != 0 {
		return fmt.Errorf("%d ranks cannot share %d cells evenly", size, cells)
	}
	left, right := rank-1, rank+1
	n := cells / size
	rod := make([]float64, n+2) // own cells are rod[1] to rod[n]; the halo is rod[0] and rod[n+1]
	if rank == 0 {
		left, rod[0] = mpi.ProcNull, 100 // the hot end
	}
	if rank == size-1 {
		right = mpi.ProcNull // the cold end stays 0
	}
	next := make([]float64, n+2)
	for range steps {
		_, err := mpi.WaitAll(
			mpi.Irecv(world, rod[:1], left, 0),
			mpi.Irecv(world, rod[n+1:], right, 0),
			mpi.Isend(world, rod[1:2], left, 0),
			mpi.Isend(world, rod[n:n+1], right, 0),
		)
		if err != nil {
			return err
		}
		for i := 1; i <= n; i++ {
			next[i] = (rod[i-1] + rod[i+1]) / 2
		}
		copy(rod[1:n+1], next[1:n+1])
	}
	all := make([]float64, cells) // counts at rank 0 only
	if err := mpi.Gather(world, rod[1:n+1], all, 0); err != nil {
		return err
	}
	if rank == 0 {
		fmt.Printf("%.1f\n", all)
	}
	return nil
}
