// kernels has the kernel of operation OP on values of kind KIND at OP*16 + KIND: the numbers of vec.go,
// and of the kinds of mpi/internal/layout. Complex numbers are sums of their parts.

#define ENTRY(OP, KIND, NAME) DATA kernels<>+(8*(16*OP+KIND))(SB)/8, $NAME<>(SB)

#define INTEGERS(OP, K8, K16, K32, K64) \
	ENTRY(OP, 2, K8); \
	ENTRY(OP, 3, K16); \
	ENTRY(OP, 4, K32); \
	ENTRY(OP, 5, K64); \
	ENTRY(OP, 6, K8); \
	ENTRY(OP, 7, K16); \
	ENTRY(OP, 8, K32); \
	ENTRY(OP, 9, K64)

INTEGERS(0, sum8, sum16, sum32, sum64)
ENTRY(0, 10, sumF32)
ENTRY(0, 11, sumF64)
ENTRY(0, 12, sumF32)
ENTRY(0, 13, sumF64)
ENTRY(0, 14, sumBF16)
#ifndef WITHOUT_FLOAT16
ENTRY(0, 15, sumF16)
#endif

ENTRY(1, 2, prod8)
ENTRY(1, 3, prod16)
ENTRY(1, 4, prod32)
ENTRY(1, 5, prod64)
ENTRY(1, 6, prod8)
ENTRY(1, 7, prod16)
ENTRY(1, 8, prod32)
ENTRY(1, 9, prod64)
ENTRY(1, 10, prodF32)
ENTRY(1, 11, prodF64)
ENTRY(1, 12, prodC64)
ENTRY(1, 13, prodC128)

ENTRY(2, 2, maxI8)
ENTRY(2, 3, maxI16)
ENTRY(2, 4, maxI32)
ENTRY(2, 5, maxI64)
ENTRY(2, 6, maxU8)
ENTRY(2, 7, maxU16)
ENTRY(2, 8, maxU32)
ENTRY(2, 9, maxU64)
ENTRY(2, 10, maxF32)
ENTRY(2, 11, maxF64)

ENTRY(3, 2, minI8)
ENTRY(3, 3, minI16)
ENTRY(3, 4, minI32)
ENTRY(3, 5, minI64)
ENTRY(3, 6, minU8)
ENTRY(3, 7, minU16)
ENTRY(3, 8, minU32)
ENTRY(3, 9, minU64)
ENTRY(3, 10, minF32)
ENTRY(3, 11, minF64)

ENTRY(4, 1, lAnd8)
INTEGERS(4, lAnd8, lAnd16, lAnd32, lAnd64)
ENTRY(5, 1, lOr8)
INTEGERS(5, lOr8, lOr16, lOr32, lOr64)
ENTRY(6, 1, lXor8)
INTEGERS(6, lXor8, lXor16, lXor32, lXor64)
INTEGERS(7, bAnd, bAnd, bAnd, bAnd)
INTEGERS(8, bOr, bOr, bOr, bOr)
INTEGERS(9, bXor, bXor, bXor, bXor)

GLOBL kernels<>(SB), RODATA, $(8*16*10)
