package main

import (
	"fmt"
	"os"

	"github.com/fitmpi/fitmpi/mpi"
)

// readMatrix reads a file on rank 0 and deals out the rows.
func readMatrix(world *mpi.Comm, name string) (csr, error) {
	var whole csr
	if world.Rank() == 0 {
		var err error
		if whole, err = readFile(name); err != nil {
			return csr{}, fmt.Errorf("cg: -matrix %s: %w", name, err)
		}
	}
	return deal(world, whole)
}

func readFile(name string) (csr, error) {
	f, err := os.Open(name)
	if err != nil {
		return csr{}, err
	}
	defer f.Close()
	a, err := parseMatrixMarket(f)
	if err == nil {
		err = a.checkSymmetric()
	}
	return a, err
}

// deal gives each rank its rows of the matrix that rank 0 has.
func deal(world *mpi.Comm, whole csr) (csr, error) {
	size := []int{whole.size}
	if err := mpi.Bcast(world, size, 0); err != nil {
		return csr{}, err
	}
	ptr := whole.ptr
	if world.Rank() != 0 {
		ptr = make([]int, size[0]+1)
	}
	if err := mpi.Bcast(world, ptr, 0); err != nil {
		return csr{}, err
	}
	counts := make([]int, world.Size()) // entries of each rank
	for r := range counts {
		counts[r] = ptr[firstRow(r+1, len(counts), size[0])] - ptr[firstRow(r, len(counts), size[0])]
	}
	me := world.Rank()
	from, to := firstRow(me, len(counts), size[0]), firstRow(me+1, len(counts), size[0])
	a := csr{
		size: size[0], first: from, ptr: make([]int, to-from+1),
		col: make([]int32, counts[me]), val: make([]float64, counts[me]),
	}
	for r := range a.ptr {
		a.ptr[r] = ptr[from+r] - ptr[from]
	}
	if err := mpi.Scatterv(world, whole.col, counts, nil, a.col, 0); err != nil {
		return csr{}, err
	}
	return a, mpi.Scatterv(world, whole.val, counts, nil, a.val, 0)
}
