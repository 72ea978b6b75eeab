package shm

import "time"

// How the writer fills the data area. Its lines are in the reader's caches, from the lap before, so
// each store of a plain copy waits for one. To ask for the lines of a step first, all at once,
// makes a payload of 64 KiB a tenth faster. Where the two cores share no cache a line comes so
// slowly that it is better to write around the caches, and have the reader fetch from memory.
const (
	fillMin  = 4 << 10 // shorter pieces are just copied
	fillStep = 4 << 10
	farRate  = 4  // bytes in a ns: a writer that is slower than this is far from its reader
	nearFor  = 15 // after a piece that is timed so many are not, if the reader is near
	farFor   = 64 // and so many go around the caches if it is far: the scheduler may move either side
	slowMost = 2  // so many that are slow, one timed after the other, say that the reader is far: one may have been interrupted
)

var clockBase = time.Now()

// filler is how pieces are written, and what is known of the reader. It is owned by the writer.
type filler struct {
	long    bool // pieces are of a payload longer than the ring
	far     bool // pieces are written around the caches
	untimed int  // so many, until one is written through them and timed
	slow    int  // how many of the last that were timed were slow, slowMost at most
}

// fill copies src to dst, which begins on a line and is no shorter. isNew says that the memory is:
// nothing can be learnt from it.
func (f *filler) fill(dst, src []byte, isNew bool) {
	if len(src) < fillMin || !hasFill || raceEnabled { // the race detector is to see what reads src
		copy(dst, src)
		return
	}
	if f.untimed > 0 || isNew {
		f.untimed = max(f.untimed-1, 0)
		if f.far {
			copyAround(dst, src)
		} else {
			f.copyThrough(dst, src)
		}
		return
	}
	began := time.Since(clockBase)
	f.copyThrough(dst, src)
	f.learn(len(src), time.Since(clockBase)-began)
}

// learn is called with how long n bytes took.
func (f *filler) learn(n int, took time.Duration) {
	if int(took)*farRate <= n {
		f.far, f.slow, f.untimed = false, 0, nearFor
		return
	}
	if f.slow = min(f.slow+1, slowMost); f.slow == slowMost {
		f.far, f.untimed = true, farFor
	}
}

// copyThrough is copy through the caches. What is longer than the ring comes from memory, or from
// caches far away: to ask for the lines of the ring would take from it what can be under way at
// once.
func (f *filler) copyThrough(dst, src []byte) {
	if f.long {
		copy(dst, src)
		return
	}
	copyAhead(dst, src)
}

// copyAhead is copy that asks for the lines of a step before it writes them.
func copyAhead(dst, src []byte) {
	for len(src) > 0 {
		k := min(fillStep, len(src))
		askForLines(&dst[0], k)
		copy(dst[:k], src)
		dst, src = dst[k:], src[k:]
	}
}

// copyAround is copy around the caches. Preconditions: as of fill, and src is a line at least.
func copyAround(dst, src []byte) {
	k := len(src) &^ (lineSize - 1)
	storeAround(&dst[0], &src[0], k)
	copy(dst[k:], src[k:])
}
