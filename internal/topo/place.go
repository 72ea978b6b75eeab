package topo

import "slices"

// Place chooses which rank of a communicator takes which place in a topology. The places are those of g; host[r] says
// which host rank r is on, and only whether two values are equal matters; there are at least as many ranks as places. The result
// is the rank for each place, no rank twice. orders are orders of the places in which neighbours are close, if some are known,
// such as those of [Grid.Orders].
//
// It starts from several divisions of the places among the hosts: the orders cut into pieces, and pieces that grow along
// the edges. The best is improved by exchanging pairs of places as long as that helps. (Finding the least cut is
// NP-hard.) The result never has a greater cut than the identity, which is the result unless another is better.
func Place(g *Graph, host []int, orders ...[]int) []int {
	h := newHosts(host)
	identity := h.of[:g.size]
	best, least := []int(nil), g.Cut(identity) // nil: the identity
	keep := func(part []int) {
		if cut := g.Cut(part); cut < least {
			best, least = part, cut
		}
	}
	if len(h.room) > 1 && len(h.room) < len(host) && least > 0 {
		for _, o := range orders {
			keep(h.fill(o))
		}
		grown := h.grow(g)
		keep(grown)
		for _, start := range [][]int{best, grown, identity} {
			if start != nil {
				keep(h.improve(g, slices.Clone(start)))
			}
		}
	}
	return h.ranks(best, g.size)
}

// hosts are the hosts of a communicator's ranks, numbered from 0 by their lowest ranks. Immutable.
type hosts struct {
	of   []int // host of each rank
	room []int // ranks of each host
}

func newHosts(host []int) hosts {
	number := make(map[int]int)
	h := hosts{of: make([]int, len(host))}
	for r, name := range host {
		n, ok := number[name]
		if !ok {
			n = len(number)
			number[name] = n
			h.room = append(h.room, 0)
		}
		h.of[r] = n
		h.room[n]++
	}
	return h
}

// ranks takes ranks for size places: those of each host in their order; part nil leaves every rank where it is.
func (h hosts) ranks(part []int, size int) []int {
	out := make([]int, size)
	if part == nil {
		for v := range out {
			out[v] = v
		}
		return out
	}
	members := make([][]int, len(h.room))
	for r, n := range h.of {
		members[n] = append(members[n], r)
	}
	for v, p := range part {
		out[v], members[p] = members[p][0], members[p][1:]
	}
	return out
}

// fill gives the places to the hosts in an order.
func (h hosts) fill(order []int) []int {
	part, at, left := make([]int, len(order)), 0, h.room[0]
	for _, v := range order {
		if left == 0 {
			at++
			left = h.room[at]
		}
		part[v] = at
		left--
	}
	return part
}

// grow fills one host after the other with places that hang together: next always comes the place with the strongest
// edges to those that the host has, and of equal ones that with the weakest to those that nobody has yet.
func (h hosts) grow(g *Graph) []int {
	part := slices.Repeat([]int{None}, g.size)
	left := g.size
	for p, room := range h.room {
		var edge []int // places beside those of this host
		for range min(room, left) {
			v := choose(g, part, p, edge)
			part[v] = p
			left--
			edge = slices.DeleteFunc(edge, func(x int) bool { return x == v })
			for _, x := range g.to[g.first[v]:g.first[v+1]] {
				if part[x] == None && !slices.Contains(edge, x) {
					edge = append(edge, x)
				}
			}
		}
	}
	return part
}

// choose is the place that grow takes next: one of edge, or, if there is none, the one that has least to do with places
// that nobody has yet.
func choose(g *Graph, part []int, p int, edge []int) int {
	best, gain, loose := None, 0, 0
	consider := func(v int) {
		pull, rest := g.pull(v, part, p), g.pull(v, part, None)
		if best == None || pull > gain || pull == gain && (rest < loose || rest == loose && v < best) {
			best, gain, loose = v, pull, rest
		}
	}
	for _, v := range edge {
		consider(v)
	}
	for v := range g.size {
		if len(edge) == 0 && part[v] == None {
			consider(v)
		}
	}
	return best
}
