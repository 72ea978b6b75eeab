package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Levels refine one another; what divides nothing, or leaves every rank alone, is no level.
func TestNest(t *testing.T) {
	for _, test := range []struct {
		name  string
		facts [][]int
		want  string
	}{
		{"nothing known", nil, "[]"},
		{"one host", [][]int{{3, 3, 3}}, "[]"},
		{"each its host", [][]int{{3, 2, 1}}, "[]"},
		{"no ranks", [][]int{{}}, "[]"},
		{"two hosts", [][]int{{7, 7, 2, 2}}, "[[0 0 1 1]]"},
		{"nodes of equal numbers on two hosts", [][]int{{0, 0, 0, 1, 1, 1}, {0, 0, 1, 0, 1, 1}}, "[[0 0 0 1 1 1] [0 0 1 2 3 3]]"},
		{"the same once more", [][]int{{0, 0, 1, 1}, {5, 5, 6, 6}, {0, 0, 0, 0}}, "[[0 0 1 1]]"},
		{"a process across two nodes is divided", [][]int{{0, 0, 1, 1}, {0, 1, 1, 1}}, "[[0 0 1 1] [0 1 2 2]]"},
		{"each its core at last", [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}}, "[[0 0 1 1]]"},
		{"bound to none beside bound ones", [][]int{{0, 0, -1, -1}}, "[[0 0 1 1]]"},
	} {
		got := Nest(test.facts...)
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: the levels are %v, want %v", test.name, got, test.want)
		}
		if again := Nest(got...); fmt.Sprint(again) != test.want {
			t.Errorf("%s: the levels of the levels are %v", test.name, again)
		}
	}
}

// machines are 16 ranks on 2 hosts of 2 NUMA nodes of 4 cores, where rank r has the core with the
// number that slot gives.
func machines(slot func(r int) int) [][]int {
	facts := [][]int{make([]int, 16), make([]int, 16), make([]int, 16)}
	for r := range 16 {
		s := slot(r)
		facts[0][r], facts[1][r], facts[2][r] = s/8, s/4%2, s%4
	}
	return Nest(facts...)
}

// A grid on two hosts of two NUMA nodes of four cores. Each host has a half of it and each node a
// block of 2 x 2, whatever order the ranks come in. On rings, where blocks are no better than rows,
// nothing is worse. The best costs are known.
func TestPlaceHierarchy(t *testing.T) {
	shuffled := rand.New(rand.NewPCG(3, 3)).Perm(16)
	for _, order := range []struct {
		name string
		slot func(r int) int
	}{
		{"by core", func(r int) int { return r }},
		{"by node", func(r int) int { return r%4*4 + r/4 }},
		{"by host", func(r int) int { return r%2*8 + r/2 }},
		{"shuffled", func(r int) int { return shuffled[r] }},
	} {
		for _, c := range []struct {
			dims     []int
			periodic bool
			want     []int
		}{
			{[]int{4, 4}, false, []int{4, 8}},
			{[]int{4, 4}, true, []int{8, 16}},
			{[]int{2, 8}, false, []int{2, 6}},
			{[]int{16}, false, []int{1, 3}},
			{[]int{4, 2, 2}, false, []int{4, 12}},
		} {
			g := Grid{c.dims, slices.Repeat([]bool{c.periodic}, len(c.dims))}
			levels := machines(order.slot)
			cost, before := checkPlace(t, g.Graph(), levels, g.Orders(levels)...)
			if !slices.Equal(cost, c.want) {
				t.Errorf("%v, ranks %s: neighbours on other hosts and nodes fall from %v to %v, want %v", g, order.name, before, cost, c.want)
			}
		}
	}
}

// Ranks inside a domain that suits them already stay where they are, though those of another move.
func TestPlaceMovesNoMore(t *testing.T) {
	g := NewGraph(8, []Edge{{0, 1, 1}, {2, 3, 1}, {4, 6, 1}, {5, 7, 1}})
	levels := Nest([]int{0, 0, 0, 0, 1, 1, 1, 1}, []int{0, 0, 1, 1, 0, 0, 1, 1})
	want := []int{0, 1, 2, 3, 4, 6, 5, 7}
	if got := Place(g, levels); !slices.Equal(got, want) {
		t.Errorf("the ranks are %v, want %v", got, want)
	}
}

// The edges of an induced graph are those between its places, by their new numbers.
func TestInduced(t *testing.T) {
	g := NewGraph(5, []Edge{{0, 2, 3}, {2, 4, 5}, {0, 1, 7}, {3, 4, 2}})
	sub := g.induced([]int{0, 2, 4}, []int{1, 0, 1, 0, 1}, []int{0, 0, 1, 1, 2})
	want := NewGraph(3, []Edge{{0, 1, 3}, {1, 2, 5}})
	if fmt.Sprint(*sub) != fmt.Sprint(*want) {
		t.Errorf("the graph is %v, want %v", *sub, *want)
	}
}
