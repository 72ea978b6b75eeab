package coll

// Gather collects in of rank r as block r, in.Len() bytes, of out at rank root (MPI 4.1, 6.5). out
// of the others is not used and may be empty. In place at the root: in may be block root of out.
//
//   - Binomial: subtrees collect their blocks first. lg p rounds, m(p-1) bytes into the root for
//     blocks of m.
//   - Linear: every rank sends to the root. p-1 messages into the root, m(p-1) bytes; nothing is
//     copied on the way.
//   - TwoLevel: inside each host, then from the leaders to the root. N-1 messages between N hosts.
func Gather(g Graph, alg Algorithm, rank, size, root int, in, out Buf, after ...Step) []Step {
	m := in.Len()
	if m == 0 {
		return after
	}
	p := placesOf(g, size)
	if !KindGather.Has(alg) || alg == TwoLevel && p == nil {
		alg = ChooseGather(size, m, p)
	}
	switch alg {
	case TwoLevel:
		return gatherTwoLevel(g, p, rank, root, in, out, after)
	case Binomial:
		return gatherBinomial(g, tree{size: size, root: root, v: mod(rank-root, size)}, in, out, after)
	case Linear:
		counts, displs := even(size, m)
		return Gatherv(g, rank, size, root, in, out, counts, displs, after...)
	default:
		panic(KindGather.unreachable(alg))
	}
}

// Gatherv collects in of rank r as the counts[r] bytes at displs[r] of out at rank root (MPI 4.1,
// 6.5). out, counts and displs of the others are not used. In place at the root: in may be its
// block of out.
//
// Linear, because only the root knows the counts. An empty block is a message too, so that a rank
// and a root that do not agree get an error, not a hang.
func Gatherv(g Graph, rank, size, root int, in, out Buf, counts, displs []int, after ...Step) []Step {
	if rank != root {
		return []Step{g.Send(root, in, after...)}
	}
	var done []Step
	for i := 1; i < size; i++ {
		r := mod(root+i, size)
		done = append(done, g.Recv(r, out.block(counts, displs, r), after...))
	}
	return join(g, with(done, moveBuf(g, out.block(counts, displs, root), in, after)...))
}

// gatherBinomial collects the blocks of a subtree in the order of the tree's numbers. The root
// takes a subtree straight into out unless its ranks wrap round.
func gatherBinomial(g Graph, t tree, in, out Buf, after []Step) []Step {
	m, n := in.Len(), t.extent(t.v)
	if n == 1 && t.v != 0 {
		return []Step{g.Send(t.rank(t.parent()), in, after...)}
	}
	var done []Step
	if t.v != 0 {
		work := Memory(scratch(g, n*m))
		done = with(done, moveBuf(g, work.Part(0, m), in, after)...)
		for _, c := range t.children() {
			lo := (c - t.v) * m
			done = append(done, g.Recv(t.rank(c), work.Part(lo, lo+t.extent(c)*m), after...))
		}
		return []Step{g.Send(t.rank(t.parent()), work, done...)}
	}
	done = with(done, moveBuf(g, out.Part(t.root*m, (t.root+1)*m), in, after)...)
	for _, c := range t.children() {
		first, bytes := t.rank(c), t.extent(c)*m
		head := min((t.size-first)*m, bytes)
		if head == bytes {
			done = append(done, g.Recv(first, out.Part(first*m, first*m+bytes), after...))
			continue
		}
		work := scratch(g, bytes)
		recv := g.Recv(first, Memory(work), after...)
		done = append(done, g.Do(func() error {
			out.Unpack(first*m, work[:head])
			out.Unpack(0, work[head:])
			return nil
		}, recv))
	}
	return join(g, done)
}
