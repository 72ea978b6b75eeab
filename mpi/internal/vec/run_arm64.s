#include "textflag.h"

// Kernels by NEON. Each has a step: what is done with 16 bytes of acc in register A and 16 bytes of in in
// register B, so that A is the result, with T and U as room. V30 and V31 are constants, made by what a
// kernel begins with. Registers are numbers, as the assembler lacks most of these instructions: they are
// given by their encoding, from the architecture's manual (Arm ARM, C7.2), beside their names there.
//
// All have acc in R0, in in R1 and the number of bytes in R2, and return to run's caller.

#define KERNEL(NAME, BEGIN, STEP) \
TEXT NAME<>(SB), NOSPLIT|NOFRAME, $0-0; \
	BEGIN; \
loop: \
	VLD1 (R0), [V0.B16, V1.B16, V2.B16, V3.B16]; \
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]; \
	STEP(0, 4, 16, 20); \
	STEP(1, 5, 17, 21); \
	STEP(2, 6, 18, 22); \
	STEP(3, 7, 19, 23); \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0); \
	SUBS $64, R2, R2; \
	BNE loop; \
	RET

// The two forms of instructions: D = N op M, and D = op N.
#define OF3(CODE, D, N, M) WORD $(CODE | M<<16 | N<<5 | D)
#define OF2(CODE, D, N) WORD $(CODE | N<<5 | D)

#define AND(D, N, M) OF3(0x4e201c00, D, N, M)
#define ORR(D, N, M) OF3(0x4ea01c00, D, N, M)
#define EOR(D, N, M) OF3(0x6e201c00, D, N, M)
#define BIT(D, N, M) OF3(0x6ea01c00, D, N, M)
#define BIF(D, N, M) OF3(0x6ee01c00, D, N, M)
#define ADD8(D, N, M) OF3(0x4e208400, D, N, M)
#define ADD16(D, N, M) OF3(0x4e608400, D, N, M)
#define ADD32(D, N, M) OF3(0x4ea08400, D, N, M)
#define ADD64(D, N, M) OF3(0x4ee08400, D, N, M)
#define FADD32(D, N, M) OF3(0x4e20d400, D, N, M)
#define FADD64(D, N, M) OF3(0x4e60d400, D, N, M)
#define MUL8(D, N, M) OF3(0x4e209c00, D, N, M)
#define MUL16(D, N, M) OF3(0x4e609c00, D, N, M)
#define MUL32(D, N, M) OF3(0x4ea09c00, D, N, M)
#define FMUL32(D, N, M) OF3(0x6e20dc00, D, N, M)
#define FMUL64(D, N, M) OF3(0x6e60dc00, D, N, M)
#define SMAX8(D, N, M) OF3(0x4e206400, D, N, M)
#define SMAX16(D, N, M) OF3(0x4e606400, D, N, M)
#define SMAX32(D, N, M) OF3(0x4ea06400, D, N, M)
#define SMIN8(D, N, M) OF3(0x4e206c00, D, N, M)
#define SMIN16(D, N, M) OF3(0x4e606c00, D, N, M)
#define SMIN32(D, N, M) OF3(0x4ea06c00, D, N, M)
#define UMAX8(D, N, M) OF3(0x6e206400, D, N, M)
#define UMAX16(D, N, M) OF3(0x6e606400, D, N, M)
#define UMAX32(D, N, M) OF3(0x6ea06400, D, N, M)
#define UMIN8(D, N, M) OF3(0x6e206c00, D, N, M)
#define UMIN16(D, N, M) OF3(0x6e606c00, D, N, M)
#define UMIN32(D, N, M) OF3(0x6ea06c00, D, N, M)
#define FMAX32(D, N, M) OF3(0x4e20f400, D, N, M)
#define FMAX64(D, N, M) OF3(0x4e60f400, D, N, M)
#define FMIN32(D, N, M) OF3(0x4ea0f400, D, N, M)
#define FMIN64(D, N, M) OF3(0x4ee0f400, D, N, M)
#define CMGT64(D, N, M) OF3(0x4ee03400, D, N, M)
#define CMHI64(D, N, M) OF3(0x6ee03400, D, N, M)
#define FCMEQ32(D, N, M) OF3(0x4e20e400, D, N, M)
#define CMTST8(D, N, M) OF3(0x4e208c00, D, N, M)
#define CMTST16(D, N, M) OF3(0x4e608c00, D, N, M)
#define CMTST32(D, N, M) OF3(0x4ea08c00, D, N, M)
#define CMTST64(D, N, M) OF3(0x4ee08c00, D, N, M)
#define SHLL16(D, N) OF2(0x2e613800, D, N)
#define SHLL16_HIGH(D, N) OF2(0x6e613800, D, N)
#define USHR32_16(D, N) OF2(0x6f300400, D, N)
#define SHRN16(D, N) OF2(0x0f108400, D, N)
#define SHRN16_HIGH(D, N) OF2(0x4f108400, D, N)
#define FCVTL16(D, N) OF2(0x0e217800, D, N)
#define FCVTL16_HIGH(D, N) OF2(0x4e217800, D, N)
#define FCVTN16(D, N) OF2(0x0e216800, D, N)
#define FCVTN16_HIGH(D, N) OF2(0x4e216800, D, N)
#define FCVTL32(D, N) OF2(0x0e617800, D, N)
#define FCVTL32_HIGH(D, N) OF2(0x4e617800, D, N)
#define FCVTN32(D, N) OF2(0x0e616800, D, N)
#define FCVTN32_HIGH(D, N) OF2(0x4e616800, D, N)
#define FMUL64_FIRST(D, N, M) OF3(0x4fc09000, D, N, M)
#define FMUL64_SECOND(D, N, M) OF3(0x4fc09800, D, N, M)
#define FSUB64(D, N, M) OF3(0x4ee0d400, D, N, M)
#define FIRST64(D, N) OF2(0x6e080400, D, N)
#define SWAP64(D, N) OF3(0x6e004000, D, N, N)
#define REV32(D, N) OF2(0x4ea00800, D, N)
#define XTN32(D, N) OF2(0x0ea12800, D, N)
#define UADDLP32(D, N) OF2(0x6ea02800, D, N)
#define SHL64_32(D, N) OF2(0x4f605400, D, N)
#define UMLAL32(D, N, M) OF3(0x2ea08000, D, N, M)

