package core

import "unsafe"

// entrySize is what a message that waits for its receive takes beside its payload, in bytes; with a
// tag of its own.
const entrySize = int(unsafe.Sizeof(MSO{}) + unsafe.Sizeof(queue{}))

// within reports whether p points into the n bytes at base.
func within(base *byte, n int, p *byte) bool {
	return uintptr(unsafe.Pointer(p))-uintptr(unsafe.Pointer(base)) < uintptr(n)
}

// distance is how far p lies behind base, in bytes.
func distance(base, p *byte) int {
	return int(uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(base)))
}
