#include "textflag.h"

// Kernels by AVX-512, which have twice the width of those of run_amd64.s, and instructions that AVX2 lacks.
// Each has a step: what is done with 64 bytes A of acc and 64 bytes B of in, so that A is the result, with T
// and U, and K1 and K2, as room. Z13, Z15 and K3 are constants, made by what a kernel begins with.
//
// All have acc in DI, in in SI and the number of bytes in CX, and return to run512's caller. They count from
// minus that number up to zero, from the ends of the vectors.

#define BEGIN(CONSTANTS) \
	CONSTANTS; \
	ADDQ CX, DI; \
	ADDQ CX, SI; \
	NEGQ CX

#define NEXT \
	ADDQ $64, CX; \
	JNZ loop; \
	VZEROUPPER; \
	RET

#define KERNEL(NAME, CONSTANTS, STEP) \
TEXT NAME<>(SB), NOSPLIT|NOFRAME, $0-0; \
	BEGIN(CONSTANTS); \
loop: \
	VMOVDQU64 (DI)(CX*1), Z0; \
	VMOVDQU64 (SI)(CX*1), Z1; \
	STEP(Z0, Z1, Z2, Z3); \
	VMOVDQU64 Z0, (DI)(CX*1); \
	NEXT

// What kernels begin with.
#define NOTHING XORQ AX, AX
#define ONES VPTERNLOGD $0xff, Z15, Z15, Z15
#define ONE8 ONES; VPABSB Z15, Z15
#define ONE16 ONES; VPSRLW $15, Z15, Z15
#define ONE32 ONES; VPSRLD $31, Z15, Z15
#define ONE64 ONES; VPSRLQ $63, Z15, Z15
#define LOW_BYTES ONES; VPSRLW $8, Z15, Z15
#define SIGN32 ONES; VPSLLD $31, Z15, Z15
#define SIGN64 ONES; VPSLLQ $63, Z15, Z15
#define EVEN MOVL $0x55, AX; KMOVW AX, K3

// Of one instruction.
#define SUM8(A, B, T, U) VPADDB B, A, A
#define SUM16(A, B, T, U) VPADDW B, A, A
#define SUM32(A, B, T, U) VPADDD B, A, A
#define SUM64(A, B, T, U) VPADDQ B, A, A
#define SUMF32(A, B, T, U) VADDPS B, A, A
#define SUMF64(A, B, T, U) VADDPD B, A, A
#define PROD16(A, B, T, U) VPMULLW B, A, A
#define PROD32(A, B, T, U) VPMULLD B, A, A
#define PROD64(A, B, T, U) VPMULLQ B, A, A
#define PRODF32(A, B, T, U) VMULPS B, A, A
#define PRODF64(A, B, T, U) VMULPD B, A, A
#define MAXI8(A, B, T, U) VPMAXSB B, A, A
#define MAXI16(A, B, T, U) VPMAXSW B, A, A
#define MAXI32(A, B, T, U) VPMAXSD B, A, A
#define MAXI64(A, B, T, U) VPMAXSQ B, A, A
#define MAXU8(A, B, T, U) VPMAXUB B, A, A
#define MAXU16(A, B, T, U) VPMAXUW B, A, A
#define MAXU32(A, B, T, U) VPMAXUD B, A, A
#define MAXU64(A, B, T, U) VPMAXUQ B, A, A
#define MINI8(A, B, T, U) VPMINSB B, A, A
#define MINI16(A, B, T, U) VPMINSW B, A, A
#define MINI32(A, B, T, U) VPMINSD B, A, A
#define MINI64(A, B, T, U) VPMINSQ B, A, A
#define MINU8(A, B, T, U) VPMINUB B, A, A
#define MINU16(A, B, T, U) VPMINUW B, A, A
#define MINU32(A, B, T, U) VPMINUD B, A, A
#define MINU64(A, B, T, U) VPMINUQ B, A, A
#define BAND(A, B, T, U) VPANDQ B, A, A
#define BOR(A, B, T, U) VPORQ B, A, A
#define BXOR(A, B, T, U) VPXORQ B, A, A

// Products of the upper and of the lower bytes of words; Z15 has the lower bytes.
#define PROD8(A, B, T, U) \
	VPSRLW $8, A, T; \
	VPSRLW $8, B, U; \
	VPMULLW U, T, T; \
	VPSLLW $8, T, T; \
	VPMULLW B, A, A; \
	VPANDQ Z15, A, A; \
	VPORQ T, A, A

// Complex numbers, as by AVX2: of T*B and A*U the even places have the difference, the odd ones the sum.
#define PRODC128(A, B, T, U) \
	VMOVDDUP A, T; \
	VPERMILPD $0xff, A, A; \
	VPERMILPD $0x55, B, U; \
	VMULPD B, T, T; \
	VMULPD U, A, A; \
	VSUBPD A, T, U; \
	VADDPD A, T, A; \
	VMOVAPD U, K3, A

// Minima and maxima of floating-point numbers as by AVX2, too: the bits of both orders together.
#define MINF32(A, B, T, U) VMINPS B, A, T; VMINPS A, T, U; VPORQ T, U, A
#define MINF64(A, B, T, U) VMINPD B, A, T; VMINPD A, T, U; VPORQ T, U, A
#define MAXF32(A, B, T, U) VPXORQ Z15, A, A; VPXORQ Z15, B, B; MINF32(A, B, T, U); VPXORQ Z15, A, A
#define MAXF64(A, B, T, U) VPXORQ Z15, A, A; VPXORQ Z15, B, B; MINF64(A, B, T, U); VPXORQ Z15, A, A

