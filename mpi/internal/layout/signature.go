package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// signatureRuns is the number of groups beyond which a signature is cut short.
const signatureRuns = 12

// Signature is the kinds of the values of one element in the order in which they travel, which must
// be the same at both ends of a message (MPI 4.1, section 3.3.1): "3*float64 int32". A long one is
// cut short, and ends in the number of values and a hash of their kinds. Maps have one signature if
// and only if their kinds are the same, but for chance collisions of the hash.
func (m *Map) Signature() string {
	if m.root.n == nil {
		return "no data"
	}
	var s signer
	if s.walk(m.root.n) {
		s.flush()
	}
	if s.more {
		fmt.Fprintf(&s.text, " ... (%d values, hash %016x)", m.Basics(), m.root.n.digest.hash)
	}
	return s.text.String()
}

// Hash is a hash of the kinds of the values of count elements, in their order. It does not depend
// on how the map was made.
//
// Preconditions:
//   - PackedSize(count) has no error.
func (m *Map) Hash(count int) uint64 {
	if m.root.n == nil {
		return 0
	}
	return m.root.n.digest.times(count).hash
}

// HashBytes is Hash of as many elements as n bytes of data are, the last of which need not be
// whole. ok is false if the bytes end within a value, or if there are some and the map has no data.
//
// Preconditions:
//   - n >= 0.
func (m *Map) HashBytes(n int) (hash uint64, ok bool) {
	if m.root.n == nil {
		return 0, n == 0
	}
	d, ok := m.root.n.front(n)
	return d.hash, ok
}

// OneKind is the kind of all values; ok is false if they differ, or there are none.
func (m *Map) OneKind() (k Kind, ok bool) {
	if m.root.n == nil || m.root.n.kind == mixed {
		return 0, false
	}
	return m.root.n.kind, true
}

// front is the digest of the values in the first size bytes of n's data, over and over; ok is false
// if they end within one.
func (n *node) front(size int) (d digest, ok bool) {
	d, size = n.digest.times(size/n.size), size%n.size
	switch {
	case size == 0:
		return d, true
	case n.kind != mixed:
		one := n.kind.Size()
		return d.then(digestOf(n.kind).times(size / one)), size%one == 0
	case n.op == opLoop:
		rest, ok := n.child.front(size)
		return d.then(rest), ok
	}
	for i := range n.parts {
		part := n.parts[i].n
		rest, ok := part.front(min(size, part.size))
		if d, size = d.then(rest), size-min(size, part.size); size == 0 {
			return d, ok
		}
	}
	panic("layout: the parts of a node are shorter than it: a bug of ours")
}

// signer writes groups of values of one kind.
type signer struct {
	text   strings.Builder
	groups int // written
	kind   Kind
	n      int // values of kind, not written yet
	more   bool
}

// walk adds n's kinds, and reports whether there was room. It visits no more than the groups need:
// a node of several kinds ends a group at least.
func (s *signer) walk(n *node) bool {
	switch {
	case n.kind != mixed:
		return s.add(n.kind, n.basics)
	case n.op == opLoop:
		for range n.n {
			if !s.walk(n.child) {
				return false
			}
		}
	default:
		for i := range n.parts {
			if !s.walk(n.parts[i].n) {
				return false
			}
		}
	}
	return true
}

func (s *signer) add(k Kind, n int) bool {
	if s.n > 0 && s.kind != k {
		s.flush()
		if s.more = s.groups == signatureRuns; s.more {
			return false
		}
	}
	s.kind, s.n = k, s.n+n
	return true
}

func (s *signer) flush() {
	if s.groups > 0 {
		s.text.WriteByte(' ')
	}
	if s.n > 1 {
		s.text.WriteString(strconv.Itoa(s.n))
		s.text.WriteByte('*')
	}
	s.text.WriteString(s.kind.String())
	s.groups, s.n = s.groups+1, 0
}
