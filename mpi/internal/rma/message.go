package rma

import "encoding/binary"

// Kind is what an origin asks of a target.
type Kind uint8

// The kinds of requests. Never renumber them: they are part of the wire protocol.
const (
	Put            Kind = 1 // the data follow in the request
	PutLong        Kind = 2 // the data come in a message of their own
	Get            Kind = 3
	Accumulate     Kind = 4
	GetAccumulate  Kind = 5
	CompareAndSwap Kind = 6 // the data are what to compare with, and the new value
	Flush          Kind = 7 // answer when all before it is done
	LockShared     Kind = 8
	LockExclusive  Kind = 9
	Unlock         Kind = 10 // Flush, and then give the lock back

	lastKind = Unlock
)

// IsAccess reports whether a request reads or writes memory.
func (k Kind) IsAccess() bool { return k >= Put && k <= CompareAndSwap }

// Op is a predefined operation of an accumulate.
type Op uint8

// The operations. Never renumber them.
const (
	OpReplace Op = iota
	OpNoOp
	OpSum
	OpProd
	OpMax
	OpMin
	OpLAnd
	OpLOr
	OpLXor
	OpBAnd
	OpBOr
	OpBXor
	OpMaxLoc
	OpMinLoc

	Ops // how many there are
)

// Bits of Elem beside the kind. Never renumber them.
const (
	// Parts says that the parts of a value may lie apart, as those of a struct with padding do:
	// what lies between them is not touched.
	Parts = 0x40
	// Index32 says that the index of a MaxLoc or MinLoc has 4 bytes, and IndexSame that it is of
	// the kind of the value; else it has 8. They come with Parts.
	Index32   = 0x10
	IndexSame = 0x20
	// KindBits are those of the kind: one of layout's, or one that only C calculates with.
	KindBits = 0x0f

	LongDouble  = 14 // of C, 16 bytes; with Parts
	LongComplex = 15 // two of these; with Parts
)

// Request is a message of an origin to the service of a target's window.
type Request struct {
	Kind   Kind
	Op     Op
	Elem   uint8  // kind of the values that Op combines, as layout.Kind has them, and bits
	Grain  int    // bytes of a value, of which none is torn
	Tag    uint32 // of the answer, and of the message with the data of a PutLong
	Blocks []Block
}

const (
	headerLen = 16
	blockLen  = 32

	// MaxMessage is the longest request, in bytes, data included.
	MaxMessage = 4 << 10
	// MaxBlocks is how many blocks a request has at most.
	MaxBlocks = 64
	// MaxTag is the greatest Tag.
	MaxTag = 1<<29 - 1
)

// Room is how many bytes of data a request with so many blocks may have.
func Room(blocks int) int { return MaxMessage - headerLen - blocks*blockLen }

// AppendRequest appends the message of r without data, which are to follow it.
//
// Layout, little-endian: kind, op, elem, number of blocks (1 byte each); tag (4); grain (4); 0 (4);
// of each block offset, length, stride and count (8 each).
func AppendRequest(b []byte, r *Request) []byte {
	b = append(b, byte(r.Kind), byte(r.Op), r.Elem, byte(len(r.Blocks)))
	b = binary.LittleEndian.AppendUint32(b, r.Tag)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Grain))
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, k := range r.Blocks {
		for _, n := range [...]int{k.Off, k.Len, k.Stride, k.Count} {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return b
}

// ConsumeRequest reads a message into r, whose blocks it uses again, and returns the data behind
// it. ok is false if it is none that a window sends.
func ConsumeRequest(b []byte, r *Request) (data []byte, ok bool) {
	if len(b) < headerLen {
		return nil, false
	}
	r.Kind, r.Op, r.Elem = Kind(b[0]), Op(b[1]), b[2]
	blocks := int(b[3])
	r.Tag, r.Grain = binary.LittleEndian.Uint32(b[4:]), int(binary.LittleEndian.Uint32(b[8:]))
	if r.Kind == 0 || r.Kind > lastKind || r.Op >= Ops || blocks > MaxBlocks || r.Tag > MaxTag || r.Grain > MaxMessage || len(b) < headerLen+blocks*blockLen {
		return nil, false
	}
	if r.Kind.IsAccess() != (blocks > 0) || r.Kind.IsAccess() && r.Grain == 0 {
		return nil, false
	}
	b, r.Blocks = b[headerLen:], r.Blocks[:0]
	size := 0
	for range blocks {
		var k Block
		for i, n := range [...]*int{&k.Off, &k.Len, &k.Stride, &k.Count} {
			*n = int(int64(binary.LittleEndian.Uint64(b[8*i:])))
		}
		if b = b[blockLen:]; !k.isSane() || r.Elem&Parts == 0 && k.Len%r.Grain != 0 {
			return nil, false
		}
		if size += k.Size(); size > limit {
			return nil, false
		}
		r.Blocks = append(r.Blocks, k)
	}
	if r.Elem&Parts != 0 && blocks > 0 && size%r.Grain != 0 {
		return nil, false
	}
	return b, r.hasData(size, len(b))
}

// hasData reports whether a request about size bytes may have n bytes of data.
func (r *Request) hasData(size, n int) bool {
	switch r.Kind {
	case Put, Accumulate:
		return n == size
	case GetAccumulate:
		return n == size || n == 0 && r.Op == OpNoOp && size <= MaxMessage
	case CompareAndSwap:
		return n == 2*size && size == r.Grain
	default:
		return n == 0
	}
}

// Verdict is what became of what was asked.
type Verdict uint8

// The verdicts. Never renumber them.
const (
	Fine       Verdict = 0
	OutOfRange Verdict = 1 // memory was meant that is no part of the window
	Malformed  Verdict = 2 // a request made no sense
	HolderDied Verdict = 3 // the lock was held by a rank that has failed
	NotHeld    Verdict = 4 // there was no lock to give back
	CutOff     Verdict = 5 // data did not arrive whole

	lastVerdict = CutOff
)

// Answer is the reply to a Flush, a Lock or an Unlock.
type Answer struct {
	Verdict Verdict // of the first request since the last answer that went wrong
	Rank    int     // HolderDied: the rank that has failed
	At, End int     // OutOfRange: what was meant, in bytes
}

// AnswerLen is the length of an Answer, in bytes.
const AnswerLen = 24

// AppendAnswer appends the message of a: verdict (1 byte), 0 (3), rank (4), at and end (8 each),
// little-endian.
func AppendAnswer(b []byte, a Answer) []byte {
	b = append(b, byte(a.Verdict), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.Rank))
	b = binary.LittleEndian.AppendUint64(b, uint64(a.At))
	return binary.LittleEndian.AppendUint64(b, uint64(a.End))
}

// ConsumeAnswer is the reverse of AppendAnswer.
func ConsumeAnswer(b []byte) (a Answer, ok bool) {
	if len(b) != AnswerLen || Verdict(b[0]) > lastVerdict {
		return Answer{}, false
	}
	return Answer{
		Verdict: Verdict(b[0]), Rank: int(binary.LittleEndian.Uint32(b[4:])),
		At: int(int64(binary.LittleEndian.Uint64(b[8:]))), End: int(int64(binary.LittleEndian.Uint64(b[16:]))),
	}, true
}
