package wire

import "encoding/binary"

// Words is a header as it lies on the wire: its words, each to be stored little-endian. A struct of
// four words is passed in registers. One that is passed in memory is stored field by field and
// loaded 16 bytes at a time, for which the processor waits until the stores have reached the cache.
type Words struct{ First, Context, Length, ID uint64 }

// EagerWords is the header of an Eager frame without FlagSync, as it lies on the wire.
func EagerWords(f Flags, elem uint8, tag int32, context, length uint64) Words {
	return Words{Version | uint64(KindEager)<<8 | uint64(f)<<16 | uint64(elem)<<24 | uint64(uint32(tag))<<32, context, length, 0}
}

// Flags are those of the header.
func (w Words) Flags() Flags { return Flags(w.First >> 16) }

// Elem is the class of the payload's elements.
func (w Words) Elem() uint8 { return uint8(w.First >> 24) }

// Tag is that of the header.
func (w Words) Tag() int32 { return int32(w.First >> 32) }

// Header is w in memory.
func (w Words) Header() Header {
	return Header{Kind: Kind(w.First >> 8), Flags: w.Flags(), Elem: w.Elem(), Tag: w.Tag(), Context: w.Context, Length: w.Length, ID: w.ID}
}

// Words is h as it lies on the wire.
//
// Preconditions:
//   - h is one that ConsumeHeader accepts. Words does not look: headers of our own making are right
//     or are a bug that the peer's refusal shows.
func (h *Header) Words() Words {
	return Words{Version | uint64(h.Kind)<<8 | uint64(h.Flags)<<16 | uint64(h.Elem)<<24 | uint64(uint32(h.Tag))<<32, h.Context, h.Length, h.ID}
}

// Put writes w to b[:HeaderLen].
//
// Preconditions:
//   - len(b) >= HeaderLen.
func (w Words) Put(b []byte) {
	_ = b[HeaderLen-1]
	binary.LittleEndian.PutUint64(b[0:], w.First)
	binary.LittleEndian.PutUint64(b[8:], w.Context)
	binary.LittleEndian.PutUint64(b[16:], w.Length)
	binary.LittleEndian.PutUint64(b[24:], w.ID)
}

// ConsumeEager is ConsumeHeader for a caller that asks only for Eager frames without FlagSync, and
// leaves the header in registers. Without ok there is another frame at the front of b, or none:
// ConsumeHeader says which.
func ConsumeEager(b []byte) (w Words, ok bool) {
	if len(b) < HeaderLen {
		return Words{}, false
	}
	_ = b[HeaderLen-1]
	w.First = binary.LittleEndian.Uint64(b[0:])
	w.Context = binary.LittleEndian.Uint64(b[8:])
	w.Length = binary.LittleEndian.Uint64(b[16:])
	w.ID = binary.LittleEndian.Uint64(b[24:])
	return w, w.IsEager()
}

// IsEager reports whether w is the header of an Eager frame without FlagSync. A caller that has
// read w where a peer may write looks at w, not there again.
func (w Words) IsEager() bool {
	return (w.First^eagerFixed)&eagerZero|w.ID == 0 && w.Length <= MaxLength
}

// eagerFixed and eagerZero are the first word's in the shape of Eager frames without FlagSync,
// which TestConsumeEager compares.
const (
	eagerFixed = Version | uint64(KindEager)<<8
	eagerZero  = versionBits | kindBits | flagBits&^(uint64(FlagObject)<<16) | tagSign
)

// IsOffer reports whether w is the header of an RTS frame with FlagPull, and of no other flag but
// FlagObject.
func (w Words) IsOffer() bool {
	return (w.First^offerFixed)&eagerZero == 0 && w.Length <= MaxLength
}

// offerFixed is the first word's in the shape of such a frame.
const offerFixed = Version | uint64(KindRTS)<<8 | uint64(FlagPull)<<16

// KindOf is the kind of the frame whose header is at the front of b, if it is a header; 0 if b is
// too short for one.
func KindOf(b []byte) Kind {
	if len(b) < HeaderLen {
		return 0
	}
	return Kind(b[1])
}
