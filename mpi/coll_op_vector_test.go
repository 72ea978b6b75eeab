package mpi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi/internal/vec"
)

// vectorCase is an operation on a type: all at once, and by the plain loop, which one element at a
// time has.
type vectorCase struct {
	name             string
	size             int    // bytes of an element
	op               vec.Op // which a kernel is of
	kind             uint8  // on values of that kind
	together, singly func(acc, in []byte)
	nan              func(element []byte) string // the numbers in it, each NaN as "NaN"; empty if none is
}

func vectorCaseOf[T any](name string, kernel vec.Op, op Op[T]) vectorCase {
	e := elemOf[T]()
	return vectorCase{name + " of " + e.name, e.size, kernel, e.vector,
		func(acc, in []byte) { op(sliceOf[T](acc), sliceOf[T](in)) },
		func(acc, in []byte) {
			a, b := sliceOf[T](acc), sliceOf[T](in)
			for i := range a {
				op(a[i:i+1], b[i:i+1])
			}
		},
		func(element []byte) string {
			if said := fmt.Sprint(sliceOf[T](element)[0]); strings.Contains(said, "NaN") {
				return said
			}
			return ""
		}}
}

func vectorNumbers[T Number]() []vectorCase {
	return []vectorCase{vectorCaseOf[T]("Sum", vec.Sum, Sum[T]), vectorCaseOf[T]("Prod", vec.Prod, Prod[T])}
}

func vectorOrdered[T Integer | Float]() []vectorCase {
	return append(vectorNumbers[T](), vectorCaseOf[T]("Max", vec.Max, Max[T]), vectorCaseOf[T]("Min", vec.Min, Min[T]))
}

func vectorLogical[T Logical]() []vectorCase {
	return []vectorCase{vectorCaseOf[T]("LAnd", vec.LAnd, LAnd[T]), vectorCaseOf[T]("LOr", vec.LOr, LOr[T]), vectorCaseOf[T]("LXor", vec.LXor, LXor[T])}
}

func vectorIntegers[T Integer]() []vectorCase {
	all := append(vectorOrdered[T](), vectorLogical[T]()...)
	return append(all, vectorCaseOf[T]("BAnd", vec.BAnd, BAnd[T]), vectorCaseOf[T]("BOr", vec.BOr, BOr[T]), vectorCaseOf[T]("BXor", vec.BXor, BXor[T]))
}

type (
	short  int16
	factor complex64
)

func vectorCases() (all []vectorCase) {
	for _, some := range [][]vectorCase{
		vectorIntegers[int8](), vectorIntegers[short](), vectorIntegers[int32](), vectorIntegers[int64](), vectorIntegers[int](),
		vectorIntegers[uint8](), vectorIntegers[uint16](), vectorIntegers[uint32](), vectorIntegers[uint64](), vectorIntegers[uint](),
		vectorOrdered[float32](), vectorOrdered[celsiusInside](), vectorNumbers[factor](), vectorNumbers[complex128](), vectorLogical[bool](),
		{vectorCaseOf("Add", vec.Sum, Add[BFloat16]), vectorCaseOf("Add", vec.Sum, Add[Float16])},
	} {
		all = append(all, some...)
	}
	return all
}

type celsiusInside float64

// special are bits of values that arithmetic treats in their own way, in every type: zeros, NaN,
// infinities, the least and the greatest, numbers near where they are rounded.
var special = []uint64{
	0, 1, math.MaxUint64, 1 << 63, 0x8000000080000000, 0x8000800080008000, 0x8080808080808080, 0x7fffffffffffffff, 0x7fffffff7fffffff, 0x7fff7fff7fff7fff,
	math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)), math.Float64bits(math.NaN()), 0x7ff0000000000001, 0xfff8123456789abc, 1 << 51, 0x0010000000000000,
	0x7f8000007f800000, 0xff800000ff800000, 0x7fc000017f800001, 0xffc12345ffffffff, 0x3f8000003f808000, 0x0000000100800000, 0x7f7fffff7f7fffff,
	0x7c007c017e00fc00, 0x7bff7bff04000001, 0x3c003c0003ff8001, 0x7f807f81ff807fff, 0x7f7f7f7f00013f80,
}

// fillBits fills b with values that are drawn, some of them special.
func fillBits(rng *rand.Rand, b []byte) {
	for i := 0; i+8 <= len(b); i += 8 {
		v := rng.Uint64()
		if rng.IntN(3) == 0 {
			v = special[rng.IntN(len(special))]
		}
		binary.LittleEndian.PutUint64(b[i:], v)
	}
}

