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

// costOf is the cut at each level when the place v is taken by rank ranks[v]; what Place makes
// least, the first first.
func costOf(g *Graph, levels [][]int, ranks []int) []int {
	cost := []int{}
	for _, level := range levels {
		part := make([]int, len(ranks))
		for v, r := range ranks {
			part[v] = level[r]
		}
		cost = append(cost, g.Cut(part))
	}
	return cost
}

func identity(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// checkPlace places and checks what always holds: no rank twice, and never worse than the identity.
// It returns the costs after and before.
func checkPlace(t *testing.T, g *Graph, levels [][]int, orders ...[]int) (cost, before []int) {
	t.Helper()
	ranks := Place(g, levels, orders...)
	seen := make(map[int]bool)
	for _, r := range ranks {
		if seen[r] || r < 0 || len(levels) > 0 && r >= len(levels[0]) {
			t.Fatalf("rank %d has two places or does not exist in %v", r, ranks)
		}
		seen[r] = true
	}
	if len(ranks) != g.Size() {
		t.Fatalf("%d ranks for %d places", len(ranks), g.Size())
	}
	cost, before = costOf(g, levels, ranks), costOf(g, levels, identity(g.Size()))
	if slices.Compare(cost, before) > 0 {
		t.Errorf("the cost is %v, that of the identity %v: levels %v", cost, before, levels)
	}
	if slices.Equal(cost, before) && !slices.Equal(ranks, identity(g.Size())) {
		t.Errorf("ranks are moved for nothing: levels %v", levels)
	}
	return cost, before
}

// cutOn is checkPlace for ranks on hosts of which nothing else is known.
func cutOn(t *testing.T, g *Graph, host []int, orders ...[]int) (cut, before int) {
	t.Helper()
	after, was := checkPlace(t, g, [][]int{host}, orders...)
	return after[0], was[0]
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

// randomLevels are up to three levels of random facts.
func randomLevels(rng *rand.Rand, n int) [][]int {
	facts := make([][]int, rng.IntN(4))
	for i := range facts {
		facts[i] = randomHosts(rng, n)
	}
	return Nest(facts...)
}

func TestPlaceNeverWorse(t *testing.T) {
	rng := newRand(t)
	for range 300 {
		n := 1 + rng.IntN(24)
		var edges []Edge
		for range rng.IntN(4 * n) {
			edges = append(edges, Edge{rng.IntN(n), rng.IntN(n), rng.IntN(4)})
		}
		checkPlace(t, NewGraph(n, edges), randomLevels(rng, n+rng.IntN(4)))
	}
	grids(func(g Grid) {
		for range 10 {
			levels := randomLevels(rng, g.Size()+rng.IntN(4))
			checkPlace(t, g.Graph(), levels, g.Orders(levels)...)
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
		cut, before := cutOn(t, g.Graph(), c.host, g.Orders([][]int{c.host})...)
		if before != c.before || cut > c.want {
			t.Errorf("%v on %v: the cut falls from %d to %d, want from %d to %d", g, c.host, before, cut, c.before, c.want)
		}
	}
}

// bruteCut is the least cut of all.
func bruteCut(g *Graph, host []int) int {
	d := newDomains(host)
	room, part, best := slices.Clone(d.room), make([]int, g.Size()), -1
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

// Over many small graphs the cut is near the least there is. The seed is fixed: a bound on quality
// is no property of every graph.
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
		cut, was := cutOn(t, g, host)
		sum, before, least = sum+cut, before+was, least+bruteCut(g, host)
	}
	t.Logf("identity %d, placed %d, least %d", before, sum, least)
	if 100*sum > 108*least {
		t.Errorf("the cuts add up to %d, more than 8%% above the least possible, %d", sum, least)
	}
}

// All ranks compute the same, and large grids take no longer than making the communicator is worth.
func TestPlaceLarge(t *testing.T) {
	g := Grid{[]int{32, 32, 4}, []bool{true, false, true}}
	levels := Nest(blocksOf(g.Size(), 48), blocksOf(g.Size(), 24), blocksOf(g.Size(), 6)) // which do not divide the grid
	began := time.Now()
	first := Place(g.Graph(), levels, g.Orders(levels)...)
	t.Logf("%d places in %v", g.Size(), time.Since(began))
	if second := Place(g.Graph(), levels, g.Orders(levels)...); !slices.Equal(first, second) {
		t.Error("the second call gives another result than the first")
	}
	cost, before := costOf(g.Graph(), levels, first), costOf(g.Graph(), levels, identity(g.Size()))
	t.Logf("the cost falls from %v to %v", before, cost)
	for i := range 2 { // pieces of six are about as good as blocks in rings of four
		if 10*cost[i] > 9*before[i] {
			t.Errorf("the cost falls from %v to %v only", before, cost)
		}
	}
}
