package vec

import "golang.org/x/sys/cpu"

// supported reports whether the processor runs the kernel of an operation for values of a kind.
// AVX-512 is not used: kernels wait for memory, not for arithmetic (docs/decisions/0073).
func supported(op Op, kind int) bool {
	switch {
	case kind == Float16 && !cpu.X86.HasF16C, fusedProducts && op == Prod && (kind == complex64s || kind == complex128s):
		return false
	}
	return cpu.X86.HasAVX2
}

// signallingFirst: of two NaN the first is the result, signalling or not.
const signallingFirst = false
