package mpi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// Every message says of which kind its values are, if they are of one kind, and every receive
// compares that with its buffer's: the one costs a byte of the header that is there anyway, the
// other a comparison.
//
// With FITMPI_CHECK=1 the types of a message are compared at its receiver (MPI 4.1, section 3.3.1).
// Its sender puts a signature before it and says so by a bit of the element class in the frame.
// Messages of Bsend have none, for users measure the room in attached buffers by the lengths of
// their messages: of these the class alone is compared, which every message has. A partitioned
// message has one for all its rounds, in its hello.

const (
	// signatureLen is the bytes of a signature: 8 of the hash, little-endian, one of flags, of
	// objects the codec, and the type in words.
	signatureLen = engine.NoteLen
	sigFlags     = 8
	sigText      = 9

	// sigBytes in the flags says that all values are bytes, which match all others, as MPI_BYTE and
	// MPI_PACKED do.
	sigBytes = 1

	// signedBit of the element class of a message says that a signature comes first.
	signedBit = 0x80
)

// signature says of which type a message is.
type signature [signatureLen]byte

func newSignature(hash uint64, flags byte, text string) *signature {
	var s signature
	binary.LittleEndian.PutUint64(s[:], hash)
	s[sigFlags] = flags
	if most := signatureLen - sigText; len(text) > most {
		text = text[:most-len("...")] + "..."
	}
	copy(s[sigText:], text)
	return &s
}

func (s *signature) hash() uint64 { return binary.LittleEndian.Uint64(s[:]) }

func (s *signature) text() string { return string(bytes.TrimRight(s[sigText:], "\x00")) }

// plainSignature is that of size bytes of data of e, or, if it is not nil, of t.
func plainSignature(e *elem, t *Datatype, size int) *signature {
	m, flags := mapOf(e, t), byte(0)
	if isBytes(m) {
		flags = sigBytes
	}
	hash, _ := m.HashBytes(size)
	return newSignature(hash, flags, typeText(e, t))
}

// objectSignature is that of objects of e, however many.
func objectSignature(e *elem) *signature { return newSignature(objectHash(e), byte(e.codec), e.name) }

func objectHash(e *elem) uint64 {
	h := fnv.New64a()
	h.Write([]byte{byte(e.codec)})
	h.Write([]byte(e.name))
	return h.Sum64()
}

func mapOf(e *elem, t *Datatype) *layout.Map {
	if t != nil {
		return t.m
	}
	return e.m
}

func isBytes(m *layout.Map) bool {
	k, ok := m.OneKind()
	return ok && (k == layout.Uint8 || k == layout.Byte)
}

// typeText names a plain type, and the kinds of its values unless they are the name.
func typeText(e *elem, t *Datatype) string {
	name, kinds := e.name, mapOf(e, t).Signature()
	if t != nil {
		name = t.String()
	}
	if name == kinds {
		return name
	}
	return name + " (" + kinds + ")"
}

// sign makes m send p behind its signature, in memory of its own: a layout would do without the
// copy, but a Send of it would not return before a long message has left.
func (p *payload) sign(m *engine.MSO) {
	b := make([]byte, signatureLen+p.size())
	data := b[copy(b, p.sig[:]):]
	if p.o != nil {
		p.o.Pack(data, 0)
	} else {
		copy(data, p.b)
	}
	m.Buf, m.Layout = b, nil
	m.Elem |= signedBit
}

// signedData is where a receive puts a message that a signature may precede. The results of the
// receive say whether one does before any data come.
type signedData struct {
	sig signature // that has come
	p   payload   // the buffer
	in  *engine.MSO
	t   *Datatype // laid over the buffer; nil: it is whole
}

// front is the bytes before the data.
func (d *signedData) front() int {
	if d.in.GotElem&signedBit == 0 {
		return 0
	}
	return signatureLen
}

// Len implements engine.Layout, as do Pack and Unpack.
func (d *signedData) Len() int { return d.front() + d.p.size() }

// Pack is the reverse of Unpack, for a receive that gives its message back.
func (d *signedData) Pack(dst []byte, off int) {
	front := d.front()
	if off < front {
		n := copy(dst, d.sig[off:])
		dst, off = dst[n:], off+n
	}
	switch off -= front; {
	case len(dst) == 0:
	case d.p.o != nil:
		d.p.o.Pack(dst, off)
	default:
		copy(dst, d.p.b[off:])
	}
}

// Unpack takes a part of the signature and the data.
func (d *signedData) Unpack(off int, src []byte) {
	front := d.front()
	if off < front {
		n := copy(d.sig[off:], src)
		src, off = src[n:], off+n
	}
	switch off -= front; {
	case len(src) == 0:
	case d.p.o != nil:
		d.p.o.Unpack(off, src)
	default:
		copy(d.p.b[off:], src)
	}
}

var _ engine.Layout = (*signedData)(nil)

// unsigned is the length of the data of a message, and their class, by what its frame says.
func unsigned(length int, elem uint8) (int, elemClass) {
	if elem&signedBit == 0 {
		return length, elemClass(elem)
	}
	return max(length-signatureLen, 0), elemClass(elem &^ signedBit)
}

// unsignedBytes is the data of a message that came into memory of its length.
func unsignedBytes(m *engine.MSO) []byte {
	if m.GotElem&signedBit == 0 {
		return m.Buf
	}
	return m.Buf[min(signatureLen, len(m.Buf)):]
}

