package agree

import "math/bits"

// Set is a set of members, a bit for each. The zero value is empty; sets that are compared or
// combined may have different lengths.
type Set []uint64

// Add makes r an element.
func (s *Set) Add(r int) {
	s.grow(r/64 + 1)
	(*s)[r/64] |= 1 << (r % 64)
}

// Remove makes r no element.
func (s Set) Remove(r int) {
	if r/64 < len(s) {
		s[r/64] &^= 1 << (r % 64)
	}
}

// Has reports whether r is an element.
func (s Set) Has(r int) bool { return r/64 < len(s) && s[r/64]>>(r%64)&1 != 0 }

// AddAll adds the elements of t.
func (s *Set) AddAll(t Set) {
	s.grow(len(t))
	for i, w := range t {
		(*s)[i] |= w
	}
}

// Keep removes all that are not in t.
func (s Set) Keep(t Set) {
	for i := range s {
		if i < len(t) {
			s[i] &= t[i]
		} else {
			s[i] = 0
		}
	}
}

// Within reports whether every element is in t.
func (s Set) Within(t Set) bool { return s.within(t, nil) }

// within reports whether every element is in t or in u.
func (s Set) within(t, u Set) bool {
	for i, w := range s {
		if i < len(t) {
			w &^= t[i]
		}
		if i < len(u) {
			w &^= u[i]
		}
		if w != 0 {
			return false
		}
	}
	return true
}

// Len is the number of elements.
func (s Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Equal reports whether both have the same elements.
func (s Set) Equal(t Set) bool { return s.Within(t) && t.Within(s) }

// Clone is a copy.
func (s Set) Clone() Set { return append(Set(nil), s...) }

// Members lists the elements, in order.
func (s Set) Members() []int {
	var list []int
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			list = append(list, i*64+bits.TrailingZeros64(w))
		}
	}
	return list
}

func (s *Set) grow(words int) {
	for len(*s) < words {
		*s = append(*s, 0)
	}
}
