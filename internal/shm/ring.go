package shm

import (
	"errors"
	"fmt"
	"math/bits"
	"structs"
	"sync/atomic"
)

// A ring's memory:
//
//	   0  consumed, written by the reader only
//	 128  waiting, written by the writer; the reader clears it
//	 256  cells, a power of two of them
//	   .  data, to the end
//
// A record takes one cell and, for what goes beyond Inline bytes, a contiguous piece of the data
// area that starts on a line of its own. A piece that does not fit before the end of the area
// starts at its beginning, and the rest of the area is skipped; both sides compute that from the
// lengths alone.
//
// A cell belongs to the writer until it stores the control word, which says by its sequence that
// the record with that ordinal is there. From then on the cell and its piece belong to the reader,
// until it publishes an ordinal beyond it in consumed. A sequence is the low half of the ordinal
// plus one, so neither zeroed memory nor the word that the cell held one lap ago is taken for it.

// Inline is how many bytes of a record lie in its cell: a record of so many bytes costs one cache
// line.
const Inline = 56

// ErrCorrupt says that the other side of a ring, or a segment's maker, has left what no correct one
// writes.
var ErrCorrupt = errors.New("shared memory is corrupt")

const (
	lineSize = 64
	// apart keeps lines of different writers from being fetched together: x86 prefetches lines in
	// pairs.
	apart = 2 * lineSize

	waitingAt = apart
	cellsAt   = 2 * apart

	minRing  = 1 << 10
	maxRing  = 1 << 30
	minCells = 8
	// maxCells take 32 KiB, which a stream of short records sweeps: more would leave the
	// first-level caches, and 128 make such a stream a fifth slower, because the two sides meet at
	// the consumed line more often.
	maxCells = 512
)

// cell holds one record, or its beginning.
type cell struct {
	_    structs.HostLayout
	word atomic.Uint64 // sequence<<32 | length; stored last
	data [Inline]byte
}

// consumed is how far the reader has come, at the last time that it published it.
type consumed struct {
	_     structs.HostLayout
	cells atomic.Uint64 // ordinal of the first record not given back
	bytes atomic.Uint64 // stream position in the data area, skips included
	_     [lineSize - 16]byte
}

// waiting is the writer's note that it waits for room.
type waiting struct {
	_    structs.HostLayout
	flag atomic.Uint32 // 1 from Block that found no room until the reader has seen it
	_    [lineSize - 4]byte
}

// geometry is what both sides derive from the length of the memory alone.
type geometry struct {
	cells uint64 // a power of two
	size  uint64 // of the data area, a multiple of lineSize
	max   int    // longest record
}

// geometryOf. The longest record is chosen for this: with a quarter of the data area consumed but
// not yet published, and the most of it skipped, the longest record still finds room in an
// otherwise empty ring. A writer that finds none therefore knows that the reader is still to
// publish, and waits for that.
func geometryOf(n int) geometry {
	cells := min(max(uint64(1)<<(bits.Len(uint(n/4/lineSize))-1), minCells), maxCells)
	size := (uint64(n) - cellsAt - cells*lineSize) &^ (lineSize - 1)
	return geometry{cells: cells, size: size, max: int(size*3/8&^(lineSize-1)) + Inline}
}

// MinRing is the least memory of a ring, in bytes.
func MinRing() int { return minRing }

// checkMemory says whether mem can hold a ring.
func checkMemory(mem []byte) error {
	if len(mem) < minRing || len(mem) > maxRing {
		return fmt.Errorf("ring of %d bytes: it takes between %d and %d", len(mem), minRing, maxRing)
	}
	if !aligned(mem) {
		return fmt.Errorf("ring's memory is not aligned to %d bytes: take it from Alloc or a Segment", lineSize)
	}
	return nil
}

// lines rounds n up to whole lines.
func lines(n uint64) uint64 { return (n + lineSize - 1) &^ (lineSize - 1) }
