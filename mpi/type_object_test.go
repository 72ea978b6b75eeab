package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// binaryText has a binary form of its own, by AppendBinary.
type binaryText struct{ s string }

// ownText has a text form only, by AppendText; textAndFields has fields that gob sends,
// textAndBinary a binary form.
type (
	ownText       struct{ s *string }
	textAndFields struct {
		ownText
		Name string
	}
	textAndBinary struct {
		ownText
		binaryText
	}
)

func (v ownText) AppendText(b []byte) ([]byte, error) {
	if *v.s == "fail" {
		return b, errors.New("refuses")
	}
	return append(b, *v.s...), nil
}

func (v ownText) MarshalText() ([]byte, error) { panic("AppendText is there") }

func (v *ownText) UnmarshalText(b []byte) error {
	v.s = new(string(b))
	return nil
}

func (v binaryText) AppendBinary(b []byte) ([]byte, error) {
	if v.s == "fail" {
		return b, errors.New("refuses")
	}
	return append(append(b, '<'), v.s...), nil
}

func (v *binaryText) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != '<' {
		panic("binaryText panics on garbage")
	}
	v.s += string(b[1:]) // += shows an element that is not new
	return nil
}

// nibble is a byte that codes itself, so slices of it are no byte slices.
type nibble uint8

func (n nibble) MarshalBinary() ([]byte, error)     { return []byte{byte(n) & 15}, nil }
func (n *nibble) UnmarshalBinary(data []byte) error { *n = nibble(data[0]); return nil }

type label string

func TestObjectsRoundTrip(t *testing.T) {
	now := time.Now().Round(0)
	one, zero := 1, 0
	roundTrip(t, []string{"", "a", strings.Repeat("long", 100), "\x00\xff"})
	roundTrip(t, []label{"x", ""})
	roundTrip(t, [][]byte{nil, {}, {1, 2, 3}})
	roundTrip(t, []binaryText{{"a"}, {""}, {"bc"}})
	roundTrip(t, []*binaryText{{"a"}, nil, {"bc"}})
	roundTrip(t, []ownText{{new("a")}, {new("")}, {new("bc")}})
	roundTrip(t, []*ownText{{new("a")}, nil})
	roundTrip(t, []*regexp.Regexp{regexp.MustCompile("a+b"), nil, regexp.MustCompile("")})
	roundTrip(t, []time.Time{now.UTC(), {}})
	roundTrip(t, []netip.Addr{netip.MustParseAddr("::1"), {}, netip.MustParseAddr("10.0.0.1")})
	roundTrip(t, [][]float64{{1, 2, math.Inf(1)}, {3}})
	roundTrip(t, []map[string]int{{"a": 1}, {"b": 2, "c": 3}})
	roundTrip(t, []person{{"A", []string{"x"}}, {}, {Name: "B"}})
	roundTrip(t, []*person{{Name: "A"}, nil, {Name: "B"}, nil, nil, nil, nil, nil, nil, {Name: "J"}})
	roundTrip(t, []*person{nil, nil})
	roundTrip(t, []*int{&one, &zero, nil})
	roundTrip(t, []node{{1, &node{2, &node{3, nil}}}})
	roundTrip(t, []any{1, "two", nil, 3.5})
	roundTrip(t, []*big.Int{big.NewInt(7), nil, new(big.Int).Lsh(big.NewInt(-1), 200)})
	roundTrip(t, [][]nibble{{1, 2}})
	roundTrip(t, []struct{ S []struct{} }{{make([]struct{}, 3)}})
	roundTrip(t, []Loc[string]{{"a", 1}})
	roundTrip(t, []string{})
	roundTrip(t, []*person{})
	roundTrip(t, []map[int]bool{})
}

