package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// topologyReorder makes topologies of each kind with and without reordering, over whatever mix of
// threads, processes and hosts the ranks are.
func topologyReorder(t *T, c *mpi.Comm) {
	eachGrid(c.Size(), func(dims []int, periods []bool) {
		checkReorder(t, c, fmt.Sprint("grid ", dims, periods), product(dims), func(reorder bool) (*mpi.Comm, error) {
			return c.CartCreate(dims, periods, reorder)
		}, func(r int) (near []int) {
			for dim := range dims {
				near = append(near, shiftOf(dims, periods, r, dim, -1), shiftOf(dims, periods, r, dim, 1))
			}
			return near
		})
	})
	for n := 1; n <= c.Size(); n++ {
		index, edges := ringGraph(n)
		checkReorder(t, c, fmt.Sprint("graph of ", n), n, func(reorder bool) (*mpi.Comm, error) {
			return c.GraphCreate(index, edges, reorder)
		}, func(r int) []int { return edges[3*r : 3*r+3] })
	}
	// Neighbours are half of the ranks away: as far as those of a host that has a half of them.
	var edges []graphEdge
	for r := range c.Size() {
		edges = append(edges, graphEdge{from: r, to: (r + c.Size()/2) % c.Size()})
	}
	checkReorder(t, c, "distributed graph", c.Size(), func(reorder bool) (*mpi.Comm, error) {
		return adjacent(c, edges, false, reorder)
	}, func(r int) []int {
		sources, _, _, _ := listsOf(edges, r)
		return sources
	})
}

// checkReorder makes a topology of size places without and with reordering; near are the sources of
// a rank of it.
func checkReorder(t *T, c *mpi.Comm, what string, size int, create func(reorder bool) (*mpi.Comm, error), near func(r int) []int) {
	far := []int{0, 0} // edges between hosts, without and with
	for i, reorder := range []bool{false, true} {
		what := fmt.Sprint(what, ", reorder ", reorder)
		g, err := create(reorder)
		t.must(err, what)
		if g != nil {
			checkMembers(t, c, g, what, size)
			far[i] = checkNear(t, c, g, what, near(g.Rank()))
		}
		members := []int{0}
		t.must(mpi.Allreduce(c, []int{count(g != nil)}, members, mpi.Sum))
		want(t, what+": ranks that have a place", members[0], size)
	}
	t.must(mpi.Allreduce(c, far, far, mpi.Sum))
	if far[1] > far[0] {
		t.Errorf("%s: %d edges go between hosts after reordering, %d before", what, far[1], far[0])
	}
}

// checkMembers: the ranks of g are members of c, each once, and g's group says the same as its
// messages.
func checkMembers(t *T, c, g *mpi.Comm, what string, size int) {
	want(t, what+": its size", g.Size(), size)
	old := make([]int, size)
	t.must(mpi.Allgather(g, []int{c.Rank()}, old), what)
	want(t, what+": who has the place", old[g.Rank()], c.Rank())
	want(t, what+": different ranks", len(slices.Compact(slices.Sorted(slices.Values(old)))), size)
	translated, err := g.Group().TranslateRanks(ranksBelow(size), c.Group())
	t.must(err, what)
	wantSlice(t, what+": the members by their group", translated, old)
}

// checkNear: what comes from neighbours comes from those of the new numbers. It returns how many
// are on other hosts.
func checkNear(t *T, c, g *mpi.Comm, what string, sources []int) (far int) {
	members, err := g.Group().TranslateRanks(ranksBelow(g.Size()), c.Group())
	t.must(err, what)
	heard := slices.Repeat([]int{mpi.ProcNull}, len(sources))
	t.must(mpi.NeighborAllgather(g, []int{c.Rank()}, heard), what)
	for k, r := range sources {
		from := mpi.ProcNull
		if r != mpi.ProcNull {
			from = members[r]
			if g.Transport(r) == "tcp" {
				far++
			}
		}
		want(t, fmt.Sprint(what, ": who is heard as neighbour ", k), heard[k], from)
	}
	return far
}

func ranksBelow(n int) []int {
	ranks := make([]int, n)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
