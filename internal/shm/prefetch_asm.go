//go:build amd64 || arm64

package shm

// prefetchWrite asks the processor to get the line of c for writing, which the reader's core has.
// It changes nothing.
//
//go:noescape
func prefetchWrite(c *cell)