func roundTrip[T any](t *testing.T, vs []T) {
	t.Helper()
	const prefix = "before"
	b, err := encodeObjects([]byte(prefix), vs)
	if err != nil {
		t.Errorf("%T: encode: %v", vs, err)
		return
	}
	if string(b[:len(prefix)]) != prefix {
		t.Errorf("%T: what dst held is gone", vs)
	}
	b = b[len(prefix):]
	if n, err := objectCount(b); n != len(vs) || err != nil {
		t.Errorf("%T: objectCount = %d, %v, want %d", vs, n, err, len(vs))
	}
	got, err := decodeNewObjects[T](b)
	if err != nil || !reflect.DeepEqual(got, vs) {
		t.Errorf("%T: decodeNewObjects = %v, %v, want %v", vs, got, err, vs)
	}
	// Twice into the same memory, one element longer than the message.
	into := make([]T, len(vs)+1)
	for range 2 {
		n, err := decodeObjects(b, into)
		if n != len(vs) || err != nil || !reflect.DeepEqual(into[:n], vs) {
			t.Errorf("%T: decodeObjects = %d, %v, %v, want %v", vs, n, err, into, vs)
		}
	}
	if !reflect.ValueOf(into[len(vs)]).IsValid() {
		return // a nil interface: nothing was stored
	}
	if !reflect.ValueOf(into[len(vs)]).IsZero() {
		t.Errorf("%T: an element beyond the message was touched", vs)
	}
	if len(vs) > 0 {
		_, err := decodeObjects(b, into[:len(vs)-1])
		te, ok := errors.AsType[*TruncateError](err)
		if !ok || te.Message != len(vs) || te.Buffer != len(vs)-1 || te.Bytes || !errors.Is(err, ErrTruncate) {
			t.Errorf("%T: into too little: %v", vs, err)
		}
	}
	for i := range b {
		if _, err := decodeNewObjects[T](b[:i]); err == nil {
			t.Errorf("%T: the first %d bytes of %d decode without error", vs, i, len(b))
		}
	}
	if _, err := decodeNewObjects[T](append(b[:len(b):len(b)], 0)); err == nil {
		t.Errorf("%T: a byte after the last element is no error", vs)
	}
}

// gob merges maps and leaves fields that were sent as zero; neither may show.
func TestDecodeObjectsReplaces(t *testing.T) {
	b, err := encodeObjects(nil, []map[string]int{{"new": 1}})
	if err != nil {
		t.Fatal(err)
	}
	mine := map[string]int{"old": 1}
	into := []map[string]int{mine}
	if _, err := decodeObjects(b, into); err != nil || !reflect.DeepEqual(into[0], map[string]int{"new": 1}) {
		t.Errorf("decoded %v, %v", into, err)
	}
	if len(mine) != 1 {
		t.Errorf("the former value changed: %v", mine)
	}

	b, err = encodeObjects(nil, []person{{Tags: []string{"x"}}})
	if err != nil {
		t.Fatal(err)
	}
	people := []person{{Name: "old", Tags: []string{"a", "b"}}}
	if _, err := decodeObjects(b, people); err != nil || people[0].Name != "" || len(people[0].Tags) != 1 {
		t.Errorf("decoded %v, %v", people, err)
	}
}