// What kernels begin with.
#define NOTHING MOVD ZR, R3
#define ONE8 MOVD $1, R3; VDUP R3, V31.B16
#define ONE16 MOVD $1, R3; VDUP R3, V31.H8
#define ONE32 MOVD $1, R3; VDUP R3, V31.S4
#define ONE64 MOVD $1, R3; VDUP R3, V31.D2
#define BF16_BEGIN ONE32; MOVD $0x7fff, R3; VDUP R3, V30.S4

// Steps.
#define SUM8(A, B, T, U) ADD8(A, A, B)
#define SUM16(A, B, T, U) ADD16(A, A, B)
#define SUM32(A, B, T, U) ADD32(A, A, B)
#define SUM64(A, B, T, U) ADD64(A, A, B)
#define SUMF32(A, B, T, U) FADD32(A, A, B)
#define SUMF64(A, B, T, U) FADD64(A, A, B)
#define PROD8(A, B, T, U) MUL8(A, A, B)
#define PROD16(A, B, T, U) MUL16(A, A, B)
#define PROD32(A, B, T, U) MUL32(A, A, B)
#define PRODF32(A, B, T, U) FMUL32(A, A, B)
#define PRODF64(A, B, T, U) FMUL64(A, A, B)
#define MAXI8(A, B, T, U) SMAX8(A, A, B)
#define MAXI16(A, B, T, U) SMAX16(A, A, B)
#define MAXI32(A, B, T, U) SMAX32(A, A, B)
#define MAXI64(A, B, T, U) CMGT64(T, A, B); BIF(A, B, T)
#define MAXU8(A, B, T, U) UMAX8(A, A, B)
#define MAXU16(A, B, T, U) UMAX16(A, A, B)
#define MAXU32(A, B, T, U) UMAX32(A, A, B)
#define MAXU64(A, B, T, U) CMHI64(T, A, B); BIF(A, B, T)
#define MAXF32(A, B, T, U) FMAX32(A, A, B)
#define MAXF64(A, B, T, U) FMAX64(A, A, B)
#define MINI8(A, B, T, U) SMIN8(A, A, B)
#define MINI16(A, B, T, U) SMIN16(A, A, B)
#define MINI32(A, B, T, U) SMIN32(A, A, B)
#define MINI64(A, B, T, U) CMGT64(T, A, B); BIT(A, B, T)
#define MINU8(A, B, T, U) UMIN8(A, A, B)
#define MINU16(A, B, T, U) UMIN16(A, A, B)
#define MINU32(A, B, T, U) UMIN32(A, A, B)
#define MINU64(A, B, T, U) CMHI64(T, A, B); BIT(A, B, T)
#define MINF32(A, B, T, U) FMIN32(A, A, B)
#define MINF64(A, B, T, U) FMIN64(A, A, B)
#define BAND(A, B, T, U) AND(A, A, B)
#define BOR(A, B, T, U) ORR(A, A, B)
#define BXOR(A, B, T, U) EOR(A, A, B)

