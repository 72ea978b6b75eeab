package coll

import "math/bits"

// Scan combines in of ranks 0 to r, in their order, into out of rank r (MPI 4.1, 6.11.1). In place:
// in and out may be the same.
//
//   - RecursiveDoubling (Hillis and Steele, "Data parallel algorithms", 1986): in round k the
//     result so far, of up to 2^k ranks, goes to the rank 2^k further on. lg p rounds, n lg p
//     bytes, one combination per round.
//   - Chain: segments of size s pass from rank to rank. p-1+n/s rounds, n bytes.
func Scan(g Graph, alg Algorithm, rank, size int, in, out Buf, red Reducer, after ...Step) []Step {
	if in.Len() == 0 {
		return after
	}
	if size == 1 {
		return moveBuf(g, out, in, after)
	}
	if !KindScan.Has(alg) {
		alg = ChooseScan(size, in.Len(), red.Commutative)
	}
	return inSegments(g, size, in, out, red, after, func(g Graph, in, out []byte, after []Step) []Step {
		return scanBy(g, alg, rank, size, in, out, red, after)
	})
}

func scanBy(g Graph, alg Algorithm, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	switch alg {
	case RecursiveDoubling:
		acc, done := fold(g, red, in, out, scanRounds(rank, 0, size, span{0, len(in)}), after)
		return move(g, out, acc, done)
	case Chain:
		return scanChain(g, rank, size, in, out, red, after)
	default:
		panic(KindScan.unreachable(alg))
	}
}

// Exscan combines in of ranks 0 to r-1, in their order, into out of rank r (MPI 4.1, 6.11.2). out
// of rank 0 is left as it is. In place: in and out may be the same.
//
// RecursiveDoubling: every rank but the last hands in to its successor, then ranks 1 to p-1 do a
// [Scan]. 1 + lg(p-1) rounds.
func Exscan(g Graph, _ Algorithm, rank, size int, in, out Buf, red Reducer, after ...Step) []Step {
	if in.Len() == 0 || size == 1 {
		return after
	}
	if rank == 0 {
		out = Buf{}
	}
	return inSegments(g, size, in, out, red, after, func(g Graph, in, out []byte, after []Step) []Step {
		return exscanDoubling(g, rank, size, in, out, red, after)
	})
}

func exscanDoubling(g Graph, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	var sent []Step
	if rank < size-1 {
		sent = append(sent, g.Send(rank+1, Memory(in), after...))
	}
	if rank == 0 {
		return sent
	}
	mine, ready := out, after
	if same(in, out) {
		mine = scratch(g, len(in))
	}
	ready = []Step{g.Recv(rank-1, Memory(mine), ready...)}
	if same(in, out) {
		ready = with(ready, sent...) // out may be written only when in is sent
	}
	acc, done := fold(g, red, mine, out, scanRounds(rank, 1, size, span{0, len(in)}), ready)
	return with(sent, move(g, out, acc, done)...)
}

// scanRounds gives a rank's rounds in the scan over ranks [first, size).
func scanRounds(rank, first, size int, all span) []round {
	rounds := make([]round, 0, bits.Len(uint(size)))
	for dist := 1; dist < size-first; dist *= 2 {
		r := round{to: none, from: none}
		if rank+dist < size {
			r.to, r.out = rank+dist, all
		}
		if rank-dist >= first {
			r.from, r.in, r.lower = rank-dist, all, true
		}
		if r.to != none || r.from != none {
			rounds = append(rounds, r)
		}
	}
	return rounds
}

func scanChain(g Graph, rank, size int, in, out []byte, red Reducer, after []Step) []Step {
	all := span{0, len(in)}
	if rank == 0 {
		done := move(g, out, in, after)
		for lo, hi := 0, 0; lo < len(in); lo = hi {
			s := all.piece(lo, red.ElemSize)
			hi = s.hi
			done = with(done, g.Send(1, Memory(s.of(in)), after...))
		}
		return join(g, done)
	}
	arrive := out
	if same(in, out) {
		arrive = scratch(g, len(in))
	}
	recvs, ready := line{base: after}, after
	var sent []Step
	for lo, hi := 0, 0; lo < len(in); lo = hi {
		s := all.piece(lo, red.ElemSize)
		hi = s.hi
		op, own, res := s.of(arrive), s.of(in), s.of(out)
		recv := g.Recv(rank-1, Memory(op), recvs.next()...)
		recvs.add(recv)
		ready = []Step{g.Combine(Combination{red.Combine, op, op, own}, with(ready, recv)...)}
		ready = move(g, res, op, ready)
		if rank < size-1 {
			sent = append(sent, g.Send(rank+1, Memory(op), ready...))
		}
	}
	return join(g, with(sent, ready...))
}
