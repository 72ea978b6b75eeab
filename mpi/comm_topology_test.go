//go:build linux && !fitmpi_portable

package mpi_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// onHosts runs ranks as on so many hosts, each of ranks that follow each other.
func onHosts(t *testing.T, ranks, hosts int, fn func(c *mpi.Comm) error) {
	t.Helper()
	t.Setenv("FITMPI_CLIQUES", fmt.Sprint(hosts))
	err := mpi.RunThreads(ranks, func(_ context.Context, world *mpi.Comm) error { return fn(world) })
	if err != nil {
		t.Error(err)
	}
}

// cutOf is how many of the edges of g go between hosts: each rank's neighbours tell it the host
// that they are on.
func cutOf(g *mpi.Comm, perHost int) (int, error) {
	world := g.World().Rank()
	sources, err := sourcesOf(g)
	if err != nil {
		return 0, err
	}
	host := make([]int, len(sources))
	if err := mpi.NeighborAllgather(g, []int{world / perHost}, host); err != nil {
		return 0, err
	}
	mine, sum := 0, []int{0}
	for i, h := range host {
		if sources[i] != mpi.ProcNull && h != world/perHost {
			mine++
		}
	}
	err = mpi.Allreduce(g, []int{mine}, sum, mpi.Sum)
	return sum[0], err
}

func sourcesOf(g *mpi.Comm) (sources []int, err error) {
	if g.TopoTest() == mpi.DistGraph {
		sources, _, _, _, err = g.DistGraphNeighbors()
		return sources, err
	}
	n, err := g.CartdimGet()
	for dim := range n {
		var minus, plus int
		if minus, plus, err = g.CartShift(dim, 1); err != nil {
			return nil, err
		}
		sources = append(sources, minus, plus)
	}
	return sources, err
}

// MPI 4.1, section 8.5.1: with reorder the ranks may be placed to suit the machine. Here each host
// gets a block of the grid, so that fewer neighbours are on different hosts. Each edge is counted
// at both its ends.
func TestCartReorder(t *testing.T) {
	for _, test := range []struct {
		ranks, hosts  int
		dims          []int
		before, after int
	}{
		{16, 4, []int{4, 4}, 24, 16},
		{8, 2, []int{2, 4}, 8, 4},
		{8, 2, []int{8}, 2, 2},      // as it is, it is best
		{9, 3, []int{2, 4}, 12, 10}, // a rank is left over; the best there is
	} {
		t.Run(fmt.Sprint(test.dims, " on ", test.hosts), func(t *testing.T) {
			onHosts(t, test.ranks, test.hosts, func(c *mpi.Comm) error {
				perHost := test.ranks / test.hosts
				if err := checkCart(t, c, test.dims, false, perHost, test.before); err != nil {
					return err
				}
				return checkCart(t, c, test.dims, true, perHost, test.after)
			})
		})
	}
}

func checkCart(t *testing.T, c *mpi.Comm, dims []int, reorder bool, perHost, want int) error {
	mapped, err := c.CartMap(dims, nil)
	if err != nil {
		return err
	}
	g, err := c.CartCreate(dims, nil, reorder)
	if err != nil || g == nil {
		if reorder && mapped != mpi.Undefined {
			t.Errorf("rank %d has no place, CartMap gives it %d", c.Rank(), mapped)
		}
		return err
	}
	if reorder && mapped != g.Rank() {
		t.Errorf("rank %d has place %d, CartMap gives it %d", c.Rank(), g.Rank(), mapped)
	}
	if !reorder && g.Rank() != c.Rank() {
		t.Errorf("rank %d has place %d without reordering", c.Rank(), g.Rank())
	}
	cut, err := cutOf(g, perHost)
	if cut != want {
		t.Errorf("reorder %v: %d neighbours are on other hosts, want %d", reorder, cut, want)
	}
	return err
}

// MPI 4.1, section 8.5.4: after reordering, a rank has the neighbours that were given for its new
// number.
func TestDistGraphReorder(t *testing.T) {
	onHosts(t, 8, 2, func(c *mpi.Comm) error {
		if err := checkDistGraph(t, c, false, 8+2); err != nil {
			return err
		}
		return checkDistGraph(t, c, true, 4)
	})
}

// checkDistGraph: rank r of eight has much to do with the one four further, which is on the other
// host, and little with the next.
func checkDistGraph(t *testing.T, c *mpi.Comm, reorder bool, want int) error {
	sourcesOf := func(r int) []int { return []int{(r + 4) % 8, (r + 7) % 8} }
	destinationsOf := func(r int) []int { return []int{(r + 4) % 8, (r + 1) % 8} }
	me, weights := c.Rank(), []int{100, 1}
	g, err := c.DistGraphCreateAdjacent(sourcesOf(me), weights, destinationsOf(me), weights, reorder)
	if err != nil {
		return err
	}
	sources, sw, destinations, dw, err := g.DistGraphNeighbors()
	if err != nil {
		return err
	}
	r := g.Rank()
	if !slices.Equal(sources, sourcesOf(r)) || !slices.Equal(destinations, destinationsOf(r)) ||
		!slices.Equal(sw, weights) || !slices.Equal(dw, weights) {
		t.Errorf("rank %d, now %d, has sources %v %v and destinations %v %v", me, r, sources, sw, destinations, dw)
	}
	from := make([]int, 2)
	if err := mpi.NeighborAllgather(g, []int{r}, from); err != nil {
		return err
	}
	if !slices.Equal(from, sources) {
		t.Errorf("rank %d hears from %v, its sources are %v", r, from, sources)
	}
	cut, err := cutOf(g, 4)
	if cut != want {
		t.Errorf("reorder %v: %d edges go between hosts, want %d", reorder, cut, want)
	}
	return err
}

// GraphCreate reorders by the same rule: pairs that the order of ranks has on two hosts come
// together.
func TestGraphReorder(t *testing.T) {
	onHosts(t, 8, 2, func(c *mpi.Comm) error {
		var index, edges []int
		for r := range 8 {
			edges = append(edges, (r+4)%8)
			index = append(index, len(edges))
		}
		g, err := c.GraphCreate(index, edges, true)
		if err != nil {
			return err
		}
		mapped, err := c.GraphMap(index, edges)
		if err != nil {
			return err
		}
		host := []int{-1}
		if err := mpi.NeighborAllgather(g, []int{c.Rank() / 4}, host); err != nil {
			return err
		}
		if host[0] != c.Rank()/4 || mapped != g.Rank() {
			t.Errorf("rank %d on host %d is %d, GraphMap says %d, its neighbour is on host %d", c.Rank(), c.Rank()/4, g.Rank(), mapped, host[0])
		}
		return nil
	})
}
