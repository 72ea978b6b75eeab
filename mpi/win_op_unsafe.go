package mpi

import "unsafe"

// isAligned reports whether values of every type may lie in b from its first byte on.
func isAligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0 }

// locGrain is the length of a Loc of any kind, in bytes.
const locGrain = int(unsafe.Sizeof(Loc[float64]{}))

// sliceAt is the one element at p.
func sliceAt[T any](p *T) []T { return unsafe.Slice(p, 1) }

// addressOf is where b is in memory. Neither the collector nor a stack that grows moves it: it is
// of the heap, or not Go's.
func addressOf(b []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// joined is n bytes of memory from the start of first on: what follows first is others' memory that
// is attached to the same window, and lives as long as it is.
func joined(first []byte, n int) []byte { return unsafe.Slice(unsafe.SliceData(first), n) }
