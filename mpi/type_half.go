package mpi

import (
	"reflect"
	"strconv"

	"github.com/fitmpi/fitmpi/mpi/internal/vec"
)

// BFloat16 is a number of 16 bits as trained models have them: the upper half of a float32, with 8
// bits of precision. [Add] is the sum of vectors of them. It travels as two bytes, also between
// hosts of different byte orders. The zero value is 0. Neither Go nor MPI 4.1 has such a type.
//
// It is a struct, so that [Sum] and the other operations on integers cannot be applied to its bits.
type BFloat16 struct{ bits uint16 }

// Float16 is a number of 16 bits, binary16 of IEEE 754: 11 bits of precision, up to 65504. For the
// rest it is as [BFloat16].
type Float16 struct{ bits uint16 }

// BFloat16Of is the number nearest to f, of two the one whose last bit is 0. A NaN stays one.
func BFloat16Of(f float32) BFloat16 { return BFloat16{vec.ToBFloat16(f)} }

// Float16Of is the number nearest to f, of two the one whose last bit is 0. A NaN stays one; from
// 65520 on it is infinite.
func Float16Of(f float32) Float16 { return Float16{vec.ToFloat16(f)} }

// Float32 is the value of x, exactly.
func (x BFloat16) Float32() float32 { return vec.FromBFloat16(x.bits) }

// Float32 is the value of x, exactly.
func (x Float16) Float32() float32 { return vec.FromFloat16(x.bits) }

// Add is the sum of x and y as float32, rounded as by [BFloat16Of].
func (x BFloat16) Add(y BFloat16) BFloat16 { return BFloat16{vec.SumBFloat16(x.bits, y.bits)} }

// Add is the sum of x and y as float32, rounded as by [Float16Of].
func (x Float16) Add(y Float16) Float16 { return Float16{vec.SumFloat16(x.bits, y.bits)} }

// String is the shortest decimal number that as a float32 is the value of x.
func (x BFloat16) String() string { return strconv.FormatFloat(float64(x.Float32()), 'g', -1, 32) }

// String is the shortest decimal number that as a float32 is the value of x.
func (x Float16) String() string { return strconv.FormatFloat(float64(x.Float32()), 'g', -1, 32) }

// isHalf reports whether t is one of the types of numbers of 16 bits.
func isHalf(t reflect.Type) bool {
	return t == reflect.TypeFor[BFloat16]() || t == reflect.TypeFor[Float16]()
}

// vectorKind is the kind of values that vector instructions see in a plain type; 0 is none.
func vectorKind(t reflect.Type) uint8 {
	switch t {
	case reflect.TypeFor[BFloat16]():
		return vec.BFloat16
	case reflect.TypeFor[Float16]():
		return vec.Float16
	}
	if c := plainClass(t); c != classComposite {
		return uint8(c)
	}
	return 0
}
