package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// ringGraph is a ring of n nodes; each is its own neighbour besides.
func ringGraph(n int) (index, edges []int) {
	for r := range n {
		edges = append(edges, (r+1)%n, r, (r+n-1)%n)
		index = append(index, len(edges))
	}
	return index, edges
}

func graphs(t *T, c *mpi.Comm) {
	for n := 0; n <= c.Size(); n++ {
		index, edges := ringGraph(n)
		g, err := c.GraphCreate(index, edges, false)
		t.must(err)
		want(t, "a communicator is there", g != nil, c.Rank() < n)
		if g == nil {
			continue
		}
		want(t, "kind", g.TopoTest(), mpi.Graph)
		want(t, "rank", g.Rank(), c.Rank())
		nodes, m, err := g.GraphdimsGet()
		t.must(err)
		want(t, "nodes", nodes, n)
		want(t, "edges", m, 3*n)
		i, e, err := g.GraphGet()
		t.must(err)
		wantSlice(t, "index", i, index)
		wantSlice(t, "edges", e, edges)
		clear(i)
		clear(e) // they are the caller's
		for r := range n {
			k, err := g.GraphNeighborsCount(r)
			t.must(err)
			want(t, "neighbours", k, 3)
			near, err := g.GraphNeighbors(r)
			t.must(err)
			wantSlice(t, "neighbours", near, edges[3*r:3*r+3])
		}
	}
}

func graphArguments(t *T, c *mpi.Comm) {
	n := c.Size()
	for _, bad := range []struct {
		index, edges []int
		class        mpi.ErrorClass
		says         string
	}{
		{make([]int, n+1), nil, mpi.ErrTopology, fmt.Sprintf("a graph of %d nodes for a communicator of %d", n+1, n)},
		{[]int{-1}, nil, mpi.ErrTopology, "index[0] is -1"},
		{[]int{2}, []int{0}, mpi.ErrTopology, "index ends at 2, but there are 1 edges"},
		{[]int{1}, []int{1}, mpi.ErrRank, "edges[0] is to rank 1: need 0 to 0"},
		{[]int{1}, []int{mpi.ProcNull}, mpi.ErrRank, "edges[0]"},
	} {
		_, err := c.GraphCreate(bad.index, bad.edges, false)
		wantError(t, "GraphCreate", err, bad.class, bad.says)
		_, err = c.GraphMap(bad.index, bad.edges)
		wantError(t, "GraphMap", err, bad.class, bad.says)
	}
	index, edges := ringGraph(n)
	g, err := c.GraphCreate(index, edges, false)
	t.must(err)
	_, err = g.GraphNeighbors(n)
	wantError(t, "GraphNeighbors", err, mpi.ErrRank, fmt.Sprintf("rank %d", n))
	_, err = g.GraphNeighborsCount(-1)
	wantError(t, "GraphNeighborsCount", err, mpi.ErrRank, "rank -1")
}

// graphEdge is an edge of a random graph, and the rank that gives it.
type graphEdge struct{ from, to, weight, giver int }

// randomGraph is the same at all ranks.
func randomGraph(rng *rand.Rand, n int) []graphEdge {
	edges := make([]graphEdge, rng.IntN(4*n))
	for i := range edges {
		edges[i] = graphEdge{rng.IntN(n), rng.IntN(n), rng.IntN(9), rng.IntN(n)}
	}
	// In the order in which DistGraphCreate has them: by giver, as each gives them.
	slices.SortStableFunc(edges, func(a, b graphEdge) int { return a.giver - b.giver })
	return edges
}

// listsOf are the neighbours of a rank, with weights, in the order of edges.
func listsOf(edges []graphEdge, rank int) (sources, sw, destinations, dw []int) {
	sw, dw = []int{}, []int{} // so that they are there even if there are none
	for _, e := range edges {
		if e.from == rank {
			destinations, dw = append(destinations, e.to), append(dw, e.weight)
		}
		if e.to == rank {
			sources, sw = append(sources, e.from), append(sw, e.weight)
		}
	}
	return sources, sw, destinations, dw
}

// adjacent makes a graph of which each rank gives its own edges, scattered one of which ranks give
// any.
func adjacent(c *mpi.Comm, edges []graphEdge, weighted, reorder bool) (*mpi.Comm, error) {
	sources, sw, destinations, dw := listsOf(edges, c.Rank())
	if !weighted {
		sw, dw = mpi.Unweighted, mpi.Unweighted
	}
	return c.DistGraphCreateAdjacent(sources, sw, destinations, dw, reorder)
}

func scattered(c *mpi.Comm, edges []graphEdge, weighted, reorder bool) (*mpi.Comm, error) {
	var sources, degrees, destinations []int
	weights := mpi.WeightsEmpty
	for i, e := range edges {
		switch {
		case e.giver != c.Rank():
			continue
		case i > 0 && edges[i-1].giver == e.giver && edges[i-1].from == e.from:
			degrees[len(degrees)-1]++
		default:
			sources, degrees = append(sources, e.from), append(degrees, 1)
		}
		destinations, weights = append(destinations, e.to), append(weights, e.weight)
	}
	if !weighted {
		weights = mpi.Unweighted
	}
	return c.DistGraphCreate(sources, degrees, destinations, weights, reorder)
}

