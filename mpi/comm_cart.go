package mpi

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// cartesian is a Cartesian topology as one rank sees it. Immutable.
type cartesian struct {
	grid   topo.Grid
	coords []int // of this rank
	near   coll.Neighbours
}

func newCartesian(grid topo.Grid, rank int) *cartesian {
	near := grid.Neighbours(rank)
	arrival := make([]int, len(near))
	for i, r := range near {
		if r == topo.None {
			near[i] = ProcNull
		}
		// A rank's neighbour at -1 has that rank at +1, and sends to it by the second of its
		// destinations in the dimension. In a periodic dimension of size 1 or 2 both neighbours are
		// one rank, and this decides which message is for which block. What is sent from block 2d
		// arrives in block 2d+1 and the other way round (MPI 4.1, section 8.6, example 8.10).
		arrival[i] = i ^ 1
	}
	return &cartesian{grid: grid, coords: grid.Coords(rank), near: coll.Neighbours{Sources: near, Destinations: near, Arrival: arrival}}
}

func (t *cartesian) kind() Topology { return Cart }

func (t *cartesian) neighbours() (coll.Neighbours, error) { return t.near, nil }

// CartCreate makes a communicator whose ranks are arranged in a grid of dims[0] x dims[1] x ...
// places (MPI 4.1, section 8.5.1). Ranks run row by row: the last coordinate fastest. periods says
// of each dimension whether its ends are neighbours; nil: of none. Ranks of c beyond the size of
// the grid get nil. A grid without dimensions has one place.
//
// With reorder, ranks may get other numbers than in c, so that neighbours are near each other. The
// ranks of one host are put into a block of the grid, if fewer neighbours are then on different
// hosts than in the order of c. Inside that block, ranks that share memory are put together in the
// same way. Next come those whose processes are bound to one package, NUMA node, third-level cache
// and core (as fitrun --bind-to core does), and last the threads of one process. What a process is
// bound to counts as it was when the job began. Without reorder, or where every order is as good,
// ranks keep the order of c.
//
// All ranks of c give the same arguments. Dimensions that are not positive, or a grid of more
// places than c has ranks, are errors of class [ErrDims]. Collective: it waits for all ranks of c.
func (c *Comm) CartCreate(dims []int, periods []bool, reorder bool) (newcomm *Comm, err error) {
	defer c.begin("CartCreate").endMade(&newcomm, &err)
	const op = "CartCreate"
	grid, bad := c.newGrid(op, dims, periods)
	if bad != nil {
		return nil, c.fail(bad)
	}
	id, err := c.newContext(op)
	if err != nil {
		return nil, err
	}
	return c.arrange("+cart", id, c.placeGrid(grid, reorder), func(r int) topology { return newCartesian(grid, r) }), nil
}

// CartMap is the rank that this rank would have in the communicator of CartCreate with these
// arguments and reorder, or [Undefined] if it would have none (MPI 4.1, section 8.5.8). Local.
func (c *Comm) CartMap(dims []int, periods []bool) (rank int, err error) {
	defer c.begin("CartMap").endAt(&err)
	grid, opErr := c.newGrid("CartMap", dims, periods)
	if opErr != nil {
		return Undefined, c.fail(opErr)
	}
	return c.placeOf(c.placeGrid(grid, true)), nil
}

// newGrid checks the description of a grid over ranks of c.
func (c *Comm) newGrid(op string, dims []int, periods []bool) (topo.Grid, *Error) {
	if err := c.checkTopology(op); err != nil {
		return topo.Grid{}, err
	}
	if periods == nil {
		periods = make([]bool, len(dims))
	}
	if len(periods) != len(dims) {
		return topo.Grid{}, opErrorf(ErrDims, op, "%d dimensions, but %d say whether they are periodic: give as many, or nil for none", len(dims), len(periods))
	}
	for i, d := range dims {
		if d < 1 {
			return topo.Grid{}, opErrorf(ErrDims, op, "dimension %d is %d: need 1 or more; DimsCreate chooses dimensions", i, d)
		}
	}
	grid := topo.Grid{Dims: slices.Clone(dims), Periodic: slices.Clone(periods)}
	if !grid.Fits(c.Size()) {
		return topo.Grid{}, opErrorf(ErrDims, op, "a grid of dimensions %v has more places than the communicator has ranks, %d", dims, c.Size())
	}
	return grid, nil
}

func (c *Comm) placeGrid(grid topo.Grid, reorder bool) []int {
	return c.place(grid.Size(), c.levels(reorder), grid.Graph, grid.Orders)
}

// CartSub divides a Cartesian communicator into grids of the dimensions for which remain is true:
// each has the ranks that agree in the other coordinates (MPI 4.1, section 8.5.7). The caller gets
// the one that it belongs to. If no dimension remains, that is a grid without dimensions, of the
// caller alone.
//
// All ranks give the same remain, which has an entry for each dimension (else [ErrDims]).
// Collective: it waits for all ranks of c.
func (c *Comm) CartSub(remain []bool) (newcomm *Comm, err error) {
	defer c.begin("CartSub").endMade(&newcomm, &err)
	t, bad := topologyOf[*cartesian](c, "CartSub", Cart)
	if bad == nil && len(remain) != len(t.coords) {
		bad = opErrorf(ErrDims, "CartSub", "remain has %d entries for %d dimensions", len(remain), len(t.coords))
	}
	if bad != nil {
		return nil, c.fail(bad)
	}
	dropped := make([]bool, len(remain))
	var in, out []int // the caller's coordinates in its new grid, and of that grid
	for i, r := range remain {
		dropped[i] = !r
		if r {
			in = append(in, t.coords[i])
		} else {
			out = append(out, t.coords[i])
		}
	}
	grid := t.grid.Keep(remain)
	color := t.grid.Keep(dropped).Rank(out)
	n, err := c.split("CartSub", fmt.Sprintf("%s/%d", c.Name(), color), color, grid.Rank(in))
	if err != nil {
		return nil, err
	}
	n.topo = newCartesian(grid, n.rank)
	return n, nil
}

// What one may ask about a Cartesian communicator. All of it is local, and fails with ErrTopology
// if the communicator has no Cartesian topology.

// CartdimGet is the number of dimensions of a Cartesian communicator (MPI 4.1, section 8.5.5). A
// communicator without a grid is an error of class [ErrTopology]. Local.
func (c *Comm) CartdimGet() (int, error) {
	t, err := topologyOf[*cartesian](c, "CartdimGet", Cart)
	if err != nil {
		return 0, c.fail(err)
	}
	return len(t.coords), nil
}

// CartGet returns the dimensions of a Cartesian communicator, which of them are periodic, and the
// coordinates of the caller, in new slices (MPI 4.1, section 8.5.5). Local.
func (c *Comm) CartGet() (dims []int, periods []bool, coords []int, err error) {
	t, bad := topologyOf[*cartesian](c, "CartGet", Cart)
	if bad != nil {
		return nil, nil, nil, c.fail(bad)
	}
	return slices.Clone(t.grid.Dims), slices.Clone(t.grid.Periodic), slices.Clone(t.coords), nil
}

// CartRank is the rank at coords in a Cartesian communicator (MPI 4.1, section 8.5.5). In a
// periodic dimension a coordinate outside the grid is moved into it; in another it is an error of
// class [ErrArg]. coords has an entry for each dimension, else the error is of class [ErrDims].
// Local.
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

// CartCoords are the coordinates of a rank of a Cartesian communicator, in a new slice (MPI 4.1,
// section 8.5.5). A number that is no rank is an error of class [ErrRank]. Local.
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
// dimensions has none to shift along. Local.
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
