package fileio

import "math/bits"

// Cover is a set of bytes of a window.
type Cover struct {
	words []uint64 // bit i of word w stands for byte 64*w+i
	n     int      // bytes of the window
}

// Reset empties the set, for a window of n bytes.
func (c *Cover) Reset(n int) {
	need := (n + 63) / 64
	if cap(c.words) < need {
		c.words = make([]uint64, need)
	}
	c.words, c.n = c.words[:need], n
	clear(c.words)
}

// Add adds the size bytes from at on.
//
// Preconditions:
//   - they lie within the window.
func (c *Cover) Add(at, size int) {
	for size > 0 {
		bit := at & 63
		k := min(64-bit, size)
		c.words[at>>6] |= (^uint64(0) >> (64 - k)) << bit
		at, size = at+k, size-k
	}
}

// Walk visits the runs of the set, in order, until visit returns false.
func (c *Cover) Walk(visit func(at, size int) bool) {
	for at := c.next(0, false); at < c.n; {
		end := c.next(at, true)
		if !visit(at, end-at) {
			return
		}
		at = c.next(end, false)
	}
}

// next is the first byte from at on that is not in the set, or that is in it; n if there is none.
func (c *Cover) next(at int, in bool) int {
	for at < c.n {
		w := c.words[at>>6]
		if in {
			w = ^w
		}
		if w >>= at & 63; w != 0 {
			return min(at+bits.TrailingZeros64(w), c.n)
		}
		at = at&^63 + 64
	}
	return c.n
}
