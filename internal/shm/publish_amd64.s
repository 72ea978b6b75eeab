//go:build !race

#include "textflag.h"

// func publish(w *atomic.Uint64, v uint64)
TEXT ·publish(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ w+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX) // stores are seen in their order here
	RET
