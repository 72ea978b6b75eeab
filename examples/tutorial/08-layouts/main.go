// Command 08-layouts: a column and a block of a matrix are sent without being copied out of it.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

const rows, cols = 4, 6

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) error {
	if world.Size() != 2 {
		return errors.New("this is for 2 ranks: fitrun -n 2")
	}
	number := mpi.TypeOf[float64]()
	column := mpi.Vector(rows, 1, cols, number) // of each row 1 number, the next one a row further
	block := mpi.Subarray([]int{rows, cols}, []int{2, 3}, []int{1, 2}, mpi.OrderC, number)
	if world.Rank() == 0 {
		matrix := make([]float64, rows*cols)
		for i := range matrix {
			matrix[i] = float64(10*(i/cols) + i%cols) // 23 is in row 2, column 3
		}
		if err := mpi.Send(world.WithType(column), matrix[3:], 1, 0); err != nil { // from column 3 on
			return err
		}
		return mpi.Send(world.WithType(block), matrix, 1, 0)
	}
	numbers := make([]float64, rows)
	if _, err := mpi.Recv(world, numbers, 0, 0); err != nil { // to one piece of memory
		return err
	}
	fmt.Println("column 3:", numbers)
	matrix := make([]float64, rows*cols)
	if _, err := mpi.Recv(world.WithType(block), matrix, 0, 0); err != nil { // to the same place
		return err
	}
	for r := range rows {
		fmt.Printf("%3.0f\n", matrix[r*cols:(r+1)*cols])
	}
	return nil
}
