package topo

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("topo.seed", 0, "replay the run with this seed")

func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()>>1 + 1
	}
	t.Logf("replay with -topo.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// cutOf is the cut when the place v is taken by rank ranks[v].
func cutOf(g *Graph, host, ranks []int) int {
	part := make([]int, len(ranks))
	for v, r := range ranks {
		part[v] = host[r]
	}
	return g.Cut(part)
}

func identity(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// checkPlace places and checks what always holds: no rank twice, and never worse than the identity.
func checkPlace(t *testing.T, g *Graph, host []int, orders ...[]int) (cut, before int) {
	t.Helper()
	ranks := Place(g, host, orders...)
	seen := make([]bool, len(host))
	for _, r := range ranks {
		if seen[r] {
			t.Fatalf("rank %d has two places in %v", r, ranks)
		}
		seen[r] = true
	}
	if len(ranks) != g.Size() {
		t.Fatalf("%d ranks for %d places", len(ranks), g.Size())
	}
	cut, before = cutOf(g, host, ranks), cutOf(g, host, identity(g.Size()))
	if cut > before {
		t.Errorf("the cut is %d, that of the identity %d: hosts %v", cut, before, host)
	}
	if cut == before && !slices.Equal(ranks, identity(g.Size())) {
		t.Errorf("ranks are moved for nothing: hosts %v", host)
	}
	return cut, before
}

// randomHosts puts n ranks on a few hosts, in blocks or scattered.
func randomHosts(rng *rand.Rand, n int) []int {
	host, hosts := make([]int, n), 1+rng.IntN(5)
	for r := range host {
		host[r] = rng.IntN(hosts) * 7
	}
	if rng.IntN(2) == 0 {
		slices.Sort(host)
	}
	return host
}

func TestPlaceNeverWorse(t *testing.T) {
	rng := newRand(t)
	for range 300 {
		n := 1 + rng.IntN(24)
		var edges []Edge
		for range rng.IntN(4 * n) {
			edges = append(edges, Edge{rng.IntN(n), rng.IntN(n), rng.IntN(4)})
		}
		checkPlace(t, NewGraph(n, edges), randomHosts(rng, n+rng.IntN(4)))
	}
	grids(func(g Grid) {
		for range 10 {
			host := randomHosts(rng, g.Size()+rng.IntN(4))
			checkPlace(t, g.Graph(), host, g.Orders(host)...)
		}
	})
}

// blocksOf puts each so many ranks on one host.
func blocksOf(n, each int) []int {
	host := make([]int, n)
	for r := range host {
		host[r] = r / each
	}
	return host
}

// Grids whose best division is known: blocks.
func TestPlaceBlocks(t *testing.T) {
	for _, c := range []struct {
		dims     []int
		periodic bool
		host     []int
		before   int
		want     int
	}{
		{[]int{4, 4}, false, blocksOf(16, 4), 12, 8},
		{[]int{4, 4}, true, blocksOf(16, 4), 16, 16}, // rows are rings: blocks are no better
		{[]int{2, 4}, false, blocksOf(8, 4), 4, 2},
		{[]int{8, 8}, false, blocksOf(64, 16), 24, 16},
		{[]int{8, 8}, true, blocksOf(64, 16), 32, 32},
		{[]int{16, 16}, true, blocksOf(256, 16), 256, 128},
		{[]int{4, 4, 4}, false, blocksOf(64, 8), 64, 48},
		{[]int{6}, false, []int{0, 1, 0, 1, 0, 1}, 5, 1},
		{[]int{4, 4}, false, []int{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, 12, 8},
		{[]int{2, 2}, false, []int{0, 1, 2, 3, 3, 3, 3}, 4, 2}, // more ranks than places, two hosts beside each other at the least
	} {
		g := Grid{c.dims, slices.Repeat([]bool{c.periodic}, len(c.dims))}
		cut, before := checkPlace(t, g.Graph(), c.host, g.Orders(c.host)...)
		if before != c.before || cut > c.want {
			t.Errorf("%v on %v: the cut falls from %d to %d, want from %d to %d", g, c.host, before, cut, c.before, c.want)
		}
	}
}

// bruteCut is the least cut of all.
func bruteCut(g *Graph, host []int) int {
	h := newHosts(host)
	room, part, best := slices.Clone(h.room), make([]int, g.Size()), -1
	var place func(v int)
	place = func(v int) {
		if v == len(part) {
			if cut := g.Cut(part); best < 0 || cut < best {
				best = cut
			}
			return
		}
		for p := range room {
			if room[p] > 0 {
				room[p]--
				part[v] = p
				place(v + 1)
				room[p]++
			}
		}
	}
	place(0)
	return best
}

// Over many small graphs the cut is near the least there is. The seed is fixed: a bound on quality is no property of every graph.
func TestPlaceNearOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	sum, least, before := 0, 0, 0
	for range 150 {
		n := 4 + rng.IntN(5)
		var edges []Edge
		for range n + rng.IntN(2*n) {
			edges = append(edges, Edge{rng.IntN(n), rng.IntN(n), 1 + rng.IntN(3)})
		}
		g, host := NewGraph(n, edges), randomHosts(rng, n)
		cut, was := checkPlace(t, g, host)
		sum, before, least = sum+cut, before+was, least+bruteCut(g, host)
	}
	t.Logf("identity %d, placed %d, least %d", before, sum, least)
	if 100*sum > 108*least {
		t.Errorf("the cuts add up to %d, more than 8%% above the least possible, %d", sum, least)
	}
}

// Everybody computes the same, and large grids take no longer than making the communicator is worth.
func TestPlaceLarge(t *testing.T) {
	g := Grid{[]int{32, 32, 4}, []bool{true, false, true}}
	host := blocksOf(g.Size(), 48) // does not divide the grid
	began := time.Now()
	first := Place(g.Graph(), host, g.Orders(host)...)
	t.Logf("%d places in %v", g.Size(), time.Since(began))
	if second := Place(g.Graph(), host, g.Orders(host)...); !slices.Equal(first, second) {
		t.Error("the second call gives another result than the first")
	}
	cut, before := cutOf(g.Graph(), host, first), cutOf(g.Graph(), host, identity(g.Size()))
	t.Logf("the cut falls from %d to %d", before, cut)
	if 10*cut > 9*before {
		t.Errorf("the cut falls from %d to %d only", before, cut)
	}
}
