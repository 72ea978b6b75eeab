#include "textflag.h"

// Kernels by AVX2. Each has a step: what is done with 32 bytes A of acc and 32 bytes B of in, so that A
// is the result, with T and U as room. Y14 and Y15 are constants, made by what a kernel begins with.
//
// All have acc in DI, in in SI and the number of bytes in CX, and jump back to run256's caller.

#define KERNEL(NAME, BEGIN, STEP) \
TEXT NAME<>(SB), NOSPLIT|NOFRAME, $0-0; \
	BEGIN; \
loop: \
	VMOVDQU (DI), Y0; \
	VMOVDQU 32(DI), Y1; \
	VMOVDQU (SI), Y2; \
	VMOVDQU 32(SI), Y3; \
	STEP(Y0, Y2, Y4, Y5); \
	STEP(Y1, Y3, Y6, Y7); \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y1, 32(DI); \
	ADDQ $64, DI; \
	ADDQ $64, SI; \
	SUBQ $64, CX; \
	JNZ loop; \
	VZEROUPPER; \
	RET

// What kernels begin with.
#define NOTHING XORQ AX, AX
#define ONES VPCMPEQB Y15, Y15, Y15
#define ZERO_ONE8 VPXOR Y14, Y14, Y14; ONES; VPABSB Y15, Y15
#define ZERO_ONE16 VPXOR Y14, Y14, Y14; ONES; VPSRLW $15, Y15, Y15
#define ZERO_ONE32 VPXOR Y14, Y14, Y14; ONES; VPSRLD $31, Y15, Y15
#define ZERO_ONE64 VPXOR Y14, Y14, Y14; ONES; VPSRLQ $63, Y15, Y15
#define LOW_BYTES ONES; VPSRLW $8, Y15, Y15
#define SIGN32 ONES; VPSLLD $31, Y15, Y15
#define SIGN64 ONES; VPSLLQ $63, Y15, Y15

// Of one instruction.
#define SUM8(A, B, T, U) VPADDB B, A, A
#define SUM16(A, B, T, U) VPADDW B, A, A
#define SUM32(A, B, T, U) VPADDD B, A, A
#define SUM64(A, B, T, U) VPADDQ B, A, A
#define SUMF32(A, B, T, U) VADDPS B, A, A
#define SUMF64(A, B, T, U) VADDPD B, A, A
#define PROD16(A, B, T, U) VPMULLW B, A, A
#define PROD32(A, B, T, U) VPMULLD B, A, A
#define PRODF32(A, B, T, U) VMULPS B, A, A
#define PRODF64(A, B, T, U) VMULPD B, A, A
#define MAXI8(A, B, T, U) VPMAXSB B, A, A
#define MAXI16(A, B, T, U) VPMAXSW B, A, A
#define MAXI32(A, B, T, U) VPMAXSD B, A, A
#define MAXU8(A, B, T, U) VPMAXUB B, A, A
#define MAXU16(A, B, T, U) VPMAXUW B, A, A
#define MAXU32(A, B, T, U) VPMAXUD B, A, A
#define MINI8(A, B, T, U) VPMINSB B, A, A
#define MINI16(A, B, T, U) VPMINSW B, A, A
#define MINI32(A, B, T, U) VPMINSD B, A, A
#define MINU8(A, B, T, U) VPMINUB B, A, A
#define MINU16(A, B, T, U) VPMINUW B, A, A
#define MINU32(A, B, T, U) VPMINUD B, A, A
#define BAND(A, B, T, U) VPAND B, A, A
#define BOR(A, B, T, U) VPOR B, A, A
#define BXOR(A, B, T, U) VPXOR B, A, A

// Products of the upper and of the lower bytes of words; Y15 has the lower bytes.
#define PROD8(A, B, T, U) \
	VPSRLW $8, A, T; \
	VPSRLW $8, B, U; \
	VPMULLW U, T, T; \
	VPSLLW $8, T, T; \
	VPMULLW B, A, A; \
	VPAND Y15, A, A; \
	VPOR T, A, A

// The product modulo 2^64, of halves.
#define PROD64(A, B, T, U) \
	VPSRLQ $32, A, T; \
	VPMULUDQ B, T, T; \
	VPSRLQ $32, B, U; \
	VPMULUDQ A, U, U; \
	VPADDQ U, T, T; \
	VPSLLQ $32, T, T; \
	VPMULUDQ B, A, A; \
	VPADDQ T, A, A

