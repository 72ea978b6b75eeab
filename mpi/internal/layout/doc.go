// Package layout describes where the values of a message lie in memory, and moves them between
// memory and a packed stream.
//
// A [Map] is the type map of MPI (MPI 4.1, section 5.1): basic values and their displacements from
// an origin, in the order in which they travel. It is not a list of them but a small program:
// contiguous runs of one kind, loops over a stride, and sequences of such parts. A column of a
// matrix is one loop, whatever its length.
//
// Maps are made from smaller ones: [Basic] and [Of] begin, [Contiguous], [Hvector], [Hindexed],
// [Struct], [Resized], [Subarray] and [Darray] compose. Adjacent runs are merged as they are made,
// so that one value has few programs, and mostly the shortest.
//
// [Map.Pack] and [Map.Unpack] move any part of the stream, from any offset. They find their place
// by descent, not by walking from the start, and allocate nothing, so a caller may move a message
// in pieces of whatever memory it has.
//
// A Map is immutable and safe for concurrent use. All arithmetic on what callers give is checked: a
// layout that reaches too far is [ErrTooLarge]. What is wrong in other ways (a negative count, say)
// is for the caller to find: it panics here.
package layout
