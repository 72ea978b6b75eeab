// Command 10-failure: a rank dies, and the others go on without it.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

const rounds = 4

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) error {
	c := world
	for round := 0; round < rounds; {
		if world.Rank() == 2 && round == 2 {
			world.Die() // as a crash does
		}
		n, err := mpi.AllreduceValue(c, 1, mpi.Sum[int])
		good := 1
		if errors.Is(err, mpi.ErrProcFailed) {
			good = 0
		} else if err != nil {
			return err
		}
		all, broken := c.Agree(good) // 1 if it was at every rank that lives
		if all == 1 {
			if c.Rank() == 0 {
				fmt.Printf("round %d: %d ranks\n", round, n)
			}
			round++
		}
		if all == 0 || broken != nil {
			if c, err = c.Shrink(); err != nil { // those that live
				return err
			}
		}
	}
	return nil
}
