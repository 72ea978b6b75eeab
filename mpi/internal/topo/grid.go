package topo

import "slices"

// None stands for a place outside a grid.
const None = -1

// Grid is a Cartesian grid. Ranks are numbered row by row: the last coordinate runs fastest (MPI
// 4.1, section 8.2). A grid without dimensions has one place. Immutable.
type Grid struct {
	Dims     []int  // positive
	Periodic []bool // of each dimension: its ends are neighbours
}

// Size is the number of places.
func (g Grid) Size() int {
	n := 1
	for _, d := range g.Dims {
		n *= d
	}
	return n
}

// Fits says whether the grid has at most n places; unlike Size it cannot overflow.
func (g Grid) Fits(n int) bool {
	for _, d := range g.Dims {
		n /= d
	}
	return n >= 1
}

// Coords are the coordinates of a rank.
func (g Grid) Coords(rank int) []int {
	c := make([]int, len(g.Dims))
	for i, d := range slices.Backward(g.Dims) {
		c[i] = rank % d
		rank /= d
	}
	return c
}

// Rank is the inverse of Coords. Coordinates outside the grid are moved into it in a periodic
// dimension, and give None in another.
func (g Grid) Rank(coords []int) int {
	rank := 0
	for i, d := range g.Dims {
		c := coords[i]
		if g.Periodic[i] {
			c = mod(c, d)
		} else if c < 0 || c >= d {
			return None
		}
		rank = rank*d + c
	}
	return rank
}

func mod(a, n int) int {
	if a %= n; a < 0 {
		a += n
	}
	return a
}

// Shift is the rank that is disp further than rank in a dimension, or None.
func (g Grid) Shift(rank, dim, disp int) int {
	c := g.Coords(rank)
	if g.Periodic[dim] {
		disp %= g.Dims[dim] // the sum must not overflow
	} else if disp < -g.Dims[dim] || disp > g.Dims[dim] {
		return None
	}
	c[dim] += disp
	return g.Rank(c)
}

// Neighbours are the neighbours of rank in the order of the standard, for each dimension the one at
// -1 and the one at +1; None where there is none.
func (g Grid) Neighbours(rank int) []int {
	n := make([]int, 0, 2*len(g.Dims))
	for dim := range g.Dims {
		n = append(n, g.Shift(rank, dim, -1), g.Shift(rank, dim, +1))
	}
	return n
}

// Keep is the grid of the dimensions that remain.
func (g Grid) Keep(remain []bool) Grid {
	var k Grid
	for i, r := range remain {
		if r {
			k.Dims, k.Periodic = append(k.Dims, g.Dims[i]), append(k.Periodic, g.Periodic[i])
		}
	}
	return k
}

// Graph has an edge for each pair of neighbours, of weight 2 if they are neighbours on both sides.
func (g Grid) Graph() *Graph {
	var edges []Edge
	for rank := range g.Size() {
		for dim := range g.Dims {
			if to := g.Shift(rank, dim, 1); to != None {
				edges = append(edges, Edge{rank, to, 1})
			}
		}
	}
	return NewGraph(g.Size(), edges)
}
