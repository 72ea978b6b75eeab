package trace

import (
	"sync/atomic"
	"unsafe"
)

// slot is an event in memory.
type slot [eventSize / 8]uint64

// slotAt is the i-th slot of events without a check: i is masked by its caller.
func slotAt(events *byte, i uint64) *slot {
	return (*slot)(unsafe.Add(unsafe.Pointer(events), i*eventSize))
}

// wordAt is a word of the header. Preconditions: off is a multiple of 8 within it, and mem begins
// on a page.
func wordAt(mem []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[:headerSize][off]))
}

// callSlot is what is said of a call that is open.
type callSlot [openSize / 8]uint64

// callSlotAt is the i-th of them. Preconditions: i < Slots, and mem begins on a page.
func callSlotAt(mem []byte, i int) *callSlot {
	return (*callSlot)(unsafe.Pointer(&mem[:headerSize][openAt+i*openSize]))
}

// isAligned reports whether mem begins where words may.
func isAligned(mem []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%8 == 0 }
