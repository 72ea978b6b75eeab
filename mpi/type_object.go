package mpi

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// A message of objects is
//
//	codec  1 byte   objectCodec
//	count  8 bytes  number of elements, little-endian
//	body            as the codec says
//
// Both ends must agree on the codec, as they agree on T: a type that has a binary form on one end
// only is refused.
//
// Except under gob, the body is count elements, each a length as a uvarint and then so many bytes;
// where an element can be nil the length is one more, and 0 says nil. Under gob the body is one gob
// stream holding a []T. gob cannot say nil for an element, so codecGobNil precedes the stream by a
// bitmap, bit i%8 of byte i/8 set if element i is present, and leaves the others out.
//
// An element's text form counts only where it has no binary form and gob cannot carry its type.
//
// gob sends exported fields only, and flattens pointers: a pointer to zero inside a struct arrives
// as nil. It checks most of its own lengths against the message, and checkStream the others, so
// what a message can make us allocate is in proportion to its length.

// objectCodec says how the elements of a message of objects are serialised. On the wire: never
// renumber.
type objectCodec uint8

const (
	codecNone      objectCodec = 0
	codecGob       objectCodec = 1
	codecGobNil    objectCodec = 2 // gob, some elements nil; only on the wire, an elem says codecGob
	codecBinary    objectCodec = 3 // the element's own MarshalBinary or AppendBinary
	codecString    objectCodec = 4
	codecByteSlice objectCodec = 5
	codecText      objectCodec = 6 // the element's own MarshalText or AppendText
)

const objectHeaderLen = 1 + 8

var (
	errObjectShort    = errors.New("serialised message ends early")
	errObjectTrailing = errors.New("serialised message has bytes after its last element")
	errObjectHeader   = errors.New("not a serialised message: is the sender's element type without pointers?")
	errObjectType     = errors.New("the sender's elements are of another type")
	errObjectCount    = errors.New("serialised message has another number of elements than it announces")
)

// encodeObjects appends the serialised elements to dst and returns the extended slice, or dst
// unchanged and an error.
//
// Preconditions:
//   - elemOf[T]().class is classObject.
func encodeObjects[T any](dst []byte, vs []T) ([]byte, error) {
	e := elemOf[T]()
	if e.err != nil {
		return dst, e.err
	}
	b := append(dst, byte(e.codec))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(vs)))
	var err error
	switch e.codec {
	case codecString:
		for _, s := range stringsOf(vs) {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	case codecByteSlice:
		for _, s := range byteSlicesOf(vs) {
			b = appendNilable(b, s)
		}
	case codecBinary, codecText:
		b, err = appendOwn(b, e.codec, vs)
	case codecGob:
		b, err = appendGob(b, len(dst), vs)
	default:
		panic("mpi: a bug in FitMPI: elements of type " + e.name + " are not objects")
	}
	if err != nil {
		return dst, fmt.Errorf("cannot serialise %s: %w", e.name, err)
	}
	return b, nil
}

func appendNilable(b, s []byte) []byte {
	if s == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}

// appendOwn appends every element's own form, binary or text.
func appendOwn[T any](b []byte, codec objectCodec, vs []T) ([]byte, error) {
	var scratch []byte // the form, whose length must go before it
	for i := range vs {
		if isNilPointer(vs[i]) {
			b = append(b, 0)
			continue
		}
		// T's own methods first: if T is *E, *T has none.
		v := any(&vs[i])
		if canRead(any(vs[i]), codec) {
			v = any(vs[i])
		}
		var err error
		if scratch, err = ownForm(scratch[:0], codec, v); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		b = append(binary.AppendUvarint(b, uint64(len(scratch))+1), scratch...)
	}
	return b, nil
}

// canRead reports whether v has the method that reads the form.
func canRead(v any, codec objectCodec) (ok bool) {
	if codec == codecText {
		_, ok = v.(encoding.TextUnmarshaler)
	} else {
		_, ok = v.(encoding.BinaryUnmarshaler)
	}
	return ok
}

// ownForm appends v's own form to room, which is empty, or returns it in memory of v's.
func ownForm(room []byte, codec objectCodec, v any) ([]byte, error) {
	if codec == codecText {
		if a, ok := v.(encoding.TextAppender); ok {
			return a.AppendText(room)
		}
		return v.(encoding.TextMarshaler).MarshalText()
	}
	if a, ok := v.(encoding.BinaryAppender); ok {
		return a.AppendBinary(room)
	}
	return v.(encoding.BinaryMarshaler).MarshalBinary()
}

