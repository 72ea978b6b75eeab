//go:build amd64 || arm64

package callsite

// walk writes up to n return addresses from pcs on, the first of which is its caller's. It stays
// inside the goroutine's stack, whatever the chain says.
//
//go:noescape
func walk(pcs *uintptr, n int) int

// walk32 is walk of the low halves.
//
//go:noescape
func walk32(pcs *uint32, n int) int