// compare applies a case in both ways. Truth values are made such first.
func (x *vectorCase) compare(t *testing.T, acc, in []byte) {
	t.Helper()
	n := min(len(acc), len(in)) / x.size * x.size
	acc, in = bytes.Clone(acc[:n]), bytes.Clone(in[:n])
	if x.kind == uint8(classBool) {
		for i := range acc {
			acc[i], in[i] = acc[i]&1, in[i]&1
		}
	}
	together, singly, kept := bytes.Clone(acc), bytes.Clone(acc), bytes.Clone(in)
	x.together(together, in)
	x.singly(singly, in)
	if !bytes.Equal(in, kept) {
		t.Fatalf("%s of %d bytes changed in", x.name, n)
	}
	for i := 0; i < n; i += x.size {
		if !bytes.Equal(together[i:i+x.size], singly[i:i+x.size]) && !x.isEitherNaN(acc[i:i+x.size], in[i:i+x.size], together[i:i+x.size], singly[i:i+x.size]) {
			t.Fatalf("%s, element %d of %d: %x and %x are %x, by the plain loop %x", x.name, i/x.size, n/x.size, acc[i:i+x.size], in[i:i+x.size], together[i:i+x.size], singly[i:i+x.size])
		}
	}
}

// isEitherNaN reports whether two results differ in nothing but the bits of a NaN, where neither
// IEEE 754 nor Go says which it has. It may be that of either operand: a compiler orders them as it
// likes, with -race otherwise than without. Where it makes one instruction of a product and a sum
// that may change its sign.
func (x *vectorCase) isEitherNaN(a, b, result, other []byte) bool {
	areBoth := x.nan(a) != "" && x.nan(b) != ""
	mayBeFused := x.op == vec.Prod && x.kind == uint8(classComplex64) && isFused()
	return (areBoth || mayBeFused) && x.nan(result) != "" && x.nan(result) == x.nan(other)
}

// Every operation gives the same bits for every element, however the vectors are cut: so that a
// reduction does not depend on the number of segments.
func TestOpsByVectorsAreThePlainLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 1))
	acc, in := make([]byte, 64<<10+200), make([]byte, 64<<10+200)
	for _, x := range vectorCases() {
		for _, n := range []int{0, 64, 256 - x.size, 256, 256 + x.size, 320, 1000, 1024, 4096 + 48, len(acc)} {
			off := rng.IntN(4) * 16 // aligned for every type, not for vectors
			fillBits(rng, acc)
			fillBits(rng, in)
			x.compare(t, acc[off:max(off, n)], in[:n])
		}
	}
}

func FuzzOpsByVectors(f *testing.F) {
	cases := vectorCases()
	f.Add(uint8(0), []byte("bits"), []byte("others"))
	f.Add(uint8(40), binary.LittleEndian.AppendUint64(nil, special[12]), binary.LittleEndian.AppendUint64(nil, special[13]))
	f.Fuzz(func(t *testing.T, which uint8, a, b []byte) {
		if len(a) == 0 || len(b) == 0 {
			return
		}
		n := 512 // vectors, and a rest
		acc, in := bytes.Repeat(a, n/len(a)+1), bytes.Repeat(b, n/len(b)+1)
		x := cases[int(which)%len(cases)]
		x.compare(t, acc, in)
	})
}

// What is added by vectors here is, or the tests above compare the plain loop with itself.
func TestVectorsAreUsed(t *testing.T) {
	if vec.Of(vec.Sum, uint8(classFloat64)) == 0 {
		t.Skip("no vector instructions here")
	}
	for _, x := range vectorCases() {
		if vec.Of(x.op, x.kind) == 0 {
			t.Errorf("%s: no kernel", x.name)
		}
	}
}

// isFused reports whether the compiler makes one instruction of a product and a sum.
func isFused() bool {
	x := 1 + math.Exp2(-30)
	one := x * x // 1 + 2^-29 + 2^-60
	return fusedSum(x, x, -one) != 0
}

//go:noinline
func fusedSum(a, b, c float64) float64 { return a*b + c }

// Products of complex numbers are rounded before they are added, whether vectors are long or short,
// on every processor: these have a real part of zero, or of what was rounded away.
func TestProdRoundsEachTime(t *testing.T) {
	x := complex(1+math.Exp2(-30), 1+math.Exp2(-30))
	for _, n := range []int{1, 15, 16, 67} {
		acc, in := make([]complex128, n), make([]complex128, n)
		for i := range acc {
			acc[i], in[i] = x, x
		}
		Prod(acc, in)
		for i, p := range acc {
			if want := complex(0, 2+math.Exp2(-28)); p != want {
				t.Fatalf("element %d of %d is %v, want %v", i, n, p, want)
			}
		}
	}
}

