package fileio

import (
	"errors"
	"math"
	"sort"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// ErrTooFar says that an access reaches beyond the offsets that files have.
var ErrTooFar = errors.New("it reaches beyond the largest offset of a file")

// ErrNothing says that an access means bytes of a view that has none.
var ErrNothing = errors.New("no byte of the file is visible in the view")

// farthest is less than what an int can be, so that offsets can be rounded up.
const farthest = math.MaxInt - 1<<30

// View is which bytes of a file are visible, in which order (MPI 4.1, section 14.3): the data of
// elements of a map that follow each other without end. The n-th visible byte is meant where these
// comments say stream. There is none if the map has no data. Immutable.
type View struct {
	Disp     int         // where the first element has its origin; >= 0
	Map      *layout.Map // nondecreasing, of a positive extent if it has data, none before the origin
	Overlaps bool        // Map is not ascending: a file can be read through it alone, by each rank for itself
}

// Plain is the view of all bytes.
var Plain = View{Map: layout.Basic(layout.Byte)}

// IsEmpty reports whether no byte is visible.
func (v View) IsEmpty() bool { return v.Map.Size() == 0 }

// At is where the byte at x of the stream lies in the file; where the view begins if it is empty.
func (v View) At(x int) int {
	if v.IsEmpty() {
		return v.Disp
	}
	return v.Disp + v.Map.At(x)
}

// Before is how many bytes of the stream lie before the offset of the file.
//
// Preconditions:
//   - nothing overlaps.
func (v View) Before(offset int) int {
	if v.IsEmpty() {
		return 0
	}
	return v.Map.Before(offset - v.Disp)
}

// Begun is how many units of the stream begin before the offset of the file.
//
// Preconditions:
//   - the data of an element are a whole number of units, of unit bytes each, which begin with a
//     value.
func (v View) Begun(offset, unit int) int {
	if v.IsEmpty() || offset <= v.At(0) {
		return 0
	}
	size := v.Map.Size()
	_, extent := v.Map.Extent()
	last := (offset - 1 - v.At(0)) / extent // the last element that begins there
	in := sort.Search(size/unit, func(k int) bool { return v.At(last*size+k*unit) >= offset })
	return last*(size/unit) + in
}

// Check reports whether n bytes from x on of the stream are where files can have them.
func (v View) Check(x, n int) error {
	if x < 0 || n < 0 || x > math.MaxInt-n {
		return ErrTooFar
	}
	switch {
	case !v.IsEmpty():
	case n > 0:
		return ErrNothing
	default:
		return nil
	}
	size := v.Map.Size()
	_, extent := v.Map.Extent()
	lb, span := v.Map.TrueExtent()
	// The last byte lies in element last, which ends at Disp + last*extent + lb + span.
	last := (x + n) / size
	room := farthest - v.Disp
	if lb > room || span > room-lb || last > (room-lb-span)/extent {
		return ErrTooFar
	}
	return nil
}

// Walk visits where n bytes from x on of the stream lie, as runs of size bytes at an offset of the
// file that do not touch. It stops when visit returns false, and reports whether it did not.
//
// Preconditions:
//   - Check(x, n) is nil.
func (v View) Walk(x, n int, visit func(offset, size int) bool) bool {
	if n == 0 {
		return true
	}
	at, size := 0, 0 // of the run that may go on
	ok := v.Map.Walk(x, n, func(a, k int) bool {
		if size > 0 && a == at+size {
			size += k
			return true
		}
		if size > 0 && !visit(v.Disp+at, size) {
			return false
		}
		at, size = a, k
		return true
	})
	return ok && (size == 0 || visit(v.Disp+at, size))
}

// Span is between which offsets n bytes from x on of the stream lie; both are 0 if n is. Of a view
// that overlaps these are where the elements lie that the bytes are of.
//
// Preconditions:
//   - Check(x, n) is nil.
func (v View) Span(x, n int) (lo, hi int) {
	if n == 0 {
		return 0, 0
	}
	if v.Overlaps {
		size := v.Map.Size()
		_, extent := v.Map.Extent()
		lb, span := v.Map.TrueExtent()
		return v.Disp + x/size*extent + lb, v.Disp + (x+n-1)/size*extent + lb + span
	}
	return v.At(x), v.At(x+n-1) + 1
}

// IsDense reports whether n bytes from x on of the stream are one run; it says no of a view that
// overlaps.
func (v View) IsDense(x, n int) bool {
	lo, hi := v.Span(x, n)
	return hi-lo == n && !v.Overlaps
}

// RunLength is how long the runs of the view are, about; 0 if there is no end to them.
func (v View) RunLength() int {
	if v.IsEmpty() || v.Map.IsContiguous() {
		return 0
	}
	return max(v.Map.Size()/v.Map.Runs(), 1)
}
