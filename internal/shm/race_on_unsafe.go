//go:build race

package shm

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

// raceWrote tells the race detector of bytes that the kernel wrote. Preconditions: len(b) > 0.
func raceWrote(b []byte) { runtime.RaceWriteRange(unsafe.Pointer(&b[0]), len(b)) }