// A loop over memory that overlaps sees what it has written.
func TestOpsOfOverlappingMemory(t *testing.T) {
	mem := make([]int32, 1000)
	for i := range mem {
		mem[i] = 1
	}
	Sum(mem[1:], mem[:len(mem)-1])
	for i, v := range mem {
		if v != int32(i+1) {
			t.Fatalf("element %d is %d, want %d", i, v, i+1)
		}
	}
	Sum(mem, mem)
	if mem[999] != 2000 || mem[1] != 4 {
		t.Errorf("a vector and itself: %d, %d", mem[999], mem[1])
	}
}

// reversed is a number whose method Add is its own.
type reversed float64

func (x reversed) Add(y reversed) reversed { return x - y }

// TestAddCallsTheMethod: also where the type is a number that has a sum of its own. MPI.NET:
// predefined operations are recognised, and only these.
func TestAddCallsTheMethod(t *testing.T) {
	acc, in := make([]reversed, 100), make([]reversed, 100)
	for i := range acc {
		acc[i], in[i] = 5, 3
	}
	Add(acc, in)
	for i := range acc {
		if acc[i] != 2 {
			t.Fatalf("element %d is %v", i, acc[i])
		}
	}
	if isCommutative(Op[reversed](Add[reversed])) {
		t.Error("a program's method is taken for commutative")
	}
}

func TestHalves(t *testing.T) {
	if !isCommutative(Op[BFloat16](Add[BFloat16])) || !isCommutative(Op[Float16](Add[Float16])) || !isPredefined[Float16](kindOf(Op[Float16](Add[Float16]))) {
		t.Error("the sum of numbers of 16 bits is not recognised")
	}
	for _, x := range []struct{ got, want string }{
		{BFloat16Of(1.5).Add(BFloat16Of(-0.25)).String(), "1.25"},
		{BFloat16Of(256).Add(BFloat16Of(1)).String(), "256"}, // a tie, to the even one
		{BFloat16Of(258).Add(BFloat16Of(1)).String(), "260"},
		{BFloat16Of(math.MaxFloat32).String(), "+Inf"},
		{Float16Of(2048).Add(Float16Of(1)).String(), "2048"},
		{Float16Of(65504).Add(Float16Of(15)).String(), "65504"},
		{Float16Of(65504).Add(Float16Of(16)).String(), "+Inf"},
		{Float16Of(float32(math.NaN())).Add(Float16{}).String(), "NaN"},
		{Float16Of(float32(math.Copysign(0, -1))).String(), "-0"},
	} {
		if x.got != x.want {
			t.Errorf("%s, want %s", x.got, x.want)
		}
	}
	if e := elemOf[[3]BFloat16](); !e.whole || e.wire != 6 || e.vector != 0 {
		t.Errorf("an array of them: %+v", e)
	}
	if e := elemOf[Float16](); !e.whole || e.wire != 2 || !reflect.DeepEqual(e.m.Size(), 2) {
		t.Errorf("one of them: %+v", e)
	}
}

// TestHalvesExactly: every number of 16 bits is one of float32, from which it comes back.
func TestHalvesExactly(t *testing.T) {
	for i := range 1 << 16 {
		b, h := BFloat16{uint16(i)}, Float16{uint16(i)}
		if f := b.Float32(); !isSame(f, math.Float32frombits(uint32(i)<<16)) || f == f && BFloat16Of(f) != b {
			t.Fatalf("bfloat16 %#04x is %v, which is %#04x", i, f, BFloat16Of(f).bits)
		}
		if f := h.Float32(); !isSame(f, binary16(uint16(i))) || f == f && Float16Of(f) != h {
			t.Fatalf("binary16 %#04x is %v, want %v, and that is %#04x", i, f, binary16(uint16(i)), Float16Of(f).bits)
		}
	}
}

// isSame reports whether x and y are the same number, of the same sign, or no numbers.
func isSame(x, y float32) bool {
	return x == y && math.Signbit(float64(x)) == math.Signbit(float64(y)) || x != x && y != y
}

// binary16 is the number that IEEE 754, section 3.4, gives to the bits of binary16.
func binary16(bits uint16) float32 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&0x3ff)
	switch exponent {
	case 0:
		return float32(math.Copysign(math.Ldexp(fraction, -24), sign))
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return float32(math.Inf(int(sign)))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}

// Vectors of 1 MB beside a copy of 1 MB: MB/s are of the bytes that are read and written, two for
// each byte of a copy, three for each of a result. plain goes element by element in short calls.
func BenchmarkReduceLocal(b *testing.B) {
	const n = 1 << 20
	acc, in := make([]byte, n), make([]byte, n)
	for i := range acc {
		acc[i], in[i] = 1, 1 // no NaN, no number without its leading one
	}
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(2 * n)
		for b.Loop() {
			copy(acc, in)
		}
	})
	for _, x := range vectorCases() {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(3 * n)
			for b.Loop() {
				x.together(acc, in)
			}
		})
	}
}