// Complex numbers: T has the real part of A twice, A the other part twice, and U the parts of B the
// other way round. The products T*B and A*U are subtracted in the even places and added in the odd.
#define PRODC128(A, B, T, U) \
	VMOVDDUP A, T; \
	VPERMILPD $0xf, A, A; \
	VPERMILPD $5, B, U; \
	VMULPD B, T, T; \
	VMULPD U, A, A; \
	VADDSUBPD A, T, A

// A comparison, A > B, chooses. Unsigned numbers compare as signed ones whose sign is the other.
#define MAXI64(A, B, T, U) VPCMPGTQ B, A, T; VBLENDVPD T, A, B, A
#define MINI64(A, B, T, U) VPCMPGTQ B, A, T; VBLENDVPD T, B, A, A
#define MAXU64(A, B, T, U) VPXOR Y15, A, T; VPXOR Y15, B, U; VPCMPGTQ U, T, T; VBLENDVPD T, A, B, A
#define MINU64(A, B, T, U) VPXOR Y15, A, T; VPXOR Y15, B, U; VPCMPGTQ U, T, T; VBLENDVPD T, B, A, A

// Of numbers that do not compare, or are zeros, the minimum is the second one. So T and U differ where
// one is NaN or the zeros differ, and the bits of both together are a NaN, or -0. The maximum is the
// minimum of the opposites. The compiler does the same for min and max.
#define MINF32(A, B, T, U) VMINPS B, A, T; VMINPS A, T, U; VPOR T, U, A
#define MINF64(A, B, T, U) VMINPD B, A, T; VMINPD A, T, U; VPOR T, U, A
#define MAXF32(A, B, T, U) VPXOR Y15, A, A; VPXOR Y15, B, B; MINF32(A, B, T, U); VPXOR Y15, A, A
#define MAXF64(A, B, T, U) VPXOR Y15, A, A; VPXOR Y15, B, B; MINF64(A, B, T, U); VPXOR Y15, A, A

// Truth: which values are zero (Y14), and then 1 (Y15) where the result is true.
#define LAND(EQUAL, A, B) EQUAL Y14, A, A; EQUAL Y14, B, B; VPOR B, A, A; VPANDN Y15, A, A
#define LOR(EQUAL, A, B) VPOR B, A, A; EQUAL Y14, A, A; VPANDN Y15, A, A
#define LXOR(EQUAL, A, B) EQUAL Y14, A, A; EQUAL Y14, B, B; VPXOR B, A, A; VPAND Y15, A, A
#define LAND8(A, B, T, U) LAND(VPCMPEQB, A, B)
#define LAND16(A, B, T, U) LAND(VPCMPEQW, A, B)
#define LAND32(A, B, T, U) LAND(VPCMPEQD, A, B)
#define LAND64(A, B, T, U) LAND(VPCMPEQQ, A, B)
#define LOR8(A, B, T, U) LOR(VPCMPEQB, A, B)
#define LOR16(A, B, T, U) LOR(VPCMPEQW, A, B)
#define LOR32(A, B, T, U) LOR(VPCMPEQD, A, B)
#define LOR64(A, B, T, U) LOR(VPCMPEQQ, A, B)
#define LXOR8(A, B, T, U) LXOR(VPCMPEQB, A, B)
#define LXOR16(A, B, T, U) LXOR(VPCMPEQW, A, B)
#define LXOR32(A, B, T, U) LXOR(VPCMPEQD, A, B)
#define LXOR64(A, B, T, U) LXOR(VPCMPEQQ, A, B)

// bfloat16: the words of a lane become the upper halves of float32, its first four in T, the others in
// A. Each sum is rounded: 0x7fff, one more if its last bit is set, is added unless it is NaN.
#define BF16_BEGIN VPXOR Y14, Y14, Y14; ONES; VPSRLD $31, Y15, Y15; VPCMPEQB Y13, Y13, Y13; VPSRLD $17, Y13, Y13
#define BF16_ROUND(X, T, U) \
	VPSRLD $16, X, T; \
	VPAND Y15, T, T; \
	VPADDD Y13, T, T; \
	VCMPPS $7, X, X, U; \
	VPAND U, T, T; \
	VPADDD T, X, X; \
	VPSRLD $16, X, X
