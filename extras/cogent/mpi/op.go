package mpi

import (
	"fmt"

	fit "github.com/fitmpi/fitmpi/mpi"
)

// Op is how values of ranks are combined.
type Op int

// The operations. Integers have all, floating point numbers the first four, complex ones OpSum and
// OpProd (MPI 4.1, section 6.9.2).
const (
	OpSum  Op = iota
	OpMax     // maximum
	OpMin     // minimum
	OpProd    // product
	OpLAND    // 1 where all are not 0, else 0
	OpLOR     // 1 where any is not 0, else 0
	OpBAND    // and, bit by bit
	OpBOR     // or, bit by bit
)

// names are those of the operations.
var names = [...]string{"OpSum", "OpMax", "OpMin", "OpProd", "OpLAND", "OpLOR", "OpBAND", "OpBOR"}

// String is the name of the constant.
func (op Op) String() string {
	if op < 0 || int(op) >= len(names) {
		return fmt.Sprintf("Op(%d)", int(op))
	}
	return names[op]
}

// integerOp is the operation for integers, nil if there is none.
func integerOp[T fit.Integer](op Op) fit.Op[T] {
	switch op {
	case OpSum:
		return fit.Sum[T]
	case OpMax:
		return fit.Max[T]
	case OpMin:
		return fit.Min[T]
	case OpProd:
		return fit.Prod[T]
	case OpLAND:
		return fit.LAnd[T]
	case OpLOR:
		return fit.LOr[T]
	case OpBAND:
		return fit.BAnd[T]
	case OpBOR:
		return fit.BOr[T]
	}
	return nil
}

// floatOp is the operation for floating point numbers, nil if there is none.
func floatOp[T fit.Float](op Op) fit.Op[T] {
	switch op {
	case OpSum:
		return fit.Sum[T]
	case OpMax:
		return fit.Max[T]
	case OpMin:
		return fit.Min[T]
	case OpProd:
		return fit.Prod[T]
	}
	return nil
}

// complexOp is the operation for complex numbers, nil if there is none.
func complexOp[T fit.Complex](op Op) fit.Op[T] {
	switch op {
	case OpSum:
		return fit.Sum[T]
	case OpProd:
		return fit.Prod[T]
	}
	return nil
}