// Truth: which values are not zero, and then 1 (V31) where the result is true.
#define LAND(TEST, A, B) TEST(A, A, A); TEST(B, B, B); AND(A, A, B); AND(A, A, 31)
#define LOR(TEST, A, B) ORR(A, A, B); TEST(A, A, A); AND(A, A, 31)
#define LXOR(TEST, A, B) TEST(A, A, A); TEST(B, B, B); EOR(A, A, B); AND(A, A, 31)
#define LAND8(A, B, T, U) LAND(CMTST8, A, B)
#define LAND16(A, B, T, U) LAND(CMTST16, A, B)
#define LAND32(A, B, T, U) LAND(CMTST32, A, B)
#define LAND64(A, B, T, U) LAND(CMTST64, A, B)
#define LOR8(A, B, T, U) LOR(CMTST8, A, B)
#define LOR16(A, B, T, U) LOR(CMTST16, A, B)
#define LOR32(A, B, T, U) LOR(CMTST32, A, B)
#define LOR64(A, B, T, U) LOR(CMTST64, A, B)
#define LXOR8(A, B, T, U) LXOR(CMTST8, A, B)
#define LXOR16(A, B, T, U) LXOR(CMTST16, A, B)
#define LXOR32(A, B, T, U) LXOR(CMTST32, A, B)
#define LXOR64(A, B, T, U) LXOR(CMTST64, A, B)

// bfloat16: four at a time become the upper halves of float32. Each sum is rounded: 0x7fff (V30), one
// more if its last bit is set, is added unless it is NaN.
#define BF16_ROUND(X, T, U) \
	USHR32_16(T, X); \
	AND(T, T, 31); \
	ADD32(T, T, 30); \
	FCMEQ32(U, X, X); \
	AND(T, T, U); \
	ADD32(X, X, T)
#define SUMBF16(A, B, T, U) \
	SHLL16(T, A); \
	SHLL16(U, B); \
	FADD32(T, T, U); \
	SHLL16_HIGH(A, A); \
	SHLL16_HIGH(B, B); \
	FADD32(A, A, B); \
	BF16_ROUND(T, U, B); \
	BF16_ROUND(A, U, B); \
	SHRN16(T, T); \
	SHRN16_HIGH(T, A); \
	ORR(A, T, T)
#define SUMF16(A, B, T, U) \
	FCVTL16(T, A); \
	FCVTL16(U, B); \
	FADD32(T, T, U); \
	FCVTL16_HIGH(A, A); \
	FCVTL16_HIGH(B, B); \
	FADD32(U, A, B); \
	FCVTN16(A, T); \
	FCVTN16_HIGH(A, U)

// The product modulo 2^64, of halves: T has those of an upper and a lower half, whose sum is the upper
// half of what the product of the lower halves, of A in U and of B, is added to.
#define PROD64(A, B, T, U) \
	REV32(T, B); \
	MUL32(T, T, A); \
	UADDLP32(T, T); \
	SHL64_32(T, T); \
	XTN32(U, A); \
	XTN32(B, B); \
	UMLAL32(T, U, B); \
	ORR(A, T, T)

// Complex numbers, X times Y: V24 is X times the real part of Y, V25 X times the other part, whose parts
// change places. The difference of the two is the real part, the sum the other. Products of complex64 are
// those of complex128, rounded, as Go computes them.
#define MULTIPLY(D, X, Y) \
	FMUL64_FIRST(24, X, Y); \
	FMUL64_SECOND(25, X, Y); \
	SWAP64(25, 25); \
	FADD64(D, 25, 24); \
	FSUB64(24, 24, 25); \
	FIRST64(D, 24)
