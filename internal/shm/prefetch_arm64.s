#include "textflag.h"

// func prefetchWrite(c *cell)
TEXT ·prefetchWrite(SB), NOSPLIT|NOFRAME, $0-8
	MOVD c+0(FP), R0
	PRFM (R0), PSTL1KEEP
	RET
