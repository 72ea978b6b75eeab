package fileio

import (
	"errors"
	"io"
)

// Memory is the data of an access, in the order of the stream.
type Memory interface {
	Len() int
	Pack(dst []byte, off int)   // copies data from off on to dst
	Unpack(off int, src []byte) // copies src to where the data from off on are
}

// Bytes is Memory that is one run.
type Bytes []byte

// Len implements Memory.
func (b Bytes) Len() int { return len(b) }

// Pack implements Memory.
func (b Bytes) Pack(dst []byte, off int) { copy(dst, b[off:]) }

// Unpack implements Memory.
func (b Bytes) Unpack(off int, src []byte) { copy(b[off:], src) }

// Access moves data between memory and a file.
type Access struct {
	View View
	X    int // where the data begin in the stream
	Data Memory
	Room int  // bytes of memory that may be used to copy data
	Sift bool // read what lies between runs that are near each other, rather than each by itself
}

// Write writes the data, each run of the view by itself, since what lies between belongs to others.
// n is how many bytes of the stream were written, in order.
//
// Preconditions:
//   - View.Check is nil of the data.
func (a *Access) Write(f io.WriterAt) (n int, err error) {
	if b, ok := a.Data.(Bytes); ok {
		return writeRuns(f, a.View, a.X, b)
	}
	room := make([]byte, min(a.Room, a.Data.Len()))
	for n < a.Data.Len() {
		part := room[:min(len(room), a.Data.Len()-n)]
		a.Data.Pack(part, n)
		k, err := writeRuns(f, a.View, a.X+n, part)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// writeRuns writes b to where it belongs, from x of the stream on.
func writeRuns(f io.WriterAt, v View, x int, b []byte) (n int, err error) {
	v.Walk(x, len(b), func(offset, size int) bool {
		var k int
		k, err = f.WriteAt(b[n:n+size], int64(offset))
		n += k
		return err == nil
	})
	return n, err
}

// Read reads the data, as far as the file has them: n is how many bytes, in order.
//
// Preconditions:
//   - View.Check is nil of the data.
func (a *Access) Read(f io.ReaderAt) (n int, err error) {
	read := readRuns
	if a.sifts() {
		window := make([]byte, a.Room)
		read = func(f io.ReaderAt, v View, x int, b []byte) (int, error) { return siftRuns(f, v, x, b, window) }
	}
	if b, ok := a.Data.(Bytes); ok {
		return read(f, a.View, a.X, b)
	}
	room := make([]byte, min(a.Room, a.Data.Len()))
	for n < a.Data.Len() {
		part := room[:min(len(room), a.Data.Len()-n)]
		k, err := read(f, a.View, a.X+n, part)
		a.Data.Unpack(n, part[:k])
		if n += k; k < len(part) || err != nil {
			return n, err
		}
	}
	return n, nil
}

// When sifting is worth it: a run of this length costs as much to read as to copy it and what lies
// between.
const (
	siftBelow = 16 << 10 // mean length of a run
	siftWaste = 16       // bytes read for one that is wanted, at most
)

func (a *Access) sifts() bool {
	run, n := a.View.RunLength(), a.Data.Len()
	if !a.Sift || run == 0 || run >= siftBelow || n <= run {
		return false
	}
	lo, hi := a.View.Span(a.X, n)
	return (hi-lo)/siftWaste <= n && hi-lo > n
}

// readRuns reads b, each run by itself.
func readRuns(f io.ReaderAt, v View, x int, b []byte) (n int, err error) {
	v.Walk(x, len(b), func(offset, size int) bool {
		var k int
		k, err = readAt(f, b[n:n+size], offset)
		n += k
		return err == nil && k == size
	})
	return n, err
}

// siftRuns is readRuns by way of window, which takes in what lies between.
func siftRuns(f io.ReaderAt, v View, x int, b, window []byte) (n int, err error) {
	_, end := v.Span(x, len(b))
	from, have := 0, 0 // window[:have] is the file from there
	v.Walk(x, len(b), func(offset, size int) bool {
		for size > 0 {
			if offset < from || offset >= from+have {
				if have, err = readAt(f, window[:min(len(window), end-offset)], offset); have == 0 || err != nil {
					return false
				}
				from = offset
			}
			k := copy(b[n:n+size], window[offset-from:have])
			n, offset, size = n+k, offset+k, size-k
		}
		return true
	})
	return n, err
}

// readAt reads as much of b as the file has.
func readAt(f io.ReaderAt, b []byte, offset int) (n int, err error) {
	n, err = f.ReadAt(b, int64(offset))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