#define PRODC128(A, B, T, U) MULTIPLY(A, A, B)
#define PRODC64(A, B, T, U) \
	FCVTL32(T, A); \
	FCVTL32(U, B); \
	MULTIPLY(T, T, U); \
	FCVTL32_HIGH(A, A); \
	FCVTL32_HIGH(B, B); \
	MULTIPLY(U, A, B); \
	FCVTN32(A, T); \
	FCVTN32_HIGH(A, U)

KERNEL(sum8, NOTHING, SUM8)
KERNEL(sum16, NOTHING, SUM16)
KERNEL(sum32, NOTHING, SUM32)
KERNEL(sum64, NOTHING, SUM64)
KERNEL(sumF32, NOTHING, SUMF32)
KERNEL(sumF64, NOTHING, SUMF64)
KERNEL(sumBF16, BF16_BEGIN, SUMBF16)
KERNEL(sumF16, NOTHING, SUMF16)
KERNEL(prod8, NOTHING, PROD8)
KERNEL(prod16, NOTHING, PROD16)
KERNEL(prod32, NOTHING, PROD32)
KERNEL(prod64, NOTHING, PROD64)
KERNEL(prodF32, NOTHING, PRODF32)
KERNEL(prodF64, NOTHING, PRODF64)
KERNEL(prodC64, NOTHING, PRODC64)
KERNEL(prodC128, NOTHING, PRODC128)
KERNEL(maxI8, NOTHING, MAXI8)
KERNEL(maxI16, NOTHING, MAXI16)
KERNEL(maxI32, NOTHING, MAXI32)
KERNEL(maxI64, NOTHING, MAXI64)
KERNEL(maxU8, NOTHING, MAXU8)
KERNEL(maxU16, NOTHING, MAXU16)
KERNEL(maxU32, NOTHING, MAXU32)
KERNEL(maxU64, NOTHING, MAXU64)
KERNEL(maxF32, NOTHING, MAXF32)
KERNEL(maxF64, NOTHING, MAXF64)
KERNEL(minI8, NOTHING, MINI8)
KERNEL(minI16, NOTHING, MINI16)
KERNEL(minI32, NOTHING, MINI32)
KERNEL(minI64, NOTHING, MINI64)
KERNEL(minU8, NOTHING, MINU8)
KERNEL(minU16, NOTHING, MINU16)
KERNEL(minU32, NOTHING, MINU32)
KERNEL(minU64, NOTHING, MINU64)
KERNEL(minF32, NOTHING, MINF32)
KERNEL(minF64, NOTHING, MINF64)
KERNEL(lAnd8, ONE8, LAND8)
KERNEL(lAnd16, ONE16, LAND16)
KERNEL(lAnd32, ONE32, LAND32)
KERNEL(lAnd64, ONE64, LAND64)
KERNEL(lOr8, ONE8, LOR8)
KERNEL(lOr16, ONE16, LOR16)
KERNEL(lOr32, ONE32, LOR32)
KERNEL(lOr64, ONE64, LOR64)
KERNEL(lXor8, ONE8, LXOR8)
KERNEL(lXor16, ONE16, LXOR16)
KERNEL(lXor32, ONE32, LXOR32)
KERNEL(lXor64, ONE64, LXOR64)
KERNEL(bAnd, NOTHING, BAND)
KERNEL(bOr, NOTHING, BOR)
KERNEL(bXor, NOTHING, BXOR)

#include "table.h"

// func run(kernel int, acc, in *byte, n int)
TEXT ·run(SB), NOSPLIT|NOFRAME, $0-32
	MOVD kernel+0(FP), R4
	MOVD acc+8(FP), R0
	MOVD in+16(FP), R1
	MOVD n+24(FP), R2
	MOVD $kernels<>(SB), R5
	MOVD (R5)(R4<<3), R5
	JMP  (R5)

// func has(kernel int) bool
TEXT ·has(SB), NOSPLIT|NOFRAME, $0-9
	MOVD kernel+0(FP), R4
	MOVD $kernels<>(SB), R5
	MOVD (R5)(R4<<3), R5
	CMP  $0, R5
	CSET NE, R6
	MOVB R6, ret+8(FP)
	RET
