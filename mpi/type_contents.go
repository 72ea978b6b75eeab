package mpi

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// Combiner is the constructor that made a Datatype (MPI 4.1, section 5.1.13).
type Combiner uint8

// The constructors.
const (
	CombinerNamed Combiner = iota // TypeOf
	CombinerDup
	CombinerContiguous
	CombinerVector
	CombinerHvector
	CombinerIndexed
	CombinerHindexed
	CombinerIndexedBlock
	CombinerHindexedBlock
	CombinerStruct
	CombinerSubarray
	CombinerDarray
	CombinerResized
)

var combinerNames = [...]string{
	"TypeOf", "Dup", "Contiguous", "Vector", "Hvector", "Indexed", "Hindexed", "IndexedBlock", "HindexedBlock", "Struct",
	"Subarray", "Darray", "Resized",
}

// String is the name of the constructor.
func (c Combiner) String() string {
	if int(c) < len(combinerNames) {
		return combinerNames[c]
	}
	return fmt.Sprintf("Combiner(%d)", uint8(c))
}

// Contents is how a Datatype was made: the constructor and its arguments (MPI 4.1, section 5.1.13,
// MPI_Type_get_contents). What the constructor does not take is zero.
type Contents struct {
	Combiner Combiner
	GoType   reflect.Type // of TypeOf
	Types    []*Datatype  // what it was made from: one, of Struct as many as there are blocks

	Count     int   // of Contiguous, Vector and Hvector
	BlockLen  int   // of Vector, Hvector, IndexedBlock and HindexedBlock
	Stride    int   // of Vector, in extents; of Hvector, in bytes
	BlockLens []int // of Indexed, Hindexed and Struct
	Displs    []int // of Indexed and IndexedBlock, in extents; of Hindexed, HindexedBlock and Struct, in bytes

	Sizes    []int // of Subarray, and of Darray, which calls them gsizes
	Subsizes []int // of Subarray
	Starts   []int // of Subarray
	Order    Order // of Subarray and Darray

	Size, Rank    int            // of Darray
	Distribs      []Distribution // of Darray
	Dargs, Psizes []int          // of Darray

	LB, Extent int // of Resized
}

// Combiner is the constructor that made t (MPI 4.1, section 5.1.13, MPI_Type_get_envelope).
func (t *Datatype) Combiner() Combiner { return t.contents.Combiner }

// Contents is how t was made (MPI 4.1, section 5.1.13, MPI_Type_get_contents). Its slices are the
// caller's.
func (t *Datatype) Contents() Contents {
	c := t.contents
	c.Types, c.BlockLens, c.Displs = slices.Clone(c.Types), slices.Clone(c.BlockLens), slices.Clone(c.Displs)
	c.Sizes, c.Subsizes, c.Starts = slices.Clone(c.Sizes), slices.Clone(c.Subsizes), slices.Clone(c.Starts)
	c.Distribs, c.Dargs, c.Psizes = slices.Clone(c.Distribs), slices.Clone(c.Dargs), slices.Clone(c.Psizes)
	return c
}

// args are the arguments in the order in which the constructor takes them.
func (c *Contents) args() []any {
	switch c.Combiner {
	case CombinerNamed:
		return []any{c.GoType}
	case CombinerContiguous:
		return []any{c.Count, c.Types[0]}
	case CombinerVector, CombinerHvector:
		return []any{c.Count, c.BlockLen, c.Stride, c.Types[0]}
	case CombinerIndexed, CombinerHindexed:
		return []any{c.BlockLens, c.Displs, c.Types[0]}
	case CombinerIndexedBlock, CombinerHindexedBlock:
		return []any{c.BlockLen, c.Displs, c.Types[0]}
	case CombinerStruct:
		return []any{c.BlockLens, c.Displs, c.Types}
	case CombinerSubarray:
		return []any{c.Sizes, c.Subsizes, c.Starts, c.Order, c.Types[0]}
	case CombinerDarray:
		return []any{c.Size, c.Rank, c.Sizes, c.Distribs, c.Dargs, c.Psizes, c.Order, c.Types[0]}
	case CombinerResized:
		return []any{c.Types[0], c.LB, c.Extent}
	default:
		return []any{c.Types[0]}
	}
}

// overlay is values of a Datatype laid over the memory of a buffer, which has been found to have
// room for their data and values of the same kinds under them.
type overlay struct {
	mem   []byte      // the buffer, in the machine's byte order; the origin is its first byte
	m     *layout.Map // of one value
	count int         // values
	size  int         // bytes of data in all of them
	swap  bool        // they travel in the other byte order
}

// fit says that some elements of a Datatype lie over values of the same kinds in a Go type.
type fit struct {
	goType reflect.Type
	count  int
}

// over lays count values of t over buf. A nil t is the Datatype of T, and as many values as buf has
// elements.
func over[T any](op string, t *Datatype, buf []T, count int) (overlay, *Error) {
	e := elemOf[T]()
	if !e.plain {
		return overlay{}, opErrorf(ErrType, op, "a %s travels serialised, and has no layout: a datatype lies over numbers, truth values, and structs and arrays of such", e.name)
	}
	if t == nil {
		t, count = TypeOf[T](), len(buf)
	}
	if t.err != nil {
		return overlay{}, opError(t.err.Class, op, t.err)
	}
	if count < 0 {
		return overlay{}, opErrorf(ErrCount, op, "the count is %d: need 0 or more", count)
	}
	o := overlay{mem: bytesOf(buf), m: t.m, count: count}
	if err := t.reaches(op, e, len(buf), len(o.mem), count); err != nil {
		return overlay{}, err
	}
	if err := t.matches(op, e, count); err != nil {
		return overlay{}, err
	}
	o.size = count * t.m.Size() // Bounds has checked that
	return o, nil
}

// reaches checks that count values of t lie within a buffer of n elements, which are size bytes.
func (t *Datatype) reaches(op string, e *elem, n, size, count int) *Error {
	lo, hi, err := t.m.Bounds(count)
	switch {
	case err != nil:
		return opErrorf(ErrCount, op, "%d values of %s: %w", count, t, err)
	case lo < 0:
		return opErrorf(ErrBuffer, op, "%s has data %d bytes before its origin, the beginning of the buffer: shift it with Hindexed, which takes displacements in bytes", t, -lo)
	case hi > size:
		return opErrorf(ErrBuffer, op, "%d of %s reach to byte %d, the buffer of %d %s has %d bytes", count, t, hi, n, e.name, size)
	}
	return nil
}

// matches checks that count values of t lie over values of the same kinds.
func (t *Datatype) matches(op string, e *elem, count int) *Error {
	if f := t.fits.Load(); f != nil && f.goType == e.typ && count <= f.count {
		return nil
	}
	tile := typeOf(e.typ)
	if tile.err != nil {
		return opError(ErrType, op, tile.err)
	}
	at, ok := t.m.Over(tile.m, count)
	switch {
	case ok:
		t.fits.Store(&fit{e.typ, count})
		return nil
	case at.None:
		return opErrorf(ErrType, op, "%s has %s at byte %d, where no value of a buffer of %s begins", t, article(at.Data), at.Disp, e.name)
	default:
		return opErrorf(ErrType, op, "%s has %s at byte %d, where the buffer of %s has %s: use the same type, or a buffer of bytes",
			t, article(at.Data), at.Disp, e.name, article(at.Memory))
	}
}

// article is a kind's name after "a" or "an".
func article(k layout.Kind) string {
	switch k {
	case layout.Int8, layout.Int16, layout.Int32, layout.Int64:
		return "an " + k.String()
	default:
		return "a " + k.String()
	}
}
