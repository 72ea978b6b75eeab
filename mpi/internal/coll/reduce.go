package coll

import "math/bits"

// Reduce combines in of all ranks, in the order of ranks, into out of rank root (MPI 4.1, 6.9.1).
// out of the others is not used and may be nil. In place at the root: in and out may be the same.
//
//   - Binomial: a binomial tree whose owner of every aligned block of ranks is the root if it is
//     among them, the lowest otherwise. So ranks are combined in order whatever the root is, with
//     the same result for every root, and without the extra message that reducing to rank 0 first
//     would cost. lg p rounds, n lg p bytes into the root.
//   - Rabenseifner (Rabenseifner, "Optimization of collective reduction operations", 2004):
//     reduce-scatter by recursive halving, then a gather. 2 lg p rounds, 2n(p-1)/p bytes; one round
//     and n bytes more if p is no power of two.
//   - TwoLevel: inside each host, then between leaders. Each part as Auto; N-1 messages between N
//     hosts while they are short. Only if the operation commutes or the ranks of every host are
//     contiguous.
//
// If it is known which ranks share a host and the operation commutes, the flat algorithms take the
// ranks host by host.
func Reduce(g Graph, alg Algorithm, rank, size, root int, in, out Buf, red Reducer, after ...Step) []Step {
	if rank != root {
		out = Buf{}
	}
	if in.Len() == 0 {
		return after
	}
	if size == 1 {
		return moveBuf(g, out, in, after)
	}
	p := placesOf(g, size)
	if !KindReduce.Has(alg) || alg == TwoLevel && !p.canReduce(red.Commutative) {
		alg = ChooseReduce(size, in.Len(), red.Commutative, p)
	}
	if red.Commutative && alg != TwoLevel {
		g, rank, root = p.hostOrder(g, rank, root)
	}
	return inSegments(g, size, in, out, red, after, func(g Graph, in, out []byte, after []Step) []Step {
		return reduceBy(g, alg, p, rank, size, root, in, out, red, after)
	})
}

// reduceFlat is [Reduce] of memory among the ranks of a group, in one piece.
func reduceFlat(s *group, alg Algorithm, in, out []byte, red Reducer, after []Step) []Step {
	if s.size() == 1 {
		return move(s, out, in, after)
	}
	if !KindReduce.Has(alg) || alg == TwoLevel {
		alg = ChooseReduce(s.size(), len(in), red.Commutative, nil)
	}
	return reduceBy(s, alg, nil, s.rank, s.size(), s.root, in, out, red, after)
}

func reduceBy(g Graph, alg Algorithm, p *Places, rank, size, root int, in, out []byte, red Reducer, after []Step) []Step {
	switch alg {
	case TwoLevel:
		return reduceTwoLevel(g, p, rank, root, in, out, red, after)
	case Binomial:
		acc, done := fold(g, red, in, out, treeRounds(rank, size, root, span{0, len(in)}), after)
		if rank == root {
			done = move(g, out, acc, done)
		}
		return done
	case Rabenseifner:
		return reduceHalving(g, rank, size, root, in, out, red, after)
	default:
		panic(KindReduce.unreachable(alg))
	}
}

// treeRounds gives a rank's rounds in the ordered binomial tree.
func treeRounds(rank, size, root int, all span) []round {
	owner := func(start, width int) int {
		if root >= start && root < start+width {
			return root
		}
		return start
	}
	rounds := make([]round, 0, bits.Len(uint(size)))
	for m := 1; m < size; m *= 2 {
		lo := rank &^ (2*m - 1)
		hi := lo + m
		if hi >= size {
			continue // no upper half
		}
		left, right, heir := owner(lo, m), owner(hi, m), owner(lo, 2*m)
		switch {
		case rank != heir:
			return append(rounds, round{to: heir, out: all, from: none})
		case rank == left:
			rounds = append(rounds, round{to: none, from: right, in: all})
		default:
			rounds = append(rounds, round{to: none, from: left, in: all, lower: true})
		}
	}
	return rounds
}

func reduceHalving(g Graph, rank, size, root int, in, out []byte, red Reducer, after []Step) []Step {
	s := newShrink(size, root)
	h := newHalving(s, rank, cuts(len(in), red.ElemSize, s.pow))
	if h.v != none && out == nil {
		out = scratch(g, len(in))
	}
	acc, done := fold(g, red, in, out, h.rounds, after)
	if h.v == none {
		return done
	}
	own := h.bytes(h.lo, h.hi)
	done = move(g, own.of(out), own.of(acc), done)
	lead := s.virtual(root)
	for m := s.pow / 2; m > 0; m /= 2 {
		peer := s.real(h.v ^ m)
		if h.v&m != lead&m {
			if b := h.bytes(h.lo, h.hi).of(out); len(b) > 0 {
				done = []Step{g.Send(peer, Memory(b), done...)}
			}
			return done
		}
		lo, hi := h.beside(m)
		if b := h.bytes(lo, hi).of(out); len(b) > 0 {
			done = with(done, g.Recv(peer, Memory(b), done...))
		}
		h.lo, h.hi = min(h.lo, lo), max(h.hi, hi)
	}
	return done
}
