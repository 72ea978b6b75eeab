package mpi

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestOps(t *testing.T) {
	nan, inf, minus0 := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	checkOp(t, "Sum", Sum, []int8{1, 127, -5}, []int8{2, 1, 5}, []int8{3, -128, 0})
	checkOp(t, "Sum", Sum, []float64{0.5, inf}, []float64{0.25, -1}, []float64{0.75, inf})
	checkOp(t, "Sum", Sum, []complex64{1 + 2i}, []complex64{3 - 1i}, []complex64{4 + 1i})
	checkOp(t, "Sum", Sum, []label{"a", ""}, []label{"b", "c"}, []label{"ab", "c"})
	checkOp(t, "Prod", Prod, []uint16{3, 0}, []uint16{5, 9}, []uint16{15, 0})
	checkOp(t, "Prod", Prod, []complex128{1i}, []complex128{1i}, []complex128{-1})
	checkOp(t, "Max", Max, []int{1, 5, -2}, []int{2, 3, -1}, []int{2, 5, -1})
	checkOp(t, "Max", Max, []float64{nan, 1, minus0, 0}, []float64{1, nan, 0, minus0}, []float64{nan, nan, 0, 0})
	checkOp(t, "Max", Max, []string{"a", "b"}, []string{"aa", "B"}, []string{"aa", "b"})
	checkOp(t, "Min", Min, []celsius{1, 5}, []celsius{2, -3}, []celsius{1, -3})
	checkOp(t, "Min", Min, []float64{nan, 1, minus0, 0}, []float64{1, nan, 0, minus0}, []float64{nan, nan, minus0, minus0})
	f, y := false, true
	checkOp(t, "LAnd", LAnd, []bool{f, f, y, y}, []bool{f, y, f, y}, []bool{f, f, f, y})
	checkOp(t, "LOr", LOr, []bool{f, f, y, y}, []bool{f, y, f, y}, []bool{f, y, y, y})
	checkOp(t, "LXor", LXor, []bool{f, f, y, y}, []bool{f, y, f, y}, []bool{f, y, y, f})
	checkOp(t, "LAnd", LAnd, []int{0, 0, 7, -7}, []int{0, 2, 0, 2}, []int{0, 0, 0, 1})
	checkOp(t, "LOr", LOr, []uint16{0, 0, 256, 7}, []uint16{0, 2, 0, 2}, []uint16{0, 1, 1, 1})
	checkOp(t, "LXor", LXor, []int32{0, 0, 256, 7}, []int32{0, 2, 0, 2}, []int32{0, 1, 1, 0})
	checkOp(t, "LXor", LXor, []int8{0, 0, -128, 7}, []int8{0, 2, 0, 2}, []int8{0, 1, 1, 0})
	checkOp(t, "BAnd", BAnd, []uint8{12}, []uint8{10}, []uint8{8})
	checkOp(t, "BOr", BOr, []int64{12}, []int64{10}, []int64{14})
	checkOp(t, "BXor", BXor, []int64{12}, []int64{10}, []int64{6})
	checkOp(t, "Replace", Replace, []person{{Name: "a"}}, []person{{Name: "b"}}, []person{{Name: "b"}})
	checkOp(t, "NoOp", NoOp, []person{{Name: "a"}}, []person{{Name: "b"}}, []person{{Name: "a"}})
}

// Sum works on eight elements at a time: every length must come out whole.
func TestSumOfEveryLength(t *testing.T) {
	for n := range 40 {
		acc, in, want := make([]int, n), make([]int, n+1), make([]int, n)
		for i := range acc {
			acc[i], in[i], want[i] = i, 100*i, 101*i
		}
		if Sum(acc, in); !reflect.DeepEqual(acc, want) {
			t.Errorf("sum of %d elements = %v", n, acc)
		}
	}
}

// MPI 4.1, section 6.9.4: of (u, i) and (v, j) with u = v the result has the index min(i, j).
func TestLocOps(t *testing.T) {
	type l = Loc[float64]
	nan := math.NaN()
	acc := []l{{1, 5}, {3, 5}, {2, 5}, {2, 1}, {nan, 5}, {1, 5}, {nan, 5}, {nan, 1}}
	in := []l{{2, 7}, {1, 7}, {2, 3}, {2, 3}, {1, 7}, {nan, 7}, {nan, 3}, {nan, 3}}
	checkOp(t, "MaxLoc", MaxLoc, acc, in, []l{{2, 7}, {3, 5}, {2, 3}, {2, 1}, {nan, 5}, {nan, 7}, {nan, 3}, {nan, 1}})
	checkOp(t, "MinLoc", MinLoc, acc, in, []l{{1, 5}, {1, 7}, {2, 3}, {2, 1}, {nan, 5}, {nan, 7}, {nan, 3}, {nan, 1}})
}

