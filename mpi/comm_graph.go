package mpi

import (
	"errors"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// graphTopology is a graph that all ranks know whole, as one rank sees it. Immutable.
type graphTopology struct {
	index, edges []int // as in GraphCreate
	rank         int
	symmetric    bool // between any two ranks there are as many edges one way as the other
}

func (t *graphTopology) kind() Topology { return Graph }

// of are the neighbours of a rank.
func (t *graphTopology) of(rank int) []int {
	first := 0
	if rank > 0 {
		first = t.index[rank-1]
	}
	return t.edges[first:t.index[rank]:t.index[rank]]
}

var errAsymmetric = errors.New("the graph has edges one way that it lacks the other way: neighbourhood collectives need as many of both, or DistGraphCreate")

// neighbours implements topology: in a graph they are sources and destinations at once.
func (t *graphTopology) neighbours() (coll.Neighbours, error) {
	if !t.symmetric {
		return coll.Neighbours{}, errAsymmetric
	}
	near := t.of(t.rank)
	return coll.Neighbours{Sources: near, Destinations: near}, nil
}

// isSymmetric compares the edges with those the other way.
func (t *graphTopology) isSymmetric() bool {
	type pair struct{ from, to int }
	surplus := make(map[pair]int)
	for r := range t.index {
		for _, n := range t.of(r) {
			surplus[pair{r, n}]++
			surplus[pair{n, r}]--
		}
	}
	for _, n := range surplus {
		if n != 0 {
			return false
		}
	}
	return true
}

// GraphCreate makes a communicator whose ranks are the nodes of a graph that all ranks give whole
// (MPI 4.1, section 8.5.3): the neighbours of rank r are edges[index[r-1]:index[r]], with 0 for
// index[-1]. Repeated edges and edges to oneself are allowed. Ranks of c beyond the number of
// nodes, len(index), get nil; all do if that is 0.
//
// With reorder, ranks may get other numbers than in c, if fewer edges then go between hosts, or as
// many and fewer between what is near inside them, as for CartCreate.
//
// The graph need not be symmetric, but neighbourhood collectives on it need as many edges from a to
// b as from b to a. For large graphs use DistGraphCreateAdjacent, where no rank needs to know the
// whole.
//
// An index that falls, or does not end at len(edges), and more nodes than c has ranks, are errors
// of class [ErrTopology]; edges to ranks outside the graph have class [ErrRank]. Collective: it
// waits for all ranks of c.
func (c *Comm) GraphCreate(index, edges []int, reorder bool) (newcomm *Comm, err error) {
	defer c.begin("GraphCreate").endMade(&newcomm, &err)
	const op = "GraphCreate"
	if err := c.checkGraph(op, index, edges); err != nil {
		return nil, c.fail(err)
	}
	id, err := c.newContext(op)
	if err != nil || len(index) == 0 {
		return nil, err
	}
	t := graphTopology{index: slices.Clone(index), edges: slices.Clone(edges)}
	t.symmetric = t.isSymmetric()
	return c.arrange("+graph", id, c.placeGraph(&t, reorder), func(r int) topology {
		t.rank = r
		return &t
	}), nil
}

// GraphMap is the rank that this rank would have in the communicator of GraphCreate with these
// arguments and reorder, or [Undefined] if it would have none (MPI 4.1, section 8.5.8). Local.
func (c *Comm) GraphMap(index, edges []int) (rank int, err error) {
	defer c.begin("GraphMap").endAt(&err)
	if err := c.checkGraph("GraphMap", index, edges); err != nil {
		return Undefined, c.fail(err)
	}
	return c.placeOf(c.placeGraph(&graphTopology{index: index, edges: edges}, true)), nil
}

func (c *Comm) checkGraph(op string, index, edges []int) *Error {
	if err := c.checkTopology(op); err != nil {
		return err
	}
	if len(index) > c.Size() {
		return opErrorf(ErrTopology, op, "a graph of %d nodes for a communicator of %d ranks", len(index), c.Size())
	}
	last := 0
	for r, i := range index {
		if i < last {
			return opErrorf(ErrTopology, op, "index[%d] is %d, after %d: it counts the edges of all ranks up to there, so it cannot fall", r, i, last)
		}
		last = i
	}
	if last != len(edges) {
		return opErrorf(ErrTopology, op, "index ends at %d, but there are %d edges", last, len(edges))
	}
	for i, e := range edges {
		if e < 0 || e >= len(index) {
			return opErrorf(ErrRank, op, "edges[%d] is to rank %d: need 0 to %d", i, e, len(index)-1)
		}
	}
	return nil
}

func (c *Comm) placeGraph(t *graphTopology, reorder bool) []int {
	return c.place(len(t.index), c.levels(reorder), func() *topo.Graph {
		var edges []topo.Edge
		for r := range t.index {
			for _, n := range t.of(r) {
				edges = append(edges, topo.Edge{A: r, B: n, Weight: 1})
			}
		}
		return topo.NewGraph(len(t.index), edges)
	}, nil)
}

// GraphdimsGet is the number of nodes and of edges of a graph communicator (MPI 4.1, section
// 8.5.5). Local.
func (c *Comm) GraphdimsGet() (nodes, edges int, err error) {
	t, bad := topologyOf[*graphTopology](c, "GraphdimsGet", Graph)
	if bad != nil {
		return 0, 0, c.fail(bad)
	}
	return len(t.index), len(t.edges), nil
}

// GraphGet returns the graph of a graph communicator as it was given to GraphCreate, in new slices
// (MPI 4.1, section 8.5.5). Local.
func (c *Comm) GraphGet() (index, edges []int, err error) {
	t, bad := topologyOf[*graphTopology](c, "GraphGet", Graph)
	if bad != nil {
		return nil, nil, c.fail(bad)
	}
	return slices.Clone(t.index), slices.Clone(t.edges), nil
}

// GraphNeighborsCount is the number of neighbours of a rank of a graph communicator (MPI 4.1,
// section 8.5.5). Local.
func (c *Comm) GraphNeighborsCount(rank int) (int, error) {
	near, err := c.graphNeighbors("GraphNeighborsCount", rank)
	if err != nil {
		return 0, c.fail(err)
	}
	return len(near), nil
}

// GraphNeighbors are the neighbours of a rank of a graph communicator, in the order of GraphCreate,
// in a new slice (MPI 4.1, section 8.5.5). Local.
func (c *Comm) GraphNeighbors(rank int) ([]int, error) {
	near, err := c.graphNeighbors("GraphNeighbors", rank)
	if err != nil {
		return nil, c.fail(err)
	}
	return slices.Clone(near), nil
}

func (c *Comm) graphNeighbors(op string, rank int) ([]int, *Error) {
	t, err := topologyOf[*graphTopology](c, op, Graph)
	if err == nil {
		err = c.checkMember(op, rank)
	}
	if err != nil {
		return nil, err
	}
	return t.of(rank), nil
}
