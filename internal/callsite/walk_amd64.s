#include "textflag.h"

// Go keeps in BP the address of the caller's BP, above which the return address lies, and 0 at the bottom of the stack.
// These functions have no frame: BP is that of the function that calls them.
// g begins with the bounds of the stack: the runtime says that cgo relies on that.

// func walk(pcs *uintptr, n int) int
TEXT ·walk(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ TLS, R8
	MOVQ 0(R8)(TLS*1), R8
	MOVQ 0(R8), R9   // the next frame is above this: at first all of the stack
	MOVQ 8(R8), R10
	SUBQ $16, R10    // and at most here
	MOVQ BP, SI
	XORL AX, AX

next:
	CMPQ AX, CX
	JGE  done
	CMPQ SI, R9
	JLS  done
	CMPQ SI, R10
	JHI  done
	MOVQ 8(SI), DX
	MOVQ DX, (DI)(AX*8)
	INCQ AX
	MOVQ SI, R9
	MOVQ (SI), SI
	JMP  next

done:
	MOVQ AX, ret+16(FP)
	RET

// func walk32(pcs *uint32, n int) int
TEXT ·walk32(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ pcs+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ TLS, R8
	MOVQ 0(R8)(TLS*1), R8
	MOVQ 0(R8), R9   // the next frame is above this: at first all of the stack
	MOVQ 8(R8), R10
	SUBQ $16, R10    // and at most here
	MOVQ BP, SI
	XORL AX, AX

next:
	CMPQ AX, CX
	JGE  done
	CMPQ SI, R9
	JLS  done
	CMPQ SI, R10
	JHI  done
	MOVL 8(SI), DX
	MOVL DX, (DI)(AX*4)
	INCQ AX
	MOVQ SI, R9
	MOVQ (SI), SI
	JMP  next

done:
	MOVQ AX, ret+16(FP)
	RET