// sharedRand is the same generator at all ranks, and the seed that replays it.
func sharedRand(t *T, c *mpi.Comm) (*rand.Rand, uint64) {
	seed := []uint64{*seedFlag}
	if seed[0] == 0 {
		seed[0] = uint64(time.Now().UnixNano())
	}
	t.must(mpi.Bcast(c, seed, 0))
	return rand.New(rand.NewPCG(seed[0], 3)), seed[0]
}

func distGraphs(t *T, c *mpi.Comm, create func(c *mpi.Comm, edges []graphEdge, weighted, reorder bool) (*mpi.Comm, error)) {
	rng, seed := sharedRand(t, c)
	for k := range 6 {
		edges, weighted, reorder := randomGraph(rng, c.Size()), k%2 == 0, k%3 == 0
		what := fmt.Sprintf("graph %d of -seed=%d", k, seed)
		g, err := create(c, edges, weighted, reorder)
		t.must(err, what)
		want(t, what+": kind", g.TopoTest(), mpi.DistGraph)
		want(t, what+": size", g.Size(), c.Size())
		// A rank has the neighbours of its new number, whatever that is.
		sources, sw, destinations, dw := listsOf(edges, g.Rank())
		if !weighted {
			sw, dw = nil, nil
		}
		in, out, has, err := g.DistGraphNeighborsCount()
		t.must(err)
		want(t, what+": indegree", in, len(sources))
		want(t, what+": outdegree", out, len(destinations))
		want(t, what+": weighted", has, weighted)
		s, ws, d, wd, err := g.DistGraphNeighbors()
		t.must(err)
		wantSlice(t, what+": sources", s, sources)
		wantSlice(t, what+": their weights", ws, sw)
		wantSlice(t, what+": destinations", d, destinations)
		wantSlice(t, what+": their weights", wd, dw)
		want(t, what+": weights are nil", ws == nil || wd == nil, !weighted)
	}
}

func distGraphArguments(t *T, c *mpi.Comm) {
	me, n := c.Rank(), c.Size()
	last := me == n-1
	only := func(class mpi.ErrorClass) mpi.ErrorClass { // at the last rank; the others learn that a rank was wrong
		if last {
			return class
		}
		return mpi.ErrArg
	}
	pickInt := func(there, elsewhere []int) []int {
		if last {
			return there
		}
		return elsewhere
	}
	one, self := []int{1}, []int{me}
	try := func(what string, class mpi.ErrorClass, says string, sources, sw, destinations, dw []int) {
		_, err := c.DistGraphCreateAdjacent(sources, sw, destinations, dw, false)
		if !last && class != mpi.ErrTopology {
			says = ""
		}
		wantError(t, what, err, class, says)
	}
	try("a rank outside", only(mpi.ErrRank), fmt.Sprintf("destinations[0] is rank %d: need 0 to %d", n, n-1), nil, nil, pickInt([]int{n}, nil), nil)
	try("a null rank", only(mpi.ErrRank), "sources[0]", pickInt([]int{mpi.ProcNull}, nil), nil, nil, nil)
	try("a negative weight", mpi.ErrArg, "the weight of sources[0] is -1", self, pickInt([]int{-1}, one), self, one)
	try("too few weights", mpi.ErrArg, "2 weights for 1 destinations", self, one, self, pickInt([]int{1, 1}, one))
	try("one end of an edge", mpi.ErrTopology, "do not agree", pickInt([]int{0}, nil), nil, nil, nil)
	try("an edge twice at one end", mpi.ErrTopology, "do not agree", self, nil, pickInt([]int{me, me}, self), nil)

	given := func(what string, class mpi.ErrorClass, sources, degrees, destinations, weights []int) {
		_, err := c.DistGraphCreate(sources, degrees, destinations, weights, false)
		wantError(t, what, err, class)
	}
	given("degrees missing", mpi.ErrArg, self, pickInt(nil, one), self, nil)
	given("a degree too large", mpi.ErrArg, self, pickInt([]int{2}, one), self, nil)
	given("a negative degree", mpi.ErrArg, self, pickInt([]int{-1}, one), self, nil)
	given("a source outside", only(mpi.ErrRank), pickInt([]int{-1}, self), one, self, nil)
	given("a destination outside", only(mpi.ErrRank), self, one, pickInt([]int{n}, self), nil)
	if n > 1 {
		weights := pickInt(one, mpi.Unweighted)
		try("a weight for some", mpi.ErrArg, fmt.Sprintf("1 ranks gave weights and %d", n-1), self, weights, self, weights)
		_, err := c.DistGraphCreate(nil, nil, nil, nil, last)
		wantError(t, "reordered for some", err, mpi.ErrArg, fmt.Sprintf("1 of %d ranks", n))
	}
	g, err := c.DistGraphCreate(nil, nil, nil, mpi.WeightsEmpty, false)
	t.must(err, "a graph without edges")
	_, _, weighted, err := g.DistGraphNeighborsCount()
	t.must(err)
	want(t, "it has weights", weighted, true)
	t.must(mpi.Barrier(c), "the communicator works afterwards")
}
