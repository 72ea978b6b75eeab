package calls

import (
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/internal/foreign"
	"github.com/fitmpi/fitmpi/mpi"
)

// datatype is a datatype of C.
type datatype struct {
	// Immutable once it is made.
	h          handle
	t          *mpi.Datatype
	named      bool
	size       int
	lb, extent int
	trueLB     int
	trueExtent int
	k          elements // of its memory, if flat; else bytes
	per        int      // elements of k in a value of it, if flat
	flat       bool     // its values are its memory, one after the other, in order
	ops        reducer  // predefined operations on it; nil if there are none
	wide       bool     // it has values that C aligns to 16 bytes, of which Go has none
	made       contents // how it was made

	committed atomic.Bool
	refs      atomic.Int32 // 1 for the handle, and 1 for each datatype made from it
	name      atomic.Pointer[string]
	attrs     attributes
	last      atomic.Pointer[laid] // the layout that was made last
}

// contents is how a datatype was made, for MPI_Type_get_contents: its arguments in the order of the
// standard. Counts are ints of C, or large counts if it was made by a large twin.
type contents struct {
	combiner int
	ints     []int
	addrs    []int
	types    []*datatype
	large    bool
	counts   []int // of a large twin
}

// laid is some values of a datatype as a layout whose data begin at the first byte of memory.
type laid struct {
	count int
	lo    int // where the data begin, in bytes from the origin
	n     int // bytes from there to the end of the data
	t     *mpi.Datatype
}

// newDatatype makes a datatype, but for its handle.
func newDatatype(t *mpi.Datatype, made contents) *datatype {
	d := &datatype{t: t, made: made, k: of[byte]{}, size: t.Size()}
	d.lb, d.extent = t.Extent()
	d.trueLB, d.trueExtent = t.TrueExtent()
	d.refs.Store(1)
	return d
}

// named makes a predefined datatype of T, which is flat unless it has padding. grain is the number
// of bytes of a basic value that Go has not.
func named[T any](h handle, name string, ops reducer, grain int) *datatype {
	d := newDatatype(mpi.TypeOf[T](), contents{combiner: abi.CombinerNamed})
	d.h, d.named, d.ops = h, true, ops
	d.wide = grain >= 16 || sizeOf[T]() == sizeOf[foreign.LongPair]() && isPair(ops)
	if d.flat = d.size == d.extent; d.flat {
		d.per = 1
		switch {
		case grain != 0 || d.ops == nil || isPair(ops):
			d.per = d.size
		default:
			d.k = of[T]{}
		}
	}
	d.name.Store(&name)
	d.committed.Store(true)
	datatypes.predefine(h, d)
	return d
}

// derive makes a datatype from others and writes its handle to argument i.
func (c *call) derive(i int, t *mpi.Datatype, made contents) error {
	if err := t.Err(); err != nil {
		return err
	}
	d := newDatatype(t, made)
	d.flatten()
	for _, from := range made.types {
		from.refs.Add(1)
		d.wide = d.wide || from.wide
	}
	d.h = datatypes.add(d)
	c.setHandle(i, d.h)
	return nil
}

// flatten finds out whether d is so many values of a flat datatype, as some constructors tell.
func (d *datatype) flatten() {
	switch d.made.combiner {
	case abi.CombinerContiguous, abi.CombinerDup:
		from := d.made.types[0]
		if !from.flat || d.lb != 0 || d.size != d.extent {
			return
		}
		d.flat, d.k = true, from.k
		if from.size > 0 {
			d.per = from.per * (d.size / from.size)
		}
		if d.made.combiner == abi.CombinerDup {
			d.ops = from.ops
		}
	}
}

// release lets go of d: what it is made from lives as long as it does.
func (d *datatype) release() {
	if d.named || d.refs.Add(-1) > 0 {
		return
	}
	for _, from := range d.made.types {
		from.release()
	}
}

// lay is count values of d as a layout.
func (d *datatype) lay(count int) *laid {
	if l := d.last.Load(); l != nil && l.count == count {
		return l
	}
	l := &laid{count: count}
	if count > 0 && d.size > 0 {
		span := (count - 1) * d.extent
		l.lo = d.trueLB + min(0, span)
		l.n = d.trueLB + d.trueExtent + max(0, span) - l.lo
	}
	l.t = mpi.Hindexed([]int{count}, []int{-l.lo}, d.t)
	d.last.Store(l)
	return l
}

// int128 is a basic value of Fortran that Go has not.
type int128 [16]byte

// half is a floating point number of 2 bytes.
type half [2]byte

