//go:build linux

package mpi

import (
	"fmt"
	"reflect"
	"slices"
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
