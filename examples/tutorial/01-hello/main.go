// Command 01-hello: every rank says its number.
package main

import (
	"context"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		fmt.Printf("rank %d of %d\n", world.Rank(), world.Size())
		return nil
	})
}
