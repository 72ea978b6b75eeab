package coll

// Reducer is an operation on vectors of elements of a fixed size.
type Reducer struct {
	// ElemSize is the size of an element in bytes. Vectors are cut between elements only.
	ElemSize int

	// Commutative permits algorithms that combine ranks in another order. All are assumed
	// associative (MPI 4.1, 6.9.1).
	Commutative bool

	// Segment is the most bytes of a segment of a long vector, see segmentsOf; 0 is the measured
	// choice. All ranks need the same.
	Segment int

	// Combine sets acc[i] = acc[i] op in[i]; acc holds the result of the lower ranks. The vectors
	// have one length, never zero, and do not overlap. in must not change.
	Combine func(acc, in []byte) error
}

// round is one step of a reduction at one rank, in this order: what acc holds under out goes to
// rank to, an operand from rank from is combined with what acc holds under in. to or from is none,
// and its span empty, if nothing is sent or received. An empty span is not sent.
type round struct {
	to    int
	out   span
	from  int
	in    span
	lower bool // the operand comes from lower ranks: it goes on the left
}

const none = -1

func (r round) receives() bool { return r.from != none && r.in.len() > 0 }

// folder carries out rounds with two buffers. An operand arrives in spare. One from higher ranks is
// combined into acc; one from lower ranks is itself the left side, so the result is built in spare
// and the two change roles: no round copies.
type folder struct {
	g      Graph
	red    Reducer
	acc    []byte // the result so far; the caller's in before the first operand
	target []byte // acc, except before the first operand: where in is copied to by the step that combines it
	spare  []byte // where the next operand arrives
	ready  []Step // acc is valid, spare is free
}

// fold carries out rounds on in and returns where the result is: out, where possible, if out is not
// nil. in and out may be the same; in is unchanged otherwise. Without a round that receives, the
// result is in itself.
func fold(g Graph, red Reducer, in, out []byte, rounds []round, after []Step) (acc []byte, done []Step) {
	f := folder{g: g, red: red, acc: in, ready: after}
	f.place(out, rounds)
	for _, r := range rounds {
		f.round(r)
	}
	return f.acc, f.ready
}

// place chooses the buffers so that the last result falls into out, which only an exchange of roles
// at the first operand of a reduction in place can prevent.
func (f *folder) place(out []byte, rounds []round) {
	first, flips := none, 0
	for i, r := range rounds {
		if !r.receives() {
			continue
		}
		if first == none {
			first = i
		} else if r.lower {
			flips++
		}
	}
	if first == none {
		return
	}
	if out == nil {
		out = scratch(f.g, len(f.acc))
	}
	tmp := scratch(f.g, len(f.acc))
	if same(f.acc, out) {
		f.target, f.spare = out, tmp
		return
	}
	home, other := out, tmp
	if flips%2 == 1 {
		home, other = tmp, out
	}
	if rounds[first].lower {
		f.spare, f.target = home, other
	} else {
		f.target, f.spare = home, other
	}
}

func (f *folder) round(r round) {
	piece := segment(f.red.ElemSize)
	done := make([]Step, 0, 2+(r.out.len()+r.in.len())/piece)
	for lo, hi := r.out.lo, 0; lo < r.out.hi; lo = hi {
		s := r.out.piece(lo, f.red.ElemSize)
		hi = s.hi
		done = append(done, f.g.Send(r.to, Memory(s.of(f.acc)), f.ready...))
	}
	if !r.receives() {
		f.ready = join(f.g, with(f.ready, done...))
		return
	}
	sent := done
	for k, lo, hi := 0, r.in.lo, 0; lo < r.in.hi; k, lo = k+1, hi {
		s := r.in.piece(lo, f.red.ElemSize)
		hi = s.hi
		after := []Step{f.g.Recv(r.from, Memory(s.of(f.spare)), f.ready...)}
		if r.out == r.in {
			after = append(after, sent[k]) // it may be about to change what is being sent
		}
		done = append(done, f.g.Combine(f.combine(s, r.lower), after...))
	}
	if r.lower {
		f.acc, f.spare = f.spare, f.target
	} else {
		f.acc = f.target
	}
	f.target = f.acc
	f.ready = join(f.g, done)
}

// combine combines the operand in spare with acc under s.
func (f *folder) combine(s span, lower bool) Combination {
	acc, target, spare := s.of(f.acc), s.of(f.target), s.of(f.spare)
	if lower {
		return Combination{f.red.Combine, spare, spare, acc}
	}
	return Combination{f.red.Combine, target, acc, spare}
}
