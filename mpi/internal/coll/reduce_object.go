package coll

// ObjectReducer is an operation on values without a fixed size, such as maps and strings. It works
// on an accumulator of the caller, which holds this rank's operand when the schedule starts and is
// changed by it. Operands are combined in the order of ranks.
type ObjectReducer struct {
	Encode        func() ([]byte, error) // serialises the accumulator, in new memory
	CombineHigher func(in []byte) error  // acc = acc op in
	CombineLower  func(in []byte) error  // acc = in op acc
	Set           func(in []byte) error  // acc = in
}

// ReduceObject leaves the combination of all ranks' accumulators in that of rank root (MPI 4.1,
// 6.9.1); those of the others are scratch. The ordered binomial tree of [Reduce]: lg p rounds; one
// inside each host, then one between leaders, if the ranks of every host are contiguous.
func ReduceObject(g Graph, rank, size, root int, red ObjectReducer, after ...Step) []Step {
	if p := placesOf(g, size); p.canReduce(false) {
		l := p.levels(g, rank, root)
		after = ReduceObject(l.inside, l.inside.rank, l.inside.size(), l.inside.root, red, after...)
		if l.leads() {
			after = ReduceObject(l.between, l.between.rank, l.between.size(), l.between.root, red, after...)
		}
		return after
	}
	return foldObject(g, red, treeRounds(rank, size, root, span{0, 1}), after)
}

// AllreduceObject leaves the combination of all ranks' accumulators in every accumulator (MPI 4.1,
// 6.9.6): [ReduceObject] to rank 0, then [BcastObject]. 2 lg p rounds; each operand is serialised
// and combined once, so that all ranks get the same value.
func AllreduceObject(g Graph, rank, size int, red ObjectReducer, after ...Step) []Step {
	if size == 1 {
		return after
	}
	done := ReduceObject(g, rank, size, 0, red, after...)
	data := new([]byte)
	if rank == 0 {
		return BcastObject(g, rank, size, 0, data, encode(g, red, data, done))
	}
	ready, sent := bcastObject(g, rank, size, 0, data, done)
	return join(g, with(sent, g.Do(func() error { return red.Set(*data) }, ready...)))
}

// ReduceScatterObject combines the accumulators of all ranks in that of rank 0 ([ReduceObject]),
// where split then cuts it into one value for each rank, which becomes *mine of that rank
// ([ScatterObject]) (MPI 4.1, 6.10). Accumulators are scratch afterwards.
func ReduceScatterObject(g Graph, rank, size int, red ObjectReducer, split func(all [][]byte) error, mine *[]byte, after ...Step) []Step {
	all := make([][]byte, size)
	after = ReduceObject(g, rank, size, 0, red, after...)
	if rank == 0 {
		after = []Step{g.Do(func() error { return split(all) }, after...)}
	}
	return ScatterObject(g, rank, size, 0, all, mine, after...)
}

// ScanObject leaves the combination of the accumulators of ranks 0 to r in that of rank r (MPI 4.1,
// 6.11.1). RecursiveDoubling as in [Scan]: lg p rounds.
func ScanObject(g Graph, rank, size int, red ObjectReducer, after ...Step) []Step {
	return foldObject(g, red, scanRounds(rank, 0, size, span{0, 1}), after)
}

// ExscanObject leaves the combination of the accumulators of ranks 0 to r-1 in that of rank r (MPI
// 4.1, 6.11.2); that of rank 0 is left as it is. See [Exscan].
func ExscanObject(g Graph, rank, size int, red ObjectReducer, after ...Step) []Step {
	var sent []Step
	if rank < size-1 {
		data := new([]byte)
		after = []Step{encode(g, red, data, after)}
		sent = append(sent, g.SendFrom(rank+1, data, after...))
	}
	if rank == 0 {
		return with(after, sent...)
	}
	in := new([]byte)
	recv := g.RecvInto(rank-1, in, after...)
	set := g.Do(func() error { return red.Set(*in) }, recv)
	return with(sent, foldObject(g, red, scanRounds(rank, 1, size, span{0, 1}), []Step{set})...)
}

// foldObject carries out rounds on the accumulator of red.
func foldObject(g Graph, red ObjectReducer, rounds []round, after []Step) []Step {
	ready := after
	var sent []Step
	for _, r := range rounds {
		if r.to != none {
			data := new([]byte)
			ready = []Step{encode(g, red, data, ready)}
			sent = append(sent, g.SendFrom(r.to, data, ready...))
		}
		if r.from != none {
			data, combine := new([]byte), red.CombineHigher
			if r.lower {
				combine = red.CombineLower
			}
			recv := g.RecvInto(r.from, data, ready...)
			ready = []Step{g.Do(func() error { return combine(*data) }, recv)}
		}
	}
	return with(ready, sent...)
}

// encode sets *data to the serialised accumulator.
func encode(g Graph, red ObjectReducer, data *[]byte, after []Step) Step {
	return g.Do(func() (err error) { *data, err = red.Encode(); return err }, after...)
}
