package shm

import (
	"encoding/binary"
	"fmt"
)

// Writer puts records into a ring. It is owned by one goroutine at a time.
type Writer struct {
	// Immutable after NewWriter.
	cells    *cell
	data     *byte
	consumed *consumed
	waiting  *waiting
	mask     uint64 // cells in the ring, less one
	size     uint64 // of the data area
	max      int
	chunk    int // longest record that Write makes

	// Owned by the writer.
	next      uint64 // ordinal of the next record
	cellLimit uint64 // ordinal of the first record that has no cell, as far as known
	head      uint64 // stream position in the data area
	off       uint64 // the same as an offset, below size
	dataLimit uint64 // stream position of the first byte that is not free, as far as known
	left      int    // of the payload of the last Write
	filler    filler
	err       error // sticky
}

// NewWriter is the writing side of the ring in mem. It touches no memory.
// Preconditions: mem is zeroed and has no other writer.
func NewWriter(mem []byte) (*Writer, error) {
	if err := checkMemory(mem); err != nil {
		return nil, err
	}
	g := geometryOf(len(mem))
	return &Writer{
		cells: cellsOf(mem), data: dataOf(mem, g), consumed: consumedOf(mem), waiting: waitingOf(mem),
		mask: g.cells - 1, size: g.size, max: g.max, chunk: chunkOf(g),
		cellLimit: g.cells, dataLimit: g.size,
	}, nil
}

// Bounds of chunkOf. 256 KiB through a ring of 512 KiB take half again as long in chunks of 2 KiB
// as in chunks of 16.
const (
	minChunk = 1<<10 - 64 + Inline
	maxChunk = 16<<10 + Inline
)

// chunkOf is how long the records of a long stream are: an eighth of the ring, so that the reader
// takes one while the writer makes the next. They are neither so short that records cost more than
// bytes, nor so long that a chunk leaves the caches.
func chunkOf(g geometry) int {
	return min(max(int(g.size/8&^(lineSize-1))+Inline, minChunk), maxChunk, g.max)
}

// MaxRecord is the longest record, in bytes.
func (w *Writer) MaxRecord() int { return w.max }

// Put appends the record that is a followed by b, all or nothing; false says that there is no room,
// or that Err is set. It neither allocates nor enters the kernel. Preconditions: 1 <= len(a)+len(b)
// <= MaxRecord.
func (w *Writer) Put(a, b []byte) bool {
	n := len(a) + len(b)
	if uint(n-1) >= Inline {
		return w.putLong(a, b)
	}
	if w.next == w.cellLimit && !w.refresh() {
		return false
	}
	c := cellAt(w.cells, w.next&w.mask)
	putHead(&c.data, a)
	putTail(&c.data, len(a), b)
	w.next++
	c.word.Store(w.next<<32 | uint64(n))
	return true
}

// Head is what most records begin with: the words of a header, each stored little-endian. It is
// passed in registers.
type Head struct{ A, B, C, D uint64 }

const headLen = 32

// PutHeaded is Put of a record that is h followed by b. Others may see it a moment later than what
// the caller loads next: before looking at Block.Armed the caller releases a mutex, or does what
// else takes a locked instruction. Preconditions: headLen+len(b) <= MaxRecord.
func (w *Writer) PutHeaded(h Head, b []byte) bool {
	n := headLen + len(b)
	if n > Inline {
		var a [headLen]byte
		h.put(&a)
		return w.putLong(a[:], b)
	}
	if w.next == w.cellLimit && !w.refresh() {
		return false
	}
	c := cellAt(w.cells, w.next&w.mask)
	h.put((*[headLen]byte)(c.data[:]))
	putTail(&c.data, headLen, b)
	w.next++
	publish(&c.word, w.next<<32|uint64(n))
	return true
}

func (h Head) put(b *[headLen]byte) {
	binary.LittleEndian.PutUint64(b[0:], h.A)
	binary.LittleEndian.PutUint64(b[8:], h.B)
	binary.LittleEndian.PutUint64(b[16:], h.C)
	binary.LittleEndian.PutUint64(b[24:], h.D)
}

// ahead is how many records before its own Expect asks for the line of a cell.
const ahead = 8

// Expect says that more records follow at once: the processor is asked for the line of a cell
// further on, which the reader's core has from the lap before, and to get which takes longer than
// to make a record. A reader that waits for the next record looks at its cell all the time, and
// must get the line back: say nothing where it is going to answer first.
func (w *Writer) Expect() { prefetchWrite(cellAt(w.cells, (w.next+ahead)&w.mask)) }