func init() {
	named[int64](abi.Aint, "MPI_AINT", int64Ops, 0)
	named[int64](abi.Count, "MPI_COUNT", int64Ops, 0)
	named[int64](abi.Offset, "MPI_OFFSET", int64Ops, 0)
	named[byte](abi.Packed, "MPI_PACKED", copyOps, 0)

	named[int16](abi.Short, "MPI_SHORT", int16Ops, 0)
	named[int32](abi.Int, "MPI_INT", int32Ops, 0)
	named[int64](abi.Long, "MPI_LONG", int64Ops, 0)
	named[int64](abi.LongLong, "MPI_LONG_LONG", int64Ops, 0)
	named[uint16](abi.UnsignedShort, "MPI_UNSIGNED_SHORT", uint16Ops, 0)
	named[uint32](abi.Unsigned, "MPI_UNSIGNED", uint32Ops, 0)
	named[uint64](abi.UnsignedLong, "MPI_UNSIGNED_LONG", uint64Ops, 0)
	named[uint64](abi.UnsignedLongLong, "MPI_UNSIGNED_LONG_LONG", uint64Ops, 0)

	named[float32](abi.Float, "MPI_FLOAT", float32Ops, 0)
	named[complex64](abi.CFloatComplex, "MPI_C_FLOAT_COMPLEX", complex64Ops, 0)
	named[complex64](abi.CxxFloatComplex, "MPI_CXX_FLOAT_COMPLEX", complex64Ops, 0)
	named[float64](abi.Double, "MPI_DOUBLE", float64Ops, 0)
	named[complex128](abi.CDoubleComplex, "MPI_C_DOUBLE_COMPLEX", complex128Ops, 0)
	named[complex128](abi.CxxDoubleComplex, "MPI_CXX_DOUBLE_COMPLEX", complex128Ops, 0)
	named[foreign.LongDouble](abi.LongDouble, "MPI_LONG_DOUBLE", longDoubleOps, 16)
	named[foreign.LongComplex](abi.CLongDoubleComplex, "MPI_C_LONG_DOUBLE_COMPLEX", longComplexOps, 32)
	named[foreign.LongComplex](abi.CxxLongDoubleComplex, "MPI_CXX_LONG_DOUBLE_COMPLEX", longComplexOps, 32)

	named[int32](abi.Logical, "MPI_LOGICAL", int32Ops, 0)
	named[int32](abi.Integer, "MPI_INTEGER", int32Ops, 0)
	named[float32](abi.Real, "MPI_REAL", float32Ops, 0)
	named[complex64](abi.Complex, "MPI_COMPLEX", complex64Ops, 0)
	named[float64](abi.DoublePrecision, "MPI_DOUBLE_PRECISION", float64Ops, 0)
	named[complex128](abi.DoubleComplex, "MPI_DOUBLE_COMPLEX", complex128Ops, 0)
	named[byte](abi.Character, "MPI_CHARACTER", copyOps, 0)

	named[floatInt](abi.FloatInt, "MPI_FLOAT_INT", floatIntOps, 0)
	named[doubleInt](abi.DoubleInt, "MPI_DOUBLE_INT", doubleIntOps, 0)
	named[longInt](abi.LongInt, "MPI_LONG_INT", longIntOps, 0)
	named[twoInt](abi.PairInt, "MPI_2INT", twoIntOps, 0)
	named[shortInt](abi.ShortInt, "MPI_SHORT_INT", shortIntOps, 0)
	named[foreign.LongPair](abi.LongDoubleInt, "MPI_LONG_DOUBLE_INT", longPairOps, 0)
	named[twoReal](abi.PairReal, "MPI_2REAL", realPairOps, 0)
	named[twoDouble](abi.PairDoubleprecision, "MPI_2DOUBLE_PRECISION", doublePairOps, 0)
	named[twoInt](abi.PairInteger, "MPI_2INTEGER", twoIntOps, 0)

	named[bool](abi.CBool, "MPI_C_BOOL", boolOps, 0)
	named[bool](abi.CxxBool, "MPI_CXX_BOOL", boolOps, 0)
	named[int32](abi.Wchar, "MPI_WCHAR", int32Ops, 0)

	named[int8](abi.Int8T, "MPI_INT8_T", int8Ops, 0)
	named[uint8](abi.Uint8T, "MPI_UINT8_T", uint8Ops, 0)
	named[byte](abi.Char, "MPI_CHAR", copyOps, 0)
	named[int8](abi.SignedChar, "MPI_SIGNED_CHAR", int8Ops, 0)
	named[uint8](abi.UnsignedChar, "MPI_UNSIGNED_CHAR", uint8Ops, 0)
	named[byte](abi.Byte, "MPI_BYTE", byteOps, 0)
	named[int16](abi.Int16T, "MPI_INT16_T", int16Ops, 0)
	named[uint16](abi.Uint16T, "MPI_UINT16_T", uint16Ops, 0)
	named[int32](abi.Int32T, "MPI_INT32_T", int32Ops, 0)
	named[uint32](abi.Uint32T, "MPI_UINT32_T", uint32Ops, 0)
	named[int64](abi.Int64T, "MPI_INT64_T", int64Ops, 0)
	named[uint64](abi.Uint64T, "MPI_UINT64_T", uint64Ops, 0)
	predefineFortran()
}

// predefineFortran makes the datatypes of Fortran that have a size.
func predefineFortran() {
	named[int8](abi.Logical1, "MPI_LOGICAL1", int8Ops, 0)
	named[int8](abi.Integer1, "MPI_INTEGER1", int8Ops, 0)
	named[int16](abi.Logical2, "MPI_LOGICAL2", int16Ops, 0)
	named[int16](abi.Integer2, "MPI_INTEGER2", int16Ops, 0)
	named[half](abi.Real2, "MPI_REAL2", nil, 2)
	named[int32](abi.Logical4, "MPI_LOGICAL4", int32Ops, 0)
	named[int32](abi.Integer4, "MPI_INTEGER4", int32Ops, 0)
	named[float32](abi.Real4, "MPI_REAL4", float32Ops, 0)
	named[[2]half](abi.Complex4, "MPI_COMPLEX4", nil, 4)
	named[int64](abi.Logical8, "MPI_LOGICAL8", int64Ops, 0)
	named[int64](abi.Integer8, "MPI_INTEGER8", int64Ops, 0)
	named[float64](abi.Real8, "MPI_REAL8", float64Ops, 0)
	named[complex64](abi.Complex8, "MPI_COMPLEX8", complex64Ops, 0)
	named[int128](abi.Logical16, "MPI_LOGICAL16", nil, 16)
	named[int128](abi.Integer16, "MPI_INTEGER16", nil, 16)
	named[int128](abi.Real16, "MPI_REAL16", nil, 16)
	named[complex128](abi.Complex16, "MPI_COMPLEX16", complex128Ops, 0)
	named[foreign.LongComplex](abi.Complex32, "MPI_COMPLEX32", nil, 32)
}
