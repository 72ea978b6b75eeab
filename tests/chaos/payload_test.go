//go:build linux

package chaos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

// What messages contain. Everything about a message follows from which rank sends it to which, and
// as which of their messages. So the receiver knows each byte that must come. If the bytes of
// another message come instead, a header in them tells which message that is.

// sealBytes is the header of a payload, of which short payloads have the beginning.
const sealBytes = 48

// pattern is what follows the header: a part of it that begins at a place of the message's own.
var pattern = func() []byte {
	b := make([]byte, longest+patternStart)
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b
}()

const (
	patternStart = 1 << 20 // places at which a message's part may begin
	longest      = 2 << 20 // bytes of the longest message
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// flow is a stream of messages, from one rank of a communicator to another, in one epoch of a job.
type flow struct {
	seed     uint64 // of the job
	epoch    int
	strand   int // which of the streams between the two
	from, to int
}

// key is a number of the flow's own.
func (f flow) key() uint64 {
	return mix(f.seed ^ mix(uint64(f.epoch)<<32|uint64(f.strand)<<24|uint64(f.from)<<12|uint64(f.to)))
}

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fill makes b, of the length that the message has, the payload of message seq.
func (f flow) fill(b []byte, seq int) {
	at := int(mix(f.key()^uint64(seq)) % patternStart)
	if len(b) > sealBytes {
		copy(b[sealBytes:], pattern[at:])
	}
	var seal [sealBytes]byte
	for i, v := range []uint64{f.seed, uint64(f.epoch), uint64(f.strand)<<32 | uint64(f.from)<<16 | uint64(f.to), uint64(seq), uint64(len(b))} {
		binary.LittleEndian.PutUint64(seal[8*i:], v)
	}
	sum := crc32.Checksum(seal[:sealBytes-8], castagnoli)
	binary.LittleEndian.PutUint64(seal[sealBytes-8:], uint64(crc32.Update(sum, castagnoli, b[min(len(b), sealBytes):])))
	copy(b, seal[:])
}

// check compares what came as message seq, which is of n bytes, with what was sent.
func (f flow) check(got []byte, seq, n int) error {
	if len(got) == n && n > sealBytes {
		at := int(mix(f.key()^uint64(seq)) % patternStart)
		if bytes.Equal(got[sealBytes:], pattern[at:at+n-sealBytes]) && f.sealed(got, seq) {
			return nil
		}
	}
	want := make([]byte, n)
	f.fill(want, seq)
	if bytes.Equal(got, want) {
		return nil
	}
	return wrongf("message %d of %d bytes of %v: %s", seq, n, f, differs(got, want))
}

// sealed reports whether the header of got is that of message seq, of the length that got has.
func (f flow) sealed(got []byte, seq int) bool {
	sum := crc32.Checksum(got[:sealBytes-8], castagnoli)
	sum = crc32.Update(sum, castagnoli, got[sealBytes:])
	return binary.LittleEndian.Uint64(got) == f.seed && binary.LittleEndian.Uint64(got[8:]) == uint64(f.epoch) &&
		binary.LittleEndian.Uint64(got[16:]) == uint64(f.strand)<<32|uint64(f.from)<<16|uint64(f.to) &&
		binary.LittleEndian.Uint64(got[24:]) == uint64(seq) && binary.LittleEndian.Uint64(got[32:]) == uint64(len(got)) &&
		binary.LittleEndian.Uint64(got[sealBytes-8:]) == uint64(sum)
}

func (f flow) String() string {
	return fmt.Sprintf("stream %d from %d to %d in epoch %d", f.strand, f.from, f.to, f.epoch)
}

// differs says where got, which is wrong, leaves want, and what it seems to be.
func differs(got, want []byte) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	what := fmt.Sprintf("%d bytes came; the first wrong one is byte %d", len(got), at)
	if len(got) < sealBytes {
		return what
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(got[8*i:]) }
	return fmt.Sprintf("%s; its header is that of message %d, of %d bytes, of %v", what, word(3), word(4),
		flow{seed: word(0), epoch: int(word(1)), strand: int(word(2) >> 32), from: int(word(2) >> 16 & 0xffff), to: int(word(2) & 0xffff)})
}

// wrongError says that what came is not what was sent: the one error that no fault excuses.
type wrongError string

func (e wrongError) Error() string { return "WRONG: " + string(e) }

func wrongf(format string, args ...any) error { return wrongError(fmt.Sprintf(format, args...)) }

// form is how a message is sent or received.
type form int

// sendForms and recvForms of a message that is bytes; records, which are objects, go by SendValue
// and RecvValue.
const (
	sendPlain form = iota
	sendStarted
	sendStarted2 // twice as likely: many at a time
	sendSync
	sendStartedSync
	sendBuffered
	sendPersistent
	sendForms
)

const (
	recvPlain form = iota
	recvStarted
	recvStarted2
	recvStarted3
	recvNew
	recvProbed
	recvMatched
	recvAnyTag
	recvForms
)

// letter is what both sides know of a message.
type letter struct {
	seq, n, tag int
	record      bool // it is an object
	send, recv  form
}

// letter is message seq of the flow.
func (f flow) letter(seq int) letter {
	h := mix(f.key() + uint64(seq)*0x9e3779b97f4a7c15)
	draw := func(n int) int {
		v := int(h % uint64(n))
		h = mix(h)
		return v
	}
	l := letter{seq: seq, tag: draw(3), send: form(draw(int(sendForms))), recv: form(draw(int(recvForms)))}
	switch draw(32) {
	case 0, 1, 2, 3:
		l.n = draw(2 * sealBytes)
	case 4, 5, 6, 7, 8, 9:
		l.n = draw(64 << 10) // eager
	case 10, 11:
		l.n = draw(512 << 10) // eager or rendezvous
	case 12:
		l.n = draw(longest)
	case 13, 14, 15:
		l.record, l.n = true, draw(3000)
	default:
		l.n = draw(4 << 10) // short
	}
	if l.n > mostBuffered && l.send == sendBuffered {
		l.send = sendPlain
	}
	return l
}

// record is an object as a message.
type record struct {
	From, To, Seq int
	Text          string
	Numbers       map[string][]int
}

func (f flow) record(l letter) record {
	b := make([]byte, l.n)
	f.fill(b, l.seq)
	r := record{f.from, f.to, l.seq, fmt.Sprintf("%x", b), map[string][]int{}}
	for i := range l.seq % 5 {
		r.Numbers[fmt.Sprint(i)] = []int{l.seq, i, l.n}
	}
	return r
}

func (f flow) checkRecord(got record, l letter) error {
	if want := f.record(l); fmt.Sprint(got) != fmt.Sprint(want) {
		return wrongf("the record %d of %v is %.200v, want %.200v", l.seq, f, got, want)
	}
	return nil
}
