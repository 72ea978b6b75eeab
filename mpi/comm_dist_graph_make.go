package mpi

import (
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// How ranks that each know a part of a graph make a communicator of it.

// agreement is what each rank says before a distributed graph is made, and the sum of that over all
// ranks.
type agreement struct {
	Context            uint64 // of the new communicator: from rank 0
	Edges              uint64 // of the edges out of a rank, less those into it: 0 in sum if each is given at both ends
	Weighted, Plain    uint64 // ranks that gave weights, and edges without
	Reorder, WrongArgs uint64 // ranks that said so
}

func addAgreements(acc, in []agreement) {
	for i, x := range in {
		a := &acc[i]
		a.Context += x.Context
		a.Edges += x.Edges
		a.Weighted += x.Weighted
		a.Plain += x.Plain
		a.Reorder += x.Reorder
		a.WrongArgs += x.WrongArgs
	}
}

func agreementOn(reorder bool, bad *Error) (a agreement) {
	if reorder {
		a.Reorder = 1
	}
	if bad != nil {
		a.WrongArgs = 1
	}
	return a
}

// countWeights notes whether a list of n edges has weights.
func (a *agreement) countWeights(n int, weights []int) {
	switch {
	case weights != nil:
		a.Weighted = 1
	case n > 0:
		a.Plain = 1
	}
}

// edgeSum adds up the edges from rank, and takes away those to it: as sums of mixed numbers, so
// that an edge is made up for by the same one only.
func edgeSum(rank int, sources, destinations []int) (sum uint64) {
	for _, d := range destinations {
		sum += mixEdge(rank, d)
	}
	for _, s := range sources {
		sum -= mixEdge(s, rank)
	}
	return sum
}

// mixEdge is a number that looks random (the finaliser of splitmix64).
func mixEdge(from, to int) uint64 {
	x := uint64(from)<<32 + uint64(to) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// agree adds up what all ranks say, and makes an error at all of them what is one at any.
func (c *Comm) agree(op string, mine agreement, bad *Error) (agreement, error) {
	if c.rank == 0 {
		mine.Context = uint64(c.job.leadContext())
	}
	sum := []agreement{{}}
	if err := done(iallreduce(c, op, []agreement{mine}, sum, addAgreements)); err != nil {
		return agreement{}, err
	}
	a := sum[0]
	switch {
	case bad != nil:
	case a.WrongArgs > 0:
		bad = opErrorf(ErrArg, op, "%d other ranks gave wrong arguments", a.WrongArgs)
	case a.Weighted > 0 && a.Plain > 0:
		bad = opErrorf(ErrArg, op, "%d ranks gave weights and %d gave edges without: all edges need a weight, or none", a.Weighted, a.Plain)
	case a.Reorder > 0 && a.Reorder < uint64(c.Size()):
		bad = opErrorf(ErrArg, op, "%d of %d ranks want the ranks reordered: all must say the same", a.Reorder, c.Size())
	case a.Edges != 0:
		bad = opErrorf(ErrTopology, op, "sources and destinations do not agree: an edge from a to b must be among the destinations of a "+
			"as often as among the sources of b")
	}
	if bad != nil {
		return agreement{}, c.fail(bad)
	}
	return a, nil
}

// givenEdge is an edge on its way to its ends.
type givenEdge struct{ Source, Destination, Weight int64 }

// spread tells both ends of every edge of it, and returns those that this rank is an end of. The
// edges between two ranks come in the same order at both.
func (c *Comm) spread(op string, sources, degrees, destinations, weights []int) (nodeEdges, error) {
	to, at := make([][]givenEdge, c.Size()), 0
	for i, s := range sources {
		for range degrees[i] {
			d := destinations[at]
			e := givenEdge{int64(s), int64(d), int64(weights[at])}
			at++
			to[s] = append(to[s], e)
			if d != s {
				to[d] = append(to[d], e)
			}
		}
	}
	counts, come := make([]int, c.Size()), make([]int, c.Size())
	for r := range to {
		counts[r] = len(to[r])
	}
	if err := done(ialltoall(c, op, counts, come)); err != nil {
		return nodeEdges{}, err
	}
	total := 0
	for _, n := range come {
		total += n
	}
	mine := make([]givenEdge, total)
	if err := done(ialltoallv(c, op, slices.Concat(to...), counts, nil, mine, come, nil)); err != nil {
		return nodeEdges{}, err
	}
	var n nodeEdges
	for _, e := range mine {
		if int(e.Source) == c.rank {
			n.destinations, n.destWeights = append(n.destinations, int(e.Destination)), append(n.destWeights, int(e.Weight))
		}
		if int(e.Destination) == c.rank {
			n.sources, n.sourceWeights = append(n.sources, int(e.Source)), append(n.sourceWeights, int(e.Weight))
		}
	}
	return n, nil
}

// newDistGraph makes the communicator of a graph of which edges are those of the node of this
// rank's number.
func (c *Comm) newDistGraph(op string, sum agreement, edges nodeEdges, reorder bool) (*Comm, error) {
	nodes, ranks := []nodeEdges(nil), c.place(c.Size(), nil, nil, nil)
	if levels := c.levels(reorder); levels != nil {
		var err error
		if nodes, err = c.gatherNodes(op, edges); err != nil {
			return nil, err
		}
		ranks = c.place(c.Size(), levels, func() *topo.Graph { return graphOf(nodes) }, nil)
	}
	return c.arrange("+graph", engine.ContextID(sum.Context), ranks, func(r int) topology {
		if nodes != nil {
			edges = nodes[r].clone()
		}
		return &distGraph{nodeEdges: edges, weighted: sum.Weighted > 0}
	}), nil
}

// gatherNodes tells every rank the edges of every node.
func (c *Comm) gatherNodes(op string, mine nodeEdges) ([]nodeEdges, error) {
	flat := slices.Concat([]int{len(mine.sources)}, mine.sources, mine.sourceWeights,
		[]int{len(mine.destinations)}, mine.destinations, mine.destWeights)
	counts := make([]int, c.Size())
	if err := done(iallgather(c, op, []int{len(flat)}, counts)); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	all := make([]int, total)
	if err := done(iallgatherv(c, op, flat, all, counts, nil)); err != nil {
		return nil, err
	}
	nodes := make([]nodeEdges, c.Size())
	take := func(n int) []int {
		part := all[:n:n]
		all = all[n:]
		return part
	}
	for r := range nodes {
		n := take(1)[0]
		nodes[r].sources, nodes[r].sourceWeights = take(n), take(n)
		n = take(1)[0]
		nodes[r].destinations, nodes[r].destWeights = take(n), take(n)
	}
	return nodes, nil
}

// clone keeps the edges without the memory of all others.
func (n nodeEdges) clone() nodeEdges {
	return nodeEdges{slices.Clone(n.sources), slices.Clone(n.sourceWeights), slices.Clone(n.destinations), slices.Clone(n.destWeights)}
}

// graphOf is the graph of all nodes for placing them.
func graphOf(nodes []nodeEdges) *topo.Graph {
	var edges []topo.Edge
	for r, n := range nodes {
		for i, d := range n.destinations {
			edges = append(edges, topo.Edge{A: r, B: d, Weight: n.destWeights[i]})
		}
	}
	return topo.NewGraph(len(nodes), edges)
}
