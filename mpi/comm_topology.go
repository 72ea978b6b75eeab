package mpi

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// Topology is the kind of a communicator's process topology (MPI 4.1, section 8.5.5); [Undefined]
// if it has none.
//
// A topology belongs to a communicator: CartCreate, GraphCreate, DistGraphCreate and
// DistGraphCreateAdjacent make one that has it, and what one asks about it are methods of [Comm].
// There is no type for each kind, so that such a communicator goes where any other does, and keeps
// its topology through Dup and WithContext. A method that needs another topology fails with
// [ErrTopology].
type Topology int

// The kinds of topologies.
const (
	Cart      Topology = iota + 1 // a grid: CartCreate
	Graph                         // a graph that all ranks know: GraphCreate
	DistGraph                     // a graph of which each rank knows its neighbours: DistGraphCreate, DistGraphCreateAdjacent
)

// String describes the kind in a few words.
func (t Topology) String() string {
	switch t {
	case Cart:
		return "a Cartesian topology"
	case Graph:
		return "a graph topology"
	case DistGraph:
		return "a distributed graph topology"
	case Undefined:
		return "no topology"
	default:
		return fmt.Sprintf("topology %d", int(t))
	}
}

// topology is how the ranks of a communicator are arranged (MPI 4.1, chapter 8). Immutable.
type topology interface {
	kind() Topology

	// neighbours lists the ranks that this rank receives from and sends to in
	// neighbourhood collectives, in their order, ProcNull included.
	neighbours() (coll.Neighbours, error)
}

// TopoTest says which topology c has (MPI 4.1, section 8.5.5).
func (c *Comm) TopoTest() Topology {
	if c.topo == nil {
		return Undefined
	}
	return c.topo.kind()
}

// topologyOf is the topology of c, which must be a V; kind is that of V, for messages.
func topologyOf[V topology](c *Comm, op string, kind Topology) (V, *Error) {
	var none V
	if err := c.present(op); err != nil {
		return none, err
	}
	t, ok := c.topo.(V)
	if !ok {
		return none, opErrorf(ErrTopology, op, "the communicator has %v, this needs %v", c.TopoTest(), kind)
	}
	return t, nil
}

// checkTopology is the check that making a topology starts with.
func (c *Comm) checkTopology(op string) *Error {
	if err := c.present(op); err != nil {
		return err
	}
	if c.inner != nil {
		return opErrorf(ErrComm, op, "the communicator is an intercommunicator: a topology is of one group, take an intracommunicator")
	}
	return nil
}

// levels are those by which the ranks of c are near each other, if they may be reordered; nil if
// they may not, or if it makes no difference. All ranks get the same without communication.
func (c *Comm) levels(reorder bool) [][]int {
	if !reorder {
		return nil
	}
	return c.job.levelsAmong(c.peers)
}

// place chooses the ranks of c for the places of a topology: the rank for each place. g makes the
// graph of the places, and orders, which may be nil, orders of them that topo.Place may try.
// Without levels every rank has the place of its number. All ranks get the same without
// communication.
func (c *Comm) place(size int, levels [][]int, g func() *topo.Graph, orders func(levels [][]int) [][]int) []int {
	if levels == nil {
		ranks := make([]int, size)
		for r := range ranks {
			ranks[r] = r
		}
		return ranks
	}
	var tried [][]int
	if orders != nil {
		tried = orders(levels)
	}
	return topo.Place(g(), levels, tried...)
}

// placeOf is the place of this rank among those that place has chosen, or Undefined.
func (c *Comm) placeOf(ranks []int) int {
	if at := slices.Index(ranks, c.rank); at >= 0 {
		return at
	}
	return Undefined
}

// arrange makes the communicator of the ranks that place has chosen, in the context that rank 0 of
// c leads; nil at the other ranks. topo gives the topology as rank r of it sees it.
func (c *Comm) arrange(suffix string, id engine.ContextID, ranks []int, topo func(r int) topology) *Comm {
	rank := c.placeOf(ranks)
	if rank == Undefined {
		return nil
	}
	peers := make([]engine.PeerID, len(ranks))
	for i, r := range ranks {
		peers[i] = c.peers[r]
	}
	n := c.derive(c.Name()+suffix, rank, peers, id)
	n.topo = topo(rank)
	return n
}

// newContext is a context that all ranks of c agree on. Collective.
func (c *Comm) newContext(op string) (engine.ContextID, error) {
	id := []uint64{0}
	if c.rank == 0 {
		id[0] = uint64(c.job.leadContext())
	}
	err := done(ibcast(c, op, id, 0))
	return engine.ContextID(id[0]), err
}

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
