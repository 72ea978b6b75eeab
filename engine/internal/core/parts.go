package core

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Parts is one end of a partitioned message (MPI 4.1, chapter 4). The sender makes
// its partitions ready one by one, in any order, and each leaves at once as a message
// of its own; the receiver takes each of them.
//
// So the receiver must know how the sender has cut the message. It learns that from
// the hello, a message that the sender's initialisation sends and that the receiver's
// waits for: hellos have a context of their own and the tag that users gave, so their
// order is the order of matching. A receive that is started before the hello has come
// begins when it comes.
//
// A partition is a range of the stream of the message's data: all of the sender's are
// equally long, so the k-th of n is the k-th n-th of it, wherever in memory either end
// has those bytes. The receiver's partitions are ranges of the same stream.
//
//	       start                   all partitions done
//	Idle ─────────▶ Moving ──────────────────────────▶ Done ──▶ Moving ...
//
// The owner fills in the request fields and gives it to InitParts. What a partition
// costs while nothing of it is under way is two bits, so that a peer's hello cannot make
// us allocate more than MaxPartitions/4 bytes: see block.
type Parts struct {
	MSO MSO // Kind is KindParts: done when the round is

	// Request fields: immutable after InitParts.
	Send   bool
	Null   bool // to no rank: what is ready is done
	Object bool // partitions are serialised objects
	Elem   uint8
	Peer   PeerID
	Tag    Tag
	Hello  ContextID // of the hello
	Data   ContextID // of the partitions
	Base   Tag       // of the sender: tag of its first partition; the others follow
	Count  int       // partitions at this end
	Total  int       // length of the whole message, as both ends must give it: in bytes of data, or objects
	Buf    []byte    // the whole message, unless it is of objects, or has a
	Layout PartLayout
	Note   []byte // of the sender: nil, or NoteLen bytes that the receiver's owner gets with the hello

	known atomic.Bool           // the sender's partitions are known: first, blocks and states are set, for good
	begun atomic.Bool           // started at least once
	bad   atomic.Pointer[error] // why partitions failed, in the last round in which some did

	// Engine fields: guarded by the engine's mutex, but for what known publishes.
	first    Tag            // of the first of the sender's partitions
	blocks   int            // how many partitions the sender has; 0 until known
	states   blockStates    // of each of them in this round
	under    []*block       // those whose messages are under way, in no order
	idle     *block         // free list
	payloads map[int][]byte // of a receive of objects: what has come in this round and was not taken
	hello    MSO
	wire     [helloLen + NoteLen]byte
	left     int   // partitions not done in this round
	err      error // first error of this round
	wrong    error // the two ends do not fit: what comes goes nowhere
	fault    error // why no round can be started any more
	at       int   // of a sender in a round: its place in Core.sends
}

// PartLayout is the layout of a partitioned message. Its methods may be called for
// different parts of the message at once.
type PartLayout interface {
	Layout
	// Piece is the memory of bytes [off, off+n) of the message if it is one piece, and
	// they lie there as they travel; else nil.
	Piece(off, n int) []byte
}

// MaxPartitions bounds what a peer can make us allocate.
const MaxPartitions = 1 << 20

// Errors of Ready.
var (
	ErrInactive     = errors.New("the request is not started")
	ErrReadyAlready = errors.New("the partition is ready already")
)

// UnequalError says that the ends of a partitioned message do not fit.
type UnequalError struct {
	Theirs, Ours             int // length of the message: in bytes, or objects
	TheirParts, OurParts     int
	TheirObjects, OurObjects bool
}

func (e *UnequalError) Error() string {
	unit := func(objects bool) string {
		if objects {
			return "objects"
		}
		return "bytes"
	}
	return fmt.Sprintf("the sender's %d partitions are %d %s in all, the receiver's %d are %d %s",
		e.TheirParts, e.Theirs, unit(e.TheirObjects), e.OurParts, e.Ours, unit(e.OurObjects))
}

// endedError is what comes of a round that was abandoned.
type endedError struct{ cause error }

func (e *endedError) Error() string {
	return fmt.Sprintf("an earlier round was ended (%v), so the two ends no longer agree which one is next: make a new pair of requests", e.cause)
}
func (e *endedError) Unwrap() error { return e.cause }

// Arrived reports whether the i-th of the receiver's partitions is in place, which it is when all
// of the sender's that overlap it are. It takes no lock: any goroutine may ask. A request that is
// not active has nothing to wait for.
func (p *Parts) Arrived(i int) (bool, error) {
	switch {
	case !p.begun.Load():
		return true, nil
	case p.MSO.IsDone():
		return true, p.MSO.Err
	case !p.known.Load():
		return false, nil
	}
	first, end := p.Overlap(i)
	for k := first; k < end; k++ {
		switch p.states.get(k) {
		case blockThere:
		case blockFailed:
			return true, *p.bad.Load()
		default:
			return false, nil
		}
	}
	return true, nil
}

// Overlap returns which of the sender's partitions, from first to before end, share
// something with the i-th of the receiver's. Parts of nothing are treated alike: they
// arrive when those do that are at the same place of the message.
//
// Preconditions:
//   - IsKnown.
func (p *Parts) Overlap(i int) (first, end int) {
	return i * p.blocks / p.Count, ((i+1)*p.blocks + p.Count - 1) / p.Count
}

// IsKnown reports whether the sender's hello has come. It takes no lock.
func (p *Parts) IsKnown() bool { return p.known.Load() }

// Blocks is the number of the sender's partitions.
//
// Preconditions:
//   - IsKnown.
func (p *Parts) Blocks() int { return p.blocks }

// GotElem is the sender's Elem.
//
// Preconditions:
//   - IsKnown.
func (p *Parts) GotElem() uint8 { return p.hello.GotElem }

// GotNote is the sender's Note, nil if there is none.
//
// Preconditions:
//   - IsKnown.
func (p *Parts) GotNote() []byte {
	if p.hello.Length != helloLen+NoteLen {
		return nil
	}
	return p.wire[helloLen:]
}

// TakePayload returns what came for the k-th of the sender's partitions of objects, once:
// ok is false when it was taken, or nothing has come in this round.
func (p *Parts) TakePayload(k int) (b []byte, ok bool) {
	b, ok = p.payloads[k]
	delete(p.payloads, k)
	return b, ok
}
