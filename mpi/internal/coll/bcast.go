package coll

import "slices"

// Bcast copies buf of rank root to buf of every rank (MPI 4.1, 6.4).
//
//   - Binomial: lg p rounds, n lg p bytes out of the root.
//   - Chain: segments of size s pass through all ranks. p-2+n/s rounds, n bytes: the best bandwidth
//     once n/s is well above p.
//   - ScatterAllgather, ScatterRing: van de Geijn's way for long messages (Barnett et al.,
//     "Interprocessor collective communication library", 1994): a binomial scatter, then an
//     allgather by recursive doubling (2 lg p rounds) or by a ring (lg p + p-1 rounds), 2n(p-1)/p
//     bytes. What a rank kept from the scatter for its subtree is not sent to it again.
//   - TwoLevel: between leaders, then inside each host. Each part as Auto; N-1 messages between N
//     hosts while they are short.
//
// If it is known which ranks share a host, the flat algorithms take the ranks host by host from the
// root on: a Chain passes from host to host N-1 times.
func Bcast(g Graph, alg Algorithm, rank, size, root int, buf Buf, after ...Step) []Step {
	if size == 1 || buf.Len() == 0 {
		return after
	}
	p := placesOf(g, size)
	if !KindBcast.Has(alg) || alg == TwoLevel && p == nil {
		alg = ChooseBcast(size, buf.Len(), p)
	}
	if alg == TwoLevel {
		return bcastTwoLevel(g, p, rank, root, buf, after)
	}
	if p != nil {
		order := p.orderFrom(root)
		rank, root = slices.Index(order, rank), 0
		g = newGroup(g, order, rank, root)
	}
	t := tree{size: size, root: root, v: mod(rank-root, size)}
	switch alg {
	case Binomial:
		return bcastBinomial(g, t, buf, after)
	case Chain:
		return bcastChain(g, t, buf, after)
	case ScatterAllgather, ScatterRing:
		return bcastScatter(g, t, buf, alg == ScatterRing || !isPowerOfTwo(size), after)
	default:
		panic(KindBcast.unreachable(alg))
	}
}

// tree is a rank's place in the binomial tree over ranks renumbered from the root. The parent of v
// is v without its lowest bit, and its children are v with a bit below that set. Its subtree is the
// range [v, v+extent).
type tree struct {
	size, root int
	v          int // this rank's number, 0 at the root
}

func (t tree) rank(v int) int { return mod(v+t.root, t.size) }
func (t tree) parent() int    { return t.v & (t.v - 1) }

// extent is the number of ranks in the subtree of v.
func (t tree) extent(v int) int {
	if v == 0 {
		return t.size
	}
	return min(v&-v, t.size-v)
}

// children lists the children of this rank, the largest subtree first.
func (t tree) children() []int {
	low := t.v & -t.v
	var c []int
	for bit := 1; (t.v == 0 || bit < low) && t.v+bit < t.size; bit *= 2 {
		c = append(c, t.v+bit)
	}
	slices.Reverse(c)
	return c
}

func bcastBinomial(g Graph, t tree, buf Buf, after []Step) []Step {
	ready, sent := bcastTree(g, t, buf, after)
	return with(ready, sent...)
}

// bcastTree is bcastBinomial that tells apart when buf is valid and when it has been passed on.
func bcastTree(g Graph, t tree, buf Buf, after []Step) (ready, sent []Step) {
	ready = after
	if t.v != 0 {
		ready = []Step{g.Recv(t.rank(t.parent()), buf, after...)}
	}
	for _, c := range t.children() {
		sent = append(sent, g.Send(t.rank(c), buf, ready...))
	}
	return ready, sent
}

func bcastChain(g Graph, t tree, buf Buf, after []Step) []Step {
	all := span{0, buf.Len()}
	in := line{base: after}
	var sent []Step
	for lo, hi := 0, 0; lo < all.hi; lo = hi {
		piece := all.piece(lo, 1)
		hi = piece.hi
		s := piece.part(buf)
		if t.v > 0 {
			in.add(g.Recv(t.rank(t.v-1), s, in.next()...))
		}
		if t.v < t.size-1 {
			sent = append(sent, g.Send(t.rank(t.v+1), s, in.all()...))
		}
	}
	return join(g, with(in.all(), sent...))
}

func bcastScatter(g Graph, t tree, buf Buf, ring bool, after []Step) []Step {
	cut := cuts(buf.Len(), 1, t.size)
	part := func(v, n int) Buf { return buf.Part(cut[v], cut[v+n]) }
	if own := part(t.v, t.extent(t.v)); t.v != 0 && own.Len() > 0 {
		after = []Step{g.Recv(t.rank(t.parent()), own, after...)}
	}
	done := after
	for _, c := range t.children() {
		if b := part(c, t.extent(c)); b.Len() > 0 {
			done = with(done, g.Send(t.rank(c), b, after...))
		}
	}
	if ring {
		held := func(v, b int) bool { return cut[b] == cut[b+1] || b >= v && b < v+t.extent(v) }
		return with(done, ringAllgather(g, t.v, t.size, t.rank, held, func(b int) Buf { return part(b, 1) }, after)...)
	}
	for m := 1; m < t.size; m *= 2 {
		mine, other := t.v&^(m-1), t.v^m
		theirs := other &^ (m - 1)
		var next []Step
		// A rank that leads both groups of a round holds both from the scatter.
		if other&(2*m-1) != 0 && part(mine, m).Len() > 0 {
			s := g.Send(t.rank(other), part(mine, m), after...)
			next, done = append(next, s), with(done, s)
		}
		if t.v&(2*m-1) != 0 && part(theirs, m).Len() > 0 {
			next = append(next, g.Recv(t.rank(other), part(theirs, m), after...))
		}
		after = with(after, next...)
	}
	return join(g, with(done, after...))
}
