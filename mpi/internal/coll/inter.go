package coll

// Inter is one rank's view of two groups, for collectives over an intercommunicator: each group
// gets what the other one gives (MPI 4.1, 6.2.3). Ranks are numbered inside each group; the graph
// below has those of both. Messages between the groups go straight to their receivers where each is
// for one rank only, and between the ranks 0 of both groups, their leaders, where a group combines
// operands or all of a group get the same. Immutable.
type Inter struct {
	local  *group // the group of this rank, led by its rank 0
	remote *group // the other group, as receivers and senders of messages only
}

// NewInter gives the view of the rank of that number in the local group. local and remote are the
// ranks of g in each group.
func NewInter(g Graph, rank int, local, remote []int) Inter {
	return Inter{newGroup(g, local, rank, 0), newGroup(g, remote, none, none)}
}

// leads says whether this rank speaks for its group.
func (x Inter) leads() bool { return x.local.rank == 0 }

// SendTo sends data to one remote rank.
func (x Inter) SendTo(rank int, data Buf) []Step { return []Step{x.remote.Send(rank, data)} }

// RecvFrom receives buf.Len() bytes from one remote rank.
func (x Inter) RecvFrom(rank int, buf Buf) []Step { return []Step{x.remote.Recv(rank, buf)} }

// SendObjectTo sends *data to one remote rank.
func (x Inter) SendObjectTo(rank int, data *[]byte) []Step {
	return []Step{x.remote.SendFrom(rank, data)}
}

// RecvObjectFrom sets *data to what comes from one remote rank.
func (x Inter) RecvObjectFrom(rank int, data *[]byte) []Step {
	return []Step{x.remote.RecvInto(rank, data)}
}

// Deal sends each remote rank its block of in.
func (x Inter) Deal(in Buf, counts, displs []int) []Step {
	var done []Step
	for r := range x.remote.size() {
		done = append(done, x.remote.Send(r, in.block(counts, displs, r)))
	}
	return done
}

// Collect receives a block of out from each remote rank.
func (x Inter) Collect(out Buf, counts, displs []int) []Step {
	var done []Step
	for r := range x.remote.size() {
		done = append(done, x.remote.Recv(r, out.block(counts, displs, r)))
	}
	return done
}

// DealObject sends all[r] to each remote rank r.
func (x Inter) DealObject(all [][]byte) []Step {
	var done []Step
	for r := range x.remote.size() {
		done = append(done, x.remote.SendFrom(r, &all[r]))
	}
	return done
}

// CollectObject sets all[r] to what comes from each remote rank r.
func (x Inter) CollectObject(all [][]byte) []Step {
	var done []Step
	for r := range x.remote.size() {
		done = append(done, x.remote.RecvInto(r, &all[r]))
	}
	return done
}

// Bcast gives buf of the remote rank root, which sends it to rank 0 of this group, to buf of every
// rank of this group (MPI 4.1, 6.4).
func (x Inter) Bcast(alg Algorithm, root int, buf Buf) []Step {
	var after []Step
	if x.leads() {
		after = x.RecvFrom(root, buf)
	}
	return Bcast(x.local, alg, x.local.rank, x.local.size(), 0, buf, after...)
}

// BcastObject is [Inter.Bcast] of a serialised value.
func (x Inter) BcastObject(root int, data *[]byte) []Step {
	var after []Step
	if x.leads() {
		after = x.RecvObjectFrom(root, data)
	}
	return BcastObject(x.local, x.local.rank, x.local.size(), 0, data, after...)
}

// over is x with another graph below.
func (x Inter) over(g Graph) Inter {
	local, remote := *x.local, *x.remote
	local.g, remote.g = g, g
	return Inter{&local, &remote}
}

// inSegments lets run append the steps of each segment of a vector of n bytes, which is bytes s of
// it; most is [Reducer].Segment.
func (x Inter) inSegments(n, elem, most int, serial bool, run func(x Inter, s span, after []Step) []Step) []Step {
	if n == 0 {
		return nil
	}
	cut := segmentsOf(most, n, elem, x.local.size()+x.remote.size())
	if cut.n == 1 {
		return run(x, span{0, n}, nil)
	}
	return streamsOf(x.local.g, cut.n, cut.spare(n), serial, nil, func(g Graph, k int, after []Step) []Step {
		return run(x.over(g), span{cut.begin(n, k), cut.begin(n, k+1)}, after)
	})
}

// combine leaves the combination of in of all ranks of this group in part of its leader.
func (x Inter) combine(alg Algorithm, in Buf, red Reducer, after []Step) (part []byte, done []Step) {
	from, memory := in.Memory()
	if !memory {
		from = scratch(x.local, in.Len())
		after = moveBuf(x.local, Memory(from), in, after)
	}
	if x.leads() {
		if part = from; memory {
			part = scratch(x.local, len(from))
		}
	}
	return part, reduceFlat(x.local, alg, from, part, red, after)
}

// Reduce combines in of all ranks of this group, in the order of ranks, and sends the result to the
// remote rank root (MPI 4.1, 6.9.1), which calls RecvReduced.
func (x Inter) Reduce(alg Algorithm, root int, in Buf, red Reducer) []Step {
	return x.inSegments(in.Len(), red.ElemSize, red.Segment, false, func(x Inter, s span, after []Step) []Step {
		part, done := x.combine(alg, s.part(in), red, after)
		if x.leads() {
			return []Step{x.remote.Send(root, Memory(part), done...)}
		}
		return done
	})
}

