package main

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// newGrid arranges all ranks in a grid of blocks of the world.
func newGrid(world *mpi.Comm, o options) (*mpi.Comm, error) {
	dims, err := mpi.DimsCreate(world.Size(), make([]int, 2))
	if err != nil {
		return nil, err
	}
	if o.width > o.height { // the larger number of blocks comes first, and belongs to the longer side
		dims[0], dims[1] = dims[1], dims[0]
	}
	if dims[0] > o.height || dims[1] > o.width {
		return nil, fmt.Errorf("life: %d rows and %d columns cannot be cut into %d by %d blocks: choose a larger world, or fewer ranks",
			o.height, o.width, dims[0], dims[1])
	}
	return world.CartCreate(dims, []bool{!o.bounded, !o.bounded}, true)
}

// part is where the i-th of n parts of a length begins.
func part(length, i, n int) int { return length * i / n }

// area is where a block is in the world.
type area struct{ x, y, cols, rows int }

// areaOf is the area of a rank of grid.
func areaOf(grid *mpi.Comm, rank int, o options) (area, error) {
	dims, _, _, err := grid.CartGet()
	if err != nil {
		return area{}, err
	}
	at, err := grid.CartCoords(rank)
	if err != nil {
		return area{}, err
	}
	a := area{y: part(o.height, at[0], dims[0]), x: part(o.width, at[1], dims[1])}
	a.rows, a.cols = part(o.height, at[0]+1, dims[0])-a.y, part(o.width, at[1]+1, dims[1])-a.x
	return a, nil
}
