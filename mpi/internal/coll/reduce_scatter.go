package coll

// ReduceScatter combines in of all ranks, in the order of ranks, and leaves block r, counts[r]
// bytes, in out of rank r (MPI 4.1, 6.10). Blocks lie in in one after the other and hold whole
// elements. in and out may start at the same place.
//
//   - RecursiveHalving: lg p rounds, n(p-1)/p bytes (two rounds and about 2n bytes more if p is no
//     power of two). Blocks are put in the order of reversed bits first, so that partners can stand
//     for adjacent ranges and order is kept.
//   - Ring: p-1 rounds, n(p-1)/p bytes; only if the operation commutes.
func ReduceScatter(g Graph, alg Algorithm, rank, size int, in, out Buf, counts []int, red Reducer, after ...Step) []Step {
	displs, total := packed(counts)
	if total == 0 {
		return after
	}
	out = out.Part(0, counts[rank])
	if size == 1 {
		return moveBuf(g, out, in.Part(0, total), after)
	}
	if !KindReduceScatter.Has(alg) || alg == Ring && !red.Commutative {
		alg = ChooseReduceScatter(size, total, red.Commutative)
	}
	cut := segmentsOf(red.Segment, total, red.ElemSize, size)
	own := out
	if cut.n > 1 && out.begins(in) {
		// What a segment leaves here must not be where another has operands yet: those of this
		// rank's block are of the same segment.
		own = in.block(counts, displs, rank)
	}
	done := streamsOf(g, cut.n, cut.spare(total), false, after, func(g Graph, k int, after []Step) []Step {
		// A part of every block, so that all ranks have the same to do in each segment.
		lens, from, at := make([]int, size), make([]int, size), 0
		for r, c := range counts {
			lo := cut.beginShare(c, k)
			lens[r], from[r] = cut.beginShare(c, k+1)-lo, displs[r]+lo
			if r == rank {
				at = lo
			}
		}
		x := scattering{g: g, rank: rank, size: size, in: in, from: from, out: own.Part(at, at+lens[rank]), counts: lens, red: red}
		if alg == Ring {
			return x.ring(after)
		}
		return x.halving(after)
	})
	return moveBuf(g, out, own, done)
}

// ReduceScatterBlock is ReduceScatter with blocks of out.Len() bytes (MPI 4.1, 6.10.1).
func ReduceScatterBlock(g Graph, alg Algorithm, rank, size int, in, out Buf, red Reducer, after ...Step) []Step {
	counts, _ := even(size, out.Len())
	return ReduceScatter(g, alg, rank, size, in, out, counts, red, after...)
}

// scattering is a rank's part in one segment of a ReduceScatter. Immutable.
type scattering struct {
	g          Graph
	rank, size int
	in         Buf
	from       []int // where in in the operand's part of each block begins
	out        Buf
	counts     []int // bytes of each part
	red        Reducer
}

// block is the part of block b of the operand.
func (x *scattering) block(b int) span { return span{x.from[b], x.from[b] + x.counts[b]} }

// gather copies parts of the operand to dst, one after the other.
func (x *scattering) gather(dst []byte, parts []span, after []Step) []Step {
	return []Step{x.g.Do(func() error {
		rest := dst
		for _, s := range parts {
			x.in.Pack(rest[:s.len()], s.lo)
			rest = rest[s.len():]
		}
		return nil
	}, after...)}
}

func (x *scattering) ring(after []Step) []Step {
	displs, total := packed(x.counts)
	work := scratch(x.g, total)
	acc := func(b int) []byte { return block(work, x.counts, displs, b) }
	in := acc
	if mem, ok := x.in.Memory(); ok {
		in = func(b int) []byte { return x.block(b).of(mem) }
	} else {
		parts := make([]span, x.size)
		for b := range parts {
			parts[b] = x.block(b)
		}
		after = x.gather(work, parts, after)
	}
	ready, done := ringReduceScatter(x.g, x.rank, x.size, x.red, in, acc, after)
	return moveBuf(x.g, x.out, Memory(acc(x.rank)), join(x.g, with(ready, done...)))
}

func (x *scattering) halving(after []Step) []Step {
	s := newShrink(x.size, none)
	cut, from := x.reversedBlocks(s)
	var work []byte
	in, ok := x.in.Memory()
	if ok && isOnePiece(from) {
		in = span{from[0].lo, from[len(from)-1].hi}.of(in)
	} else {
		work = scratch(x.g, cut[s.pow])
		after = x.gather(work, from, after)
		in = work // in place: it is ours
	}
	h := newHalving(s, x.rank, cut)
	acc, done := fold(x.g, x.red, in, work, h.rounds, after)
	if h.v == none {
		if x.out.Len() > 0 {
			done = []Step{x.g.Recv(x.rank^1, x.out, done...)}
		}
		return done
	}
	mine := h.bytes(h.lo, h.hi).of(acc)
	n := x.counts[x.rank]
	all := done
	if s.paired(x.rank) && len(mine) > n {
		all = with(all, x.g.Send(x.rank^1, Memory(mine[n:]), done...))
	}
	return with(all, moveBuf(x.g, x.out, Memory(mine[:n]), done)...)
}

// isOnePiece says whether spans follow each other.
func isOnePiece(spans []span) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i].lo != spans[i-1].hi {
			return false
		}
	}
	return true
}

// reversedBlocks lays out blocks for recursive halving: position q is for survivor reverse(q), with
// the block of the rank that it stands for behind its own. from is where the blocks are in the
// operand in that order, cut where the positions are among them.
func (x *scattering) reversedBlocks(s shrink) (cut []int, from []span) {
	cut, from = make([]int, s.pow+1), make([]span, 0, x.size)
	for q := range s.pow {
		first := s.real(reverse(q, s.pow))
		from = append(from, x.block(first))
		cut[q+1] = cut[q] + x.counts[first]
		if s.paired(first) {
			from = append(from, x.block(first+1))
			cut[q+1] += x.counts[first+1]
		}
	}
	return cut, from
}
