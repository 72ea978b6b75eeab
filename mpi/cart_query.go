//go:build linux

package mpi

import (
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// What one may ask about a Cartesian communicator. All of it is local, and fails with ErrTopology
// if the communicator has no Cartesian topology.

// CartdimGet is the number of dimensions of a Cartesian communicator (MPI 4.1, section 8.5.5).
func (c *Comm) CartdimGet() (int, error) {
	t, err := topologyOf[*cartesian](c, "CartdimGet", Cart)
	if err != nil {
		return 0, c.fail(err)
	}
	return len(t.coords), nil
}

// CartGet returns the dimensions of a Cartesian communicator, which of them are periodic, and the
// coordinates of the caller, in new slices (MPI 4.1, section 8.5.5).
func (c *Comm) CartGet() (dims []int, periods []bool, coords []int, err error) {
	t, bad := topologyOf[*cartesian](c, "CartGet", Cart)
	if bad != nil {
		return nil, nil, nil, c.fail(bad)
	}
	return slices.Clone(t.grid.Dims), slices.Clone(t.grid.Periodic), slices.Clone(t.coords), nil
}

// CartRank is the rank at coords in a Cartesian communicator (MPI 4.1, section 8.5.5). In a
// periodic dimension a coordinate outside the grid is moved into it; in another it is an error of
// class [ErrArg].
func (c *Comm) CartRank(coords []int) (int, error) {
	const op = "CartRank"
	t, err := topologyOf[*cartesian](c, op, Cart)
	if err == nil && len(coords) != len(t.coords) {
		err = opErrorf(ErrDims, op, "%d coordinates for %d dimensions", len(coords), len(t.coords))
	}
	if err != nil {
		return ProcNull, c.fail(err)
	}
	rank := t.grid.Rank(coords)
	if rank == topo.None {
		return ProcNull, c.fail(opErrorf(ErrArg, op, "coordinates %v: they must be at least 0 and below %v, except in the periodic dimensions, %v",
			coords, t.grid.Dims, t.grid.Periodic))
	}
	return rank, nil
}

// CartCoords are the coordinates of a rank of a Cartesian communicator (MPI 4.1, section 8.5.5).
func (c *Comm) CartCoords(rank int) ([]int, error) {
	t, err := topologyOf[*cartesian](c, "CartCoords", Cart)
	if err == nil {
		err = c.checkMember("CartCoords", rank)
	}
	if err != nil {
		return nil, c.fail(err)
	}
	return t.grid.Coords(rank), nil
}

// checkMember says that a rank is not one of c's.
func (c *Comm) checkMember(op string, rank int) *Error {
	if rank < 0 || rank >= c.Size() {
		return opErrorf(ErrRank, op, "rank %d: need 0 to %d", rank, c.Size()-1)
	}
	return nil
}

// CartShift is for a shift along a dimension of a Cartesian communicator: dest is the rank disp
// further than the caller, source the one whose dest is the caller (MPI 4.1, section 8.5.6). Where
// a dimension that is not periodic ends they are [ProcNull], so that both may be given to Sendrecv
// as they are. disp may be negative.
//
// dim is 0 to the number of dimensions less one, else the error has class [ErrDims]; a grid without
// dimensions has none to shift along.
func (c *Comm) CartShift(dim, disp int) (source, dest int, err error) {
	const op = "CartShift"
	t, bad := topologyOf[*cartesian](c, op, Cart)
	if bad == nil && (dim < 0 || dim >= len(t.coords)) {
		bad = opErrorf(ErrDims, op, "dimension %d of a grid of %d dimensions", dim, len(t.coords))
	}
	if bad != nil {
		return ProcNull, ProcNull, c.fail(bad)
	}
	return orProcNull(t.grid.Shift(c.rank, dim, -disp)), orProcNull(t.grid.Shift(c.rank, dim, disp)), nil
}

func orProcNull(rank int) int {
	if rank == topo.None {
		return ProcNull
	}
	return rank
}
