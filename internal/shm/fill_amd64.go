package shm

const hasFill = true

// askForLines asks the processor to get the lines of n bytes at p for writing. It changes nothing.
// Preconditions: n > 0.
//
//go:noescape
func askForLines(p *byte, n int)

// storeAround copies n bytes by stores that bypass the caches. They are done before any later
// store. Preconditions: n > 0 is a multiple of 64, dst of 16.
//
//go:noescape
func storeAround(dst, src *byte, n int)
