package coll

// Allgather collects in of rank r as block r, in.Len() bytes, of out at every rank (MPI 4.1, 6.7).
// In place: in may be block rank of out.
//
//   - RecursiveDoubling: partners exchange all they have. lg p rounds, m(p-1) bytes for blocks of
//     m; only if p is a power of two.
//   - Bruck (Bruck et al., "Efficient algorithms for all-to-all communications in multiport
//     message-passing systems", 1997): in round k a rank sends the 2^k blocks it has to the rank
//     2^k behind. lg p rounds, m(p-1) bytes, and a copy of out.
//   - Ring: p-1 rounds, m(p-1) bytes, between neighbours only, nothing copied. It takes the ranks
//     host by host if it is known which ranks share a host: N messages between N hosts per round.
//   - TwoLevel: Gather inside each host, Allgather between leaders, Bcast inside. lg N rounds
//     between N hosts while blocks are short.
func Allgather(g Graph, alg Algorithm, rank, size int, in, out Buf, after ...Step) []Step {
	if in.Len() == 0 {
		return after
	}
	p := placesOf(g, size)
	if !KindAllgather.Has(alg) || alg == RecursiveDoubling && !isPowerOfTwo(size) || alg == TwoLevel && p == nil {
		alg = ChooseAllgather(size, in.Len(), p)
	}
	if alg == RecursiveDoubling {
		return allgatherDoubling(g, rank, size, in, out, after)
	}
	counts, displs := even(size, in.Len())
	return Allgatherv(g, alg, rank, size, in, out, counts, displs, after...)
}

// Allgatherv collects in of rank r as the counts[r] bytes at displs[r] of out at every rank (MPI
// 4.1, 6.7). In place: in may be this rank's block of out. By Bruck, Ring or TwoLevel; see
// [Allgather]. Bruck and Ring do not send empty blocks.
func Allgatherv(g Graph, alg Algorithm, rank, size int, in, out Buf, counts, displs []int, after ...Step) []Step {
	p := placesOf(g, size)
	if alg != Bruck && alg != Ring && (alg != TwoLevel || p == nil) {
		total := 0
		for _, n := range counts {
			total += n
		}
		alg = ChooseAllgatherv(size, total, p)
	}
	in = in.Part(0, counts[rank])
	switch alg {
	case Bruck:
		return allgatherBruck(g, rank, size, in, out, counts, displs, after)
	case TwoLevel:
		return allgatherTwoLevel(g, p, rank, in, out, counts, displs, after)
	}
	return allgatherRing(g, p, rank, size, in, out, counts, displs, after)
}

// allgatherRing goes round the ranks in their order, or host by host.
func allgatherRing(g Graph, p *Places, rank, size int, in, out Buf, counts, displs []int, after []Step) []Step {
	at, v := func(v int) int { return v }, rank
	if p != nil {
		at, v = func(v int) int { return p.order[v] }, p.pos[rank]
	}
	own := moveBuf(g, out.block(counts, displs, rank), in, after)
	part := func(b int) Buf {
		if b == v {
			return in
		}
		return out.block(counts, displs, at(b))
	}
	held := func(v, b int) bool { return b == v || counts[at(b)] == 0 }
	done := ringAllgather(g, v, size, at, held, part, after)
	return with(own, done...)
}

func allgatherDoubling(g Graph, rank, size int, in, out Buf, after []Step) []Step {
	m := in.Len()
	copied := moveBuf(g, out.Part(rank*m, (rank+1)*m), in, after)
	if size == 1 {
		return copied
	}
	var sent []Step
	for dist := 1; dist < size; dist *= 2 {
		peer := rank ^ dist
		mine, theirs := rank&^(dist-1), peer&^(dist-1)
		data := out.Part(mine*m, (mine+dist)*m)
		if dist == 1 {
			data = in // no need to wait for the copy
		}
		sent = append(sent, g.Send(peer, data, after...))
		after = with(after, g.Recv(peer, out.Part(theirs*m, (theirs+dist)*m), after...))
		if dist == 1 {
			after = with(after, copied...)
		}
	}
	return with(sent, after...)
}

// allgatherBruck collects blocks in the order rank, rank+1, ... in temporary memory, then puts them
// in place.
func allgatherBruck(g Graph, rank, size int, in, out Buf, counts, displs []int, after []Step) []Step {
	at := make([]int, size+1) // block of rank+i is work[at[i]:at[i+1]]
	for i := range size {
		at[i+1] = at[i] + counts[mod(rank+i, size)]
	}
	if at[size] == 0 {
		return after
	}
	work := Memory(scratch(g, at[size]))
	copied := moveBuf(g, work.Part(0, at[1]), in, after)
	ready := after
	var sent []Step
	for have := 1; have < size; have *= 2 {
		n := min(have, size-have)
		data := work.Part(0, at[n])
		if have == 1 {
			data = in
		}
		if data.Len() > 0 {
			sent = append(sent, g.Send(mod(rank-have, size), data, ready...))
		}
		if b := work.Part(at[have], at[have+n]); b.Len() > 0 {
			ready = with(ready, g.Recv(mod(rank+have, size), b, ready...))
		}
		if have == 1 {
			ready = with(ready, copied...)
		}
	}
	if size == 1 {
		ready = copied
	}
	place := g.Do(func() error {
		for i := range size {
			out.Unpack(displs[mod(rank+i, size)], work.mem[at[i]:at[i+1]])
		}
		return nil
	}, with(ready, sent...)...)
	return []Step{place}
}
