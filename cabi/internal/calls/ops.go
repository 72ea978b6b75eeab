package calls

import (
	"cmp"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// op is an operation. Immutable.
type op struct {
	h       handle
	name    string
	fn      int64 // of the program; 0 of a predefined one
	commute bool
	large   bool // the function takes a large count
}

func init() {
	for h, name := range map[handle]string{
		abi.Sum: "MPI_SUM", abi.Min: "MPI_MIN", abi.Max: "MPI_MAX", abi.Prod: "MPI_PROD", abi.Band: "MPI_BAND", abi.Bor: "MPI_BOR",
		abi.Bxor: "MPI_BXOR", abi.Land: "MPI_LAND", abi.Lor: "MPI_LOR", abi.Lxor: "MPI_LXOR", abi.Minloc: "MPI_MINLOC",
		abi.Maxloc: "MPI_MAXLOC", abi.Replace: "MPI_REPLACE", abi.NoOp: "MPI_NO_OP",
	} {
		ops.predefine(h, &op{h: h, name: name, commute: h != abi.Replace && h != abi.NoOp})
	}
	register(procedure.OpCreate, func(c *call) error {
		o := &op{fn: c.need(0), commute: c.bool(1), large: c.large}
		o.h = ops.add(o)
		c.setHandle(2, o.h)
		return nil
	})
	register(procedure.OpFree, opFree)
	register(procedure.OpCommutative, func(c *call) error { c.setBool(1, c.op(0).commute); return nil })
}

func opFree(c *call) error {
	p := at[handle](c.need(0))
	o := ops.get(*p)
	if o.fn == 0 {
		return failf(abi.ErrOp, "%s is predefined and cannot be freed", o.name)
	}
	ops.remove(o.h)
	*p = abi.OpNull
	return nil
}

// callOp calls a function of the program: inout = in ∘ inout, in coming from the lower ranks.
func callOp(o *op, d handle, in, inout int64, n int) {
	args := heap(new(struct {
		n int64 // an int is its first half, on a little-endian machine
		d handle
	}))
	args.n, args.d = int64(n), d
	what := FunctionOp
	if o.large {
		what = FunctionOpLarge
	}
	Callback(what, o.fn, in, inout, address(&args.n), address(&args.d))
}

// userOp is a function of the program on elements of T.
func userOp[T any](o *op, d *datatype) mpi.Op[T] {
	if o.commute {
		return mpi.Commutative(func(acc, in []T) {
			if len(acc) > 0 {
				callOp(o, d.h, addressOf(in), addressOf(acc), len(acc))
			}
		})
	}
	return func(acc, in []T) {
		if len(acc) == 0 {
			return
		}
		right := append([]T(nil), in[:len(acc)]...)
		callOp(o, d.h, addressOf(acc), addressOf(right), len(acc))
		copy(acc, right)
	}
}

// packedOp is a function of the program on values of d without the gaps between them: they get
// memory as d has it, unless it has no gaps.
func packedOp(o *op, d *datatype) mpi.Op[byte] {
	combine := func(acc, in []byte) {
		if d.size == 0 || len(acc) == 0 {
			return
		}
		n := len(acc) / d.size
		left, right := spread(d, acc, n), spread(d, in[:len(acc)], n)
		callOp(o, d.h, left.origin, right.origin, n)
		right.gather(acc)
	}
	if o.commute {
		return mpi.Commutative(mpi.Op[byte](combine))
	}
	return combine
}

// values are n values of a datatype in memory of their own.
type values struct {
	l      *laid
	b      []byte
	origin int64
}

func spread(d *datatype, packed []byte, n int) values {
	l := d.lay(n)
	v := values{l: l, b: make([]byte, l.n)}
	if _, err := mpi.Unpack(packed, v.b, l.t); err != nil {
		panic(failf(abi.ErrType, "%v", err))
	}
	v.origin = addressOf(v.b) - int64(l.lo)
	return v
}

// gather packs the values into dst.
func (v *values) gather(dst []byte) {
	if _, err := mpi.Pack(dst[:0], v.b, v.l.t); err != nil {
		panic(failf(abi.ErrType, "%v", err))
	}
}

// pairs are the operations on pairs of T and int. Those for windows are given, as package mpi knows
// its own by name.
func pairs[T cmp.Ordered](replace, noOp mpi.Op[pair[T]]) operations[pair[T]] {
	return operations[pair[T]]{
		abi.Maxloc: mpi.Commutative(pairOp[T](1)), abi.Minloc: mpi.Commutative(pairOp[T](-1)),
		abi.Replace: replace, abi.NoOp: noOp,
	}
}

// Operations on pairs, and on bytes that are no numbers.
var (
	floatIntOps  = pairs(mpi.Replace[pair[float32]], mpi.NoOp[pair[float32]])
	doubleIntOps = pairs(mpi.Replace[pair[float64]], mpi.NoOp[pair[float64]])
	longIntOps   = pairs(mpi.Replace[pair[int64]], mpi.NoOp[pair[int64]])
	twoIntOps    = pairs(mpi.Replace[pair[int32]], mpi.NoOp[pair[int32]])
	shortIntOps  = pairs(mpi.Replace[pair[int16]], mpi.NoOp[pair[int16]])

	realPairOps   = operations[[2]float32]{abi.Maxloc: mpi.Commutative(realOp[float32](1)), abi.Minloc: mpi.Commutative(realOp[float32](-1))}
	doublePairOps = operations[[2]float64]{abi.Maxloc: mpi.Commutative(realOp[float64](1)), abi.Minloc: mpi.Commutative(realOp[float64](-1))}

	copyOps = operations[byte]{abi.Replace: mpi.Replace[byte], abi.NoOp: mpi.NoOp[byte]}
	byteOps = operations[byte]{
		abi.Band: mpi.BAnd[byte], abi.Bor: mpi.BOr[byte], abi.Bxor: mpi.BXor[byte],
		abi.Replace: mpi.Replace[byte], abi.NoOp: mpi.NoOp[byte],
	}
)

// pairOp keeps the greater value, or with sign -1 the lesser, and of equal ones the lower index.
func pairOp[T cmp.Ordered](sign int) mpi.Op[pair[T]] {
	return func(acc, in []pair[T]) {
		for i := range acc {
			switch how := sign * cmp.Compare(in[i].value, acc[i].value); {
			case how > 0:
				acc[i] = in[i]
			case how == 0:
				acc[i].index = min(acc[i].index, in[i].index)
			}
		}
	}
}

// realOp is pairOp of pairs of Fortran, whose index is a T.
func realOp[T cmp.Ordered](sign int) mpi.Op[[2]T] {
	return func(acc, in [][2]T) {
		for i := range acc {
			switch how := sign * cmp.Compare(in[i][0], acc[i][0]); {
			case how > 0:
				acc[i] = in[i]
			case how == 0:
				acc[i][1] = min(acc[i][1], in[i][1])
			}
		}
	}
}

// isPair reports whether operations are those of pairs.
func isPair(r reducer) bool {
	switch r.(type) {
	case operations[pair[float32]], operations[pair[float64]], operations[pair[int64]], operations[pair[int32]],
		operations[pair[int16]], operations[[2]float32], operations[[2]float64], operations[longDoubleInt]:
		return true
	}
	return false
}

// Native does an operation on n values of a kind that C has and Go has not: acc = acc ∘ in. It is
// cgo's, so the library that is built sets it before the first call.
var Native func(kind, op int, acc, in int64, n int)

// Kinds for Native.
const (
	LongDouble = iota
	LongComplex
	LongDoubleInt
)

func nativeOp[T any](kind int, h handle) mpi.Op[T] {
	return mpi.Commutative(func(acc, in []T) {
		if len(acc) > 0 {
			Native(kind, int(h), addressOf(acc), addressOf(in), len(acc))
		}
	})
}

// Operations on long double.
var (
	longDoubleOps = operations[int128]{
		abi.Sum: nativeOp[int128](LongDouble, abi.Sum), abi.Prod: nativeOp[int128](LongDouble, abi.Prod),
		abi.Max: nativeOp[int128](LongDouble, abi.Max), abi.Min: nativeOp[int128](LongDouble, abi.Min),
		abi.Replace: mpi.Replace[int128], abi.NoOp: mpi.NoOp[int128],
	}
	longComplexOps = operations[complex256]{
		abi.Sum: nativeOp[complex256](LongComplex, abi.Sum), abi.Prod: nativeOp[complex256](LongComplex, abi.Prod),
		abi.Replace: mpi.Replace[complex256], abi.NoOp: mpi.NoOp[complex256],
	}
	longDoubleLocations = operations[longDoubleInt]{
		abi.Maxloc: nativeOp[longDoubleInt](LongDoubleInt, abi.Maxloc), abi.Minloc: nativeOp[longDoubleInt](LongDoubleInt, abi.Minloc),
		abi.Replace: mpi.Replace[longDoubleInt], abi.NoOp: mpi.NoOp[longDoubleInt],
	}
)
