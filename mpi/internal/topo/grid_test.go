package topo

import (
	"slices"
	"testing"
)

// grids calls f for grids of up to three dimensions, each periodic or not.
func grids(f func(g Grid)) {
	for _, dims := range [][]int{{}, {1}, {2}, {5}, {1, 1}, {2, 3}, {3, 2, 2}, {1, 4, 2}, {2, 1, 3}} {
		for bits := range 1 << len(dims) {
			g := Grid{Dims: dims, Periodic: make([]bool, len(dims))}
			for i := range dims {
				g.Periodic[i] = bits>>i&1 == 1
			}
			f(g)
		}
	}
}

// Coords and Rank are inverse, rows run last coordinate first, and a shift there and back is none
// unless it leaves the grid.
func TestGrid(t *testing.T) {
	grids(func(g Grid) {
		for r := range g.Size() {
			c := g.Coords(r)
			if got := g.Rank(c); got != r {
				t.Errorf("%v: rank %d has coordinates %v, which have rank %d", g, r, c, got)
			}
			if r > 0 && slices.Compare(g.Coords(r-1), c) >= 0 {
				t.Errorf("%v: coordinates %v come after %v", g, c, g.Coords(r-1))
			}
			for dim, d := range g.Dims {
				for disp := -2*d - 1; disp <= 2*d+1; disp++ {
					checkShift(t, g, r, dim, disp)
				}
			}
		}
		if !g.Fits(g.Size()) || g.Fits(g.Size()-1) {
			t.Errorf("%v: Fits is wrong about %d places", g, g.Size())
		}
	})
	if (Grid{Dims: []int{1 << 40, 1 << 40}}).Fits(1 << 62) {
		t.Error("2^80 places fit into 2^62")
	}
}

func checkShift(t *testing.T, g Grid, r, dim, disp int) {
	t.Helper()
	want := g.Coords(r)
	want[dim] += disp
	outside := want[dim] < 0 || want[dim] >= g.Dims[dim]
	want[dim] = ((want[dim] % g.Dims[dim]) + g.Dims[dim]) % g.Dims[dim]
	switch to := g.Shift(r, dim, disp); {
	case outside && !g.Periodic[dim]:
		if to != None {
			t.Errorf("%v: %d further than rank %d in dimension %d is %d, want none", g, disp, r, dim, to)
		}
	case to == None || !slices.Equal(g.Coords(to), want):
		t.Errorf("%v: %d further than rank %d in dimension %d is %d, want coordinates %v", g, disp, r, dim, to, want)
	}
}

// Neighbourhood is mutual: if a rank's neighbour at -1 is another one, that one's neighbour at +1
// is the rank.
func TestNeighbours(t *testing.T) {
	grids(func(g Grid) {
		for r := range g.Size() {
			for i, n := range g.Neighbours(r) {
				if n != None && g.Neighbours(n)[i^1] != r {
					t.Errorf("%v: neighbour %d of rank %d is %d, whose neighbour %d is %d", g, i, r, n, i^1, g.Neighbours(n)[i^1])
				}
			}
		}
	})
}

func TestKeep(t *testing.T) {
	g := Grid{Dims: []int{2, 3, 4}, Periodic: []bool{true, false, true}}
	k := g.Keep([]bool{true, false, true})
	if !slices.Equal(k.Dims, []int{2, 4}) || !slices.Equal(k.Periodic, []bool{true, true}) {
		t.Errorf("kept %v", k)
	}
	if k := g.Keep(make([]bool, 3)); k.Size() != 1 || len(k.Dims) != 0 {
		t.Errorf("nothing kept is %v", k)
	}
}
