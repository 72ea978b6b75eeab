package coll

import (
	"fmt"
	"slices"
)

// Placed is a Graph that knows which ranks share a host. All ranks of the communicator must know
// the same.
type Placed interface {
	// Places is nil if there is nothing to gain from knowing.
	Places() *Places
}

// Places says which ranks of a communicator share a host. It is immutable, so ranks of one process
// may share one.
type Places struct {
	host    []int   // the host of each rank; hosts are numbered by their lowest ranks
	members [][]int // the ranks of each host, in their order
	leaders []int   // the lowest rank of each host
	order   []int   // all ranks, host by host
	pos     []int   // where each rank is in order
	ordered bool    // order is 0, 1, 2, ...: the ranks of every host are contiguous
}

// NewPlaces describes a communicator whose rank r is on host node[r]. Only whether two values are
// equal matters, so every rank gets the same description if all agree on that. It is nil if all
// ranks are on one host or all are on different ones: every algorithm is then the same as without
// it.
func NewPlaces(node []int) *Places {
	number := make(map[int]int)
	p := &Places{host: make([]int, len(node)), pos: make([]int, len(node))}
	for r, n := range node {
		h, ok := number[n]
		if !ok {
			h = len(number)
			number[n] = h
			p.members = append(p.members, nil)
			p.leaders = append(p.leaders, r)
		}
		p.host[r] = h
		p.members[h] = append(p.members[h], r)
	}
	if len(p.members) <= 1 || len(p.members) == len(node) {
		return nil
	}
	p.order = slices.Concat(p.members...)
	for i, r := range p.order {
		p.pos[r] = i
	}
	p.ordered = slices.IsSorted(p.order)
	return p
}

// placesOf gives what g knows about its size ranks.
func placesOf(g Graph, size int) *Places {
	pg, ok := g.(Placed)
	if !ok {
		return nil
	}
	p := pg.Places()
	if p != nil && len(p.host) != size {
		panic(fmt.Sprintf("coll: bug: places of %d ranks for a communicator of %d", len(p.host), size))
	}
	return p
}

// canReduce says whether a reduction may combine the ranks of each host first: always if it
// commutes, else only if they are contiguous.
func (p *Places) canReduce(commutative bool) bool { return p != nil && (commutative || p.ordered) }

// leadersFor lists the rank of each host that speaks for it: the root on its own host, the lowest
// elsewhere. root may be none.
func (p *Places) leadersFor(root int) []int {
	if root == none || p.leaders[p.host[root]] == root {
		return p.leaders
	}
	l := slices.Clone(p.leaders)
	l[p.host[root]] = root
	return l
}

// orderFrom lists all ranks host by host, the root's host first and in it the root.
func (p *Places) orderFrom(root int) []int {
	order := append(make([]int, 0, len(p.host)), root)
	for i := range p.members {
		for _, r := range p.members[mod(p.host[root]+i, len(p.members))] {
			if r != root {
				order = append(order, r)
			}
		}
	}
	return order
}