// readOwn sets v from its own form.
func readOwn(codec objectCodec, v any, data []byte) error {
	if codec == codecText {
		return v.(encoding.TextUnmarshaler).UnmarshalText(data)
	}
	return v.(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
}

func isNilPointer[T any](v T) bool {
	if reflect.TypeFor[T]().Kind() != reflect.Pointer {
		return false
	}
	return reflect.ValueOf(v).IsNil()
}

// appendGob appends vs as one gob stream, after a bitmap of those present if some are nil.
// start is the index of the message's first byte in b.
func appendGob[T any](b []byte, start int, vs []T) ([]byte, error) {
	if len(vs) == 0 {
		return b, nil
	}
	if reflect.TypeFor[T]().Kind() == reflect.Pointer {
		bitmap := make([]byte, (len(vs)+7)/8)
		present := make([]T, 0, len(vs))
		for i, v := range vs {
			if !isNilPointer(v) {
				bitmap[i/8] |= 1 << (i % 8)
				present = append(present, v)
			}
		}
		if len(present) < len(vs) {
			b[start] = byte(codecGobNil)
			b = append(b, bitmap...)
			vs = present
		}
		if len(vs) == 0 {
			return b, nil
		}
	}
	if mayNest(reflect.TypeFor[T]()) {
		if err := checkNesting(reflect.ValueOf(vs)); err != nil {
			return nil, err
		}
	}
	buf := bytes.NewBuffer(b)
	if err := gob.NewEncoder(buf).Encode(vs); err != nil {
		return nil, registerHint(err)
	}
	return buf.Bytes(), nil
}

// registerHint says what to do about a value in an interface whose type gob does not know. gob has
// no error type to tell it by; if its text changes, the hint is missing and a test fails.
func registerHint(err error) error {
	if strings.Contains(err.Error(), "not registered for interface") {
		return fmt.Errorf("%w: every rank must give gob.Register a value of each type that travels in an interface", err)
	}
	return err
}

// typeHint says in words of ours that gob found elements of another type: of a type without a name,
// such as a slice that another process sent, gob says "received remote type " and no more. As with
// registerHint a test fails if gob's text changes.
func typeHint(err error) error {
	_, remote, ok := strings.Cut(err.Error(), ", received remote type ")
	if !ok {
		return err
	}
	if remote = strings.TrimPrefix(remote, "[]"); remote == "" { // gob carries a slice of the elements
		return errObjectType
	}
	return fmt.Errorf("%w, %s", errObjectType, remote)
}

// consumeObjectHeader reads the header of a message of objects; n is the header's length, < 0 if b
// holds none or its count cannot be true.
func consumeObjectHeader(b []byte) (codec objectCodec, count, n int) {
	if len(b) < objectHeaderLen {
		return 0, 0, -1
	}
	codec = objectCodec(b[0])
	c := binary.LittleEndian.Uint64(b[1:])
	// Every element takes a byte at least, but for a nil one under codecGobNil, which takes a bit.
	most := uint64(len(b) - objectHeaderLen)
	switch codec {
	case codecGob, codecBinary, codecText, codecString, codecByteSlice:
	case codecGobNil:
		most *= 8
	default:
		return 0, 0, -1
	}
	if c > min(most, math.MaxInt) {
		return 0, 0, -1
	}
	return codec, int(c), objectHeaderLen
}

// objectCount returns the number of elements in a serialised message, from its header alone.
func objectCount(b []byte) (int, error) {
	_, count, n := consumeObjectHeader(b)
	if n < 0 {
		return 0, errObjectHeader
	}
	return count, nil
}

// decodeObjects decodes a serialised message into the first elements of into, and returns how many
// those are. What it stores is new: nothing of an element's former value remains in it, and nothing
// of it aliases b. A message of more elements than into holds gives a *TruncateError and leaves
// into alone; after any other error into's contents are undefined.
func decodeObjects[T any](b []byte, into []T) (n int, err error) {
	count, err := objectCount(b)
	if err != nil {
		return 0, err
	}
	if count > len(into) {
		return 0, &TruncateError{Message: count, Buffer: len(into)}
	}
	return decodeBody(b, into[:0:count])
}

// decodeNewObjects decodes a serialised message into a new slice as long as the message; never nil
// without an error.
func decodeNewObjects[T any](b []byte) ([]T, error) {
	count, err := objectCount(b)
	if err != nil {
		return nil, err
	}
	// The count is still the sender's word, and an element in memory may be far larger than its
	// byte on the wire: trust it for a megabyte, and beyond that grow as elements turn out to be
	// there.
	e := elemOf[T]()
	vs := make([]T, 0, min(count, max(16, 1<<20/max(1, e.size))))
	return decodeAppend(b, vs)
}

// undecoded gives what decodeObjects and decodeNewObjects fail with its class. nil is no error.
func undecoded(err error) error {
	if err == nil {
		return nil
	}
	return opError(classOr(err, ErrType), "", err)
}

// decodeBody is decodeAppend into memory that is known to suffice.
func decodeBody[T any](b []byte, into []T) (int, error) {
	vs, err := decodeAppend(b, into)
	return len(vs), err
}

// decodeAppend appends the decoded elements to vs.
//
// Preconditions:
//   - b's header has been checked.
func decodeAppend[T any](b []byte, vs []T) (out []T, err error) {
	e := elemOf[T]()
	if e.err != nil {
		return vs, e.err
	}
	defer func() {
		// Peer input never panics: gob and the user's UnmarshalBinary may, on bytes that no peer of
		// ours would send.
		if r := recover(); r != nil {
			out, err = vs, fmt.Errorf("cannot decode %s: panic: %v", e.name, r)
		}
	}()
	codec, count, n := consumeObjectHeader(b)
	body := b[n:]
	if codec != e.codec && !(codec == codecGobNil && e.codec == codecGob) {
		return vs, fmt.Errorf("cannot decode %s: the sender's element type is serialised in another way (%d, here %d)", e.name, codec, e.codec)
	}
	switch codec {
	case codecGob, codecGobNil:
		out, err = decodeGob(codec, body, count, vs)
	default:
		out, err = decodeEach(codec, body, count, vs)
	}
	if err != nil {
		return out, fmt.Errorf("cannot decode %s: %w", e.name, err)
	}
	return out, nil
}

// decodeEach decodes elements that each carry their length.
func decodeEach[T any](codec objectCodec, b []byte, count int, vs []T) ([]T, error) {
	for i := range count {
		size, n := binary.Uvarint(b)
		if n <= 0 {
			return vs, errObjectShort
		}
		b = b[n:]
		isNil := false
		if codec != codecString {
			isNil = size == 0
			if !isNil {
				size--
			}
		}
		if size > uint64(len(b)) {
			return vs, errObjectShort
		}
		data := b[:size:size]
		b = b[size:]
		var zero T
		vs = append(vs, zero) // and decode in place: an element must not inherit from what was there before
		last := vs[len(vs)-1:]
		switch {
		case isNil:
		case codec == codecString:
			stringsOf(last)[0] = string(data)
		case codec == codecByteSlice:
			byteSlicesOf(last)[0] = append([]byte{}, data...)
		default:
			if err := unmarshalOwn(codec, &last[0], data); err != nil {
				return vs, fmt.Errorf("element %d: %w", i, err)
			}
		}
	}
	if len(b) > 0 {
		return vs, errObjectTrailing
	}
	return vs, nil
}

// unmarshalOwn sets *v, which is zero, from its own form. Data is valid only during the call, by
// the contracts of encoding.BinaryUnmarshaler and encoding.TextUnmarshaler.
func unmarshalOwn[T any](codec objectCodec, v *T, data []byte) error {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		p := reflect.New(t.Elem())
		if err := readOwn(codec, p.Interface(), data); err != nil {
			return err
		}
		*v = p.Interface().(T)
		return nil
	}
	if canRead(any(v), codec) {
		return readOwn(codec, any(v), data)
	}
	return readOwn(codec, any(*v), data)
}

// decodeGob decodes a gob stream of the elements present, and puts them in their places.
func decodeGob[T any](codec objectCodec, b []byte, count int, vs []T) ([]T, error) {
	var bitmap []byte
	if codec == codecGobNil {
		n := (count + 7) / 8
		if n > len(b) {
			return vs, errObjectShort
		}
		bitmap, b = b[:n], b[n:]
	}
	// gob merges into what it finds, so it gets a slice of its own.
	var got []T
	r := bytes.NewReader(b)
	if len(b) > 0 {
		if err := checkStream(b); err != nil {
			return vs, err
		}
		if err := gob.NewDecoder(r).Decode(&got); err != nil {
			return vs, typeHint(registerHint(err))
		}
	}
	if r.Len() > 0 {
		return vs, errObjectTrailing
	}
	if codec == codecGob {
		if len(got) != count {
			return vs, errObjectCount
		}
		return append(vs, got...), nil
	}
	for i := range count {
		var v T
		if bitmap[i/8]&(1<<(i%8)) != 0 {
			if len(got) == 0 {
				return vs, errObjectCount
			}
			v, got = got[0], got[1:]
		}
		vs = append(vs, v)
	}
	if len(got) > 0 {
		return vs, errObjectCount
	}
	return vs, nil
}
