package coll

// ReduceScatter combines in of all ranks, in the order of ranks, and leaves block r, counts[r] bytes, in out of rank r (MPI 4.1,
// 6.10). Blocks lie in in one after the other and hold whole elements. in and out may start at the same place.
//
//   - RecursiveHalving: lg p rounds, n(p-1)/p bytes (two rounds and about 2n bytes more if p is no power of two). Blocks are put
//     in the order of reversed bits first, so that partners can stand for adjacent ranges and order is kept.
//   - Ring: p-1 rounds, n(p-1)/p bytes; only if the operation commutes.
func ReduceScatter(g Graph, alg Algorithm, rank, size int, in, out []byte, counts []int, red Reducer, after ...Step) []Step {
	displs := make([]int, size)
	for i := 1; i < size; i++ {
		displs[i] = displs[i-1] + counts[i-1]
	}
	total := displs[size-1] + counts[size-1]
	if total == 0 {
		return after
	}
	if size == 1 {
		return move(g, out, in[:total], after)
	}
	if !KindReduceScatter.Has(alg) || alg == Ring && !red.Commutative {
		alg = ChooseReduceScatter(size, total, red.Commutative)
	}
	out = out[:counts[rank]]
	switch alg {
	case RecursiveHalving:
		return reduceScatterHalving(g, rank, size, in, out, counts, displs, red, after)
	case Ring:
		work := scratch(g, total)
		ready, done := ringReduceScatter(g, rank, size, red, func(b int) []byte { return block(in, counts, displs, b) },
			func(b int) []byte { return block(work, counts, displs, b) }, after)
		done = join(g, with(ready, done...))
		return move(g, out, block(work, counts, displs, rank), done)
	default:
		panic(KindReduceScatter.unreachable(alg))
	}
}

// ReduceScatterBlock is ReduceScatter with blocks of len(out) bytes (MPI 4.1, 6.10.1).
func ReduceScatterBlock(g Graph, alg Algorithm, rank, size int, in, out []byte, red Reducer, after ...Step) []Step {
	counts, _ := even(size, len(out))
	return ReduceScatter(g, alg, rank, size, in, out, counts, red, after...)
}

func reduceScatterHalving(g Graph, rank, size int, in, out []byte, counts, displs []int, red Reducer, after []Step) []Step {
	s := newShrink(size, none)
	cut, from := reversedBlocks(s, counts, displs)
	total := cut[s.pow]
	in = in[:total]
	var work []byte
	if s.pow > 2 { // otherwise reversed bits are the same bits
		work = scratch(g, total)
		src := in
		after = []Step{g.Do(func() error {
			for q, f := range from {
				copy(work[cut[q]:], f.of(src))
			}
			return nil
		}, after...)}
		in = work // in place: it is ours
	}
	h := newHalving(s, rank, cut)
	acc, done := fold(g, red, in, work, h.rounds, after)
	if h.v == none {
		if len(out) > 0 {
			done = []Step{g.Recv(rank^1, Memory(out), done...)}
		}
		return done
	}
	mine := h.bytes(h.lo, h.hi).of(acc)
	own, rest := mine[:counts[rank]], mine[counts[rank]:]
	all := done
	if s.paired(rank) && len(rest) > 0 {
		all = with(all, g.Send(rank^1, Memory(rest), done...))
	}
	return with(all, move(g, out, own, done)...)
}

// reversedBlocks lays out blocks for recursive halving: position q is for survivor reverse(q), with the block of the rank that it stands
// for behind its own. from is where each position is in the operand, cut where it is among positions.
func reversedBlocks(s shrink, counts, displs []int) (cut []int, from []span) {
	cut, from = make([]int, s.pow+1), make([]span, s.pow)
	for q := range s.pow {
		first := s.real(reverse(q, s.pow))
		last := first
		if s.paired(first) {
			last++
		}
		from[q] = span{displs[first], displs[last] + counts[last]}
		cut[q+1] = cut[q] + from[q].len()
	}
	return cut, from
}
