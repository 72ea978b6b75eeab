package timing

import "math"

// golden is 2^64 divided by the golden ratio, made odd: its multiples are spread evenly.
const golden = 0x9e3779b97f4a7c15

// Mix scatters the bits of x: a bijection in which every bit of the result depends on every bit of
// x. It is the last step of the generator SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, 2014).
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Scattered is number i of the sequence of numbers without any order that belongs to seed. Every
// rank, and every program in another language, can make any part of it.
func Scattered(seed, i uint64) uint64 { return Mix(Mix(seed+golden) + (i+1)*golden) }

// Weight is a number between -1/2 and 1/2 that belongs to i. A sum of elements, each times the
// weight of its place, tells whether one of them is in the wrong place.
func Weight(i int) float64 { return float64(Mix(uint64(i)+golden)>>40)/(1<<24) - 0.5 }

// Hash depends on every bit of what was added to it, and on the order. The zero value is ready.
type Hash uint64

// Add adds a word.
func (h *Hash) Add(word uint64) { *h = Hash(Mix(uint64(*h) + word + golden)) }

// AddFloats adds the bits of numbers.
func (h *Hash) AddFloats(xs []float64) {
	for _, x := range xs {
		h.Add(math.Float64bits(x))
	}
}
