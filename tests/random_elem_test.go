package tests

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// randomElem is an element type of random programs. An element is made from a code, which tells
// where it should be. What is not written to holds the element of noCode.
type randomElem[T any] struct {
	name string
	most int // elements of a message that are worth their time
	at   func(code int64) T
	same func(a, b T) bool
	ops  []randomReduction[T]
	// Datatypes of one element, with the same basic values and no bounds that were set; nil for
	// objects.
	leaves []*mpi.Datatype
}

// randomReduction is an operation with its name.
type randomReduction[T any] struct {
	name string
	op   mpi.Op[T]
}

const noCode = -1

// codeOf is the code of element 0 of what rank r gives in an operation.
func codeOf(id, r int) int64 { return int64(id)<<40 | int64(r)<<32 }

// vector is n elements with the codes from first on.
func (e *randomElem[T]) vector(n int, first int64) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = e.at(first + int64(i))
	}
	return v
}

// blank is n elements that were not written to.
func (e *randomElem[T]) blank(n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = e.at(noCode)
	}
	return v
}

func equal[T comparable](a, b T) bool { return a == b }

// scrambled spreads the bits of a code over small types.
func scrambled(code int64) uint64 { return (uint64(code) + 1) * 0x9e3779b97f4a7c15 }

// randomPair is plain memory with padding.
type randomPair struct {
	A int32
	B float64
}

// randomMatrix is two by two, modulo 2^32: its product is associative and does not commute.
type randomMatrix [4]uint32

func multiply(acc, in []randomMatrix) {
	for i := range acc {
		a, b := acc[i], in[i]
		acc[i] = randomMatrix{
			a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
			a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
		}
	}
}

// randomRecord is an object: it has pointers.
type randomRecord struct {
	Name string
	List []int64
	Map  map[string]int64
	Next *randomRecord
}

func recordAt(code int64) randomRecord {
	r := randomRecord{Name: fmt.Sprint("record ", code)}
	if code%2 == 0 {
		r.List = []int64{code, code + 1}
		r.Map = map[string]int64{"code": code}
	}
	if code%3 == 0 {
		r.Next = &randomRecord{Name: "next"}
	}
	return r
}

func sameRecord(a, b randomRecord) bool {
	return a.Name == b.Name && slices.Equal(a.List, b.List) && maps.Equal(a.Map, b.Map) &&
		(a.Next == nil) == (b.Next == nil) && (a.Next == nil || a.Next.Name == b.Next.Name)
}

// The element types.
var (
	randomInts = randomElem[int64]{"int64", 160_000, func(code int64) int64 { return code }, equal[int64], []randomReduction[int64]{
		{"Sum", mpi.Sum[int64]}, {"Max", mpi.Max[int64]}, {"BXor", mpi.BXor[int64]},
		{"the first", func(acc, in []int64) {}}, {"the last", func(acc, in []int64) { copy(acc, in) }},
	}, []*mpi.Datatype{mpi.TypeOf[int64]()}}
	randomBytes = randomElem[byte]{"byte", 300_000, func(code int64) byte { return byte(scrambled(code) >> 56) }, equal[byte], []randomReduction[byte]{
		{"Min", mpi.Min[byte]}, {"Sum", mpi.Sum[byte]},
	}, []*mpi.Datatype{mpi.TypeOf[byte]()}}
	randomPairs = randomElem[randomPair]{"pair", 5000, func(code int64) randomPair { return randomPair{int32(scrambled(code)), float64(code)} }, equal[randomPair], nil, []*mpi.Datatype{
		mpi.TypeOf[randomPair](),
		mpi.Struct([]int{1, 1}, []int{0, 8}, []*mpi.Datatype{mpi.TypeOf[int32](), mpi.TypeOf[float64]()}),
		mpi.Hindexed([]int{1}, []int{0}, mpi.TypeOf[randomPair]()),
	}}
	randomMatrices = randomElem[randomMatrix]{"matrix", 80_000, func(code int64) randomMatrix {
		s := scrambled(code)
		return randomMatrix{uint32(s), uint32(s >> 8), uint32(s >> 16), uint32(s >> 32)}
	}, equal[randomMatrix], []randomReduction[randomMatrix]{{"product", multiply}}, nil}
	randomLocs = randomElem[mpi.Loc[int64]]{"location", 3000, func(code int64) mpi.Loc[int64] {
		return mpi.Loc[int64]{Value: int64(scrambled(code) >> 61), Index: code >> 32 & 0xff}
	}, equal[mpi.Loc[int64]], []randomReduction[mpi.Loc[int64]]{{"MaxLoc", mpi.MaxLoc[int64]}, {"MinLoc", mpi.MinLoc[int64]}}, nil}
	randomStrings = randomElem[string]{"string", 600, func(code int64) string { return fmt.Sprintf("%x", code) }, equal[string], []randomReduction[string]{
		{"concatenation", mpi.Sum[string]}, {"Max", mpi.Max[string]},
	}, nil}
	randomRecords = randomElem[randomRecord]{"record", 60, recordAt, sameRecord, nil, nil}
)
