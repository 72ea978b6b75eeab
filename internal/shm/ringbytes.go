package shm

// RingBytes is the memory of each ring between ranks of a host that has so many: what a Segment
// gives it, and what those should have that lie in Go memory.
func RingBytes(ranks int) int { return ringSize(max(ranks, 2)) }
