//go:build linux && race && !fitmpi_portable

package netpoll

import (
	"runtime"
	"unsafe"
)

// The kernel's reads and writes of our memory are invisible to the race detector, and so is the
// order that a message through a socket creates between two goroutines of one process. These calls
// make both known, as package syscall does.

const raceEnabled = true

var ioSync int64 // one happens-before edge for all sockets: coarser than the truth, like package syscall's

func raceWrote(b []byte) {
	if len(b) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&b[0]), len(b))
	}
}

func raceRead(b []byte) {
	if len(b) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&b[0]), len(b))
	}
}

func raceAcquire() { runtime.RaceAcquire(unsafe.Pointer(&ioSync)) }
func raceRelease() { runtime.RaceReleaseMerge(unsafe.Pointer(&ioSync)) }
