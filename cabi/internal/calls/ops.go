package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/internal/foreign"
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

// located are the operations on pairs. Each is named in full, as package mpi knows its own by name.
func located[T any](greatest, least, replace, noOp mpi.Op[T]) operations[T] {
	return operations[T]{abi.Maxloc: greatest, abi.Minloc: least, abi.Replace: replace, abi.NoOp: noOp}
}

// Pairs by their names in C.
type (
	floatInt  = foreign.Pair[float32]
	doubleInt = foreign.Pair[float64]
	longInt   = foreign.Pair[int64]
	twoInt    = foreign.Pair[int32]
	shortInt  = foreign.Pair[int16]
	twoReal   = foreign.Real[float32]
	twoDouble = foreign.Real[float64]
)

// Operations on pairs.
var (
	floatIntOps   = located(foreign.MaxLoc[float32], foreign.MinLoc[float32], mpi.Replace[floatInt], mpi.NoOp[floatInt])
	doubleIntOps  = located(foreign.MaxLoc[float64], foreign.MinLoc[float64], mpi.Replace[doubleInt], mpi.NoOp[doubleInt])
	longIntOps    = located(foreign.MaxLoc[int64], foreign.MinLoc[int64], mpi.Replace[longInt], mpi.NoOp[longInt])
	twoIntOps     = located(foreign.MaxLoc[int32], foreign.MinLoc[int32], mpi.Replace[twoInt], mpi.NoOp[twoInt])
	shortIntOps   = located(foreign.MaxLoc[int16], foreign.MinLoc[int16], mpi.Replace[shortInt], mpi.NoOp[shortInt])
	longPairOps   = located(foreign.MaxLocLong, foreign.MinLocLong, mpi.Replace[foreign.LongPair], mpi.NoOp[foreign.LongPair])
	realPairOps   = located(foreign.MaxLocReal[float32], foreign.MinLocReal[float32], mpi.Replace[twoReal], mpi.NoOp[twoReal])
	doublePairOps = located(foreign.MaxLocReal[float64], foreign.MinLocReal[float64], mpi.Replace[twoDouble], mpi.NoOp[twoDouble])
)

// Operations on bytes, some of which are no numbers, and on long double.
var (
	copyOps = operations[byte]{abi.Replace: mpi.Replace[byte], abi.NoOp: mpi.NoOp[byte]}
	byteOps = operations[byte]{
		abi.Band: mpi.BAnd[byte], abi.Bor: mpi.BOr[byte], abi.Bxor: mpi.BXor[byte],
		abi.Replace: mpi.Replace[byte], abi.NoOp: mpi.NoOp[byte],
	}
	longDoubleOps = operations[foreign.LongDouble]{
		abi.Sum: foreign.Sum[foreign.LongDouble], abi.Prod: foreign.Prod[foreign.LongDouble], abi.Max: foreign.Max, abi.Min: foreign.Min,
		abi.Replace: mpi.Replace[foreign.LongDouble], abi.NoOp: mpi.NoOp[foreign.LongDouble],
	}
	longComplexOps = operations[foreign.LongComplex]{
		abi.Sum: foreign.Sum[foreign.LongComplex], abi.Prod: foreign.Prod[foreign.LongComplex],
		abi.Replace: mpi.Replace[foreign.LongComplex], abi.NoOp: mpi.NoOp[foreign.LongComplex],
	}
)

// isPair reports whether operations are those of pairs.
func isPair(r reducer) bool {
	switch r.(type) {
	case operations[floatInt], operations[doubleInt], operations[longInt], operations[twoInt], operations[shortInt],
		operations[twoReal], operations[twoDouble], operations[foreign.LongPair]:
		return true
	}
	return false
}

// UseNative has C do what Go cannot: f does acc = acc ∘ in on as many values of a kind as n bytes
// hold, at two addresses. It is cgo's, so the library that is built sets it before the first call.
func UseNative(f func(kind, op int, acc, in int64, n int)) {
	foreign.Native = func(k foreign.Kind, op foreign.Op, acc, in []byte) {
		f(int(k), int(op), addressOf(acc), addressOf(in), len(acc))
	}
}
