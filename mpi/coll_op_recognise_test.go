package mpi_test

import (
	"runtime"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

type (
	celsius float64
	name    string
	flag    bool
)

// reduceLike has the shape of a collective: the test is also that an operation's type argument is
// inferred.
func reduceLike[T any](_ []T, op mpi.Op[T]) bool { return mpi.IsCommutative(op) }

// throughGeneric instantiates Sum with a type parameter, whose dictionary is known only at run
// time.
func throughGeneric[T mpi.Number](v []T) bool { return reduceLike(v, mpi.Sum[T]) }

func throughGenericText[T ~string](v []T) bool { return reduceLike(v, mpi.Sum[T]) }

func throughGenericLoc[T mpi.Signed](v []mpi.Loc[T]) bool { return reduceLike(v, mpi.MaxLoc[T]) }

func aroundSum[T mpi.Number](v []T) bool {
	return reduceLike(v, func(acc, in []T) { mpi.Sum(acc, in) })
}

func throughGenericPanic[T mpi.Number](v []T) bool {
	return reduceLike(v, func(acc, in []T) { acc[0] += in[0] })
}

func throughGenericExit[T mpi.Number](v []T) bool {
	return reduceLike(v, func(acc, in []T) { runtime.Goexit() })
}

func throughGenericDeclared[T mpi.Number](v []T) bool {
	return reduceLike(v, mpi.Commutative(mpi.Sum[T]))
}

func userSum(acc, in []float64) {
	for i := range acc {
		acc[i] += in[i]
	}
}

func beginsWithSum(acc, in []float64) { mpi.Sum(acc, in); acc[0] -= 2 * in[0] }

type adder struct{ calls int }

func (a *adder) Sum(acc, in []float64) { a.calls++; mpi.Sum(acc, in) }

func TestIsCommutativeFromAnotherPackage(t *testing.T) {
	scale := 2.0
	var nilOp mpi.Op[int]
	for _, test := range []struct {
		what string
		got  bool
		want bool
	}{
		{"Sum of float64", reduceLike([]float64{}, mpi.Sum), true},
		{"Sum of int", reduceLike([]int{}, mpi.Sum), true},
		{"Sum of a named float", reduceLike([]celsius{}, mpi.Sum), true},
		{"Sum of complex128", reduceLike([]complex128{}, mpi.Sum), true},
		{"Sum of string", reduceLike([]string{}, mpi.Sum), false},
		{"Sum of a named string", reduceLike([]name{}, mpi.Sum), false},
		{"Prod", reduceLike([]int32{}, mpi.Prod), true},
		{"Max", reduceLike([]uint8{}, mpi.Max), true},
		{"Max of string", reduceLike([]string{}, mpi.Max), true},
		{"Min", reduceLike([]float32{}, mpi.Min), true},
		{"LAnd", reduceLike([]bool{}, mpi.LAnd), true},
		{"LOr of a named bool", reduceLike([]flag{}, mpi.LOr), true},
		{"LXor of int", reduceLike([]int{}, mpi.LXor), true},
		{"BAnd", reduceLike([]uint64{}, mpi.BAnd), true},
		{"BOr", reduceLike([]uint64{}, mpi.BOr), true},
		{"BXor", reduceLike([]uint64{}, mpi.BXor), true},
		{"MaxLoc", mpi.IsCommutative(mpi.Op[mpi.Loc[float64]](mpi.MaxLoc[float64])), true},
		{"MaxLoc, inferred", reduceLike([]mpi.Loc[float64]{}, mpi.MaxLoc), true},
		{"MinLoc", reduceLike([]mpi.Loc[name]{}, mpi.MinLoc), true},
		{"Replace", reduceLike([]int{}, mpi.Replace), false},
		{"NoOp", reduceLike([]int{}, mpi.NoOp), false},
		{"a user's function", reduceLike([]float64{}, userSum), false},
		{"a user's function, declared", reduceLike([]float64{}, mpi.Commutative(userSum)), true},
		{"a user's closure", reduceLike([]float64{}, func(acc, in []float64) { acc[0] += scale * in[0] }), false},
		{"a user's closure, declared", reduceLike([]float64{}, mpi.Commutative(func(acc, in []float64) { acc[0] += scale * in[0] })), true},
		{"a function that begins with Sum", reduceLike([]float64{}, beginsWithSum), false},
		{"a closure around Sum", reduceLike([]float64{}, func(acc, in []float64) { mpi.Sum(acc, in) }), false},
		{"a method named Sum", reduceLike([]float64{}, new(adder).Sum), false},
		{"nil", mpi.IsCommutative(nilOp), false},
		{"nil, declared", mpi.IsCommutative(mpi.Commutative(nilOp)), false},
		// The compiler wraps these in a function of the generic one.
		{"Sum through a generic function", throughGeneric([]float64{}), true},
		{"Sum of string through a generic function", throughGenericText([]string{}), false},
		{"MaxLoc through a generic function", throughGenericLoc([]mpi.Loc[int]{}), true},
		{"a closure around Sum in a generic function", aroundSum([]float64{}), false},
		{"a closure of a generic function that panics", throughGenericPanic([]float64{}), false},
		{"a closure of a generic function that ends its goroutine", throughGenericExit([]float64{}), false},
		{"Sum through a generic function, declared", throughGenericDeclared([]celsius{}), true},
	} {
		if test.got != test.want {
			t.Errorf("%s: IsCommutative = %v, want %v", test.what, test.got, test.want)
		}
	}
}
