package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// signatureRuns is the number of groups beyond which a signature is cut short.
const signatureRuns = 12

// Signature is the kinds of the values of one element in the order in which they travel, which must be the same at both
// ends of a message (MPI 4.1, section 3.3.1): "3*float64 int32". A long one is cut short, and ends in the number of values
// and a hash of their kinds. Maps have one signature if and only if their kinds are the same, but for chance collisions of
// the hash.
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

// Hash is a hash of the kinds of the values of count elements, in their order. It does not depend on how the map was made.
//
// Preconditions:
//   - PackedSize(count) has no error.
func (m *Map) Hash(count int) uint64 {
	if m.root.n == nil {
		return 0
	}
	return m.root.n.digest.times(count).hash
}

// signer writes groups of values of one kind.
type signer struct {
	text   strings.Builder
	groups int // written
	kind   Kind
	n      int // values of kind, not written yet
	more   bool
}

// walk adds n's kinds, and reports whether there was room. It visits no more than the groups need: a node of several kinds
// ends a group at least.
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