// checkOp applies op, and the other way round too if op claims to be commutative.
func checkOp[T any](t *testing.T, name string, op Op[T], acc, in, want []T) {
	t.Helper()
	got, before := append([]T(nil), acc...), append([]T(nil), in...)
	op(got, in)
	if fmt.Sprint(got) != fmt.Sprint(want) { // as text, in which NaN equals NaN and -0 differs from 0
		t.Errorf("%s(%v, %v) = %v, want %v", name, acc, in, got, want)
	}
	if fmt.Sprint(in) != fmt.Sprint(before) {
		t.Errorf("%s changed in: %v, was %v", name, in, before)
	}
	if isCommutative(op) {
		got = append([]T(nil), in...)
		op(got, acc)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s(%v, %v) = %v, want %v as the other way round", name, in, acc, got, want)
		}
	}
	op(nil, nil)
	op([]T{}, in) // in may be longer
}

// Every order of combining must give the same, or collectives of different algorithms would differ.
func TestOpsAreAssociative(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ops := map[string]Op[uint32]{
		"Sum": Sum[uint32], "Prod": Prod[uint32], "Max": Max[uint32], "Min": Min[uint32], "LAnd": LAnd[uint32], "LOr": LOr[uint32],
		"LXor": LXor[uint32], "BAnd": BAnd[uint32], "BOr": BOr[uint32], "BXor": BXor[uint32], "Replace": Replace[uint32], "NoOp": NoOp[uint32],
	}
	for name, op := range ops {
		for range 200 {
			a, b, c := rng.Uint32N(4), rng.Uint32N(4), rng.Uint32N(4)
			left := []uint32{a}
			op(left, []uint32{b})
			op(left, []uint32{c})
			right, bc := []uint32{a}, []uint32{b}
			op(bc, []uint32{c})
			op(right, bc)
			if left[0] != right[0] {
				t.Errorf("%s: (%d %d) %d = %d, but %d (%d %d) = %d", name, a, b, c, left[0], a, b, c, right[0])
			}
		}
	}
}

func TestReduceLocal(t *testing.T) {
	in, inout := []string{"a", "b"}, []string{"1", "2"}
	if err := ReduceLocal(in, inout, Sum); err != nil || !reflect.DeepEqual(inout, []string{"a1", "b2"}) || in[0] != "a" {
		t.Errorf("concatenation = %v, %v (in is %v)", inout, err, in)
	}
	sub := func(acc, in []int) {
		for i := range acc {
			acc[i] -= in[i]
		}
	}
	nums := []int{1, 2}
	if err := ReduceLocal([]int{10, 10}, nums, sub); err != nil || !reflect.DeepEqual(nums, []int{9, 8}) {
		t.Errorf("difference = %v, %v", nums, err)
	}
	if err := ReduceLocal([]int{10, 10}, nums, Sum); err != nil || !reflect.DeepEqual(nums, []int{19, 18}) {
		t.Errorf("sum = %v, %v", nums, err)
	}
	if err := ReduceLocal([]int{1}, nums, Sum); !errors.Is(err, ErrCount) {
		t.Errorf("different lengths: %v", err)
	}
	if err := ReduceLocal(nums, nums, nil); !errors.Is(err, ErrOp) {
		t.Errorf("nil op: %v", err)
	}
}

func TestIsCommutativeInside(t *testing.T) {
	if !isCommutative(Op[float64](Sum[float64])) || isCommutative(Op[string](Sum[string])) || isCommutative(Op[int](Replace[int])) {
		t.Error("predefined operations not recognised in their own package")
	}
	op := Op[float64](Sum[float64])
	if n := testing.AllocsPerRun(100, func() { isCommutative(op) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkOps(b *testing.B) {
	benchOp(b, "Sum/float64", Op[float64](Sum[float64]))
	benchOp(b, "Sum/float32", Op[float32](Sum[float32]))
	benchOp(b, "Sum/int32", Op[int32](Sum[int32]))
	benchOp(b, "Sum/uint8", Op[uint8](Sum[uint8]))
	benchOp(b, "plain Sum/float64", Op[float64](plainSum[float64]))
	benchOp(b, "plain Sum/float32", Op[float32](plainSum[float32]))
	benchOp(b, "plain Sum/int32", Op[int32](plainSum[int32]))
	benchOp(b, "plain Sum/uint8", Op[uint8](plainSum[uint8]))
	benchOp(b, "Prod/complex128", Op[complex128](Prod[complex128]))
	benchOp(b, "Max/float64", Op[float64](Max[float64]))
	benchOp(b, "Max/int64", Op[int64](Max[int64]))
	benchOp(b, "LAnd/bool", Op[bool](LAnd[bool]))
	benchOp(b, "LXor/int32", Op[int32](LXor[int32]))
	benchOp(b, "BXor/uint64", Op[uint64](BXor[uint64]))
	benchOp(b, "MaxLoc/float64", Op[Loc[float64]](MaxLoc[float64]))
}

// plainSum is Sum not unrolled.
//
//go:noinline
func plainSum[T Number](acc, in []T) {
	in = in[:len(acc)]
	for i := range acc {
		acc[i] += in[i]
	}
}

func benchOp[T any](b *testing.B, name string, op Op[T]) {
	b.Run(name, func(b *testing.B) {
		n := 32 << 10 / elemOf[T]().size
		acc, in := make([]T, n), make([]T, n)
		b.SetBytes(32 << 10)
		for b.Loop() {
			op(acc, in)
		}
	})
}

func BenchmarkIsCommutative(b *testing.B) {
	op := Op[float64](Sum[float64])
	for b.Loop() {
		isCommutative(op)
	}
}
