package coll

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// hostLayout says for a number of ranks which host each is on. nil: nothing is known.
type hostLayout func(size int) []int

// testLayout is what the graphs of simulate know. Set by withLayout.
var testLayout hostLayout

func withLayout(t *testing.T, l hostLayout) {
	testLayout = l
	t.Cleanup(func() { testLayout = nil })
}

// place makes g know the layout.
func (l hostLayout) place(g Graph, rank, size int) Graph {
	if l == nil {
		return g
	}
	return &placed{Graph: g, rank: rank, p: NewPlaces(l(size))}
}

// placed is a Graph that is Placed.
type placed struct {
	Graph
	rank int
	p    *Places
}

func (g *placed) Places() *Places      { return g.p }
func (g *placed) Scratch(n int) []byte { return scratch(g.Graph, n) }

// blocks puts n consecutive ranks on each host.
func blocks(n int) hostLayout {
	return func(size int) []int {
		node := make([]int, size)
		for r := range node {
			node[r] = r / n
		}
		return node
	}
}

// roundRobin deals ranks to n hosts.
func roundRobin(n int) hostLayout {
	return func(size int) []int {
		node := make([]int, size)
		for r := range node {
			node[r] = r % n
		}
		return node
	}
}

// uneven puts 1, 2, 3, ... consecutive ranks on each host.
func uneven(size int) []int {
	var node []int
	for h := 1; len(node) < size; h++ {
		node = append(node, slices.Repeat([]int{-h}, min(h, size-len(node)))...)
	}
	return node
}

// oneApart puts the last rank on a host of its own and the first with all others.
func oneApart(size int) []int {
	node := make([]int, size)
	node[size-1] = 7
	return node
}

// shuffled is random: up to half as many hosts as ranks, or one more.
func shuffled(seed uint64) hostLayout {
	return func(size int) []int {
		rng := rand.New(rand.NewPCG(seed, uint64(size)))
		node, hosts := make([]int, size), 2+rng.IntN(size/2+1)
		for r := range node {
			node[r] = rng.IntN(hosts)
		}
		if rng.IntN(2) == 0 {
			slices.Sort(node)
		}
		return node
	}
}

// layouts are those that every collective is tested with, besides random ones.
var layouts = map[string]hostLayout{
	"pairs":         blocks(2),
	"threes":        blocks(3),
	"fours":         blocks(4),
	"round robin 2": roundRobin(2),
	"round robin 3": roundRobin(3),
	"uneven":        uneven,
	"one apart":     oneApart,
}

func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		node []int
		want *Places
	}{
		"no ranks":  {nil, nil},
		"one rank":  {[]int{5}, nil},
		"one host":  {[]int{5, 5, 5}, nil},
		"all apart": {[]int{5, 2, 9}, nil},
		"contiguous": {[]int{9, 9, 2, 5, 5}, &Places{host: []int{0, 0, 1, 2, 2}, members: [][]int{{0, 1}, {2}, {3, 4}},
			leaders: []int{0, 2, 3}, order: []int{0, 1, 2, 3, 4}, pos: []int{0, 1, 2, 3, 4}, ordered: true}},
		"mixed": {[]int{9, 2, 9, -5, 2}, &Places{host: []int{0, 1, 0, 2, 1}, members: [][]int{{0, 2}, {1, 4}, {3}},
			leaders: []int{0, 1, 3}, order: []int{0, 2, 1, 4, 3}, pos: []int{0, 2, 1, 4, 3}}},
	} {
		if got := NewPlaces(c.node); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: NewPlaces(%v) = %+v, want %+v", name, c.node, got, c.want)
		}
	}
}

// What ranks call the hosts does not matter.
func TestPlacesAgree(t *testing.T) {
	seeds(t, 200, func(seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 4))
		node := shuffled(seed)(2 + rng.IntN(40))
		other, names := make([]int, len(node)), rng.Perm(len(node)+2)
		for r, n := range node {
			other[r] = names[n]
		}
		if a, b := NewPlaces(node), NewPlaces(other); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: %v gives %+v, %v gives %+v", seed, node, a, other, b)
		}
	})
}

// The root speaks for its host, the lowest rank for every other one; seen from the root, hosts
// follow each other.
func TestLeadersAndOrder(t *testing.T) {
	for name, l := range layouts {
		for _, size := range testSizes {
			p := NewPlaces(l(size))
			if p == nil {
				continue
			}
			for root := none; root < size; root++ {
				for h, r := range p.leadersFor(root) {
					want := p.members[h][0]
					if root != none && p.host[root] == h {
						want = root
					}
					if r != want {
						t.Fatalf("%s: size %d root %d: rank %d leads host %d, want %d", name, size, root, r, h, want)
					}
				}
			}
			for root := range size {
				if err := checkOrderFrom(p, root); err != nil {
					t.Fatalf("%s: size %d root %d: %v", name, size, root, err)
				}
			}
		}
	}
}

func checkOrderFrom(p *Places, root int) error {
	order := p.orderFrom(root)
	hops := 0
	for i, r := range order[1:] {
		if p.host[r] != p.host[order[i]] {
			hops++
		}
	}
	sorted := slices.Sorted(slices.Values(order))
	if order[0] != root || len(order) != len(p.host) || hops != len(p.members)-1 || len(slices.Compact(sorted)) != len(order) {
		return fmt.Errorf("order %v", order)
	}
	return nil
}

func TestPlacesOfWrongSize(t *testing.T) {
	defer func() {
		if s := fmt.Sprint(recover()); !strings.Contains(s, "places of 4 ranks for a communicator of 5") {
			t.Errorf("panic: %s", s)
		}
	}()
	Barrier(&placed{Graph: &counter{}, p: NewPlaces([]int{0, 0, 1, 1})}, 0, 5)
}
