package mpi

import (
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// Contiguous is n values of t, each at the extent of the one before (MPI 4.1, section 5.1.2,
// MPI_Type_contiguous). The error, if n is negative, is of class [ErrCount].
func Contiguous(n int, t *Datatype) *Datatype {
	d := derived(Contents{Combiner: CombinerContiguous, Count: n, Types: []*Datatype{t}})
	d.notNegative("count", n)
	return d.lay(func() (*layout.Map, error) { return layout.Contiguous(t.m, n) })
}

// Vector is count blocks of blockLen values of t, the beginning of each stride extents of t after
// that of the one before (MPI 4.1, section 5.1.2, MPI_Type_vector). stride may be negative. The
// error, if a number of values is negative, is of class [ErrCount].
func Vector(count, blockLen, stride int, t *Datatype) *Datatype {
	d := derived(Contents{Combiner: CombinerVector, Count: count, BlockLen: blockLen, Stride: stride, Types: []*Datatype{t}})
	d.notNegative("count", count)
	d.notNegative("block length", blockLen)
	return d.lay(func() (*layout.Map, error) { return layout.Vector(t.m, count, blockLen, stride) })
}

// Hvector is a Vector whose stride is in bytes (MPI 4.1, section 5.1.2, MPI_Type_create_hvector).
func Hvector(count, blockLen, stride int, t *Datatype) *Datatype {
	d := derived(Contents{Combiner: CombinerHvector, Count: count, BlockLen: blockLen, Stride: stride, Types: []*Datatype{t}})
	d.notNegative("count", count)
	d.notNegative("block length", blockLen)
	return d.lay(func() (*layout.Map, error) { return layout.Hvector(t.m, count, blockLen, stride) })
}

// Indexed is blocks of values of t: blockLens[i] of them, displs[i] extents of t from the origin
// (MPI 4.1, section 5.1.2, MPI_Type_indexed). The error is of class [ErrArg] if the slices differ
// in length, of class [ErrCount] if a block has a negative one. The slices are copied.
func Indexed(blockLens, displs []int, t *Datatype) *Datatype {
	d := derivedOfBlocks(CombinerIndexed, blockLens, displs, []*Datatype{t})
	return d.lay(func() (*layout.Map, error) { return layout.Indexed(t.m, blockLens, displs) })
}

// Hindexed is Indexed with displacements in bytes (MPI 4.1, section 5.1.2,
// MPI_Type_create_hindexed).
func Hindexed(blockLens, displs []int, t *Datatype) *Datatype {
	d := derivedOfBlocks(CombinerHindexed, blockLens, displs, []*Datatype{t})
	return d.lay(func() (*layout.Map, error) { return layout.Hindexed(t.m, blockLens, displs) })
}

// IndexedBlock is Indexed with blocks of one length (MPI 4.1, section 5.1.2,
// MPI_Type_create_indexed_block).
func IndexedBlock(blockLen int, displs []int, t *Datatype) *Datatype {
	d := derived(Contents{Combiner: CombinerIndexedBlock, BlockLen: blockLen, Displs: slices.Clone(displs), Types: []*Datatype{t}})
	d.notNegative("block length", blockLen)
	return d.lay(func() (*layout.Map, error) { return layout.IndexedBlock(t.m, blockLen, displs) })
}

// HindexedBlock is IndexedBlock with displacements in bytes (MPI 4.1, section 5.1.2,
// MPI_Type_create_hindexed_block).
func HindexedBlock(blockLen int, displs []int, t *Datatype) *Datatype {
	d := derived(Contents{Combiner: CombinerHindexedBlock, BlockLen: blockLen, Displs: slices.Clone(displs), Types: []*Datatype{t}})
	d.notNegative("block length", blockLen)
	return d.lay(func() (*layout.Map, error) { return layout.HindexedBlock(t.m, blockLen, displs) })
}

// Struct is blocks of values of several types: blockLens[i] of types[i], displs[i] bytes from the
// origin (MPI 4.1, section 5.1.2, MPI_Type_create_struct). reflect and unsafe know the offsets of
// fields; for a whole Go struct there is TypeOf. The extent is rounded up to the strictest
// alignment of the values. The error is of class [ErrArg] if the slices differ in length, of class
// [ErrCount] if a block has a negative one. The slices are copied.
func Struct(blockLens, displs []int, types []*Datatype) *Datatype {
	d := derivedOfBlocks(CombinerStruct, blockLens, displs, slices.Clone(types))
	d.need(len(types) == len(blockLens), ErrArg, "%d types for %d blocks", len(types), len(blockLens))
	return d.lay(func() (*layout.Map, error) {
		maps := make([]*layout.Map, len(types))
		for i, t := range types {
			maps[i] = t.m
		}
		return layout.Struct(blockLens, displs, maps)
	})
}

// Resized is t with another lower bound and extent, in bytes (MPI 4.1, section 5.1.7,
// MPI_Type_create_resized). These bounds also are those of what is made from it, whatever other
// types without such bounds are in there.
func Resized(t *Datatype, lb, extent int) *Datatype {
	d := derived(Contents{Combiner: CombinerResized, LB: lb, Extent: extent, Types: []*Datatype{t}})
	return d.lay(func() (*layout.Map, error) { return layout.Resized(t.m, lb, extent) })
}

// Dup is a copy of t that has a name of its own (MPI 4.1, section 5.1.10, MPI_Type_dup).
func (t *Datatype) Dup() *Datatype {
	d := derived(Contents{Combiner: CombinerDup, Types: []*Datatype{t}})
	d.lay(func() (*layout.Map, error) { return t.m, nil })
	if d.err == nil {
		t.copyAttributesTo(d)
	}
	return d
}

// derived begins a Datatype, whose error is that of the types that it is made from.
func derived(c Contents) *Datatype {
	d := &Datatype{contents: c}
	for i, t := range c.Types {
		switch {
		case t == nil && len(c.Types) > 1:
			d.need(false, ErrType, "datatype %d is nil", i)
		case t == nil:
			d.need(false, ErrType, "the datatype is nil")
		case t.err != nil && d.err == nil:
			d.err = t.err
		}
	}
	return d
}

func derivedOfBlocks(combiner Combiner, blockLens, displs []int, types []*Datatype) *Datatype {
	d := derived(Contents{Combiner: combiner, BlockLens: slices.Clone(blockLens), Displs: slices.Clone(displs), Types: types})
	d.need(len(displs) == len(blockLens), ErrArg, "%d displacements for %d blocks", len(displs), len(blockLens))
	for i, n := range blockLens {
		d.need(n >= 0, ErrCount, "block %d has length %d: need 0 or more", i, n)
	}
	return d
}

// need records an error unless ok, or there is one.
func (t *Datatype) need(ok bool, class ErrorClass, format string, args ...any) {
	if !ok && t.err == nil {
		t.err = opErrorf(class, t.contents.Combiner.String(), format, args...)
	}
}

func (t *Datatype) notNegative(what string, n int) {
	t.need(n >= 0, ErrCount, "the %s is %d: need 0 or more", what, n)
}

// lay makes the layout, unless there is an error.
func (t *Datatype) lay(compose func() (*layout.Map, error)) *Datatype {
	if t.err != nil {
		return t
	}
	m, err := compose()
	t.need(err == nil, ErrArg, "%s: %w", t, err)
	t.m = m
	return t
}

// GetCount is the number of values of t in the message that s is about, as the function GetCount is
// of a T (MPI 4.1, section 3.2.5, MPI_Get_count). It is [Undefined] if the message is no whole
// number of them, or is of objects, or if t has an error.
func (s Status) GetCount(t *Datatype) int {
	switch {
	case s.class == classObject || t.check() != nil:
		return Undefined
	case s.bytes == 0:
		return 0
	}
	return wholeCount(s.bytes, t.m.Size())
}

// GetElements is the number of basic values in the message that s is about, if it is of values of
// t, the last of which may have arrived in part (MPI 4.1, section 5.1.11, MPI_Get_elements). It is
// [Undefined] if the message ends within a basic value, or is of objects, or if t has an error or
// no data.
func (s Status) GetElements(t *Datatype) int {
	switch {
	case s.class == classObject || t.check() != nil:
		return Undefined
	case s.bytes == 0:
		return 0
	case t.m.Size() == 0:
		return Undefined
	}
	n, whole := t.m.BasicsIn(s.bytes)
	if !whole {
		return Undefined
	}
	return n
}

// SetElements makes s say that n basic values of t have arrived: GetElements will return n, and
// GetCount and Count the number of whole values of t that these are, or [Undefined]. It is for the
// Query of a generalised request (MPI 4.1, section 13.3, MPI_Status_set_elements). An error is of
// class [ErrCount] if n is negative, or not 0 although t has no data, or too large, and of class
// [ErrType] if t has an error.
func (s *Status) SetElements(t *Datatype, n int) error {
	const op = "SetElements"
	if err := t.check(); err != nil {
		return opError(err.Class, op, err)
	}
	if n < 0 || n > 0 && t.m.Size() == 0 {
		return opErrorf(ErrCount, op, "%d elements of %s, which has %d: need 0 or more, and 0 of a datatype without data", n, t, t.m.Basics())
	}
	size, err := t.m.SizeOf(n)
	if err != nil {
		return opErrorf(ErrCount, op, "%d elements of %s: %w", n, t, err)
	}
	s.bytes, s.class, s.decoded = size, classBytes, false
	s.Count = s.GetCount(t)
	return nil
}
