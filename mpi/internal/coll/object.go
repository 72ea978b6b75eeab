package coll

// Collectives over serialised values, whose sizes differ and are not known while the schedule is
// built. A value is a *[]byte that is read when the schedule sends it; a result is new memory. An
// empty value is a message like any other.

// BcastObject gives *data of rank root to *data of every rank (MPI 4.1, 6.4): a binomial tree, lg p
// rounds, or one between leaders and one inside each host. Its size is not known to the receivers,
// so there is no choice by size.
func BcastObject(g Graph, rank, size, root int, data *[]byte, after ...Step) []Step {
	ready, sent := bcastObject(g, rank, size, root, data, after)
	return join(g, with(ready, sent...))
}

// bcastObject tells apart when *data is valid and when it has been passed on.
func bcastObject(g Graph, rank, size, root int, data *[]byte, after []Step) (ready, sent []Step) {
	p := placesOf(g, size)
	if p == nil {
		return bcastObjectTree(g, tree{size: size, root: root, v: mod(rank-root, size)}, data, after)
	}
	l := p.levels(g, rank, root)
	if l.leads() {
		after, sent = bcastObjectTree(l.between, l.between.tree(), data, after)
	}
	ready, inside := bcastObjectTree(l.inside, l.inside.tree(), data, after)
	return ready, with(sent, inside...)
}

func bcastObjectTree(g Graph, t tree, data *[]byte, after []Step) (ready, sent []Step) {
	ready = after
	if t.v != 0 {
		ready = []Step{g.RecvInto(t.rank(t.parent()), data, after...)}
	}
	for _, c := range t.children() {
		sent = append(sent, g.SendFrom(t.rank(c), data, ready...))
	}
	return ready, sent
}

// GatherObject sets all[r] of rank root to *mine of rank r (MPI 4.1, 6.5): every rank sends to the
// root. all of the others is not used.
func GatherObject(g Graph, rank, size, root int, mine *[]byte, all [][]byte, after ...Step) []Step {
	if rank != root {
		return []Step{g.SendFrom(root, mine, after...)}
	}
	done := []Step{assign(g, &all[root], mine, after)}
	for i := 1; i < size; i++ {
		r := mod(root+i, size)
		done = append(done, g.RecvInto(r, &all[r], after...))
	}
	return join(g, done)
}

// ScatterObject sets *mine of rank r to all[r] of rank root (MPI 4.1, 6.6): the root sends to every
// rank. all of the others is not used.
func ScatterObject(g Graph, rank, size, root int, all [][]byte, mine *[]byte, after ...Step) []Step {
	if rank != root {
		return []Step{g.RecvInto(root, mine, after...)}
	}
	done := []Step{assign(g, mine, &all[root], after)}
	for i := 1; i < size; i++ {
		r := mod(root+i, size)
		done = append(done, g.SendFrom(r, &all[r], after...))
	}
	return join(g, done)
}

// AllgatherObject sets all[r] of every rank to *mine of rank r (MPI 4.1, 6.7): a ring, p-1 rounds.
func AllgatherObject(g Graph, rank, size int, mine *[]byte, all [][]byte, after ...Step) []Step {
	next, prev := mod(rank+1, size), mod(rank-1, size)
	own := assign(g, &all[rank], mine, after)
	in := line{base: after}
	sent := []Step{own}
	for s := range size - 1 {
		data := &all[mod(rank-s, size)]
		if s == 0 {
			data = mine
		}
		sent = append(sent, g.SendFrom(next, data, in.all()...))
		in.add(g.RecvInto(prev, &all[mod(rank-s-1, size)], in.next()...))
	}
	return join(g, with(in.all(), sent...))
}

// AlltoallObject sets out[r] of every rank to in[rank] of rank r (MPI 4.1, 6.8): p-1 messages each
// way, many at a time.
func AlltoallObject(g Graph, rank, size int, in, out [][]byte, after ...Step) []Step {
	done := []Step{assign(g, &out[rank], &in[rank], after)}
	slots := make([][]Step, min(linearWindow, size))
	for i := range slots {
		slots[i] = after
	}
	for s := 1; s < size; s++ {
		to, from := mod(rank+s, size), mod(rank-s, size)
		slot := &slots[s%len(slots)]
		send := g.SendFrom(to, &in[to], *slot...)
		*slot = []Step{send, g.RecvInto(from, &out[from], *slot...)}
	}
	for _, s := range slots {
		done = with(done, s...)
	}
	return join(g, done)
}

// assign sets *dst to *src.
func assign(g Graph, dst, src *[]byte, after []Step) Step {
	return g.Do(func() error { *dst = *src; return nil }, after...)
}
