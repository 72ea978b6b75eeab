package vec

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// Every float16 is a float32, and comes back as it was; a NaN comes back quiet.
func TestHalvesThereAndBack(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		if f, want := FromFloat16(h), quiet(h, infFloat16, quietFloat16); ToFloat16(f) != want {
			t.Fatalf("float16 %04x is %v, which is %04x, want %04x", h, f, ToFloat16(f), want)
		}
		if f, want := FromBFloat16(h), quiet(h, 0x7f80, quietBFloat16); ToBFloat16(f) != want {
			t.Fatalf("bfloat16 %04x is %v, which is %04x, want %04x", h, f, ToBFloat16(f), want)
		}
	}
}

// quiet is h, or, if it is a NaN, the quiet one.
func quiet(h, inf, bit uint16) uint16 {
	if h&0x7fff > inf {
		return h | bit
	}
	return h
}

// The values of float16 by the definition of IEEE 754, section 3.4.
func TestFloat16Values(t *testing.T) {
	for i := range infFloat16 {
		exponent, fraction := i>>10, float64(i&0x3ff)
		want := math.Ldexp(fraction/1024, -14)
		if exponent > 0 {
			want = math.Ldexp(1+fraction/1024, exponent-15)
		}
		if got := float64(FromFloat16(uint16(i))); got != want {
			t.Fatalf("float16 %04x is %v, want %v", i, got, want)
		}
		if got := float64(FromFloat16(uint16(i) | 0x8000)); got != -want {
			t.Fatalf("float16 %04x is %v, want %v", i|0x8000, got, -want)
		}
	}
}

// Between two neighbours the nearer is chosen, half way the even one.
func TestHalvesAreRounded(t *testing.T) {
	check := func(name string, to func(float32) uint16, from func(uint16) float32, last int, beyond float32) {
		for i := range last {
			h := uint16(i)
			lo, hi := from(h), from(h+1)
			if i == last-1 {
				hi = beyond // where infinity would be if it were a number
			}
			middle := lo + (hi-lo)/2
			even := h + h&1
			below, above := math.Nextafter32(middle, 0), math.Nextafter32(middle, float32(math.Inf(1)))
			if to(below) != h || to(middle) != even || to(above) != h+1 {
				t.Fatalf("%s: %v, %v, %v are %04x, %04x, %04x; want %04x, %04x, %04x", name, below, middle, above, to(below), to(middle), to(above), h, even, h+1)
			}
		}
	}
	check("float16", ToFloat16, FromFloat16, infFloat16, 65536)
	check("bfloat16", ToBFloat16, FromBFloat16, 0x7f7f, FromBFloat16(0x7f7f))
	if got := ToBFloat16(math.MaxFloat32); got != 0x7f80 {
		t.Errorf("the greatest float32 is %04x as a bfloat16, want infinity", got)
	}
}

// Kernels see every byte of whole steps, and no other.
func TestCombine(t *testing.T) {
	k := Of(BXor, 6)
	if k == 0 {
		t.Skip("no vector instructions here, or the race detector")
	}
	for _, n := range []int{0, 1, Step - 1, Step, Step + 1, 5 * Step, most - 1, most + Step + 7} {
		acc, in := make([]byte, n+1), make([]byte, n+1)
		for i := range acc {
			acc[i], in[i] = byte(i), 0xff
		}
		if done := k.Combine(acc[1:], in[1:]); done != n/Step*Step {
			t.Fatalf("%d of %d bytes are done", done, n)
		}
		for i := range acc {
			if want := byte(i); i >= 1 && i-1 < n/Step*Step {
				if want ^= 0xff; acc[i] != want {
					t.Fatalf("byte %d of %d is %02x, want %02x", i-1, n, acc[i], want)
				}
			} else if acc[i] != want {
				t.Fatalf("byte %d, which is no part of it, is changed", i)
			}
		}
	}
}

func TestOfKinds(t *testing.T) {
	for kind := range 256 {
		if k := Of(Sum, uint8(kind)); k != 0 && (kind < 2 || kind >= kinds) {
			t.Errorf("kind %d has kernel %d", kind, k)
		}
	}
}

// The kinds of complex numbers, as mpi/internal/layout numbers them.
const (
	complex64s  = 12
	complex128s = 13
)

