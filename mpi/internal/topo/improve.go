package topo

import "slices"

// effort bounds how many pairs of places improve looks at, in all domains of a level: some tenths
// of a second.
const effort = 4_000_000

// swapper improves a division of places among domains.
type swapper struct {
	g       *Graph
	part    []int
	members [][]int // the places of each domain, in no order
	slack   []int   // ranks of each domain that have no place
	effort  int     // pairs that may still be looked at
}

// improve moves places to where their neighbours are, into a gap or in exchange for another, as
// long as the cut falls, and effort is left: it is how many pairs may be looked at.
func (d domains) improve(g *Graph, part []int, effort int) []int {
	s := &swapper{g: g, part: part, members: make([][]int, len(d.room)), slack: slices.Clone(d.room), effort: effort}
	for v, p := range part {
		s.members[p] = append(s.members[p], v)
		s.slack[p]--
	}
	for again := true; again; {
		again = false
		for v := range part {
			for s.effort > 0 && s.moved(v) {
				again = true
			}
		}
	}
	return part
}

// moved moves v to the domain that makes the cut the least, if one makes it less.
func (s *swapper) moved(v int) bool {
	home := s.g.pull(v, s.part, s.part[v])
	to, partner, best := None, None, 0
	for i := s.g.first[v]; i < s.g.first[v+1]; i++ {
		p := s.part[s.g.to[i]]
		if p == s.part[v] || p == to {
			continue
		}
		gain := s.g.pull(v, s.part, p) - home
		if s.slack[p] > 0 && gain > best {
			to, partner, best = p, None, gain
		}
		if u, g := s.exchange(v, p); u != None && gain+g > best {
			to, partner, best = p, u, gain+g
		}
	}
	if to == None {
		return false
	}
	from := s.part[v]
	s.move(v, from, to)
	if partner != None {
		s.move(partner, to, from)
	}
	return true
}

// exchange finds the place of domain p that is best moved to v's domain as v moves to p, and what
// its move gains.
func (s *swapper) exchange(v, p int) (best, gain int) {
	best = None
	for _, u := range s.members[p] {
		g := s.g.pull(u, s.part, s.part[v]) - s.g.pull(u, s.part, p) - 2*s.g.between(u, v)
		if best == None || g > gain {
			best, gain = u, g
		}
	}
	s.effort -= len(s.members[p])
	return best, gain
}

func (s *swapper) move(v, from, to int) {
	i := slices.Index(s.members[from], v)
	last := len(s.members[from]) - 1
	s.members[from][i] = s.members[from][last]
	s.members[from] = s.members[from][:last]
	s.members[to] = append(s.members[to], v)
	s.slack[from]++
	s.slack[to]--
	s.part[v] = to
}
