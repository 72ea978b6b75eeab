package vec

import "golang.org/x/sys/cpu"

// supported reports whether the processor runs the kernel of an operation for values of a kind.
// AVX-512 is not used: kernels wait for memory, not for arithmetic (docs/decisions/0073).
func supported(op Op, kind int) bool {
	switch kind {
	case Float16:
		return cpu.X86.HasAVX2 && cpu.X86.HasF16C
	case complex128s: // the parts of complex64 multiply exactly
		return cpu.X86.HasAVX2 && !(fusedProducts && op == Prod)
	}
	return cpu.X86.HasAVX2
}

// signallingFirst: of two NaN the first is the result, signalling or not.
const signallingFirst = false
