package trace

import "math/bits"

// The memory of a ring, in the byte order of its rank's machine:
//
//	header  a page: what the ring is of, counts, and the calls that are open
//	names   the strings that events name: 2 bytes of length and the text, one behind the other
//	events  of 32 bytes each, a power of two of them
const (
	magic   = "FitMPItr"
	version = 1
	endian  = 0x01020304

	headerSize = 4096
	namesSize  = 64 << 10
	eventSize  = 32
	eventsAt   = headerSize + namesSize

	// MaxNames is how many strings events may name.
	MaxNames = 4096
	// Slots is how many calls may be open at once, each of a goroutine of its own.
	Slots = 64
)

// maxJob is the longest name of a job that is kept.
const maxJob = 255

// Offsets in the header.
const (
	magicAt   = 0
	versionAt = 8   // 4 bytes
	endianAt  = 12  // 4 bytes
	rankAt    = 16  // 4 bytes
	ranksAt   = 20  // 4 bytes, of the job
	startAt   = 24  // when the ring was opened
	firstAt   = 32  // 4 bytes: number of rank 0 of the job
	nextAt    = 64  // number of the next event
	usedAt    = 128 // bytes of names
	missedAt  = 136 // calls without a slot
	jobAt     = 256 // name of the job behind its length, 1 byte, at most maxJob
	openAt    = 1024
	openSize  = 32 // since when, 0 if none; name; bytes and peer as the last word of an event; 0
)

// DefaultBuffer is how many bytes of events a rank keeps unless it is told.
const DefaultBuffer = 16 << 20

// Sizes that a buffer may have.
const (
	MinBuffer = 64 << 10
	MaxBuffer = 4 << 30
)

// Size is how much memory a ring takes that keeps at most so many bytes of events: they are rounded
// down to a power of two.
func Size(buffer int64) int64 {
	buffer = min(max(buffer, MinBuffer), MaxBuffer)
	return eventsAt + int64(1)<<(bits.Len64(uint64(buffer))-1)
}

// capacity is the number of events in so much memory, 0 if that is no ring's.
func capacity(size int64) uint64 {
	n := size - eventsAt
	if n < MinBuffer || n > MaxBuffer || n&(n-1) != 0 {
		return 0
	}
	return uint64(n) / eventSize
}
