package mpi_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
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

// solver calls collectives in its methods, and in functions in these.
type solver[T mpi.Number] struct{ v []T }

func (s *solver[T]) sum() bool { return reduceLike(s.v, mpi.Sum[T]) }

func (s solver[T]) sumInside() bool {
	return func() bool { return reduceLike(s.v, mpi.Sum[T]) }()
}

func (s *solver[T]) sumOfIterator() (known bool) {
	for range s.each {
		known = reduceLike(s.v, mpi.Sum[T])
	}
	return known
}

func (s *solver[T]) each(yield func(int) bool) { yield(0) }

func (s *solver[T]) Sum(acc, in []T) { mpi.Sum(acc, in) }

func sumOf[T mpi.Number]() mpi.Op[T] { return mpi.Sum[T] }

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
		{"Sum in a method of a generic type", (&solver[float64]{}).sum(), true},
		{"Sum in a function in a method of a generic type", solver[int]{}.sumInside(), true},
		{"Sum in a loop over a function, in a method of a generic type", (&solver[float64]{}).sumOfIterator(), true},
		{"Sum from a generic function", reduceLike([]float32{}, sumOf[float32]()), true},
		{"a method of a generic type", reduceLike([]float64{}, new(solver[float64]).Sum), false},
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

// A reduction gives its result though ranks name their operation in different ways: one in generic
// code, the others not. Its length is that of which the algorithm depends on whether the operation
// commutes.
func TestReductionNamedInDifferentWays(t *testing.T) {
	const n = 420_000
	err := mpi.RunThreads(3, func(_ context.Context, c *mpi.Comm) error {
		s, out := solver[float64]{make([]float64, n)}, make([]float64, n)
		s.v[n-1] = float64(c.Rank() + 1)
		for round := range 3 {
			out[n-1] = 0
			var err error
			switch {
			case c.Rank() != round:
				err = mpi.Allreduce(c, s.v, out, mpi.Sum)
			case round == 0:
				err = s.allreduce(c, out)
			default:
				err = allreduceGeneric(c, s.v, out)
			}
			if err != nil {
				return err
			}
			if out[n-1] != 6 {
				t.Errorf("rank %d, round %d: %v, want 6", c.Rank(), round, out[n-1])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func (s *solver[T]) allreduce(c *mpi.Comm, out []T) error {
	return mpi.Allreduce(c, s.v, out, mpi.Sum[T])
}

func allreduceGeneric[T mpi.Number](c *mpi.Comm, in, out []T) error {
	return mpi.Allreduce(c, in, out, mpi.Sum[T])
}

// Ranks that disagree whether the operation commutes choose algorithms of which one waits for
// messages that the other does not send. With checks they are told.
func TestReductionOfDifferentOrders(t *testing.T) {
	const n = 420_000
	t.Setenv("FITMPI_CHECK", "1")
	for odd := range 3 {
		err := mpi.RunThreads(3, func(_ context.Context, c *mpi.Comm) error {
			op := mpi.Op[float64](userSum)
			if c.Rank() == odd {
				op = mpi.Commutative(op)
			}
			return mpi.Allreduce(c, make([]float64, n), make([]float64, n), op)
		})
		if !errors.Is(err, mpi.ErrNotSame) || !strings.Contains(err.Error(), "commutative at rank") {
			t.Errorf("declared at rank %d: %v, want an error of class %v", odd, err, mpi.ErrNotSame)
		}
	}
}
