package topo

import (
	"cmp"
	"slices"
)

const (
	maxShapes = 64 // shapes of blocks that Orders tries for one size
	maxStrip  = 8  // widest strip that it tries
)

// Orders are orders of the places of g for [Place], for ranks in the domains of levels: cut into
// pieces, each as large as a domain, they give blocks that are about as long as wide. Two kinds are
// tried: blocks of as many places as a domain has ranks, in all shapes, which are exact if they
// divide the grid; and strips of some width, which bend for domains of any size.
func (g Grid) Orders(levels [][]int) [][]int {
	var orders [][]int
	var room []int
	for _, level := range levels {
		room = append(room, newDomains(level).room...)
	}
	slices.Sort(room)
	for _, n := range slices.Compact(room) {
		for _, shape := range g.shapes(n) {
			orders = append(orders, g.blocks(shape))
		}
	}
	for dim, d := range g.Dims {
		for width := 2; width <= maxStrip && width < d; width++ {
			orders = append(orders, g.strips(dim, width))
		}
	}
	return orders
}

// shapes are the shapes of blocks of n places that are within the grid.
func (g Grid) shapes(n int) (all [][]int) {
	shape := make([]int, len(g.Dims))
	var fill func(dim, n int)
	fill = func(dim, n int) {
		if dim == len(shape) {
			if n == 1 && len(all) < maxShapes {
				all = append(all, slices.Clone(shape))
			}
			return
		}
		for d := 1; d <= min(n, g.Dims[dim]); d++ {
			if n%d == 0 {
				shape[dim] = d
				fill(dim+1, n/d)
			}
		}
	}
	fill(0, n)
	return all
}

// blocks orders the places block by block.
func (g Grid) blocks(shape []int) []int {
	return g.ordered(func(c, key []int) []int {
		for i, x := range c {
			key = append(key, x/shape[i])
		}
		return append(key, c...)
	})
}

// strips orders the places by strips along the dimensions other than dim.
func (g Grid) strips(dim, width int) []int {
	return g.ordered(func(c, key []int) []int {
		key = append(key, c[dim]/width)
		key = append(key, c[:dim]...)
		key = append(key, c[dim+1:]...)
		return append(key, c[dim])
	})
}

// ordered sorts the places by keys, which keyOf appends for coordinates.
func (g Grid) ordered(keyOf func(c, key []int) []int) []int {
	type place struct {
		rank int
		key  []int
	}
	places := make([]place, g.Size())
	for r := range places {
		places[r] = place{r, keyOf(g.Coords(r), nil)}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(slices.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank)) })
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.rank
	}
	return order
}