func TestDecodedObjectsDoNotAlias(t *testing.T) {
	b, err := encodeObjects(nil, [][]byte{[]byte("data")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeNewObjects[[]byte](b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if string(got[0]) != "data" {
		t.Errorf("decoded bytes changed with the message: %q", got[0])
	}
}

func TestEncodeObjectsErrors(t *testing.T) {
	dst := []byte("kept")
	b, err := encodeObjects(dst, []binaryText{{"a"}, {"fail"}})
	if err == nil || string(b) != "kept" || !strings.Contains(err.Error(), "element 1: refuses") || !strings.Contains(err.Error(), "binaryText") {
		t.Errorf("encode = %q, %v", b, err)
	}
	if b, err = encodeObjects(dst, []chan int{nil}); err == nil || string(b) != "kept" {
		t.Errorf("encode = %q, %v", b, err)
	}
	type unregistered struct{ S string }
	if b, err = encodeObjects(dst, []any{unregistered{}}); err == nil || string(b) != "kept" || !strings.Contains(err.Error(), "gob") {
		t.Errorf("encode = %q, %v", b, err)
	}
	var inner *int
	if b, err = encodeObjects(dst, []**int{&inner}); err == nil || string(b) != "kept" {
		t.Errorf("encode = %q, %v", b, err)
	}
}

func TestDecodeObjectsErrors(t *testing.T) {
	header := func(codec objectCodec, count uint64, body ...byte) []byte {
		return append(binary.LittleEndian.AppendUint64([]byte{byte(codec)}, count), body...)
	}
	for _, test := range []struct {
		what string
		b    []byte
	}{
		{"nothing", nil},
		{"half a header", header(codecString, 0)[:5]},
		{"codec 0", header(0, 0)},
		{"an unknown codec", header(200, 0)},
		{"a count beyond the message", header(codecString, 2, 0)},
		{"the greatest count", header(codecString, math.MaxUint64, 0)},
		{"a negative count", header(codecGobNil, 1<<63, 0)},
		{"another codec", header(codecByteSlice, 1, 1)},
		{"a length beyond the message", header(codecString, 1, 200, 1)},
		{"the greatest length", header(codecString, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1)},
		{"an endless length", header(codecString, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)},
		{"trailing bytes", header(codecString, 1, 0, 0)},
	} {
		if got, err := decodeNewObjects[string](test.b); err == nil {
			t.Errorf("%s: decoded %q", test.what, got)
		}
	}
	if got, err := decodeNewObjects[binaryText](header(codecBinary, 1, 2, 'x')); err == nil || !strings.Contains(err.Error(), "panics on garbage") {
		t.Errorf("a panicking UnmarshalBinary: %v, %v", got, err)
	}
	if got, err := decodeNewObjects[chan int](header(codecGob, 0)); err == nil {
		t.Errorf("channels: %v", got)
	}
	good, err := encodeObjects(nil, []person{{Name: "A"}, {Name: "B"}})
	if err != nil {
		t.Fatal(err)
	}
	good[1] = 1
	if got, err := decodeNewObjects[person](good); !errors.Is(err, errObjectCount) {
		t.Errorf("a false count: %v, %v", got, err)
	}
	good[1] = 2
	if got, err := decodeNewObjects[[]float64](good); err == nil {
		t.Errorf("persons as numbers: %v", got)
	}
}

func FuzzDecodeObjects(f *testing.F) {
	add := func(b []byte, err error) {
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(encodeObjects(nil, []string{"", "abc"}))
	add(encodeObjects(nil, [][]byte{nil, {1}}))
	add(encodeObjects(nil, []binaryText{{"a"}, {"b"}}))
	add(encodeObjects(nil, []ownText{{new("a")}, {new("")}}))
	add(encodeObjects(nil, []person{{"A", []string{"x"}}, {}}))
	add(encodeObjects(nil, []*person{nil, {Name: "B"}}))
	add(encodeObjects(nil, []map[string]int{{"a": 1}}))
	add(encodeObjects(nil, []any{1, "a"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzOne[string](t, b)
		fuzzOne[[]byte](t, b)
		fuzzOne[binaryText](t, b)
		fuzzOne[ownText](t, b)
		fuzzOne[time.Time](t, b)
		fuzzOne[person](t, b)
		fuzzOne[*person](t, b)
		fuzzOne[map[string]int](t, b)
		fuzzOne[any](t, b)
	})
}

func fuzzOne[T any](t *testing.T, b []byte) {
	n, err := objectCount(b)
	vs, derr := decodeNewObjects[T](b)
	if derr != nil {
		return
	}
	if err != nil || len(vs) != n {
		t.Fatalf("decoded %d elements, objectCount says %d, %v", len(vs), n, err)
	}
	into := make([]T, n)
	if m, err := decodeObjects(b, into); m != n || err != nil {
		t.Fatalf("decodeNewObjects gives %d elements, decodeObjects %d, %v", n, m, err)
	}
}

func BenchmarkObjects(b *testing.B) {
	words := make([]string, 1000)
	people := make([]person, 1000)
	for i := range words {
		words[i] = fmt.Sprint("word ", i)
		people[i] = person{words[i], words[:2]}
	}
	b.Run("string", func(b *testing.B) { benchObjects(b, words) })
	b.Run("gob", func(b *testing.B) { benchObjects(b, people) })
	b.Run("gob of one", func(b *testing.B) { benchObjects(b, people[:1]) })
}

func benchObjects[T any](b *testing.B, vs []T) {
	b.ReportAllocs()
	var buf []byte
	into := make([]T, len(vs))
	for b.Loop() {
		var err error
		if buf, err = encodeObjects(buf[:0], vs); err != nil {
			b.Fatal(err)
		}
		if _, err = decodeObjects(buf, into); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}