// RecvReduced receives what a Reduce of the other group, of elements of that size and by segments
// of that many bytes ([Reducer].Segment), makes this rank's.
func (x Inter) RecvReduced(out Buf, elemSize, segment int) []Step {
	return x.inSegments(out.Len(), elemSize, segment, false, func(x Inter, s span, after []Step) []Step {
		return []Step{x.remote.Recv(0, s.part(out), after...)}
	})
}

// swap combines in of each group at its leader, and sends the leaders each other's result. It is in
// got of the leader when ready is complete; sent is what else this rank does.
func (x Inter) swap(in, got Buf, red Reducer, after []Step) (ready, sent []Step) {
	part, done := x.combine(Auto, in, red, after)
	if !x.leads() {
		return done, nil
	}
	sent = []Step{x.remote.Send(0, Memory(part), done...)}
	return []Step{x.remote.Recv(0, got, done...)}, sent
}

// Allreduce leaves the combination of in of all remote ranks, in their order, in out of every rank
// of this group (MPI 4.1, 6.9.6). in and out may be the same.
func (x Inter) Allreduce(in, out Buf, red Reducer) []Step {
	return x.inSegments(in.Len(), red.ElemSize, red.Segment, false, func(x Inter, s span, after []Step) []Step {
		to := s.part(out)
		ready, sent := x.swap(s.part(in), to, red, after)
		return with(sent, Bcast(x.local, Auto, x.local.rank, x.local.size(), 0, to, ready...)...)
	})
}

// ReduceScatter combines in of all remote ranks, in their order, and leaves block r, counts[r]
// bytes, in out of rank r of this group (MPI 4.1, 6.10.2). The counts of either group have the same
// sum, the length of in. in and out may start at the same place.
func (x Inter) ReduceScatter(in, out Buf, counts []int, red Reducer) []Step {
	displs, total := packed(counts)
	mine := displs[x.local.rank]
	// In place a segment's result is put where operands of this segment or of earlier ones were:
	// they must have been used.
	return x.inSegments(total, red.ElemSize, red.Segment, out.begins(in), func(x Inter, s span, after []Step) []Step {
		// What of the segment is of each block, which may be nothing.
		lens, at := make([]int, len(counts)), make([]int, len(counts))
		for r, n := range counts {
			lo := min(max(displs[r], s.lo), s.hi)
			lens[r], at[r] = min(max(displs[r]+n, lo), s.hi)-lo, lo-s.lo
		}
		var work Buf
		if x.leads() {
			work = Memory(scratch(x.local, s.len()))
		}
		ready, sent := x.swap(s.part(in), work, red, after)
		var own Buf
		if n := lens[x.local.rank]; n > 0 {
			lo := s.lo + at[x.local.rank] - mine
			own = out.Part(lo, lo+n)
		}
		return with(sent, Scatterv(x.local, x.local.rank, x.local.size(), 0, work, lens, at, own, ready...)...)
	})
}

// combineObject sets *data of the leader to the serialised combination of the accumulators of this
// group.
func (x Inter) combineObject(red ObjectReducer, data *[]byte) []Step {
	done := ReduceObject(x.local, x.local.rank, x.local.size(), 0, red)
	if x.leads() {
		done = []Step{encode(x.local, red, data, done)}
	}
	return done
}

// ReduceObject is [Inter.Reduce] of accumulators, which are scratch afterwards.
func (x Inter) ReduceObject(root int, red ObjectReducer) []Step {
	data := new([]byte)
	done := x.combineObject(red, data)
	if x.leads() {
		return []Step{x.remote.SendFrom(root, data, done...)}
	}
	return done
}

// swapObject is swap of accumulators.
func (x Inter) swapObject(red ObjectReducer, got *[]byte) (ready, sent []Step) {
	data := new([]byte)
	done := x.combineObject(red, data)
	if !x.leads() {
		return done, nil
	}
	sent = []Step{x.remote.SendFrom(0, data, done...)}
	return []Step{x.remote.RecvInto(0, got, done...)}, sent
}

// AllreduceObject sets *got of every rank of this group to the serialised combination of the remote
// ranks' accumulators. Those are scratch afterwards.
func (x Inter) AllreduceObject(red ObjectReducer, got *[]byte) []Step {
	ready, sent := x.swapObject(red, got)
	return with(sent, BcastObject(x.local, x.local.rank, x.local.size(), 0, got, ready...)...)
}

// ReduceScatterObject is [Inter.ReduceScatter] of accumulators: split cuts the serialised
// combination of those of the other group into one value for each rank of this group, which becomes
// its *mine.
func (x Inter) ReduceScatterObject(red ObjectReducer, split func(whole []byte, all [][]byte) error, mine *[]byte) []Step {
	all, whole := make([][]byte, x.local.size()), new([]byte)
	ready, sent := x.swapObject(red, whole)
	if x.leads() {
		ready = []Step{x.local.Do(func() error { return split(*whole, all) }, ready...)}
	}
	return with(sent, ScatterObject(x.local, x.local.rank, x.local.size(), 0, all, mine, ready...)...)
}
