package vec

import "math"

// SumBFloat16 adds as float32 and rounds to the nearest, of two the even one. Of two NaN the result
// is the one that the processor's instructions choose, which the compiler might give them in the
// other order.
func SumBFloat16(x, y uint16) uint16 {
	f := FromBFloat16(x)
	switch {
	case f == f:
		f += FromBFloat16(y)
	case signallingFirst && x&quietBFloat16 != 0 && isSignalling(y):
		return y | quietBFloat16
	}
	return ToBFloat16(f)
}

// isSignalling reports whether a bfloat16 is a NaN that is not quiet.
func isSignalling(b uint16) bool { return b&0x7fff > 0x7f80 && b&quietBFloat16 == 0 }

// SumFloat16 is SumBFloat16 for float16. There every NaN is made quiet first, and of two the result
// is x.
func SumFloat16(x, y uint16) uint16 {
	f := FromFloat16(x)
	if f == f {
		f += FromFloat16(y)
	}
	return ToFloat16(f)
}

// FromBFloat16 is the value of a bfloat16.
func FromBFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBFloat16 is the bfloat16 nearest to f, of two the even one. A NaN stays one.
func ToBFloat16(f float32) uint16 {
	u := math.Float32bits(f)
	if f != f {
		return uint16(u>>16) | quietBFloat16
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

const (
	quietBFloat16 = 0x0040 // what tells a quiet NaN
	quietFloat16  = 0x0200
	infFloat16    = 0x7c00
	minNormal     = 0x38800000 // 2^-14 as a float32, the least float16 with all its bits
	firstInf      = 0x47800000 // 2^16, which no float16 is near
	rebias        = (127 - 15) << 23
)

// FromFloat16 is the value of a float16, which every float16 has as a float32. A NaN comes out
// quiet, as the instruction for it has it.
func FromFloat16(h uint16) float32 {
	sign, u := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case u > infFloat16:
		return math.Float32frombits(sign | 0x7fc00000 | u<<13)
	case u == infFloat16:
		return math.Float32frombits(sign | 0x7f800000)
	case u < 0x0400: // without the leading one: a number of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(u)*0x1p-24))
	default:
		return math.Float32frombits(sign | u<<13 + rebias)
	}
}

// ToFloat16 is the float16 nearest to f, of two the even one. A NaN stays one; what is too large is
// infinite.
func ToFloat16(f float32) uint16 {
	u := math.Float32bits(f)
	sign := uint16(u >> 16 & 0x8000)
	switch u &= 0x7fffffff; {
	case u > 0x7f800000:
		return sign | infFloat16 | quietFloat16 | uint16(u>>13&0x1ff)
	case u >= firstInf:
		return sign | infFloat16
	case u < minNormal:
		// In a sum with 1/2 the last bit stands for 2^-24, as in a float16 without the leading one,
		// and the sum is rounded as the float16 must be.
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	default:
		return sign | uint16((u-rebias+0xfff+u>>13&1)>>13)
	}
}
