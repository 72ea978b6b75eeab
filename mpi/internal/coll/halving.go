package coll

import "math/bits"

// shrink maps size ranks to a power of two of them by combining neighbours: of ranks 2i and 2i+1
// below 2*rem one survives and stands for both. Survivors stand for contiguous ranges in order, so
// order is kept.
type shrink struct {
	pow  int // number of survivors, the largest power of two up to size
	rem  int // number of pairs
	keep int // this rank survives; none if it does not matter
}

func newShrink(size, keep int) shrink {
	pow := 1 << (bits.Len(uint(size)) - 1)
	return shrink{pow: pow, rem: size - pow, keep: keep}
}

// real is the rank of survivor v.
func (s shrink) real(v int) int {
	switch {
	case v >= s.rem:
		return v + s.rem
	case s.keep == 2*v+1:
		return s.keep
	default:
		return 2 * v
	}
}

// virtual is the number of rank among the survivors, none if it does not survive.
func (s shrink) virtual(rank int) int {
	switch {
	case rank >= 2*s.rem:
		return rank - s.rem
	case s.real(rank/2) == rank:
		return rank / 2
	default:
		return none
	}
}

// paired says whether rank has a neighbour rank^1 that it is combined with.
func (s shrink) paired(rank int) bool { return rank < 2*s.rem }

// rounds appends to room the round that combines rank with its neighbour, if there is one; those of
// the survivors follow.
func (s shrink) rounds(room []round, rank int, all span) []round {
	switch other := rank ^ 1; {
	case !s.paired(rank):
		return room
	case s.virtual(rank) == none:
		return append(room, round{to: other, out: all, from: none})
	default:
		return append(room, round{to: none, from: other, in: all, lower: other < rank})
	}
}

// halving is a rank's part in a reduce-scatter by recursive halving of the vector with doubling of
// the distance: survivors that combine stand for adjacent ranges, so order is kept. Survivor v ends
// with the block at position reverse(v), v with its bits reversed.
type halving struct {
	v      int     // number among the survivors, or none
	cut    []int   // position i is bytes [cut[i], cut[i+1])
	lo, hi int     // positions that this rank holds
	rounds []round // the reduce-scatter, with the round that shrinks
}

func newHalving(s shrink, rank int, cut []int) *halving {
	h := &halving{v: s.virtual(rank), cut: cut, hi: s.pow}
	h.rounds = s.rounds(make([]round, 0, bits.Len(uint(s.pow))), rank, h.bytes(0, s.pow))
	if h.v == none {
		return h
	}
	for m := 1; m < s.pow; m *= 2 {
		mid := (h.lo + h.hi) / 2
		low, high := h.bytes(h.lo, mid), h.bytes(mid, h.hi)
		peer := s.real(h.v ^ m)
		if h.v&m == 0 {
			h.rounds = append(h.rounds, round{to: peer, out: high, from: peer, in: low})
			h.hi = mid
		} else {
			h.rounds = append(h.rounds, round{to: peer, out: low, from: peer, in: high, lower: true})
			h.lo = mid
		}
	}
	return h
}

func (h *halving) bytes(lo, hi int) span { return span{h.cut[lo], h.cut[hi]} }

// beside gives the positions that the partner at distance m holds when this rank holds [lo, hi) on
// the way back.
func (h *halving) beside(m int) (lo, hi int) {
	if n := h.hi - h.lo; h.v&m == 0 {
		return h.hi, h.hi + n
	} else {
		return h.lo - n, h.lo
	}
}

// reverse is v, below the power of two pow, with its bits reversed.
func reverse(v, pow int) int {
	if pow == 1 {
		return 0
	}
	return int(bits.Reverse32(uint32(v)) >> (32 - bits.TrailingZeros(uint(pow))))
}
