package shm

import (
	"encoding/binary"
	"fmt"
)

// Reader takes records out of a ring. It is owned by one goroutine at a time.
type Reader struct {
	// Owned by the reader.
	cell *cell  // where the next record will be; none once err is set
	want uint32 // its sequence
	held bool   // Next has shown a record, Release has not taken it back
	next uint64 // its ordinal
	head uint64 // stream position in the data area
	off  uint64 // the same as an offset, below size
	step uint64 // bytes of the data area that Release takes back, skip included
	to   uint64 // off after that

	cellMark uint64 // ordinal at which to publish
	dataMark uint64 // position at which to publish

	// Immutable after NewReader.
	cells    *cell
	data     *byte
	consumed *consumed
	waiting  *waiting
	mask     uint64 // cells in the ring, less one
	size     uint64 // of the data area
	max      uint32

	err error // owned by the reader; sticky
}

// none is a cell that never holds a record. Nothing writes it.
var none cell

// NewReader is the reading side of the ring in mem. It touches no memory.
// Preconditions: mem was zeroed before its writer began, and has no other reader.
func NewReader(mem []byte) (*Reader, error) {
	if err := checkMemory(mem); err != nil {
		return nil, err
	}
	g := geometryOf(len(mem))
	return &Reader{
		cell: cellsOf(mem), want: 1, cellMark: g.cells / 4, dataMark: g.size / 4,
		cells: cellsOf(mem), data: dataOf(mem, g), consumed: consumedOf(mem), waiting: waitingOf(mem),
		mask: g.cells - 1, size: g.size, max: uint32(g.max),
	}, nil
}

// Ready says whether Next has a record to show, or an error to find. It is one load of one cache
// line.
func (r *Reader) Ready() bool { return uint32(r.cell.word.Load()>>32) == r.want }

// Next shows the next record: its first Inline bytes and what is left of it, both in the ring's
// memory and valid until Release. The writer may still change them if it is hostile: copy a field
// before checking it. Called again before Release it shows the same record. Without ok there is no
// record, or Err is set.
func (r *Reader) Next() (head, rest []byte, ok bool) {
	word := r.cell.word.Load()
	if uint32(word>>32) != r.want {
		r.checkStale(word)
		return nil, nil, false
	}
	n := uint32(word)
	if n-1 < Inline {
		r.held, r.step = true, 0
		return r.cell.data[:n:n], nil, true
	}
	rest, ok = r.nextLong(n)
	if !ok {
		return nil, nil, false
	}
	return r.cell.data[:], rest, true
}

// Headed is Next of a record that lies in its cell as a whole and begins with a head, as PutHeaded
// puts short ones: the head, which is passed in registers, and what follows it. Without ok Next has
// the record to show, or there is none, or Err is set.
func (r *Reader) Headed() (h Head, rest []byte, ok bool) {
	c := r.cell
	word := c.word.Load()
	n := uint32(word) - headLen
	if uint32(word>>32) != r.want || n > Inline-headLen {
		return Head{}, nil, false
	}
	r.held, r.step = true, 0
	h.A = binary.LittleEndian.Uint64(c.data[0:])
	h.B = binary.LittleEndian.Uint64(c.data[8:])
	h.C = binary.LittleEndian.Uint64(c.data[16:])
	h.D = binary.LittleEndian.Uint64(c.data[24:])
	return h, c.data[headLen : headLen+n : headLen+n], true
}

func (r *Reader) nextLong(n uint32) (rest []byte, ok bool) {
	if n == 0 || n > r.max {
		r.fail(fmt.Errorf("%w: record %d of a ring has %d bytes, where 1 to %d fit", ErrCorrupt, r.next, n, r.max))
		return nil, false
	}
	at, size := r.off, uint64(n-Inline)
	need := lines(size)
	r.held, r.step = true, need
	if at+need > r.size {
		r.step += r.size - at
		at = 0
	}
	if r.to = at + need; r.to == r.size {
		r.to = 0
	}
	return piece(r.data, at, size), true
}

// checkStale finds a control word that is neither the next record's nor what the cell held before.
func (r *Reader) checkStale(word uint64) {
	stale := uint32(0)
	if r.next > r.mask {
		stale = r.want - uint32(r.mask+1)
	}
	if uint32(word>>32) != stale && r.err == nil {
		r.fail(fmt.Errorf("%w: a ring's cell for record %d has sequence %d", ErrCorrupt, r.next, word>>32))
	}
}

// fail makes Ready and Next say no for ever.
func (r *Reader) fail(err error) {
	r.err, r.cell, r.want = err, &none, 1
	r.held, r.next = false, 0
}

// Release gives back the record that Next has shown. Now and then, when a quarter of the ring has
// been given back, it tells the writer; true says that the writer waits for that, and is to be
// woken. Without a record it does nothing.
func (r *Reader) Release() (unblocked bool) {
	if !r.held {
		return false
	}
	r.held = false
	r.next++
	r.want++
	r.cell = cellAt(r.cells, r.next&r.mask)
	if r.step != 0 {
		r.head += r.step
		r.off = r.to
	}
	if r.next < r.cellMark && r.head < r.dataMark {
		return false
	}
	return r.publish()
}

// publish gives cells and data back to the writer, then looks whether it waits for them.
func (r *Reader) publish() (unblocked bool) {
	r.cellMark, r.dataMark = r.next+(r.mask+1)/4, r.head+r.size/4
	r.consumed.bytes.Store(r.head)
	r.consumed.cells.Store(r.next)
	return r.waiting.flag.Load() != 0 && r.waiting.flag.Swap(0) != 0
}

// Err is not nil, and wraps ErrCorrupt, once the writer has left a control word that no writer
// stores. The ring shows no record any more.
func (r *Reader) Err() error { return r.err }
