package engine

import (
	"math"

	"github.com/fitmpi/fitmpi/internal/shm"
)

// Copying is how long messages come between processes of a host.
type Copying uint8

// The ways of copying. A rank chooses for what it sends.
const (
	CopyAuto Copying = iota // CopyRead where the kernel copies fast, but beyond autoFetch only if the sender does not help; else CopyRing
	CopyRing                // through the ring: copied twice, by both sides at once
	CopyRead                // the receiver's kernel reads them from the sender's memory, if it permits that: copied once
)

// autoFetch is the bytes up to which the kernel's copy beats the ring, where it is fast, though the
// sender would help. What is longer leaves the caches of the core that copies, and two cores, which
// pipe it through the ring, are faster, if the sender's has nothing else to do.
const autoFetch = 1536 << 10

func (c Copying) String() string { return [...]string{"auto", "ring", "read"}[c] }

// ParseCopying is the inverse of String.
func ParseCopying(s string) (c Copying, ok bool) {
	for c = CopyAuto; c <= CopyRead; c++ {
		if c.String() == s {
			return c, true
		}
	}
	return 0, false
}

// mostFetched is the bytes up to which processes of this host fetch what we send also where we
// would help to copy; 0 if they are to fetch nothing.
func (c Copying) mostFetched() int {
	switch {
	case c == CopyRead:
		return math.MaxInt
	case c == CopyAuto && shm.ReadsFast():
		return autoFetch
	}
	return 0
}