// unsignedError is the error of a truncated message, in bytes of data.
func unsignedError(m *engine.MSO) error {
	t, ok := errors.AsType[*engine.TruncateError](m.Err)
	if !ok || m.GotElem&signedBit == 0 {
		return m.Err
	}
	return &engine.TruncateError{Message: t.Message - signatureLen, Buffer: max(t.Buffer-signatureLen, 0)}
}

// signatureOf is what came before the data of m, nil if nothing did.
func signatureOf(m *engine.MSO) *signature {
	if m.GotElem&signedBit == 0 {
		return nil
	}
	if d, ok := m.Layout.(*signedData); ok {
		return &d.sig
	}
	if len(m.Buf) < signatureLen {
		return nil
	}
	return (*signature)(m.Buf)
}

// ofSent names the type of the message after "objects" or "memory", if it is known.
func ofSent(m *engine.MSO) string {
	if s := signatureOf(m); s != nil {
		return " of " + s.text()
	}
	return ""
}

// plainMismatch is the error of a message of plain data whose type is not that of the buffer of e
// that it came into. Messages without data match every buffer.
func (c *Comm) plainMismatch(op string, m *engine.MSO, e *elem, st Status) *Error {
	d, ok := m.Layout.(*signedData)
	cut := errors.Is(m.Err, engine.ErrTruncated)
	if !ok || st.bytes == 0 || m.Err != nil && !cut {
		return nil
	}
	want := mapOf(e, d.t)
	kind, one := want.OneKind()
	switch sig := signatureOf(m); {
	case isBytes(want):
		return nil
	case cut && d.t != nil && !one: // nothing says what would come after one value
		return nil
	case sig == nil:
		if st.class.isKind() && one && elemClass(kind) != st.class {
			return mismatch(op, st, st.class.String(), typeText(e, d.t))
		}
		return nil
	case sig[sigFlags]&sigBytes != 0:
		return nil
	default:
		if hash, whole := want.HashBytes(st.bytes); whole && hash == sig.hash() {
			return nil
		}
		return mismatch(op, st, sig.text(), typeText(e, d.t))
	}
}

// isOfOtherKind reports whether the message that s is about is of values of one kind and a buffer
// of elements of e of another one. Both say so without --check: the one in its header, the other in
// e. Bytes match every kind, and of what is composite no kind is known.
func (s *Status) isOfOtherKind(e *elem) bool {
	return s.class != e.class && s.bytes > 0 && s.class.isKind() && e.class.isKind()
}

// kindMismatch is the error of a message whose values are of another kind than those of the buffer
// of e that it came into. A layout makes no difference: it lies over values of its own kinds.
func kindMismatch(op string, m *engine.MSO, e *elem, st Status) *Error {
	if !st.isOfOtherKind(e) || m.Err != nil && !errors.Is(m.Err, engine.ErrTruncated) {
		return nil
	}
	return mismatch(op, st, st.class.String(), e.name)
}

// isKind reports whether all values of a message of the class are of one kind, which is not byte.
func (c elemClass) isKind() bool { return c > classBytes && c < classComposite && c != classUint8 }

// objectMismatch is the error of a message of objects whose type is not e.
func (c *Comm) objectMismatch(op string, m *engine.MSO, e *elem, st Status) *Error {
	sig := signatureOf(m)
	if sig == nil || sig.hash() == objectHash(e) {
		return nil
	}
	sent := sig.text()
	if objectCodec(sig[sigFlags]) != e.codec {
		sent += ", serialised in another way,"
	}
	return mismatch(op, st, sent, e.name)
}

// mismatch says which types differ.
func mismatch(op string, st Status, sent, buffer string) *Error {
	return opErrorf(ErrType, op, "rank %d sent %s with tag %d, the buffer is of %s: receive it with the type that was sent",
		st.Source, sent, st.Tag, buffer).with(st.Source)
}

// keptParts are what the partitions of a send held when they were made ready, by a rank that is
// checked. From then on they "should not be modified" until the request is complete (MPI 4.1,
// section 4.2.2); others may be.
type keptParts struct {
	mu   sync.Mutex
	then map[int][]byte // guarded by mu: of this round
}

// reset begins a round.
func (x *keptParts) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.then)
}

// keep takes note of partition i of p, which is about to be made ready. One that was ready before
// stays as it was then.
func (x *keptParts) keep(p *parts, i int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.then[i]; ok {
		return
	}
	if x.then == nil {
		x.then = make(map[int][]byte)
	}
	x.then[i] = p.data(i)
}

// data is a copy of what is sent of partition i.
func (p *parts) data(i int) []byte {
	b := make([]byte, p.p.Total/p.count)
	if at := i * len(b); p.p.Layout != nil {
		p.p.Layout.Pack(b, at)
	} else {
		copy(b, p.p.Buf[at:])
	}
	return b
}

// partsChanged is the error of a send one of whose partitions is not what it was when it was made
// ready.
func (r *Request) partsChanged() *Error {
	p := r.rare.parts
	p.kept.mu.Lock()
	defer p.kept.mu.Unlock()
	for i := range p.count {
		then, ok := p.kept.then[i]
		if !ok {
			continue
		}
		if at := differAt(p.data(i), then); at >= 0 {
			x := r.rare.checked
			return opErrorf(ErrBuffer, r.op, "partition %d was changed, at byte %d of %d, after it was made ready and before the request was complete: "+
				"until Wait or Test says so it belongs to the request of %s at %s", i, at, len(then), x.op, x.site())
		}
	}
	return nil
}
