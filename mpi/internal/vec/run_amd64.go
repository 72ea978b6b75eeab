package vec

import "golang.org/x/sys/cpu"

// supported reports whether the processor runs kernels for values of a kind.
// AVX-512 is not used: kernels wait for memory, not for arithmetic (docs/decisions/0073).
func supported(kind int) bool {
	if kind == Float16 {
		return cpu.X86.HasAVX2 && cpu.X86.HasF16C
	}
	return cpu.X86.HasAVX2
}

// signallingFirst: of two NaN the first is the result, signalling or not.
const signallingFirst = false
