//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/topo"

// DimsCreate divides n ranks among the dimensions of a grid (MPI 4.1, section 8.5.2). Entries of
// dims that are positive are kept, those that are 0 are chosen so that the product is n: as close
// to each other as possible, none larger than the one before. The result is a new slice, for
// CartCreate:
//
//	dims, err := mpi.DimsCreate(world.Size(), make([]int, 2)) // 6 ranks: 3 by 2
//
// It is an error of class [ErrDims] if n is below 1, an entry is negative, or n is no multiple of
// the entries given. Local; the error is returned and no error handler called, for there is no
// communicator.
func DimsCreate(n int, dims []int) ([]int, error) {
	out, err := topo.Dims(n, dims)
	if err != nil {
		return nil, opError(ErrDims, "DimsCreate", err)
	}
	return out, nil
}
