package buffer

import "math/bits"

// Blocks come in sizes of four steps per doubling: 256, 320, 384, 448, 512, 640, ... A block is at
// most a quarter larger than what was asked for, above the smallest size.
const (
	minShift   = 8
	minBlock   = 1 << minShift
	maxShift   = bits.UintSize - 2 // keeps every size an int
	maxBlock   = 1 << maxShift
	numClasses = 4*(maxShift-minShift) + 1
)

// classFor returns the smallest class that holds n bytes, and its size.
//
// Preconditions:
//   - 0 <= n <= maxBlock.
func classFor(n int) (class, size int) {
	if n <= minBlock {
		return 0, minBlock
	}
	last := uint(n - 1)
	octave := bits.Len(last) - 1 // last is in [1<<octave, 2<<octave)
	step := octave - 2           // log2 of the distance between sizes there
	quarter := int(last>>step) & 3
	return 4*(octave-minShift) + quarter + 1, (int(last>>step) + 1) << step
}
