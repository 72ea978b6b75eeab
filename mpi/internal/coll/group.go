package coll

import "slices"

// group is a Graph over some ranks of another one, numbered from 0. It is not Placed, so an
// algorithm over a group is a flat one. Immutable.
type group struct {
	g     Graph
	ranks []int // the rank of each member
	rank  int   // this rank's number in the group
	root  int   // the number of the member that leads
}

func newGroup(g Graph, ranks []int, rank, root int) *group {
	return &group{g: g, ranks: ranks, rank: rank, root: root}
}

func (s *group) size() int { return len(s.ranks) }

// tree is the binomial tree over the group.
func (s *group) tree() tree {
	return tree{size: s.size(), root: s.root, v: mod(s.rank-s.root, s.size())}
}

func (s *group) Send(peer int, data Buf, after ...Step) Step {
	return s.g.Send(s.ranks[peer], data, after...)
}

func (s *group) Recv(peer int, buf Buf, after ...Step) Step {
	return s.g.Recv(s.ranks[peer], buf, after...)
}

func (s *group) SendFrom(peer int, data *[]byte, after ...Step) Step {
	return s.g.SendFrom(s.ranks[peer], data, after...)
}

func (s *group) RecvInto(peer int, data *[]byte, after ...Step) Step {
	return s.g.RecvInto(s.ranks[peer], data, after...)
}

func (s *group) Do(f func() error, after ...Step) Step { return s.g.Do(f, after...) }

func (s *group) Copy(dst, src []byte, after ...Step) Step { return s.g.Copy(dst, src, after...) }

func (s *group) Combine(x Combination, after ...Step) Step { return s.g.Combine(x, after...) }

func (s *group) Stream(i int) { s.g.Stream(i) }

// Scratch implements Scratcher, whether the graph below does or not.
func (s *group) Scratch(n int) []byte { return scratch(s.g, n) }

// levels is a rank's part in an algorithm of two levels. Immutable.
type levels struct {
	inside  *group // the ranks of its host, led by their leader
	between *group // the leaders of all hosts, led by that of the root's host; nil if this rank does not lead
}

// levels gives a rank's part; root may be none, and is then rank 0.
func (p *Places) levels(g Graph, rank, root int) levels {
	h, rootHost, leaders := p.host[rank], 0, p.leadersFor(root)
	if root != none {
		rootHost = p.host[root]
	}
	members := p.members[h]
	index, _ := slices.BinarySearch(members, rank)
	lead, _ := slices.BinarySearch(members, leaders[h])
	l := levels{inside: newGroup(g, members, index, lead)}
	if index == lead {
		l.between = newGroup(g, leaders, h, rootHost)
	}
	return l
}

// leads says whether this rank speaks for its host.
func (l levels) leads() bool { return l.between != nil }

// hostOrder renumbers the ranks host by host, for a flat algorithm to which their order does not
// matter. Then neighbours and the partners of the first rounds of recursive doubling or halving,
// whose messages are the longest, share a host as far as can be.
func (p *Places) hostOrder(g Graph, rank, root int) (renumbered Graph, newRank, newRoot int) {
	if p == nil || p.ordered {
		return g, rank, root
	}
	if root != none {
		root = p.pos[root]
	}
	return newGroup(g, p.order, p.pos[rank], root), p.pos[rank], root
}