// Truth: masks of which values are not zero, and 1 (Z15) where the result is true.
#define LAND(TEST, PUT, A, B) TEST A, A, K1; TEST B, B, K1, K2; PUT Z15, K2, A
#define LOR(TEST, PUT, A, B) VPORQ B, A, A; TEST A, A, K2; PUT Z15, K2, A
#define LXOR(TEST, PUT, A, B) TEST A, A, K1; TEST B, B, K2; KXORQ K1, K2, K2; PUT Z15, K2, A
#define LAND8(A, B, T, U) LAND(VPTESTMB, VMOVDQU8.Z, A, B)
#define LAND16(A, B, T, U) LAND(VPTESTMW, VMOVDQU16.Z, A, B)
#define LAND32(A, B, T, U) LAND(VPTESTMD, VMOVDQU32.Z, A, B)
#define LAND64(A, B, T, U) LAND(VPTESTMQ, VMOVDQU64.Z, A, B)
#define LOR8(A, B, T, U) LOR(VPTESTMB, VMOVDQU8.Z, A, B)
#define LOR16(A, B, T, U) LOR(VPTESTMW, VMOVDQU16.Z, A, B)
#define LOR32(A, B, T, U) LOR(VPTESTMD, VMOVDQU32.Z, A, B)
#define LOR64(A, B, T, U) LOR(VPTESTMQ, VMOVDQU64.Z, A, B)
#define LXOR8(A, B, T, U) LXOR(VPTESTMB, VMOVDQU8.Z, A, B)
#define LXOR16(A, B, T, U) LXOR(VPTESTMW, VMOVDQU16.Z, A, B)
#define LXOR32(A, B, T, U) LXOR(VPTESTMD, VMOVDQU32.Z, A, B)
#define LXOR64(A, B, T, U) LXOR(VPTESTMQ, VMOVDQU64.Z, A, B)

// bfloat16, as by AVX2, but that a mask says which sums are not NaN.
#define BF16_BEGIN ONE32; VPTERNLOGD $0xff, Z13, Z13, Z13; VPSRLD $17, Z13, Z13; VPXORQ Z14, Z14, Z14
#define BF16_ROUND(X, T) \
	VPSRLD $16, X, T; \
	VPANDQ Z15, T, T; \
	VPADDD Z13, T, T; \
	VCMPPS $7, X, X, K1; \
	VPADDD T, X, K1, X; \
	VPSRLD $16, X, X
#define SUMBF16(A, B, T, U) \
	VPUNPCKLWD A, Z14, T; \
	VPUNPCKLWD B, Z14, U; \
	VADDPS U, T, T; \
	VPUNPCKHWD A, Z14, A; \
	VPUNPCKHWD B, Z14, B; \
	VADDPS B, A, A; \
	BF16_ROUND(T, U); \
	BF16_ROUND(A, U); \
	VPACKUSDW A, T, A

KERNEL(sum8, NOTHING, SUM8)
KERNEL(sum16, NOTHING, SUM16)
KERNEL(sum32, NOTHING, SUM32)
KERNEL(sum64, NOTHING, SUM64)
KERNEL(sumF32, NOTHING, SUMF32)
KERNEL(sumF64, NOTHING, SUMF64)
KERNEL(sumBF16, BF16_BEGIN, SUMBF16)
KERNEL(prod8, LOW_BYTES, PROD8)
KERNEL(prod16, NOTHING, PROD16)
KERNEL(prod32, NOTHING, PROD32)
KERNEL(prod64, NOTHING, PROD64)
KERNEL(prodF32, NOTHING, PRODF32)
KERNEL(prodF64, NOTHING, PRODF64)
KERNEL(prodC128, EVEN, PRODC128)
KERNEL(maxI8, NOTHING, MAXI8)
KERNEL(maxI16, NOTHING, MAXI16)
KERNEL(maxI32, NOTHING, MAXI32)
KERNEL(maxI64, NOTHING, MAXI64)
KERNEL(maxU8, NOTHING, MAXU8)
KERNEL(maxU16, NOTHING, MAXU16)
KERNEL(maxU32, NOTHING, MAXU32)
KERNEL(maxU64, NOTHING, MAXU64)
KERNEL(maxF32, SIGN32, MAXF32)
KERNEL(maxF64, SIGN64, MAXF64)
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

// Products of complex64 are those of complex128, rounded, as Go computes them.
#define C64_STEP(AT) \
	VCVTPS2PD AT(DI)(CX*1), Z0; \
	VCVTPS2PD AT(SI)(CX*1), Z1; \
	PRODC128(Z0, Z1, Z2, Z3); \
	VCVTPD2PS Z0, Y0; \
	VMOVUPS Y0, AT(DI)(CX*1)

TEXT prodC64<>(SB), NOSPLIT|NOFRAME, $0-0
	BEGIN(EVEN)
loop:
	C64_STEP(0)
	C64_STEP(32)
	NEXT

#define WITHOUT_FLOAT16
#include "table.h"

// func run512(kernel int, acc, in *byte, n int)
TEXT ·run512(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ kernel+0(FP), AX
	MOVQ acc+8(FP), DI
	MOVQ in+16(FP), SI
	MOVQ n+24(FP), CX
	LEAQ kernels<>(SB), BX
	MOVQ (BX)(AX*8), AX
	JMP  AX
