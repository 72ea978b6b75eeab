package coll

import "slices"

// joinAbove is the number of dependencies from which one joining step is cheaper than naming them
// all in every later step.
const joinAbove = 8

// span is the part [lo, hi) of a vector, in bytes.
type span struct{ lo, hi int }

func (s span) of(b []byte) []byte { return b[s.lo:s.hi:s.hi] }
func (s span) part(b Buf) Buf     { return b.Part(s.lo, s.hi) }
func (s span) len() int           { return s.hi - s.lo }

// mod is a modulo n in [0, n).
func mod(a, n int) int {
	if a %= n; a < 0 {
		a += n
	}
	return a
}

// with is a and b in new memory.
func with(a []Step, b ...Step) []Step { return append(slices.Clip(a), b...) }

// same says whether a and b are the same memory. Slices that overlap otherwise are a misuse that it
// does not see.
func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// nothing is the work of a step that only joins others.
func nothing() error { return nil }

// join gives steps that are complete when all of steps are; a long list becomes one step.
func join(g Graph, steps []Step) []Step {
	if len(steps) <= joinAbove {
		return steps
	}
	return []Step{g.Do(nothing, steps...)}
}

// move copies src to dst, unless they are the same memory.
func move(g Graph, dst, src []byte, after []Step) []Step {
	if len(src) == 0 || same(dst, src) {
		return after
	}
	return []Step{g.Copy(dst[:len(src)], src, after...)}
}

// segment is the size of a segment: about segmentBytes, a whole number of elements.
func segment(elem int) int {
	elem = max(elem, 1)
	return max(segmentBytes/elem, 1) * elem
}

// piece is the part of s from lo on, where the one before it ends, of whole elements: a segment.
// Both ends of a message cut it alike, because they know its length. The first of several pieces is
// shorter by a notch for each other one, within limits, and the last one longer by what is left. So
// a receiver that expects a message of another length than the one that comes finds a piece of
// another length, where whole ones would match.
func (s span) piece(lo, elem int) span {
	n, whole := s.len(), segment(elem)
	if n <= whole {
		return s
	}
	short := notches(n/whole, max(notchBytes/max(elem, 1), 1)*max(elem, 1), whole)
	hi := lo + whole
	if lo == s.lo {
		hi -= short
	}
	if s.hi-hi <= short {
		hi = s.hi
	}
	return span{lo, hi}
}

// notchBytes is about how many bytes a notch is: see [span.piece] and others.
var notchBytes = 64

// notches is by how much the first part of several is shorter, where others follow it: by a notch
// for each, as long as half of the part is left.
func notches(others, notch, part int) int { return notch * (others % max(part/notch/2, 1)) }

// cuts divides n bytes of elements into parts blocks that differ by one element at most: block i is
// [c[i], c[i+1]).
func cuts(n, elem, parts int) []int {
	c := make([]int, parts+1)
	for i := range c {
		c[i] = cut(n, elem, parts, i)
	}
	return c
}

// cut is where block i of those begins, the end of all if i is parts. Longer blocks come first.
func cut(n, elem, parts, i int) int {
	if i == parts {
		return n
	}
	elem = max(elem, 1)
	count := n / elem
	return (count/parts*i + min(i, count%parts)) * elem
}

// even is the layout of n equal blocks of size bytes, one after the other.
func even(n, size int) (counts, displs []int) {
	both := make([]int, 2*n)
	counts, displs = both[:n:n], both[n:]
	for i := range n {
		counts[i], displs[i] = size, i*size
	}
	return counts, displs
}

// block is the memory of block i under a layout.
func block(b []byte, counts, displs []int, i int) []byte {
	return b[displs[i] : displs[i]+counts[i] : displs[i]+counts[i]]
}

// line is a sequence of receives from one peer of which at most two are posted at a time, so that
// the next one is ready while one arrives. Receive k waits for k-2 and k-3; by induction it waits
// for all up to k-2, and the rule of the package about order holds.
type line struct {
	base  []Step // the line starts after these
	steps []Step // the receives so far
}

// next gives the dependencies of the next receive.
func (l *line) next() []Step {
	switch k := len(l.steps); k {
	case 0, 1:
		return l.base
	case 2:
		return l.steps[:1]
	default:
		return l.steps[k-3 : k-1]
	}
}

// all gives the dependencies of a step that needs every receive so far. Sends that depend on it are
// ordered among themselves.
func (l *line) all() []Step {
	if len(l.steps) == 0 {
		return l.base
	}
	return l.steps[max(len(l.steps)-2, 0):]
}

func (l *line) add(s Step) { l.steps = append(l.steps, s) }