// Products of 64 bits are made of halves here: their carries count.
func TestProd64(t *testing.T) {
	k := Of(Prod, 9)
	if k == 0 {
		t.Skip("no vector instructions for that here, or the race detector")
	}
	values := []uint64{0, 1, 2, math.MaxUint64, 1 << 63, 1 << 32, 1<<32 - 1, 0x123456789abcdef0, 0xfedcba9876543210}
	for _, x := range values {
		for _, y := range values {
			acc, in := binary.NativeEndian.AppendUint64(nil, x), binary.NativeEndian.AppendUint64(nil, y)
			acc, in = bytes.Repeat(acc, Step/8), bytes.Repeat(in, Step/8)
			k.Combine(acc, in)
			for i := 0; i < Step; i += 8 {
				if got := binary.NativeEndian.Uint64(acc[i:]); got != x*y {
					t.Fatalf("%x times %x is %x, want %x", x, y, got, x*y)
				}
			}
		}
	}
}

// complexes are numbers whose products round, overflow, vanish, or are none.
func complexes() (all []complex128) {
	parts := []float64{0, math.Copysign(0, -1), 1, -1.5, math.Pi, -math.E, 1e-40, 3e38, math.Inf(1), math.Inf(-1), math.NaN(), 1.0 / 3}
	for _, re := range parts {
		for _, im := range parts {
			all = append(all, complex(re, im))
		}
	}
	return all
}

// Products of complex64 have the bits of Go's own, whether that rounds once or twice: products of
// two float32 are exact in float64. Which bits a NaN has the compiler decides each time.
func TestProdComplex64(t *testing.T) {
	k := Of(Prod, complex64s)
	if k == 0 {
		t.Skip("no vector instructions for that here, or the race detector")
	}
	for _, x := range complexes() {
		for _, y := range complexes() {
			for i := 0; i < Step; i += 8 { // in each place of a register
				acc, in := make([]byte, Step), make([]byte, Step)
				put64(acc[i:], complex64(x))
				put64(in[i:], complex64(y))
				k.Combine(acc, in)
				got, want := get64(acc[i:]), complex128(complex64(x)*complex64(y))
				if !isSame(real(got), real(want)) || !isSame(imag(got), imag(want)) {
					t.Fatalf("%v times %v is %v, want %v", complex64(x), complex64(y), got, want)
				}
				if clear(acc[i : i+8]); !bytes.Equal(acc, make([]byte, Step)) {
					t.Fatalf("%v times %v, element %d, has changed others: %x", complex64(x), complex64(y), i/8, acc)
				}
			}
		}
	}
}

// Those of complex128 are rounded after each product and each sum.
func TestProdComplex128(t *testing.T) {
	k := Of(Prod, complex128s)
	if k == 0 {
		t.Skip("no vector instructions for that here, or the race detector")
	}
	for _, x := range complexes() {
		for _, y := range complexes() {
			acc, in := make([]byte, Step), make([]byte, Step)
			put128(acc, x)
			put128(in, y)
			k.Combine(acc, in)
			re := float64(real(x)*real(y)) - float64(imag(x)*imag(y))
			im := float64(real(x)*imag(y)) + float64(imag(x)*real(y))
			if got := get128(acc); !isSame(real(got), re) || !isSame(imag(got), im) {
				t.Fatalf("%v times %v is %v, want %v", x, y, got, complex(re, im))
			}
		}
	}
}

// isSame reports whether two numbers have the same bits, or are NaN.
func isSame(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

func get128(b []byte) complex128 {
	return complex(math.Float64frombits(binary.NativeEndian.Uint64(b)), math.Float64frombits(binary.NativeEndian.Uint64(b[8:])))
}

func get64(b []byte) complex128 {
	return complex(float64(math.Float32frombits(binary.NativeEndian.Uint32(b))), float64(math.Float32frombits(binary.NativeEndian.Uint32(b[4:]))))
}

func put128(b []byte, x complex128) {
	binary.NativeEndian.PutUint64(b, math.Float64bits(real(x)))
	binary.NativeEndian.PutUint64(b[8:], math.Float64bits(imag(x)))
}

func put64(b []byte, x complex64) {
	binary.NativeEndian.PutUint32(b, math.Float32bits(real(x)))
	binary.NativeEndian.PutUint32(b[4:], math.Float32bits(imag(x)))
}
