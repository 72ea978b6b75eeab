//go:build linux

package mpi

// topology is how the ranks of a communicator are arranged (MPI 4.1, chapter 8). Immutable.
type topology interface {
	// neighbours lists the ranks that this rank receives from and sends to in neighbourhood
	// collectives, in their order, ProcNull included.
	neighbours() (sources, destinations []int)
}
