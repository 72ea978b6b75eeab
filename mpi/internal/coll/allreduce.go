package coll

// Allreduce combines in of all ranks, in the order of ranks, into out of every rank (MPI 4.1,
// 6.9.6). All ranks get the same bits. In place: in and out may be the same.
//
//   - RecursiveDoubling: lg p rounds, n lg p bytes. If p is no power of two, neighbours are
//     combined before and informed after: two rounds and 2n bytes more.
//   - Linear: rank 0 combines what the others send it, then tells them. Two rounds, 2(p-1)
//     messages, of which a rank other than 0 has two.
//   - Rabenseifner (see [Reduce]): reduce-scatter by recursive halving, then allgather by recursive
//     doubling. 2 lg p rounds, 2n(p-1)/p bytes; two rounds and 2n bytes more if p is no power of
//     two.
//   - Ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
//     workstations", 2009): reduce-scatter and allgather round a ring. 2(p-1) rounds, 2n(p-1)/p
//     bytes for every p. Combines block b in the order of ranks b+1, b+2, ..., b, so only if the
//     operation commutes; each block is combined once, so that all ranks get the same bits.
//   - TwoLevel: Reduce inside each host, Allreduce between leaders, Bcast inside. Each part as
//     Auto; lg N rounds between N hosts while vectors are short. Only if the operation commutes or
//     the ranks of every host are contiguous.
//
// If it is known which ranks share a host and the operation commutes, the flat algorithms take the
// ranks host by host.
func Allreduce(g Graph, alg Algorithm, rank, size int, in, out Buf, red Reducer, after ...Step) []Step {
	if in.Len() == 0 {
		return after
	}
	if size == 1 {
		return moveBuf(g, out, in, after)
	}
	p := placesOf(g, size)
	if !KindAllreduce.Has(alg) || alg == Ring && !red.Commutative || alg == TwoLevel && !p.canReduce(red.Commutative) {
		alg = ChooseAllreduce(size, in.Len(), red.Commutative, p)
	}
	if red.Commutative && alg != TwoLevel {
		g, rank, _ = p.hostOrder(g, rank, none)
	}
	return inSegments(g, size, in, out, red, after, func(g Graph, in, out []byte, after []Step) []Step {
		return allreduceBy(g, alg, p, rank, size, in, out, red, after)
	})
}

// allreduceFlat is [Allreduce] of memory among the ranks of a group, in one piece.
func allreduceFlat(s *group, in, out []byte, red Reducer, after []Step) []Step {
	if s.size() == 1 {
		return move(s, out, in, after)
	}
	alg := ChooseAllreduce(s.size(), len(in), red.Commutative, nil)
	return allreduceBy(s, alg, nil, s.rank, s.size(), in, out, red, after)
}

func allreduceBy(g Graph, alg Algorithm, p *Places, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	switch alg {
	case TwoLevel:
		return allreduceTwoLevel(g, p, rank, in, out, red, after)
	case Linear:
		return allreduceLinear(g, rank, size, in, out, red, after)
	case RecursiveDoubling:
		return allreduceDoubling(g, rank, size, in, out, red, after)
	case Rabenseifner:
		return allreduceHalving(g, rank, size, in, out, red, after)
	case Ring:
		return allreduceRing(g, rank, size, in, out, red, after)
	default:
		panic(KindAllreduce.unreachable(alg))
	}
}

func allreduceLinear(g Graph, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	all := span{0, len(in)}
	if rank != 0 {
		_, sent := fold(g, red, in, nil, []round{{to: 0, out: all, from: none}}, after)
		return []Step{g.Recv(0, Memory(out), sent...)}
	}
	rounds := make([]round, 0, size-1)
	for r := 1; r < size; r++ {
		rounds = append(rounds, round{to: none, from: r, in: all})
	}
	acc, done := fold(g, red, in, out, rounds, after)
	return tellAll(g, size, Memory(out), move(g, out, acc, done))
}

func allreduceDoubling(g Graph, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	s, all := newShrink(size, none), span{0, len(in)}
	var room [8]round // enough for 128 ranks
	rounds, v := s.rounds(room[:0], rank, all), s.virtual(rank)
	if v == none {
		_, done := fold(g, red, in, nil, rounds, after)
		return inform(g, s, rank, out, done)
	}
	for m := 1; m < s.pow; m *= 2 {
		peer := s.real(v ^ m)
		rounds = append(rounds, round{to: peer, out: all, from: peer, in: all, lower: v&m != 0})
	}
	acc, done := fold(g, red, in, out, rounds, after)
	told := inform(g, s, rank, acc, done)
	if same(out, acc) {
		return told
	}
	return with(told, move(g, out, acc, done)...)
}

func allreduceHalving(g Graph, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	s := newShrink(size, none)
	h := newHalving(s, rank, cuts(len(in), red.ElemSize, s.pow))
	acc, done := fold(g, red, in, out, h.rounds, after)
	if h.v == none {
		return inform(g, s, rank, out, done)
	}
	own := h.bytes(h.lo, h.hi)
	done = move(g, own.of(out), own.of(acc), done)
	for m := s.pow / 2; m > 0; m /= 2 {
		peer, ready := s.real(h.v^m), done
		lo, hi := h.beside(m)
		if b := h.bytes(h.lo, h.hi).of(out); len(b) > 0 {
			done = with(done, g.Send(peer, Memory(b), ready...))
		}
		if b := h.bytes(lo, hi).of(out); len(b) > 0 {
			done = with(done, g.Recv(peer, Memory(b), ready...))
		}
		h.lo, h.hi = min(h.lo, lo), max(h.hi, hi)
	}
	return inform(g, s, rank, out, done)
}

// inform sends the result in buf from a survivor to the neighbour that it stands for.
func inform(g Graph, s shrink, rank int, buf []byte, after []Step) []Step {
	switch {
	case !s.paired(rank):
		return after
	case s.virtual(rank) == none:
		return []Step{g.Recv(rank^1, Memory(buf), after...)}
	default:
		return with(after, g.Send(rank^1, Memory(buf), after...))
	}
}

func allreduceRing(g Graph, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	cut := cuts(len(in), red.ElemSize, size)
	part := func(buf []byte, b int) []byte { return span{cut[b], cut[b+1]}.of(buf) }
	ready, done := ringReduceScatter(g, rank, size, red,
		func(b int) []byte { return part(in, b) }, func(b int) []byte { return part(out, b) }, after)
	held := func(v, b int) bool { return b == v || len(part(out, b)) == 0 }
	// A block is overwritten by its result only after the sends of the first half are complete.
	ready = join(g, with(ready, done...))
	return ringAllgather(g, rank, size, func(v int) int { return v }, held, func(b int) Buf { return Memory(part(out, b)) }, ready)
}
