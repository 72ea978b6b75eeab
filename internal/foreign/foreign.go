// Package foreign has the values that C calculates with and Go does not have, or not in that form,
// and the predefined operations on them (MPI 5.0, section 6.9.4): long double, and pairs whose
// index is an int of C or a number of Fortran. The C library reduces and accumulates by them;
// package mpi applies them to the memory of a window's target.
//
// An operation is acc[i] = acc[i] ∘ in[i], as those of package mpi, and commutative. Those on pairs
// are done here. Those on long double are C's: a process that has not set [Native] cannot do them.
package foreign

import "cmp"

// Pair is a value and its index, as MPI_FLOAT_INT and its like.
type Pair[T cmp.Ordered] struct {
	Value T
	Index int32
}

// Real is a pair of Fortran, as MPI_2REAL: a value, and its index as a number of the same kind.
type Real[T cmp.Ordered] [2]T

// LongDouble is the memory of a long double, and LongComplex that of a complex one.
type (
	LongDouble  [16]byte
	LongComplex [32]byte
)

// LongPair is a long double and its index: MPI_LONG_DOUBLE_INT. C aligns it to 16 bytes.
type LongPair struct {
	Value LongDouble
	Index int32
	_     [12]byte
}

// Kind is a kind of values that C calculates with.
type Kind int

// The kinds.
const (
	LongDoubles Kind = iota
	LongComplexes
	LongPairs
)

// Op is an operation on a Kind.
type Op int

// The operations.
const (
	OpSum Op = iota
	OpProd
	OpMax
	OpMin
	OpMaxLoc
	OpMinLoc
)

// Native does an operation on as many values as the memory of acc holds: acc = acc ∘ in. Neither
// need be aligned. It is set before the first call by what has C, and nil elsewhere.
var Native func(k Kind, op Op, acc, in []byte)

// MaxLoc keeps the greater value with its index, of equal values the lowest index. NaN counts as
// less than every number.
//
//go:noinline
func MaxLoc[T cmp.Ordered](acc, in []Pair[T]) {
	for i := range acc {
		locate(&acc[i].Value, &acc[i].Index, in[i].Value, in[i].Index, 1)
	}
}

// MinLoc keeps the lesser value with its index, of equal values the lowest index. NaN counts as
// less than every number.
//
//go:noinline
func MinLoc[T cmp.Ordered](acc, in []Pair[T]) {
	for i := range acc {
		locate(&acc[i].Value, &acc[i].Index, in[i].Value, in[i].Index, -1)
	}
}

// MaxLocReal is MaxLoc on pairs of Fortran.
//
//go:noinline
func MaxLocReal[T cmp.Ordered](acc, in []Real[T]) {
	for i := range acc {
		locate(&acc[i][0], &acc[i][1], in[i][0], in[i][1], 1)
	}
}

// MinLocReal is MinLoc on pairs of Fortran.
//
//go:noinline
func MinLocReal[T cmp.Ordered](acc, in []Real[T]) {
	for i := range acc {
		locate(&acc[i][0], &acc[i][1], in[i][0], in[i][1], -1)
	}
}

// locate puts another value with its index in the place of one, if it is greater, or with sign -1
// less, or equal and its index lower.
func locate[T, I cmp.Ordered](value *T, index *I, other T, at I, sign int) {
	switch how := sign * cmp.Compare(other, *value); {
	case how > 0:
		*value, *index = other, at
	case how == 0:
		*index = min(*index, at)
	}
}

// Long is what Sum and Prod calculate with.
type Long interface{ LongDouble | LongComplex }

// Sum adds.
//
//go:noinline
func Sum[T Long](acc, in []T) { native(kindOf[T](), OpSum, acc, in) }

// Prod multiplies.
//
//go:noinline
func Prod[T Long](acc, in []T) { native(kindOf[T](), OpProd, acc, in) }

// Max keeps the greater value.
//
//go:noinline
func Max(acc, in []LongDouble) { native(LongDoubles, OpMax, acc, in) }

// Min keeps the lesser value.
//
//go:noinline
func Min(acc, in []LongDouble) { native(LongDoubles, OpMin, acc, in) }

// MaxLocLong is MaxLoc on long doubles.
//
//go:noinline
func MaxLocLong(acc, in []LongPair) { native(LongPairs, OpMaxLoc, acc, in) }

// MinLocLong is MinLoc on long doubles.
//
//go:noinline
func MinLocLong(acc, in []LongPair) { native(LongPairs, OpMinLoc, acc, in) }

func kindOf[T Long]() Kind {
	if _, ok := any(*new(T)).(LongComplex); ok {
		return LongComplexes
	}
	return LongDoubles
}

func native[T any](k Kind, op Op, acc, in []T) {
	if len(acc) > 0 {
		Native(k, op, bytesOf(acc), bytesOf(in[:len(acc)]))
	}
}
