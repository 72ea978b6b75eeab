package coll

// barrierTwoLevel gathers the ranks of each host at its leader, lets leaders meet, and releases the
// others. lg N rounds between N hosts, 2 lg q inside a host of q ranks.
func barrierTwoLevel(g Graph, p *Places, rank int, after []Step) []Step {
	l := p.levels(g, rank, none)
	after = fanIn(l.inside, l.inside.tree(), after)
	if l.leads() {
		after = barrierDissemination(l.between, l.between.rank, l.between.size(), after)
	}
	return bcastBinomial(l.inside, l.inside.tree(), Buf{}, after)
}

// fanIn tells the root of the tree that all ranks have come so far.
func fanIn(g Graph, t tree, after []Step) []Step {
	ready := after
	for _, c := range t.children() {
		ready = with(ready, g.Recv(t.rank(c), Buf{}, after...))
	}
	if t.v == 0 {
		return ready
	}
	return []Step{g.Send(t.rank(t.parent()), Buf{}, ready...)}
}

// bcastTwoLevel lets leaders have the message first. By binomial trees, a leader serves its host
// without waiting until what it sent to other hosts has left.
func bcastTwoLevel(g Graph, p *Places, rank, root int, buf Buf, after []Step) []Step {
	l := p.levels(g, rank, root)
	var sent []Step
	if b := l.between; b != nil {
		if ChooseBcast(b.size(), buf.Len(), nil) == Binomial {
			after, sent = bcastTree(b, b.tree(), buf, after)
		} else {
			after = Bcast(b, Auto, b.rank, b.size(), b.root, buf, after...)
		}
	}
	done := Bcast(l.inside, Auto, l.inside.rank, l.inside.size(), l.inside.root, buf, after...)
	return join(g, with(done, sent...))
}

// reduceInside combines the operands of a host at its leader and says where: in out, which may be
// in, or in temporary memory if out is nil; in in itself if the leader is alone. Of the others it
// returns nil.
func reduceInside(l levels, in, out []byte, red Reducer, after []Step) (part []byte, done []Step) {
	s := l.inside
	if s.size() == 1 {
		return in, after
	}
	if !l.leads() {
		out = nil
	} else if out == nil {
		out = scratch(s, len(in))
	}
	return out, reduceFlat(s, Auto, in, out, red, after)
}

// reduceTwoLevel combines the operands of each host at its leader, then those of the leaders at the
// root. Hosts and their members are in the order of ranks whatever the root is, so every root gets
// the same bits.
func reduceTwoLevel(g Graph, p *Places, rank, root int, in, out []byte, red Reducer, after []Step) []Step {
	l := p.levels(g, rank, root)
	part, done := reduceInside(l, in, out, red, after)
	if b := l.between; b != nil {
		done = reduceFlat(b, Auto, part, out, red, done)
	}
	return done
}

// allreduceTwoLevel combines the operands of each host at its leader, then those of the leaders at
// every leader, which tells its host. Leaders get the same bits from the flat algorithm, so all
// ranks have them.
func allreduceTwoLevel(g Graph, p *Places, rank int, in, out []byte, red Reducer, after []Step) []Step {
	l := p.levels(g, rank, none)
	part, done := reduceInside(l, in, out, red, after)
	if b := l.between; b != nil {
		done = allreduceFlat(b, part, out, red, done)
	}
	return Bcast(l.inside, Auto, l.inside.rank, l.inside.size(), l.inside.root, Memory(out), done...)
}
