package mpi

import (
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Weights of a distributed graph. That an edge has no weight is said for all edges of the graph, at
// all ranks.
var (
	// Unweighted in place of weights says that the edges have none. It is nil.
	Unweighted []int
	// WeightsEmpty is for a rank that has no edges in a graph whose edges have weights. A rank
	// without edges may give Unweighted as well.
	WeightsEmpty = []int{}
)

// distGraph is a distributed graph as one rank sees it. Immutable.
type distGraph struct {
	nodeEdges
	weighted bool // else all weights are 1, and were not given
}

// nodeEdges are the edges of one node.
type nodeEdges struct{ sources, sourceWeights, destinations, destWeights []int }

func (t *distGraph) kind() Topology { return DistGraph }

func (t *distGraph) neighbours() (coll.Neighbours, error) {
	return coll.Neighbours{Sources: t.sources, Destinations: t.destinations}, nil
}

// DistGraphCreateAdjacent makes a communicator of the ranks of c. A graph says which of them have
// to do with which (MPI 4.1, section 8.5.4). Each rank gives the edges that it is an end of: it
// receives from sources, and sends to destinations. sourceWeights and destWeights, not negative,
// say how much goes over each of these edges; [Unweighted] if the edges have no weights. Edges may
// be repeated, and may lead from a rank to itself.
//
// Every edge must be given at both its ends, as often at one as at the other. This is checked, by a
// sum that all but certainly differs if it is not so: the error then has class [ErrTopology], at
// all ranks.
//
// reorder must be the same at all ranks. With it, ranks may get other numbers than in c, if less
// weight then goes between hosts, or as much and less between what is near inside them, as for
// CartCreate. A rank takes over the edges that were given for its new number. Every rank then
// learns the whole graph for a moment. (The standard's argument info has no use here.)
//
// Arguments that are wrong at one rank are errors at all. Collective: it waits for all ranks of c.
func (c *Comm) DistGraphCreateAdjacent(sources, sourceWeights, destinations, destWeights []int, reorder bool) (newcomm *Comm, err error) {
	defer c.begin("DistGraphCreateAdjacent").endMade(&newcomm, &err)
	const op = "DistGraphCreateAdjacent"
	if err := c.checkTopology(op); err != nil {
		return nil, c.fail(err)
	}
	bad := c.checkEdges(op, "sources", sources, sourceWeights)
	if bad == nil {
		bad = c.checkEdges(op, "destinations", destinations, destWeights)
	}
	mine := agreementOn(reorder, bad)
	mine.countWeights(len(sources), sourceWeights)
	mine.countWeights(len(destinations), destWeights)
	mine.Edges = edgeSum(c.rank, sources, destinations)
	sum, err := c.agree(op, mine, bad)
	if err != nil {
		return nil, err
	}
	edges := nodeEdges{slices.Clone(sources), orOnes(sourceWeights, len(sources)), slices.Clone(destinations), orOnes(destWeights, len(destinations))}
	return c.newDistGraph(op, sum, edges, reorder)
}

// DistGraphCreate is DistGraphCreateAdjacent of edges that any rank may give (MPI 4.1, section
// 8.5.4). They go from sources[i] to each of the next degrees[i] of destinations, with the weights
// of the same places; [Unweighted] if the edges have none. A rank may give no edges. Several ranks
// may give an edge between the same two ranks: then there are that many.
//
// The neighbours of a rank are in the order of the ranks that gave the edges, then in the order in
// which they gave them.
func (c *Comm) DistGraphCreate(sources, degrees, destinations, weights []int, reorder bool) (newcomm *Comm, err error) {
	defer c.begin("DistGraphCreate").endMade(&newcomm, &err)
	const op = "DistGraphCreate"
	if err := c.checkTopology(op); err != nil {
		return nil, c.fail(err)
	}
	bad := c.checkGiven(op, sources, degrees, destinations, weights)
	mine := agreementOn(reorder, bad)
	mine.countWeights(len(destinations), weights)
	sum, err := c.agree(op, mine, bad)
	if err != nil {
		return nil, err
	}
	edges, err := c.spread(op, sources, degrees, destinations, orOnes(weights, len(destinations)))
	if err != nil {
		return nil, err
	}
	return c.newDistGraph(op, sum, edges, reorder)
}

// checkEdges checks one of a rank's lists of neighbours.
func (c *Comm) checkEdges(op, what string, ranks, weights []int) *Error {
	if weights != nil && len(weights) != len(ranks) {
		return opErrorf(ErrArg, op, "%d weights for %d %s: give as many, or Unweighted", len(weights), len(ranks), what)
	}
	for i, r := range ranks {
		if r < 0 || r >= c.Size() {
			return opErrorf(ErrRank, op, "%s[%d] is rank %d: need 0 to %d", what, i, r, c.Size()-1)
		}
	}
	for i, w := range weights {
		if w < 0 {
			return opErrorf(ErrArg, op, "the weight of %s[%d] is %d: need 0 or more", what, i, w)
		}
	}
	return nil
}

// checkGiven checks the edges that a rank gives to DistGraphCreate.
func (c *Comm) checkGiven(op string, sources, degrees, destinations, weights []int) *Error {
	if err := c.checkEdges(op, "sources", sources, nil); err != nil {
		return err
	}
	if len(degrees) != len(sources) {
		return opErrorf(ErrArg, op, "%d degrees for %d sources", len(degrees), len(sources))
	}
	sum := 0
	for i, d := range degrees {
		if d < 0 || d > math.MaxInt-sum {
			return opErrorf(ErrArg, op, "degrees[%d] is %d: need 0 or more, all together the number of destinations", i, d)
		}
		sum += d
	}
	if sum != len(destinations) {
		return opErrorf(ErrArg, op, "the degrees add up to %d, but there are %d destinations", sum, len(destinations))
	}
	return c.checkEdges(op, "destinations", destinations, weights)
}

// orOnes is a copy of weights, or n ones if there are none.
func orOnes(weights []int, n int) []int {
	if weights == nil {
		return slices.Repeat([]int{1}, n)
	}
	return slices.Clone(weights)
}

// DistGraphNeighborsCount is the number of sources and of destinations of this rank in a
// distributed graph, and whether the edges have weights (MPI 4.1, section 8.5.5). Local.
func (c *Comm) DistGraphNeighborsCount() (sources, destinations int, weighted bool, err error) {
	t, bad := topologyOf[*distGraph](c, "DistGraphNeighborsCount", DistGraph)
	if bad != nil {
		return 0, 0, false, c.fail(bad)
	}
	return len(t.sources), len(t.destinations), t.weighted, nil
}

// DistGraphNeighbors are the sources and destinations of this rank in a distributed graph, with the
// weights of their edges, in new slices (MPI 4.1, section 8.5.5). Weights are [Unweighted] if the
// edges have none. The order is always the same, and that of the blocks of neighbourhood
// collectives. Local.
func (c *Comm) DistGraphNeighbors() (sources, sourceWeights, destinations, destWeights []int, err error) {
	t, bad := topologyOf[*distGraph](c, "DistGraphNeighbors", DistGraph)
	if bad != nil {
		return nil, nil, nil, nil, c.fail(bad)
	}
	sources, destinations = slices.Clone(t.sources), slices.Clone(t.destinations)
	if !t.weighted {
		return sources, Unweighted, destinations, Unweighted, nil
	}
	// Weights that are empty are not nil: nil says that there are none.
	return sources, append([]int{}, t.sourceWeights...), destinations, append([]int{}, t.destWeights...), nil
}