#define SUMBF16(A, B, T, U) \
	VPUNPCKLWD A, Y14, T; \
	VPUNPCKLWD B, Y14, U; \
	VADDPS U, T, T; \
	VPUNPCKHWD A, Y14, A; \
	VPUNPCKHWD B, Y14, B; \
	VADDPS B, A, A; \
	BF16_ROUND(T, U, B); \
	BF16_ROUND(A, U, B); \
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
KERNEL(prodC128, NOTHING, PRODC128)
KERNEL(maxI8, NOTHING, MAXI8)
KERNEL(maxI16, NOTHING, MAXI16)
KERNEL(maxI32, NOTHING, MAXI32)
KERNEL(maxI64, NOTHING, MAXI64)
KERNEL(maxU8, NOTHING, MAXU8)
KERNEL(maxU16, NOTHING, MAXU16)
KERNEL(maxU32, NOTHING, MAXU32)
KERNEL(maxU64, SIGN64, MAXU64)
KERNEL(maxF32, SIGN32, MAXF32)
KERNEL(maxF64, SIGN64, MAXF64)
KERNEL(minI8, NOTHING, MINI8)
KERNEL(minI16, NOTHING, MINI16)
KERNEL(minI32, NOTHING, MINI32)
KERNEL(minI64, NOTHING, MINI64)
KERNEL(minU8, NOTHING, MINU8)
KERNEL(minU16, NOTHING, MINU16)
KERNEL(minU32, NOTHING, MINU32)
KERNEL(minU64, SIGN64, MINU64)
KERNEL(minF32, NOTHING, MINF32)
KERNEL(minF64, NOTHING, MINF64)
KERNEL(lAnd8, ZERO_ONE8, LAND8)
KERNEL(lAnd16, ZERO_ONE16, LAND16)
KERNEL(lAnd32, ZERO_ONE32, LAND32)
KERNEL(lAnd64, ZERO_ONE64, LAND64)
KERNEL(lOr8, ZERO_ONE8, LOR8)
KERNEL(lOr16, ZERO_ONE16, LOR16)
KERNEL(lOr32, ZERO_ONE32, LOR32)
KERNEL(lOr64, ZERO_ONE64, LOR64)
KERNEL(lXor8, ZERO_ONE8, LXOR8)
KERNEL(lXor16, ZERO_ONE16, LXOR16)
KERNEL(lXor32, ZERO_ONE32, LXOR32)
KERNEL(lXor64, ZERO_ONE64, LXOR64)
KERNEL(bAnd, NOTHING, BAND)
KERNEL(bOr, NOTHING, BOR)
KERNEL(bXor, NOTHING, BXOR)

// float16 has instructions of its own, from and to memory.
#define F16_STEP(AT) \
	VCVTPH2PS AT(DI), Y0; \
	VCVTPH2PS AT(SI), Y1; \
	VADDPS Y1, Y0, Y0; \
	VCVTPS2PH $0, Y0, AT(DI)

TEXT sumF16<>(SB), NOSPLIT|NOFRAME, $0-0
loop:
	F16_STEP(0)
	F16_STEP(16)
	F16_STEP(32)
	F16_STEP(48)
	ADDQ $64, DI
	ADDQ $64, SI
	SUBQ $64, CX
	JNZ  loop
	VZEROUPPER
	RET

// Products of complex64 are those of complex128, rounded, as Go computes them.
#define C64_STEP(AT) \
	VCVTPS2PD AT(DI), Y0; \
	VCVTPS2PD AT(SI), Y1; \
	PRODC128(Y0, Y1, Y2, Y3); \
	VCVTPD2PSY Y0, X0; \
	VMOVUPS X0, AT(DI)

TEXT prodC64<>(SB), NOSPLIT|NOFRAME, $0-0
loop:
	C64_STEP(0)
	C64_STEP(16)
	C64_STEP(32)
	C64_STEP(48)
	ADDQ $64, DI
	ADDQ $64, SI
	SUBQ $64, CX
	JNZ  loop
	VZEROUPPER
	RET

#include "table.h"

// func run256(kernel int, acc, in *byte, n int)
TEXT ·run256(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ kernel+0(FP), AX
	MOVQ acc+8(FP), DI
	MOVQ in+16(FP), SI
	MOVQ n+24(FP), CX
	LEAQ kernels<>(SB), BX
	MOVQ (BX)(AX*8), AX
	JMP  AX

// func has(kernel int) bool
TEXT ·has(SB), NOSPLIT|NOFRAME, $0-9
	MOVQ kernel+0(FP), AX
	LEAQ kernels<>(SB), BX
	CMPQ (BX)(AX*8), $0
	SETNE ret+8(FP)
	RET
