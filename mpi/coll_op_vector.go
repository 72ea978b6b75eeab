package mpi

import "github.com/fitmpi/fitmpi/mpi/internal/vec"

// vectorFrom is the length in bytes from which vector instructions are faster than the plain loop,
// which has not to find out what type it works on.
const vectorFrom = 256

// byVector applies an operation to acc and in by vector instructions, as far as there are some for
// T and for so many elements. It returns what is left for the plain loop, which gives the same
// result for every element.
func byVector[T any](op vec.Op, acc, in []T) (restAcc, restIn []T) {
	in = in[:len(acc)]
	if len(acc) < vectorFrom/maxPlain {
		return acc, in
	}
	e := elemOf[T]()
	k := vec.Of(op, e.vector)
	if k == 0 || len(acc)*e.size < vectorFrom {
		return acc, in
	}
	to, from := bytesOf(acc), bytesOf(in)
	if overlap(to, from) && &to[0] != &from[0] { // a loop that goes up is what the caller sees then
		return acc, in
	}
	n := k.Combine(to, from) / e.size
	return acc[n:], in[n:]
}

// maxPlain is the size of the largest type that has vector instructions, in bytes.
const maxPlain = 16

// prodComplexes multiplies, and rounds each product and each sum, as vector instructions do. Where
// Go's own multiplication is one instruction for a product and a sum, it rounds once, so that a
// result would depend on where a vector is cut, and on what processor a rank has.
func prodComplexes(acc, in []complex128) {
	in = in[:len(acc)]
	for i, y := range in {
		x := acc[i]
		acc[i] = complex(
			float64(real(x)*real(y))-float64(imag(x)*imag(y)),
			float64(real(x)*imag(y))+float64(imag(x)*real(y)))
	}
}
