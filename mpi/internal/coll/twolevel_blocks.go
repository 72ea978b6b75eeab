package coll

// packed is the layout of consecutive blocks of the given sizes.
func packed(counts []int) (displs []int, total int) {
	displs = make([]int, len(counts))
	for i, n := range counts {
		displs[i] = total
		total += n
	}
	return displs, total
}

// hostBlocks is the layout of the hosts' parts in a buffer that holds the blocks of all ranks, host
// by host. count gives the size of a rank's block.
func (p *Places) hostBlocks(count func(rank int) int) (counts, displs []int, total int) {
	counts = make([]int, len(p.members))
	for r, h := range p.host {
		counts[h] += count(r)
	}
	displs, total = packed(counts)
	return counts, displs, total
}

// gatherTwoLevel collects the blocks of each host at its leader, then those of the leaders,
// straight, at the root. The root puts them in the order of ranks unless the ranks of every host
// are contiguous.
func gatherTwoLevel(g Graph, p *Places, rank, root int, in, out Buf, after []Step) []Step {
	l, m := p.levels(g, rank, root), in.Len()
	s, b := l.inside, l.between
	if b == nil {
		return Gather(s, Auto, s.rank, s.size(), s.root, in, Buf{}, after...)
	}
	if rank != root {
		part, done := in, after
		if s.size() > 1 {
			part = Memory(scratch(g, s.size()*m))
			done = Gather(s, Auto, s.rank, s.size(), s.root, in, part, after...)
		}
		return Gatherv(b, b.rank, b.size(), b.root, part, Buf{}, nil, nil, done...)
	}
	counts, displs, total := p.hostBlocks(func(int) int { return m })
	work := out.Part(0, total)
	if !p.ordered {
		work = Memory(scratch(g, total))
	}
	own := work.block(counts, displs, b.rank)
	done := Gather(s, Auto, s.rank, s.size(), s.root, in, own, after...)
	done = with(done, Gatherv(b, b.rank, b.size(), b.root, own, work, counts, displs, after...)...)
	if p.ordered {
		return join(g, done)
	}
	return []Step{g.Do(func() error {
		for i, r := range p.order {
			out.Unpack(r*m, work.mem[i*m:(i+1)*m])
		}
		return nil
	}, done...)}
}

// scatterTwoLevel sends each leader the blocks of its host, straight, and lets it pass them on. The
// root puts them in the order of hosts first unless the ranks of every host are contiguous.
func scatterTwoLevel(g Graph, p *Places, rank, root int, in, out Buf, after []Step) []Step {
	l, m := p.levels(g, rank, root), out.Len()
	s, b := l.inside, l.between
	if b == nil {
		return Scatter(s, Auto, s.rank, s.size(), s.root, Buf{}, out, after...)
	}
	if rank != root {
		if s.size() == 1 {
			return Scatterv(b, b.rank, b.size(), b.root, Buf{}, nil, nil, out, after...)
		}
		part := Memory(scratch(g, s.size()*m))
		done := Scatterv(b, b.rank, b.size(), b.root, Buf{}, nil, nil, part, after...)
		return Scatter(s, Auto, s.rank, s.size(), s.root, part, out, done...)
	}
	counts, displs, total := p.hostBlocks(func(int) int { return m })
	work := in.Part(0, total)
	if !p.ordered {
		work = Memory(scratch(g, total))
		to := work.mem
		after = []Step{g.Do(func() error {
			for i, r := range p.order {
				in.Pack(to[i*m:(i+1)*m], r*m)
			}
			return nil
		}, after...)}
	}
	own := work.block(counts, displs, b.rank)
	done := Scatterv(b, b.rank, b.size(), b.root, work, counts, displs, own, after...)
	return join(g, with(done, Scatter(s, Auto, s.rank, s.size(), s.root, own, out, after...)...))
}

// allgatherTwoLevel collects the blocks of each host at its leader, then those of all hosts at
// every leader, which gives them to its host. Where blocks do not lie in out host by host without
// gaps, they are collected in temporary memory and put in place.
func allgatherTwoLevel(g Graph, p *Places, rank int, in, out Buf, counts, displs []int, after []Step) []Step {
	l := p.levels(g, rank, none)
	s, b := l.inside, l.between
	hostCounts, hostDispls, total := p.hostBlocks(func(r int) int { return counts[r] })
	if total == 0 {
		return after
	}
	work, direct := p.packedIn(out, counts, displs, total)
	if !direct {
		work = Memory(scratch(g, total))
	}
	mine := make([]int, s.size())
	for i, r := range s.ranks {
		mine[i] = counts[r]
	}
	at, _ := packed(mine)
	part := work.block(hostCounts, hostDispls, p.host[rank])
	done := Gatherv(s, s.rank, s.size(), s.root, in, part, mine, at, after...)
	if b != nil {
		done = Allgatherv(b, Auto, b.rank, b.size(), part, work, hostCounts, hostDispls, done...)
	}
	done = Bcast(s, Auto, s.rank, s.size(), s.root, work, done...)
	if direct {
		return done
	}
	return []Step{g.Do(func() error {
		from := work.mem
		for _, r := range p.order {
			out.Unpack(displs[r], from[:counts[r]])
			from = from[counts[r]:]
		}
		return nil
	}, done...)}
}

// packedIn gives the part of out that holds all blocks if they lie in it host by host without gaps.
func (p *Places) packedIn(out Buf, counts, displs []int, total int) (all Buf, ok bool) {
	at := displs[p.order[0]]
	for _, r := range p.order {
		if displs[r] != at {
			return Buf{}, false
		}
		at += counts[r]
	}
	return out.Part(at-total, at), true
}
