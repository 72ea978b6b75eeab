package topo

import "slices"

// Nest makes levels of domains from facts about ranks, which come from the most important to the
// least. facts[i][r] is what the i-th fact says of rank r, such as the number of its host. Only
// whether two values are equal matters. At a level, two ranks are in one domain if all facts up to
// its own say the same of both, so that the domains of a level are within those of the level
// before. Facts that divide nothing further make no level, nor do those that leave every rank
// alone: they are the same to every placement. Nothing is left, nil, if every placement is as good
// as any other.
func Nest(facts ...[]int) (levels [][]int) {
	domains := 1
	for _, fact := range facts {
		level, n := within(levels, fact)
		if n == len(fact) {
			break
		}
		if n > domains {
			levels, domains = append(levels, level), n
		}
	}
	return levels
}

// within numbers the domains that a fact makes inside the last of levels.
func within(levels [][]int, fact []int) (level []int, domains int) {
	type key struct{ above, says int }
	number := make(map[key]int)
	level = make([]int, len(fact))
	for r, says := range fact {
		k := key{says: says}
		if len(levels) > 0 {
			k.above = levels[len(levels)-1][r]
		}
		n, ok := number[k]
		if !ok {
			n = len(number)
			number[k] = n
		}
		level[r] = n
	}
	return level, len(number)
}

// Place chooses which rank of a communicator takes which place in a topology. The places are those
// of g; levels, made by [Nest], say which ranks are near each other; there are at least as many
// ranks as places. The result is the rank for each place, no rank twice. orders are orders of the
// places in which neighbours are close, if some are known, such as those of [Grid.Orders].
//
// First the places are divided among the domains of the first level, then those of each domain
// among the domains inside it, and so on. A division starts from several: the orders cut into
// pieces, and pieces that grow along the edges. The best is improved by exchanging pairs of places
// as long as that helps. (Finding the least cut is NP-hard.) What counts is the cut at the first
// level, of equal ones that at the second, and so on; by this measure the result is never worse
// than the identity, which is the result unless another is better.
func Place(g *Graph, levels [][]int, orders ...[]int) []int {
	ranks := make([]int, g.size)
	if len(levels) > 0 {
		ranks = make([]int, len(levels[0]))
	}
	for r := range ranks {
		ranks[r] = r
	}
	return placing{g, ranks, levels, orders, effort}.place()
}

// placing is a part of the work of Place: the places and ranks of one domain.
type placing struct {
	g      *Graph
	ranks  []int   // for the places of g, rising; those that are left over are the last
	levels [][]int // that the ranks are still to be divided by: the domain of each rank of the communicator
	orders [][]int // of the places of g
	effort int     // for each division, see improve
}

// place returns the rank for each place.
func (p placing) place() []int {
	if len(p.levels) == 0 {
		return p.ranks[:p.g.size]
	}
	domain := make([]int, len(p.ranks))
	for i, r := range p.ranks {
		domain[i] = p.levels[0][r]
	}
	d := newDomains(domain)
	if len(d.room) == 1 {
		p.levels = p.levels[1:]
		return p.place()
	}
	taken := make([]int, p.g.size)
	places, parts := p.split(d, d.divide(p))
	for i, part := range parts {
		for k, r := range part.place() {
			taken[places[i][k]] = r
		}
	}
	return taken
}

// split makes a part of the work of each domain, to which belong the places for which part has its
// number.
func (p placing) split(d domains, part []int) (places [][]int, parts []placing) {
	places, parts = make([][]int, len(d.room)), make([]placing, len(d.room))
	at := make([]int, len(part)) // the number of each place in its domain
	for v, n := range part {
		at[v] = len(places[n])
		places[n] = append(places[n], v)
	}
	for n := range parts {
		parts[n] = placing{
			g: p.g.induced(places[n], part, at), levels: p.levels[1:], orders: make([][]int, len(p.orders)),
			effort: p.effort * len(places[n]) / max(len(part), 1),
		}
	}
	for i, r := range p.ranks {
		q := &parts[d.of[i]]
		q.ranks = append(q.ranks, r)
	}
	for i, order := range p.orders {
		for _, v := range order {
			q := &parts[part[v]]
			q.orders[i] = append(q.orders[i], at[v])
		}
	}
	return places, parts
}

// domains divide ranks; they are numbered from 0 by their lowest ranks. Immutable.
type domains struct {
	of   []int // domain of each rank
	room []int // ranks of each domain
}

func newDomains(names []int) domains {
	d := domains{}
	var n int
	d.of, n = within(nil, names)
	d.room = make([]int, n)
	for _, of := range d.of {
		d.room[of]++
	}
	return d
}

// divide chooses the domain for each place of p: that of the rank with its number, unless another
// division cuts less.
func (d domains) divide(p placing) []int {
	identity := d.of[:p.g.size]
	best, least := []int(nil), p.g.Cut(identity) // nil: the identity
	if len(d.room) == len(d.of) || least == 0 {
		return identity
	}
	keep := func(part []int) {
		if cut := p.g.Cut(part); cut < least {
			best, least = part, cut
		}
	}
	for _, o := range p.orders {
		keep(d.fill(o))
	}
	grown := d.grow(p.g)
	keep(grown)
	for _, start := range [][]int{best, grown, identity} {
		if start != nil {
			keep(d.improve(p.g, slices.Clone(start), p.effort))
		}
	}
	if best == nil {
		return identity
	}
	return best
}

// fill gives the places to the domains in an order.
func (d domains) fill(order []int) []int {
	part, at, left := make([]int, len(order)), 0, d.room[0]
	for _, v := range order {
		if left == 0 {
			at++
			left = d.room[at]
		}
		part[v] = at
		left--
	}
	return part
}

// grow fills one domain after the other with places that hang together. The next place is always
// the one with the strongest edges to the places that the domain has. Of equal ones it is the one
// with the weakest edges to places that no domain has yet.
func (d domains) grow(g *Graph) []int {
	part := slices.Repeat([]int{None}, g.size)
	left := g.size
	for p, room := range d.room {
		var edge []int // places beside those of this domain
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

// choose is the place that grow takes next: one of edge, or, if there is none, the one that has
// least to do with places that no domain has yet.
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
