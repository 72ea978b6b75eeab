package topo

import (
	"cmp"
	"slices"
)

// Edge says how much the ranks A and B have to do with each other.
type Edge struct{ A, B, Weight int }

// maxWeight is the weight that counts at most, so that sums cannot overflow.
const maxWeight = 1 << 31

// Graph is an undirected graph of ranks: edges between the same two are one, edges to oneself are
// none. Immutable.
type Graph struct {
	size  int
	first []int // the edges of rank r are to[first[r]:first[r+1]]
	to    []int
	load  []int // weight of each edge
}

// NewGraph makes the graph of size ranks. Weights are not negative.
func NewGraph(size int, edges []Edge) *Graph {
	both := make([]Edge, 0, 2*len(edges))
	for _, e := range edges {
		if e.A != e.B {
			w := min(e.Weight, maxWeight)
			both = append(both, Edge{e.A, e.B, w}, Edge{e.B, e.A, w})
		}
	}
	slices.SortFunc(both, func(x, y Edge) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	g := &Graph{size: size, first: make([]int, size+1)}
	for i, e := range both {
		if i > 0 && both[i-1].A == e.A && both[i-1].B == e.B {
			g.load[len(g.load)-1] += e.Weight
			continue
		}
		g.to, g.load = append(g.to, e.B), append(g.load, e.Weight)
		g.first[e.A+1] = len(g.to)
	}
	for r := range size {
		g.first[r+1] = max(g.first[r+1], g.first[r])
	}
	return g
}

// Size is the number of ranks.
func (g *Graph) Size() int { return g.size }

// Cut is the weight of the edges between ranks of different parts.
func (g *Graph) Cut(part []int) int {
	cut := 0
	for a := range g.size {
		for i := g.first[a]; i < g.first[a+1]; i++ {
			if a < g.to[i] && part[a] != part[g.to[i]] {
				cut += g.load[i]
			}
		}
	}
	return cut
}

// induced is the graph of some places: those of one part, rising, which at numbers.
func (g *Graph) induced(places, part, at []int) *Graph {
	sub := &Graph{size: len(places), first: make([]int, 1, len(places)+1)}
	for _, v := range places {
		for i := g.first[v]; i < g.first[v+1]; i++ {
			if u := g.to[i]; part[u] == part[v] {
				sub.to, sub.load = append(sub.to, at[u]), append(sub.load, g.load[i])
			}
		}
		sub.first = append(sub.first, len(sub.to))
	}
	return sub
}

// pull is the weight of the edges of v to ranks of a part.
func (g *Graph) pull(v int, part []int, p int) int {
	sum := 0
	for i := g.first[v]; i < g.first[v+1]; i++ {
		if part[g.to[i]] == p {
			sum += g.load[i]
		}
	}
	return sum
}

// between is the weight of the edge between a and b.
func (g *Graph) between(a, b int) int {
	i, ok := slices.BinarySearch(g.to[g.first[a]:g.first[a+1]], b)
	if !ok {
		return 0
	}
	return g.load[g.first[a]+i]
}
