package layout

// op says what a node does.
type op uint8

const (
	opRun  op = iota // values of one kind, one after the other
	opLoop           // a child, repeated at a stride
	opSeq            // parts, each a child at a displacement of its own
)

// node is a part of a program: data in the order in which they travel. Immutable, and shared by the
// maps made from it. Its origin is the first byte that travels, so that nodes which differ only in
// their place are equal.
type node struct {
	op    op
	kind  Kind // of all values; mixed if they differ
	width int  // bytes that a change of byte order reverses, in all values; 0 if they differ

	size   int // bytes of data; > 0
	end    int // where the byte after the last that travels lies
	lo, hi int // the data lie between these; lo <= 0
	runs   int // contiguous runs of the data, in their order; 1 if they are memory as it is
	basics int // number of values
	grain  int // divides the distance between any two values, and is a multiple of width if width is not 0
	digest digest

	n, stride int   // of a loop; n > 1
	child     *node // of a loop

	parts []part // of a sequence: two or more
	flat  bool   // of a sequence: each part is one run
}

// part is one part of a sequence.
type part struct {
	disp  int // of the child's origin
	start int // bytes of data in the parts before
	index int // values in the parts before
	n     *node
}

// ref is a node in its place. The zero ref is no data.
type ref struct {
	disp int
	n    *node
}

func newRun(k Kind, n int) *node {
	f := &kindFacts[k]
	size := n * f.size
	return &node{
		op: opRun, kind: k, width: f.width, size: size, end: size, hi: size, runs: 1, basics: n, grain: f.size,
		digest: digestOf(k).times(n),
	}
}

// loop is n times r at a stride.
func loop(r ref, n, stride int) ref {
	c := r.n
	switch {
	case c == nil || n == 0:
		return ref{}
	case n == 1:
		return r
	case c.op == opRun && stride == c.size:
		return ref{r.disp, newRun(c.kind, n*c.basics)}
	case c.op == opLoop && stride == c.n*c.stride:
		return loop(ref{r.disp, c.child}, n*c.n, c.stride)
	}
	span := (n - 1) * stride
	l := &node{
		op: opLoop, kind: c.kind, width: c.width, size: n * c.size, end: span + c.end,
		lo: min(0, span) + c.lo, hi: max(0, span) + c.hi, runs: n * c.runs, basics: n * c.basics,
		grain: gcd(c.grain, stride), digest: c.digest.times(n), n: n, stride: stride, child: c,
	}
	if c.end == stride {
		l.runs -= n - 1
	}
	return ref{r.disp, l}
}

// inlined is how many parts a sequence may have to be made part of another such.
const inlined = 16

// sequence is all of refs, one after the other.
func sequence(refs []ref) ref {
	var s sequencer
	for _, r := range refs {
		switch {
		case r.n == nil:
		case r.n.op == opSeq && len(r.n.parts) <= inlined && len(refs) <= inlined:
			for _, p := range r.n.parts {
				s.add(ref{r.disp + p.disp, p.n})
			}
		default:
			s.add(r)
		}
	}
	return s.done()
}

// sequencer merges neighbours.
type sequencer struct {
	parts []ref
	dense []ref // to become a part: runs, each of which begins where the one before ends
}

func (s *sequencer) add(r ref) {
	if r.n.runs > 1 {
		s.flush()
		s.parts = append(s.parts, r)
		return
	}
	if k := len(s.dense); k > 0 {
		last := &s.dense[k-1]
		switch {
		case last.disp+last.n.size != r.disp:
			s.flush()
		case last.n.op == opRun && r.n.op == opRun && last.n.kind == r.n.kind:
			last.n = newRun(r.n.kind, last.n.basics+r.n.basics)
			return
		}
	}
	s.dense = append(s.dense, r)
}

// flush makes the neighbours gathered so far one part.
func (s *sequencer) flush() {
	if len(s.dense) > 0 {
		s.parts = append(s.parts, joined(s.dense))
		s.dense = s.dense[:0]
	}
}

func (s *sequencer) done() ref {
	s.flush()
	if len(s.parts) == 0 {
		return ref{}
	}
	return joined(s.parts)
}

// joined is the node of parts that have been merged: a loop where they repeat, else a sequence.
//
// Preconditions:
//   - refs is not empty, and each has data.
func joined(refs []ref) ref {
	first := refs[0]
	if len(refs) == 1 {
		return first
	}
	if stride, ok := regular(refs); ok {
		return loop(first, len(refs), stride)
	}
	s := &node{
		op: opSeq, kind: first.n.kind, width: first.n.width, lo: first.n.lo, hi: first.n.hi, digest: noDigest,
		parts: make([]part, len(refs)), flat: true,
	}
	for i, r := range refs {
		c, disp := r.n, r.disp-first.disp
		s.parts[i] = part{disp, s.size, s.basics, c}
		if s.kind != c.kind {
			s.kind = mixed
		}
		if s.width != c.width {
			s.width = 0
		}
		s.runs += c.runs
		if i > 0 && s.end == disp {
			s.runs--
		}
		s.size += c.size
		s.basics += c.basics
		s.end = disp + c.end
		s.lo, s.hi = min(s.lo, disp+c.lo), max(s.hi, disp+c.hi)
		s.grain = gcd(gcd(s.grain, c.grain), disp)
		s.digest = s.digest.then(c.digest)
		s.flat = s.flat && c.runs == 1
	}
	return ref{first.disp, s}
}

// regular reports whether the parts are alike and lie at one stride.
func regular(refs []ref) (stride int, ok bool) {
	stride = refs[1].disp - refs[0].disp
	for i, r := range refs[1:] {
		if r.disp-refs[i].disp != stride || !alike(r.n, refs[0].n) {
			return 0, false
		}
	}
	return stride, true
}

// alike reports whether two nodes are equal, as far as that is quickly seen.
func alike(a, b *node) bool {
	return a == b || a.op == opRun && b.op == opRun && a.kind == b.kind && a.basics == b.basics
}