func (w *Writer) putLong(a, b []byte) bool {
	n := len(a) + len(b)
	if n == 0 || n > w.max {
		panic(fmt.Sprintf("shm: our bug: a record of %d bytes, where 1 to %d fit", n, w.max))
	}
	need := lines(uint64(n - Inline))
	if !w.hasRoom(need) && !(w.refresh() && w.hasRoom(need)) {
		return false
	}
	if w.off+need > w.size {
		w.head += w.size - w.off
		w.off = 0
	}
	c := cellAt(w.cells, w.next&w.mask)
	rest := piece(w.data, w.off, uint64(n-Inline))
	isNew := w.head < w.size // in the first lap
	k := copy(c.data[:], a)
	if k < len(a) {
		w.filler.fill(rest, a[k:], isNew)
		copy(rest[len(a)-k:], b)
	} else {
		w.filler.fill(rest, b[copy(c.data[k:], b):], isNew)
	}
	w.head += need
	if w.off += need; w.off == w.size {
		w.off = 0
	}
	w.next++
	c.word.Store(w.next<<32 | uint64(n))
	return true
}

// hasRoom says whether a record that takes need bytes of the data area fits, as far as known.
func (w *Writer) hasRoom(need uint64) bool {
	if w.off+need > w.size {
		need += w.size - w.off
	}
	return w.next != w.cellLimit && w.dataLimit-w.head >= need
}

// refresh looks how far the reader has come, and says whether there is a free cell.
func (w *Writer) refresh() bool {
	if w.err != nil {
		return false
	}
	cells, bytes := w.consumed.cells.Load(), w.consumed.bytes.Load()
	known, knownBytes := w.cellLimit-(w.mask+1), w.dataLimit-w.size
	if cells-known > w.next-known || bytes-knownBytes > w.head-knownBytes {
		w.fail(fmt.Errorf("%w: the reader of a ring says that it consumed %d of %d records and %d of %d bytes, after %d and %d",
			ErrCorrupt, cells, w.next, bytes, w.head, known, knownBytes))
		return false
	}
	w.cellLimit, w.dataLimit = cells+w.mask+1, bytes+w.size
	return w.next != w.cellLimit
}

// fail leaves no cell free for ever.
func (w *Writer) fail(err error) {
	w.err = err
	w.cellLimit = w.next
}

// Write puts the beginning of p into the ring, as much as there is room for, in records of a good
// length, and says how much. It prefers to leave a little room unused to making short records of a
// long p.
func (w *Writer) Write(p []byte) (n int) {
	w.filler.long = uint64(len(p)) > w.size || w.filler.long && len(p) == w.left
	for n < len(p) {
		k := w.cut(len(p) - n)
		if !w.Put(p[n:n+k], nil) {
			break
		}
		n += k
	}
	if w.left = len(p) - n; w.left == 0 {
		w.filler.long = false
	}
	return n
}

// cut chooses the length of the next record of a stream that goes on for left bytes.
func (w *Writer) cut(left int) int {
	k := min(left, w.chunk)
	if end := int(w.size-w.off) + Inline; end < k && end >= w.chunk/4 {
		k = end // what is left of the data area is worth a record of its own: nothing is skipped
	}
	if k <= Inline || w.hasRoom(lines(uint64(k-Inline))) || !w.refresh() {
		return k
	}
	if fit := w.fit(); fit >= w.chunk/4 {
		return min(k, fit)
	}
	return k
}

// fit is the longest record that fits without a skip, as far as known.
func (w *Writer) fit() int { return int(min(w.size-w.off, w.dataLimit-w.head)) + Inline }

// Block notes that the writer waits for room, for as much as MaxRecord needs: the reader's Release
// will say so once it has made some, though perhaps not enough, and then the writer looks again.
// True says that there is room already, and nothing is noted. False may also mean that Err is set:
// look there before waiting.
func (w *Writer) Block() (room bool) {
	need := uint64(w.max - Inline)
	if w.refresh() && w.hasRoom(need) {
		return true
	}
	w.waiting.flag.Store(1)
	if w.refresh() && w.hasRoom(need) {
		w.waiting.flag.Store(0)
		return true
	}
	return false
}

// Err is not nil, and wraps ErrCorrupt, once the reader's counts went back or beyond what was put.
// The ring takes no record any more.
func (w *Writer) Err() error { return w.err }
