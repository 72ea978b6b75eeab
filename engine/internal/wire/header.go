package wire

import (
	"encoding/binary"
	"slices"
)

// Version is the version of the protocol, in every frame header and every message of the handshake.
const Version = 2

// HeaderLen is the length of every frame header.
const HeaderLen = 32

// MinWindow is the least eager credit that a side grants the other. So much may be queued for a
// peer before the handshake says what it grants.
const MinWindow = 64 << 10

// EagerCost is what an Eager frame costs of the sender's credit beside its payload: what the
// receiver keeps for a message that waits there, which is much more than the header.
const EagerCost = 512

// MaxLength bounds the length of a message, the offset in one and the window of credit: 64 TiB.
// Sums of several such figures cannot overflow 64 bits.
const MaxLength = 1 << 46

// MaxSignal bounds the payload of a signal.
const MaxSignal = 4 << 10

// MaxStream bounds the length of a pair's stream in one direction: sums of positions in it do not
// overflow either.
const MaxStream = 1 << 62

// Lengths are ints in the engine: a 32-bit rank could not hold what the header may announce.
var _ int = MaxLength

// Kind says what a frame is. The comment of each lists the fields that it uses; every other field
// is zero, and a receiver refuses it otherwise.
type Kind uint8

const (
	// KindEager is a message sent without permission; its payload follows the header.
	// It costs HeaderLen + Length bytes of the credit that the receiver granted.
	//
	//	Tag, Context  the envelope
	//	Length        bytes of payload that follow
	//	Elem          class of the elements; of a step of a collective its mark, or 0
	//	Flags         FlagSync: answer with an Ack when matched; FlagObject: the payload is a serialised object
	//	ID            with FlagSync the sender's request id, else zero
	KindEager Kind = 1

	// KindRTS announces a message and asks where to put it. It matches as an Eager frame in its
	// place would. No payload follows.
	//
	//	Tag, Context  the envelope
	//	Length        bytes of the whole message
	//	Elem          class of the elements
	//	Flags         FlagObject as in KindEager; FlagSync: the CTS must wait for the match;
	//	              FlagPull: a receiver that shares memory with the sender may fetch the payload from its offer, and answer with a Fin
	//	ID            the sender's request id
	KindRTS Kind = 2

	// KindCTS says that an RTS has been matched, and approves its transfer.
	//
	//	ID       the sender's request id
	//	Context  the receiver's transfer id
	//	Length   bytes approved: the length of the message, less if the receiver truncates it.
	//	         Zero completes the send: no Data frame follows
	KindCTS Kind = 3

	// KindData carries approved bytes, in order and without gaps; other frames may stand between
	// two of them. Its payload follows the header.
	//
	//	ID       the receiver's transfer id
	//	Context  offset in the message of the first byte
	//	Length   bytes of payload that follow, at least one
	KindData Kind = 4

	// KindAck says that a synchronous eager message has been matched.
	//
	//	ID  the sender's request id
	KindAck Kind = 5

	// KindCredit returns credit to the sender of eager messages.
	//
	//	Length  bytes returned, at least one
	KindCredit Kind = 6

	// KindCancel asks for a message back that was sent as an RTS or as a synchronous Eager. A
	// CancelReply answers it.
	//
	//	Tag, Context  the envelope, by which the receiver finds it
	//	ID            the sender's request id
	KindCancel Kind = 7

	// KindCancelReply answers a Cancel.
	//
	//	Flags  FlagDone: the message is withdrawn; without: it was matched first
	//	ID     the sender's request id
	KindCancelReply Kind = 8

	// KindBye closes this direction: no frame follows. End of file without it means that the peer
	// failed.
	KindBye Kind = 9

	// KindHeartbeat says nothing but that the sender lives.
	//
	//	Flags  FlagPaused: silence is no sign of death until the next Heartbeat, as the sender is held in a debugger
	KindHeartbeat Kind = 10

	// KindFin says that the receiver has fetched the payload of an RTS with FlagPull itself. It
	// completes the send.
	//
	//	ID      the sender's request id
	//	Length  bytes fetched: the length of the message, less if the receiver truncates it
	KindFin Kind = 11

	// KindSignal is a small message between the engines themselves, which no receive matches. Its
	// payload follows the header.
	//
	//	Tag, Context, ID  what it is about, by its purpose
	//	Length            bytes of payload that follow, at most MaxSignal
	KindSignal Kind = 12

	// KindReceived acknowledges the peer's stream: so much of it need not be sent again. It exists
	// where both sides resume. It is itself no part of the stream that positions number.
	//
	//	Length  bytes of the peer's stream received so far, on all connections of the pair together, at most MaxStream
	KindReceived Kind = 13

	maxKind = KindReceived
)

// Flags qualify a frame; which kinds may carry which is said at the kinds.
type Flags uint8

const (
	FlagSync   Flags = 1 << iota // the sender waits for the match
	FlagObject                   // the payload is a serialised object, not the memory of elements
	FlagDone                     // the message asked for was withdrawn
	FlagPull                     // the payload may be fetched by its receiver
	FlagPaused                   // the sender may be silent for as long as it likes
)

// A Header is one frame header in memory.
type Header struct {
	Kind    Kind
	Flags   Flags
	Elem    uint8  // class of the payload's elements, 0 if not announced
	Tag     int32  // never negative on the wire: wildcards belong to receivers
	Context uint64 // of the envelope; in CTS a transfer id, in Data an offset
	Length  uint64 // bytes, at most MaxLength; of a Received frame a position, at most MaxStream
	ID      uint64 // of a request of the sender or of a transfer of the receiver
}

// PayloadLen returns how many bytes of payload follow the header.
func (h *Header) PayloadLen() int {
	if h.Kind == KindEager || h.Kind == KindData || h.Kind == KindSignal {
		return int(h.Length)
	}
	return 0
}

