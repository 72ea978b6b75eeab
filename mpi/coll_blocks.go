//go:build linux

package mpi

// blocks says which part of a buffer belongs to which rank, in elements.
type blocks struct{ counts, displs []int }

// equalBlocks are n elements for each rank.
func equalBlocks(size, n int) blocks {
	bl := blocks{make([]int, size), make([]int, size)}
	for r := range size {
		bl.counts[r], bl.displs[r] = n, r*n
	}
	return bl
}

// newBlocksOf checks counts and displacements against the buffer of length have. The blocks are
// those of what whose says: ranks, sources.
func newBlocksOf(whose, op, what string, size, have int, counts, displs []int) (blocks, *Error) {
	if len(counts) != size {
		return blocks{}, opErrorf(ErrCount, op, "%d counts for %d %ss: need one for each", len(counts), size, whose)
	}
	if displs == nil {
		displs = packed(counts)
	}
	if len(displs) != size {
		return blocks{}, opErrorf(ErrArg, op, "%d displacements for %d %ss: need one for each, or nil for blocks without gaps", len(displs), size, whose)
	}
	for r, n := range counts {
		switch at := displs[r]; {
		case n < 0:
			return blocks{}, opErrorf(ErrCount, op, "the count of %s %d is %d: need 0 or more", whose, r, n)
		case at < 0:
			return blocks{}, opErrorf(ErrCount, op, "the block of %s %d begins at %d: need 0 or more", whose, r, at)
		case at > have || n > have-at: // at+n may be more than an int holds
			return blocks{}, opErrorf(ErrCount, op, "the block of %s %d is the %d elements from %s[%d] on, but %s holds %d elements", whose, r, n, what, at, what, have)
		}
	}
	return blocks{counts, displs}, nil
}

// packed are the displacements of blocks without gaps.
func packed(counts []int) []int {
	displs := make([]int, len(counts))
	at := 0
	for r, n := range counts {
		displs[r] = at
		at += n
	}
	return displs
}

// total is the number of elements of packed blocks.
func (bl blocks) total() int {
	n := 0
	for _, k := range bl.counts {
		n += k
	}
	return n
}

// bytes converts to bytes.
func (bl blocks) bytes(size int) (counts, displs []int) {
	counts, displs = make([]int, len(bl.counts)), make([]int, len(bl.counts))
	for r := range counts {
		counts[r], displs[r] = bl.counts[r]*size, bl.displs[r]*size
	}
	return counts, displs
}

// checkMultiple says that a buffer of n elements, in, cannot be one block for each rank.
func (c *Comm) checkMultiple(op string, n int) *Error {
	if n%c.Size() != 0 {
		return opErrorf(ErrCount, op, "in holds %d elements: need a multiple of %d, the number of ranks", n, c.Size())
	}
	return nil
}

// What lengths are of.
const (
	elementsLong = "elements"
	bytesLong    = "bytes" // where there are layouts
)

// checkOwn compares a rank's block with what it contributes itself, in elements or bytes.
func checkOwn(op, what, unit string, have, need int) *Error {
	if have != need {
		return opErrorf(ErrCount, op, "%s holds %d %s, the counts say %d for this rank", what, have, unit, need)
	}
	return nil
}

// blocksAtRoot is typedBlocks of a buffer that counts at the root only, where the root's own block
// is as long as its other buffer, own, unless there are layouts: their lengths are compared when
// they are laid over the buffers.
func (c *Comm) blocksAtRoot(op, what string, root int, t *Datatype, have int, counts, displs []int, own string, ownLen int) (blocks, *Error) {
	if c.rank != root {
		return blocks{}, nil
	}
	bl, err := typedBlocks(op, what, c.Size(), t, have, counts, displs)
	if err == nil && !c.isTyped() {
		err = checkOwn(op, own, elementsLong, ownLen, bl.counts[root])
	}
	return bl, err
}
