package agree

import (
	"encoding/binary"
	"math/bits"
)

// Value is what a member contributes, and what is decided.
type Value struct {
	Flag   uint64 // bitwise AND of the contributions
	Kinds  uint8  // bitwise OR: which operations the members mean; more than one bit is an error of theirs
	Token  uint64 // the contribution of one member, the one that has made the proposal
	Failed Set    // union: members known to have failed, among them all whose contribution is missing
	Known  Set    // intersection: failed members of which every member has said that it knows
}

// merge adds what another contributes.
func (v *Value) merge(w *Value) {
	v.Flag &= w.Flag
	v.Kinds |= w.Kinds
	v.Failed.AddAll(w.Failed)
	v.Known.Keep(w.Known)
}

func (v *Value) clone() Value {
	w := *v
	w.Failed, w.Known = v.Failed.Clone(), v.Known.Clone()
	return w
}

// Kind says what a message means.
type Kind uint8

// The kinds of messages.
const (
	Gather  Kind = 1 // all in the sender's subtree have contributed Value, or are dead
	Propose Kind = 2 // the coordinator Ballot proposes Value
	Ack     Kind = 3 // all in the sender's subtree have accepted what Ballot proposes, or are dead
	Commit  Kind = 4 // Value is decided
)

// Message is what one member says to another about an agreement.
type Message struct {
	Kind   Kind
	Number uint64 // of the agreement
	Ballot int    // of Propose and Ack; else 0
	Value  Value  // of all but Ack
}

// MaxMembers bounds the members of a group, so that every message has at most MaxMessage bytes.
const (
	MaxMembers = 15 << 10
	MaxMessage = 4 << 10
)

// Append appends the message to b.
//
//	kind    1 byte
//	number  uvarint
//	ballot  uvarint, of Propose and Ack
//	flag    8 bytes, little-endian    of all but Ack, as what follows
//	kinds   1 byte
//	token   8 bytes, little-endian
//	failed, known   sets
//
// A set is the uvarint 2k and k members, each as the uvarint of its distance from the one before,
// less one (the first from -1). Where that is shorter, it is the uvarint 2k+1 and k bytes of bits:
// the lowest member in the lowest bit of the first, the last of them not zero.
func (m *Message) Append(b []byte) []byte {
	b = append(b, byte(m.Kind))
	b = binary.AppendUvarint(b, m.Number)
	if m.Kind == Propose || m.Kind == Ack {
		b = binary.AppendUvarint(b, uint64(m.Ballot))
	}
	if m.Kind == Ack {
		return b
	}
	b = binary.LittleEndian.AppendUint64(b, m.Value.Flag)
	b = append(b, m.Value.Kinds)
	b = binary.LittleEndian.AppendUint64(b, m.Value.Token)
	b = appendSet(b, m.Value.Failed)
	return appendSet(b, m.Value.Known)
}

func appendSet(b []byte, s Set) []byte {
	list, dense := appendList(nil, s), appendBits(nil, s)
	if len(dense) < len(list) {
		return append(b, dense...)
	}
	return append(b, list...)
}

func appendList(b []byte, s Set) []byte {
	b = binary.AppendUvarint(b, uint64(s.Len())<<1)
	last := -1
	for _, r := range s.Members() {
		b = binary.AppendUvarint(b, uint64(r-last-1))
		last = r
	}
	return b
}

func appendBits(b []byte, s Set) []byte {
	k := 0 // bytes up to the highest element
	for i, w := range s {
		if w != 0 {
			k = i*8 + (bits.Len64(w)+7)/8
		}
	}
	b = binary.AppendUvarint(b, uint64(k)<<1|1)
	for i := range k {
		b = append(b, byte(s[i/8]>>(i%8*8)))
	}
	return b
}

// Consume reads a message of a group of n members; ok is false if b is none.
func Consume(b []byte, n int) (m Message, ok bool) {
	r := reader{b: b, n: n, ok: true}
	m.Kind = Kind(r.octet())
	m.Number = r.uvarint()
	switch m.Kind {
	case Propose, Ack:
		m.Ballot = r.below(n)
	case Gather, Commit:
	default:
		return Message{}, false
	}
	if m.Kind != Ack {
		m.Value = Value{Flag: r.word(), Kinds: r.octet(), Token: r.word(), Failed: r.set(), Known: r.set()}
	}
	if !r.ok || len(r.b) > 0 {
		return Message{}, false
	}
	return m, true
}

// reader takes a message apart; ok is false once something was missing or wrong.
type reader struct {
	b  []byte
	n  int // members of the group
	ok bool
}

func (r *reader) octet() byte {
	if len(r.b) < 1 {
		r.ok = false
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.ok = false
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.ok, r.b = false, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// below is a number from 0 to n-1.
func (r *reader) below(n int) int {
	v := r.uvarint()
	if v >= uint64(n) {
		r.ok = false
		return 0
	}
	return int(v)
}

func (r *reader) set() Set {
	head := r.uvarint()
	k := head >> 1
	if head&1 != 0 {
		return r.bits(k)
	}
	var s Set
	last := -1
	for range min(k, uint64(len(r.b))) {
		last += 1 + r.below(r.n-last-1)
		if !r.ok {
			return nil
		}
		s.Add(last)
	}
	if s.Len() != int(k) {
		r.ok = false
	}
	return s
}

func (r *reader) bits(k uint64) Set {
	if k > uint64(len(r.b)) || k > uint64(r.n+7)/8 {
		r.ok = false
		return nil
	}
	s := make(Set, (k+7)/8)
	for i := range k {
		s[i/8] |= uint64(r.octet()) << (i % 8 * 8)
	}
	if k > 0 && s[(k-1)/8]>>((k-1)%8*8) == 0 || len(s) > 0 && s[len(s)-1] != 0 && (len(s)-1)*64+bits.Len64(s[len(s)-1]) > r.n {
		r.ok = false
	}
	return s
}
