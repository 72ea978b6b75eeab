package layout

import "math/bits"

// The hash of a sequence of kinds is a polynomial in hashBase modulo the prime 2^61-1, so that it
// depends on the sequence alone: that of two sequences one after the other follows from the two,
// however each was composed.

const (
	hashPrime = 1<<61 - 1
	hashBase  = 0x1c3b_94d1_07a5_6e2f // any number below hashPrime that is no small power
)

// digest is the hash of a sequence, and hashBase to the power of its length.
type digest struct{ hash, pow uint64 }

var noDigest = digest{0, 1}

func digestOf(k Kind) digest { return digest{uint64(k) + 1, hashBase} }

// then is the digest of d's sequence followed by e's.
func (d digest) then(e digest) digest {
	return digest{addMod(mulMod(d.hash, e.pow), e.hash), mulMod(d.pow, e.pow)}
}

// times is the digest of n of d's sequences.
func (d digest) times(n int) digest {
	all := noDigest
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			all = all.then(d)
		}
		d = d.then(d)
	}
	return all
}

func addMod(a, b uint64) uint64 {
	s := a + b
	if s >= hashPrime {
		s -= hashPrime
	}
	return s
}

func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	// 2^64 = 8 * 2^61, and 2^61 is 1 modulo the prime.
	s := (lo & hashPrime) + (hi<<3 | lo>>61)
	if s >= hashPrime {
		s -= hashPrime
	}
	return s
}
