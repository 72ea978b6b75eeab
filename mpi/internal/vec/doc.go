// Package vec combines vectors of numbers element by element, as the predefined operations of
// package mpi do, by the vector instructions of the processor that runs the program: AVX-512 or
// AVX2 on amd64, NEON on arm64. On other processors, and under the race detector, which does not
// see what assembler reads, it has nothing to offer and its callers use their plain loops.
//
// # Use
//
//	k := vec.Of(vec.Sum, uint8(layout.Float64)) // 0: there is none
//	done := k.Combine(acc, in)                  // bytes, a multiple of Step
//	// the plain loop for acc[done:]
//
// Every element comes out as the plain loop in Go would have it, to the last bit: also zeros of
// either sign and what overflows. Products of complex128 are rounded before they are added. Of a
// NaN it is so where Go leaves no choice: not where two meet, nor in a product of complex64 where
// the compiler fuses a product and a sum. So a caller may cut its vectors where it likes. The tests
// of package mpi compare the two, bit by bit.
//
// Of the types of 16 bits that Go does not have, bfloat16 and float16, the arithmetic is here too:
// they are added as float32.
//
// A Kernel is a number and has no state: any goroutine may use it at any time.
package vec
