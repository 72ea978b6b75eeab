package trace

import "fmt"

// Kind is what an event is.
type Kind uint8

// The kinds of events. Those with a span have it in Time and Span, the others happen at Time.
const (
	Call        Kind = iota + 1 // a call of the user's, in slot Track; to or from Peer if it is of one
	Posted                      // message Seq to Peer was begun
	Sent                        // message Seq to Peer was complete for its sender
	Arrived                     // message Seq of Peer, or its announcement, has arrived
	Received                    // message Seq of Peer was complete for its receiver
	Turn                        // the worker did something
	Slept                       // the worker slept
	Collective                  // a collective was under way
	RegionBegun                 // region Seq of the user's
	Region                      // region Bytes has ended: its span
	kindEnd
)

func (k Kind) String() string {
	names := [...]string{"", "call", "posted", "sent", "arrived", "received", "turn", "slept", "collective", "region begun", "region"}
	if int(k) >= len(names) || k == 0 {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return names[k]
}

// hasSpan reports whether the second word of an event is how long it took.
func (k Kind) hasSpan() bool {
	return k == Call || k == Turn || k == Slept || k == Collective || k == Region
}

// Flags of messages, in Event.Track.
const (
	ByEager      = 1      // the payload follows its header without permission
	ByRendezvous = 2      // the payload waits for its receiver
	ofProtocol   = 3      // which of both, 0: it travels with its header
	OfCollective = 1 << 2 // not the user's own
	Whole        = 1 << 3 // it is complete as well
	Expected     = 1 << 4 // of Arrived: its receive was posted
	Failed       = 1 << 5 // of Sent and Received: with an error, or cancelled
)

// NoPeer is the Peer of an event that is of none.
const NoPeer = 1<<20 - 1

// Beyond is the Peer of an event that is of a rank of another launcher, or whose number is too
// large.
const Beyond = NoPeer - 1

// MaxBytes is the largest Bytes that an event can say.
const MaxBytes = 1<<44 - 1

// Event is one event.
type Event struct {
	Kind  Kind
	Track uint8  // of Call the slot of its caller, of messages flags
	Name  uint16 // of Call, Collective, Region what it is; of messages the communicator. See Recording.Name
	Time  int64  // on the monotonic clock of its host, in nanoseconds
	Span  int64  // for how long
	Seq   uint32 // number among the messages from one rank to the other, or of a region
	Tag   int32  // of messages
	Peer  int    // number of a rank among all of the launcher, Beyond or NoPeer
	Bytes int64
}

// words packs e, but for the round in the first word.
//
//	0  sum and round (32 bits), name (16), track (8), kind (8)
//	1  time
//	2  span, or number of the message (32 bits) and tag (32)
//	3  bytes (44 bits), peer (20)
func (e *Event) words() (head uint32, time, a, b uint64) {
	head = uint32(e.Name)<<16 | uint32(e.Track)<<8 | uint32(e.Kind)
	if a = uint64(e.Span); !e.Kind.hasSpan() {
		a = uint64(e.Seq)<<32 | uint64(uint32(e.Tag))
	}
	return head, uint64(e.Time), a, partner(e.Peer, e.Bytes)
}

// partner is the last word.
func partner(peer int, bytes int64) uint64 { return uint64(bytes)<<20 | uint64(uint32(peer)&NoPeer) }

// eventOf is the inverse of words. It reports whether that can be an event.
func eventOf(head uint32, time, a, b uint64) (e Event, ok bool) {
	e = Event{Kind: Kind(head), Track: uint8(head >> 8), Name: uint16(head >> 16), Time: int64(time), Peer: int(b & NoPeer), Bytes: int64(b >> 20)}
	if e.Kind.hasSpan() {
		e.Span = int64(a)
	} else {
		e.Seq, e.Tag = uint32(a>>32), int32(uint32(a))
	}
	isMessage := e.Kind >= Posted && e.Kind <= Received
	ok = e.Kind > 0 && e.Kind < kindEnd && e.Time > 0 && e.Span >= 0 && e.Time+e.Span >= e.Time &&
		(e.Peer != NoPeer || !isMessage)
	return e, ok
}

// sum is what says that an event is whole, and of which round.
func sum(head uint32, time, a, b, round uint64) uint32 {
	const k = 0x9e3779b97f4a7c15
	h := (uint64(head) ^ round<<32 ^ round>>32) * k
	h = (h ^ h>>29 ^ time) * k
	h = (h ^ h>>31 ^ a) * k
	h = (h ^ h>>30 ^ b) * k
	return uint32(h>>32) | 1 // never that of memory that was not written
}
