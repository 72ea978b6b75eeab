//go:build linux

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
)

// A message of objects is
//
//	codec  1 byte   objectCodec
//	count  8 bytes  number of elements, little-endian
//	body            as the codec says
//
// Both ends must agree on the codec, as they agree on T: a type that has a binary form on one end only is refused.
//
// Except under gob, the body is count elements, each a length as a uvarint and then so many bytes; where an element can be
// nil the length is one more, and 0 says nil. Under gob the body is one gob stream holding a []T. gob cannot say nil for an element, so
// codecGobNil precedes the stream by a bitmap, bit i%8 of byte i/8 set if element i is present, and leaves the others out.
//
// gob sends exported fields only, and flattens pointers: a pointer to zero inside a struct arrives as nil. It checks its
// own lengths against the message, so what a message can make us allocate is in proportion to its length.

// objectCodec says how the elements of a message of objects are serialised. On the wire: never renumber.
type objectCodec uint8

const (
	codecNone      objectCodec = 0
	codecGob       objectCodec = 1
	codecGobNil    objectCodec = 2 // gob, some elements nil; only on the wire, an elem says codecGob
	codecBinary    objectCodec = 3 // the element's own MarshalBinary or AppendBinary
	codecString    objectCodec = 4
	codecByteSlice objectCodec = 5
)

const objectHeaderLen = 1 + 8

var (
	errObjectShort    = errors.New("serialised message ends early")
	errObjectTrailing = errors.New("serialised message has bytes after its last element")
	errObjectHeader   = errors.New("not a serialised message: is the sender's element type without pointers?")
	errObjectCount    = errors.New("serialised message has another number of elements than it announces")
)

// encodeObjects appends the serialised elements to dst and returns the extended slice, or dst unchanged and an error.
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
	case codecBinary:
		b, err = appendBinary(b, vs)
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

// appendBinary appends every element's own binary form.
func appendBinary[T any](b []byte, vs []T) ([]byte, error) {
	var scratch []byte // AppendBinary's output, whose length must go before it
	for i := range vs {
		v := any(&vs[i])
		if isNilPointer(vs[i]) {
			b = append(b, 0)
			continue
		}
		// T's own methods first: if T is *E, *T has none.
		if _, ok := any(vs[i]).(encoding.BinaryUnmarshaler); ok {
			v = any(vs[i])
		}
		var err error
		switch m := v.(type) {
		case encoding.BinaryAppender:
			if scratch, err = m.AppendBinary(scratch[:0]); err == nil {
				b = append(binary.AppendUvarint(b, uint64(len(scratch))+1), scratch...)
			}
		case encoding.BinaryMarshaler:
			var s []byte
			if s, err = m.MarshalBinary(); err == nil {
				b = append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return b, nil
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
	buf := bytes.NewBuffer(b)
	if err := gob.NewEncoder(buf).Encode(vs); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// consumeObjectHeader reads the header of a message of objects; n is the header's length, < 0 if b holds none or its count
// cannot be true.
func consumeObjectHeader(b []byte) (codec objectCodec, count, n int) {
	if len(b) < objectHeaderLen {
		return 0, 0, -1
	}
	codec = objectCodec(b[0])
	c := binary.LittleEndian.Uint64(b[1:])
	// Every element takes a byte at least, but for a nil one under codecGobNil, which takes a bit.
	most := uint64(len(b) - objectHeaderLen)
	switch codec {
	case codecGob, codecBinary, codecString, codecByteSlice:
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

// decodeObjects decodes a serialised message into the first elements of into, and returns how many those are.
// What it stores is new: nothing of an element's former value remains in it, and nothing of it aliases b.
// A message of more elements than into holds gives a *TruncateError and leaves into alone; after any other
// error into's contents are undefined.
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

// decodeNewObjects decodes a serialised message into a new slice as long as the message; never nil without an error.
func decodeNewObjects[T any](b []byte) ([]T, error) {
	count, err := objectCount(b)
	if err != nil {
		return nil, err
	}
	// The count is still the sender's word, and an element in memory may be far larger than its byte on the wire: trust
	// it for a megabyte, and beyond that grow as elements turn out to be there.
	e := elemOf[T]()
	vs := make([]T, 0, min(count, max(16, 1<<20/max(1, e.size))))
	return decodeAppend(b, vs)
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
		// Peer input never panics: gob and the user's UnmarshalBinary may, on bytes that no peer of ours would send.
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
			if err := unmarshalBinary(&last[0], data); err != nil {
				return vs, fmt.Errorf("element %d: %w", i, err)
			}
		}
	}
	if len(b) > 0 {
		return vs, errObjectTrailing
	}
	return vs, nil
}

// unmarshalBinary sets *v, which is zero, from its own binary form. Data is valid only during the call, by the contract of
// encoding.BinaryUnmarshaler.
func unmarshalBinary[T any](v *T, data []byte) error {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		p := reflect.New(t.Elem())
		if err := p.Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(data); err != nil {
			return err
		}
		*v = p.Interface().(T)
		return nil
	}
	if u, ok := any(v).(encoding.BinaryUnmarshaler); ok {
		return u.UnmarshalBinary(data)
	}
	return any(*v).(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
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
		if err := gob.NewDecoder(r).Decode(&got); err != nil {
			return vs, err
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
