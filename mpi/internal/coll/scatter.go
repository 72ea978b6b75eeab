package coll

// Scatter sends block r, out.Len() bytes, of in at rank root to out of rank r (MPI 4.1, 6.6). in of
// the others is not used and may be empty. In place at the root: out may be block root of in.
//
//   - Binomial: the root sends to subtrees, which pass on. lg p rounds, m(p-1) bytes out of the
//     root for blocks of m.
//   - Linear: the root sends to every rank. p-1 messages out of the root, m(p-1) bytes; nothing is
//     copied on the way.
//   - TwoLevel: from the root to the leaders, then inside each host. N-1 messages between N hosts.
func Scatter(g Graph, alg Algorithm, rank, size, root int, in, out Buf, after ...Step) []Step {
	m := out.Len()
	if m == 0 {
		return after
	}
	p := placesOf(g, size)
	if !KindScatter.Has(alg) || alg == TwoLevel && p == nil {
		alg = ChooseScatter(size, m, p)
	}
	switch alg {
	case TwoLevel:
		return scatterTwoLevel(g, p, rank, root, in, out, after)
	case Binomial:
		return scatterBinomial(g, tree{size: size, root: root, v: mod(rank-root, size)}, in, out, after)
	case Linear:
		counts, displs := even(size, m)
		return Scatterv(g, rank, size, root, in, counts, displs, out, after...)
	default:
		panic(KindScatter.unreachable(alg))
	}
}

// Scatterv sends the counts[r] bytes at displs[r] of in at rank root to out of rank r (MPI 4.1,
// 6.6). in, counts and displs of the others are not used. In place at the root: out may be its
// block of in.
//
// Linear, because only the root knows the counts. An empty block is a message too; see [Gatherv].
func Scatterv(g Graph, rank, size, root int, in Buf, counts, displs []int, out Buf, after ...Step) []Step {
	if rank != root {
		return []Step{g.Recv(root, out, after...)}
	}
	var done []Step
	for i := 1; i < size; i++ {
		r := mod(root+i, size)
		done = append(done, g.Send(r, in.block(counts, displs, r), after...))
	}
	return join(g, with(done, moveBuf(g, out, in.block(counts, displs, root), after)...))
}

// scatterBinomial hands each subtree its blocks in the order of the tree's numbers. The root sends
// straight from in unless the ranks of a subtree wrap round.
func scatterBinomial(g Graph, t tree, in, out Buf, after []Step) []Step {
	m, n := out.Len(), t.extent(t.v)
	if n == 1 && t.v != 0 {
		return []Step{g.Recv(t.rank(t.parent()), out, after...)}
	}
	var done []Step
	if t.v != 0 {
		work := Memory(scratch(g, n*m))
		after = []Step{g.Recv(t.rank(t.parent()), work, after...)}
		for _, c := range t.children() {
			lo := (c - t.v) * m
			done = append(done, g.Send(t.rank(c), work.Part(lo, lo+t.extent(c)*m), after...))
		}
		return join(g, with(done, moveBuf(g, out, work.Part(0, m), after)...))
	}
	for _, c := range t.children() {
		first, bytes := t.rank(c), t.extent(c)*m
		head := min((t.size-first)*m, bytes)
		if head == bytes {
			done = append(done, g.Send(first, in.Part(first*m, first*m+bytes), after...))
			continue
		}
		work := scratch(g, bytes)
		pack := g.Do(func() error {
			in.Pack(work[:head], first*m)
			in.Pack(work[head:], 0)
			return nil
		}, after...)
		done = append(done, g.Send(first, Memory(work), pack))
	}
	return join(g, with(done, moveBuf(g, out, in.Part(t.root*m, (t.root+1)*m), after)...))
}
