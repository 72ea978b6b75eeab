//go:build linux && !fitmpi_portable

package sys

import "unsafe"

// offsetAligned is the first index of b, not empty, whose address is a multiple of size.
func offsetAligned(b []byte, size uintptr) int {
	return int(-uintptr(unsafe.Pointer(&b[0])) % size)
}
