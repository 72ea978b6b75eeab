package shm

import (
	"structs"
	"sync/atomic"
)

// MaxRanks is how many ranks one segment can have.
const MaxRanks = 1024

// NumOffers is how many payloads a rank can offer at a time. Receives take their numbers from the
// same ids: 64 places did for half of a window of 64 messages each way, and the others went through
// the ring at a third of the bandwidth.
const NumOffers = 256

// Block is what a rank, its owner, shows to the ranks that it shares memory with. Every field may
// hold anything if one of them is hostile. What others write often lies on other lines than what
// they read often.
type Block struct {
	_ structs.HostLayout

	// Armed is 1 while the owner sleeps, or is about to. A peer that has put something for the
	// owner swaps it to 0, and rings if it was 1.
	Armed atomic.Uint32
	_     [4]byte
	Rung  atomic.Uint64 // when the owner's bell was rung last, by sys.Monotonic; 0 once the owner has seen it
	_     [apart - 16]byte

	// Written by the owner alone, seldom.

	Window     atomic.Uint64 // eager credit that the owner grants each peer, bytes; 0 until the rank has joined
	CookieAddr atomic.Uint64 // where Cookie lies in the owner's process
	Cookie     atomic.Uint64 // a random number
	PID        atomic.Int32  // of the owner's process in its own namespace; 0 until Join
	Closed     atomic.Uint32 // 1 once the owner uses no ring any more
	Beat       atomic.Uint64 // another number as long as the owner lives, now and then; odd while it is held in a debugger; 0 if it promises none
	_          [apart - 40]byte

	Opened [MaxRanks / 64]atomic.Uint64 // bit i%64 of word i/64: rank i has begun to use its ring to the owner
	Ended  [MaxRanks / 64]atomic.Uint64 // the same bits: rank i uses neither ring of the pair any more, and no goodbye in its ring says so
	Offers [NumOffers]Offer             // of the owner, for ReadProcess; a line each
}

// Offer is one payload that the owner of a Block lets others fetch. What State means is for the
// owner and the others to agree on. The side that changes State by compare-and-swap owns the
// offer's other words until the next change.
type Offer struct {
	_     structs.HostLayout
	State atomic.Uint64
	Addr  atomic.Uint64 // in the owner's process
	Len   atomic.Uint64 // bytes
	_     [lineSize - 24]byte
}
