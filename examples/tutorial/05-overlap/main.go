// Command 05-overlap: long messages travel while the ranks compute.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

const length = 1 << 19 // of a block, in float64: 4 MiB

func main() {
	steps := flag.Int("steps", 20, "how far each block goes")
	flag.Parse()
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error { return run(world, *steps) })
}

func run(world *mpi.Comm, steps int) error {
	rank, size := world.Rank(), world.Size()
	right, left := (rank+1)%size, (rank+size-1)%size
	mine, next := make([]float64, length), make([]float64, length)
	for i := range mine {
		mine[i] = float64(rank)
	}
	var computed, waited time.Duration
	sum := 0.0
	for range steps {
		in := mpi.Irecv(world, next, left, 0)
		out := mpi.Isend(world, mine, right, 0) // both return at once
		began := time.Now()
		for _, x := range mine { // to read what is being sent is allowed, to write is not
			sum += math.Exp(-x)
		}
		computed += time.Since(began)
		began = time.Now()
		if _, err := mpi.WaitAll(in, out); err != nil { // what remains to be waited for
			return err
		}
		waited += time.Since(began)
		mine, next = next, mine
	}
	total, err := mpi.ReduceValue(world, sum, mpi.Sum, 0)
	if err == nil && rank == 0 {
		fmt.Printf("the sum is %.6g\n", total)
		fmt.Printf("rank 0 computed for %.2f s and waited for %.2f s\n", computed.Seconds(), waited.Seconds())
	}
	return err
}
