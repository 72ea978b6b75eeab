package vec

import "golang.org/x/sys/cpu"

// supported reports whether the processor runs kernels for values of a kind.
func supported(kind int) bool {
	if kind == Float16 {
		return cpu.X86.HasAVX2 && cpu.X86.HasF16C
	}
	return cpu.X86.HasAVX2
}

// isWide chooses the kernels of AVX-512. The processors before those that have VBMI2 run slower
// while they use registers of 512 bits.
var isWide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VBMI2

// sumFloat16 is in no table of AVX-512: the emulator that runs these kernels in tests rounds
// float16 in a way of its own.
const sumFloat16 = int(Sum)*kinds + Float16

// run combines n bytes by a kernel of the table. Preconditions: n > 0 is a multiple of Step, and
// the table has the kernel.
func run(kernel int, acc, in *byte, n int) {
	if isWide && kernel != sumFloat16 {
		run512(kernel, acc, in, n)
	} else {
		run256(kernel, acc, in, n)
	}
}

//go:noescape
func run256(kernel int, acc, in *byte, n int)

//go:noescape
func run512(kernel int, acc, in *byte, n int)

// signallingFirst: of two NaN the first is the result, signalling or not.
const signallingFirst = false
