package fileio

import (
	"encoding/binary"
	"errors"
	"math"
)

// Runs is a list of runs of a file in ascending order, as it travels. Runs at one distance from
// each other that have one length, as those of a matrix's column, take a few bytes together.
//
// It is a sequence of entries of three numbers, each an unsigned varint. The first is how many
// bytes lie between the end of the run before, or the base, and this one. The second is how long it
// is. The third is how many more such runs follow, with such a gap before each.
type Runs struct {
	b    []byte
	end  int // of the last run
	gap  int // of the entry that may go on
	size int // likewise; 0 if there is none
	more int // likewise
}

// Reset empties the list; its runs are from base on.
func (r *Runs) Reset(base int) { *r = Runs{b: r.b[:0], end: base} }

// Add adds a run behind the last.
//
// Preconditions:
//   - it does not overlap that, and size > 0.
func (r *Runs) Add(offset, size int) {
	gap := offset - r.end
	r.end = offset + size
	if r.size == size && r.gap == gap {
		r.more++
		return
	}
	r.flush()
	r.gap, r.size = gap, size
}

func (r *Runs) flush() {
	if r.size > 0 {
		r.b = binary.AppendUvarint(r.b, uint64(r.gap))
		r.b = binary.AppendUvarint(r.b, uint64(r.size))
		r.b = binary.AppendUvarint(r.b, uint64(r.more))
	}
	r.size, r.more = 0, 0
}

// Bytes is the list as it travels, until the next Reset.
func (r *Runs) Bytes() []byte {
	r.flush()
	return r.b
}

// errRuns says that a list is none.
var errRuns = errors.New("a list of runs of a file that makes no sense")

// WalkRuns visits the runs of a list that has come from another rank: all lie in ascending order
// between base and end, and are not empty. It returns how many bytes they have together.
func WalkRuns(b []byte, base, end int, visit func(offset, size int)) (total int, err error) {
	at := base
	for len(b) > 0 {
		var entry [3]int
		for i := range entry {
			v, n := binary.Uvarint(b)
			if n <= 0 || v > math.MaxInt {
				return total, errRuns
			}
			entry[i], b = int(v), b[n:]
		}
		gap, size, more := entry[0], entry[1], entry[2]
		// At least one byte for each run, so there are no more of them than there is room.
		if size == 0 || gap > end-at || size > end-at-gap || more > (end-at)/(gap+size)-1 {
			return total, errRuns
		}
		for range more + 1 {
			visit(at+gap, size)
			at += gap + size
			total += size
		}
	}
	return total, nil
}
