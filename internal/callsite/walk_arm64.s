#include "textflag.h"

// As for amd64: R29 has the address of the caller's R29, above which the return address lies.

// func walk(pcs *uintptr, n int) int
TEXT ·walk(SB), NOSPLIT|NOFRAME, $0-24
	MOVD pcs+0(FP), R0
	MOVD n+8(FP), R1
	MOVD 0(g), R2   // the next frame is above this: at first all of the stack
	MOVD 8(g), R3
	SUB  $16, R3    // and at most here
	MOVD R29, R4
	MOVD $0, R5

next:
	CMP  R1, R5
	BGE  done
	CMP  R2, R4
	BLS  done
	CMP  R3, R4
	BHI  done
	MOVD 8(R4), R6
	MOVD R6, (R0)(R5<<3)
	ADD  $1, R5
	MOVD R4, R2
	MOVD (R4), R4
	B    next

done:
	MOVD R5, ret+16(FP)
	RET

// func walk32(pcs *uint32, n int) int
TEXT ·walk32(SB), NOSPLIT|NOFRAME, $0-24
	MOVD pcs+0(FP), R0
	MOVD n+8(FP), R1
	MOVD 0(g), R2   // the next frame is above this: at first all of the stack
	MOVD 8(g), R3
	SUB  $16, R3    // and at most here
	MOVD R29, R4
	MOVD $0, R5

next:
	CMP  R1, R5
	BGE  done
	CMP  R2, R4
	BLS  done
	CMP  R3, R4
	BHI  done
	MOVWU 8(R4), R6
	MOVW R6, (R0)(R5<<2)
	ADD  $1, R5
	MOVD R4, R2
	MOVD (R4), R4
	B    next

done:
	MOVD R5, ret+16(FP)
	RET
