package wire

import "encoding/binary"

// The messages of the handshake have fixed lengths and begin with the same prefix:
//
//	0  magic    "FITM"
//	4  version  u16
//	6  message  u8   a msgKind
//	7  param    u8   HELLO, CHALLENGE: byte order; VERDICT: the verdict; PROOF: zero
//
// HELLO then names the job, HELLO and CHALLENGE carry a claim, and all but HELLO end in a proof.
const (
	magic = "FITM"

	prefixLen = 8
	jobLen    = 16
	claimLen  = 72
	proofLen  = 32

	helloLen     = prefixLen + jobLen + claimLen
	challengeLen = prefixLen + claimLen + proofLen
	finalLen     = prefixLen + proofLen // PROOF and VERDICT

	maxMessageLen = challengeLen
)

// What a proof is for. It is over its label and then every byte of the handshake before the proof
// itself. No label is a prefix of another, so no proof can stand for another.
const (
	labelAcceptor = "FITMPI2 acceptor"
	labelDialer   = "FITMPI2 dialer"
	labelVerdict  = "FITMPI2 verdict"
)

// A msgKind tells the messages of the handshake apart.
type msgKind uint8

const (
	msgNone      msgKind = iota
	msgHello             // dialer to acceptor
	msgChallenge         // acceptor to dialer
	msgProof             // dialer to acceptor
	msgVerdict           // acceptor to dialer
)

// len returns the length of the whole message.
func (k msgKind) len() int {
	switch k {
	case msgNone:
		return 0
	case msgHello:
		return helloLen
	case msgChallenge:
		return challengeLen
	case msgProof, msgVerdict:
		return finalLen
	default:
		panic("wire: length of an unknown message")
	}
}

// Byte orders of payloads, as HELLO and CHALLENGE announce them.
const (
	orderLittle = 1
	orderBig    = 2
)

func orderOf(bigEndian bool) uint8 {
	if bigEndian {
		return orderBig
	}
	return orderLittle
}

// Flags of a claim.
const (
	claimResume = 1 // this side can go on with its streams on another connection

	claimFlags = claimResume // all that there are
)

// A claim is what a side says of itself and of the rank that it means to speak to.
type claim struct {
	from, to uint32 // ranks
	size     uint32 // ranks in the job
	flags    uint32 // claimResume
	window   uint64 // bytes of eager credit granted to the other side
	session  Session
	beat     uint32 // milliseconds between the heartbeats that this side promises, 0 if none
	nonce    [32]byte
}

func appendPrefix(b []byte, k msgKind, param uint8) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, Version)
	return append(b, byte(k), param)
}

func appendClaim(b []byte, c *claim) []byte {
	b = binary.LittleEndian.AppendUint32(b, c.from)
	b = binary.LittleEndian.AppendUint32(b, c.to)
	b = binary.LittleEndian.AppendUint32(b, c.size)
	b = binary.LittleEndian.AppendUint32(b, c.flags)
	b = binary.LittleEndian.AppendUint64(b, c.window)
	b = binary.LittleEndian.AppendUint64(b, c.session.Received)
	b = binary.LittleEndian.AppendUint32(b, c.session.Connection)
	b = binary.LittleEndian.AppendUint32(b, c.beat)
	return append(b, c.nonce[:]...)
}

// consumePrefix checks the first prefixLen bytes of a message that should be a k.
func consumePrefix(b []byte, k msgKind) (param uint8, r Reject) {
	switch {
	case string(b[:4]) != magic:
		return 0, RejectBadMagic
	case binary.LittleEndian.Uint16(b[4:]) != Version:
		return 0, RejectBadVersion
	case msgKind(b[6]) != k:
		return 0, RejectBadMessage
	}
	return b[7], RejectNone
}

// consumeClaim reads a claim. It checks nothing; len(b) is claimLen.
func consumeClaim(b []byte) claim {
	_ = b[claimLen-1]
	c := claim{
		from:   binary.LittleEndian.Uint32(b[0:]),
		to:     binary.LittleEndian.Uint32(b[4:]),
		size:   binary.LittleEndian.Uint32(b[8:]),
		flags:  binary.LittleEndian.Uint32(b[12:]),
		window: binary.LittleEndian.Uint64(b[16:]),
		session: Session{
			Received:   binary.LittleEndian.Uint64(b[24:]),
			Connection: binary.LittleEndian.Uint32(b[32:]),
		},
		beat:  binary.LittleEndian.Uint32(b[36:]),
		nonce: [32]byte(b[40:claimLen]),
	}
	c.session.Resume = c.flags&claimResume != 0
	return c
}