// PutHeader writes h to b[:HeaderLen]. Its precondition on h is that of Words.
//
// Preconditions:
//   - len(b) >= HeaderLen.
func PutHeader(b []byte, h *Header) {
	h.Words().Put(b)
}

// AppendHeader appends h to b. Its precondition on h is PutHeader's.
func AppendHeader(b []byte, h *Header) []byte {
	n := len(b)
	b = slices.Grow(b, HeaderLen)[:n+HeaderLen]
	PutHeader(b[n:], h)
	return b
}

// ConsumeHeader reads the header at the front of b into h. It returns HeaderLen if there is a valid
// one, 0 if b holds less than a header, and a negative n if the bytes are no header that a sender
// may send: Code(n) says why, and the stream is lost. With n <= 0 it leaves h alone.
func ConsumeHeader(b []byte, h *Header) (n int) {
	if len(b) < HeaderLen {
		return 0
	}
	_ = b[HeaderLen-1]
	w0 := binary.LittleEndian.Uint64(b[0:])
	w1 := binary.LittleEndian.Uint64(b[8:])
	w2 := binary.LittleEndian.Uint64(b[16:])
	w3 := binary.LittleEndian.Uint64(b[24:])
	s := &shapes[w0>>8&kindSlots|w0>>12&syncSlot]
	bad := (w0^s.fixed)&s.zero[0] | w1&s.zero[1] | w2&s.zero[2] | w3&s.zero[3]
	if bad != 0 || w2-s.minLength > s.span {
		return int(malformed([4]uint64{w0, w1, w2, w3}))
	}
	h.Kind = Kind(w0 >> 8)
	h.Flags = Flags(w0 >> 16)
	h.Elem = uint8(w0 >> 24)
	h.Tag = int32(w0 >> 32)
	h.Context, h.Length, h.ID = w1, w2, w3
	return HeaderLen
}

// Bits of the first word of a header.
const (
	versionBits uint64 = 0xff
	kindBits    uint64 = 0xff << 8
	flagBits    uint64 = 0xff << 16
	elemBits    uint64 = 0xff << 24
	tagBits     uint64 = 0xffffffff << 32
	tagSign     uint64 = 1 << 63
	allBits     uint64 = 1<<64 - 1
)

// A shape says what the valid headers of one kind look like: which bits are fixed or zero, so that
// a few ands check a whole header.
type shape struct {
	fixed     uint64    // fixed bits of the first word: version, kind, and FlagSync where the slot has it
	zero      [4]uint64 // bits that must be zero; of the first word, after xor with fixed
	minLength uint64    // the least Length
	span      uint64    // from there to the greatest
}

// The slot of a shape is made of the low bits of the kind and of FlagSync, on which the meaning of
// the id depends.
const (
	kindSlots  = 0x0f
	syncSlot   = 0x10
	shapeSlots = 0x20
)

// shapes has no gaps: a slot without a kind holds a shape that no header found by that slot can
// satisfy.
var shapes = func() (t [shapeSlots]shape) {
	for i := range t {
		k := Kind(i & kindSlots)
		if k < 1 || k > maxKind {
			t[i] = shape{fixed: uint64(k^1) << 8, zero: [4]uint64{kindBits}}
			continue
		}
		t[i] = shapeOf(k, i&syncSlot != 0)
	}
	return t
}()

// shapeOf returns the shape of headers of kind k, with FlagSync or without it.
func shapeOf(k Kind, sync bool) shape {
	const always = versionBits | kindBits | flagBits // and flags are then let through one by one
	allow := func(f Flags) uint64 { return always &^ (uint64(f) << 16) }

	s, longest := shape{fixed: Version | uint64(k)<<8}, uint64(MaxLength)
	switch k {
	case KindEager:
		s.zero = [4]uint64{allow(FlagObject) | tagSign, 0, 0, allBits}
		if sync {
			s.fixed |= uint64(FlagSync) << 16
			s.zero[3] = 0
		}
	case KindRTS:
		s.zero = [4]uint64{allow(FlagSync|FlagObject|FlagPull) | tagSign, 0, 0, 0}
	case KindCTS:
		s.zero = [4]uint64{always | elemBits | tagBits, 0, 0, 0}
	case KindData:
		s.zero = [4]uint64{always | elemBits | tagBits, allBits &^ (MaxLength - 1), 0, 0}
		s.minLength = 1
	case KindAck:
		s.zero = [4]uint64{always | elemBits | tagBits, allBits, allBits, 0}
	case KindCredit:
		s.zero = [4]uint64{always | elemBits | tagBits, allBits, 0, allBits}
		s.minLength = 1
	case KindCancel:
		s.zero = [4]uint64{always | elemBits | tagSign, 0, allBits, 0}
	case KindCancelReply:
		s.zero = [4]uint64{allow(FlagDone) | elemBits | tagBits, allBits, allBits, 0}
	case KindFin:
		s.zero = [4]uint64{always | elemBits | tagBits, allBits, 0, 0}
	case KindSignal:
		s.zero = [4]uint64{always | elemBits | tagSign, 0, 0, 0}
		longest = MaxSignal
	case KindReceived:
		s.zero = [4]uint64{always | elemBits | tagBits, allBits, 0, allBits}
		longest = MaxStream
	case KindHeartbeat:
		s.zero = [4]uint64{allow(FlagPaused) | elemBits | tagBits, allBits, allBits, allBits}
	case KindBye:
		s.zero = [4]uint64{always | elemBits | tagBits, allBits, allBits, allBits}
	default:
		panic("wire: no shape for " + k.String())
	}
	s.span = longest - s.minLength
	return s
}
