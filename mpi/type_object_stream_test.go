package mpi

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"math"
	"math/big"
	"runtime"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

type (
	none    struct{ Some bool }
	lengthy struct {
		Name    string
		Numbers [3]complex128
	}
	narrow struct {
		A    int
		Name string
	}
	wide struct {
		A    int
		Link *link
	}
	entries struct {
		A   int
		Map map[none]none
	}
)

func init() {
	gob.Register(map[string]any{})
	gob.Register(branch{})
	gob.Register(lengthy{})
	gob.Register(time.Time{})
	gob.Register(&big.Int{})
}

// streamOf is the gob stream of values: messages of definitions, and the last of the values.
func streamOf[T any](t testing.TB, vs ...T) (definitions, value []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(vs); err != nil {
		t.Fatal(err)
	}
	l := streamLook{rest: b.Bytes()}
	for l.next() && len(l.rest) > 0 {
	}
	value = l.message
	at := b.Len() - len(value)
	return b.Bytes()[:at-len(streamNumberOf(uint64(len(value))))], value
}

// streamNumberOf is a number as gob writes it.
func streamNumberOf(x uint64) []byte {
	if x <= 0x7f {
		return []byte{byte(x)}
	}
	b := binary.BigEndian.AppendUint64(nil, x)
	for b[0] == 0 {
		b = b[1:]
	}
	return append([]byte{byte(-len(b))}, b...)
}

// objectsOf is a message of one object, made by hand.
func objectsOf(definitions, value []byte) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{byte(codecGob)}, 1)
	b = append(b, definitions...)
	return append(append(b, streamNumberOf(uint64(len(value)))...), value...)
}

// splice puts a part in the place of another, which is in b once.
func splice(t testing.TB, b, old, with []byte) []byte {
	t.Helper()
	if bytes.Count(b, old) != 1 {
		t.Fatalf("%x is %d times in %x", old, bytes.Count(b, old), b)
	}
	return bytes.Replace(b, old, with, 1)
}

// nestedLinks is the bytes of a list of n links: a field each, then the end of each.
func nestedLinks(n int) []byte {
	return append(bytes.Repeat([]byte{1}, n-1), bytes.Repeat([]byte{0}, n)...)
}

// What gob makes passes, and arrives as it was sent.
func TestStreamsOfGob(t *testing.T) {
	check := func(what string, b []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		if err := checkStream(b[objectHeaderLen:]); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	b, err := encodeObjects(nil, []person{{"A", []string{"x"}}, {}})
	check("structs", b, err)
	b, err = encodeObjects(nil, []lengthy{{"a", [3]complex128{1, complex(0, 1), math.MaxFloat64}}, {}})
	check("arrays", b, err)
	b, err = encodeObjects(nil, []entries{{1, map[none]none{{}: {}}}, {}})
	check("maps of nothing", b, err)
	b, err = encodeObjects(nil, []map[int][]map[string]*float64{{1: {{"a": new(2.5)}, nil}}, nil})
	check("maps", b, err)
	b, err = encodeObjects(nil, [][][3]uint8{{{1, 200, 3}}, nil})
	check("arrays of bytes", b, err)
	b, err = encodeObjects(nil, []*journal{{At: time.Unix(1, 2), Links: map[string]*journal{"a": {}}}})
	check("own forms", b, err)
	b, err = encodeObjects(nil, []*link{linked(10_000)})
	check("a long list", b, err)

	// Types that are defined within values, and within those again.
	first := []any{1, "a", nil, []any{lengthy{}, branch{Kids: []branch{{Name: "b"}}}, map[string]any{"t": time.Unix(3, 4), "i": big.NewInt(-5)}}, anything{V: anything{V: []any{anything{}}}}, branch{}}
	b, err = encodeObjects(nil, first)
	check("interfaces", b, err)
	got, err := decodeNewObjects[any](b)
	if err != nil || len(got) != len(first) {
		t.Fatal(got, err)
	}
	m := got[3].([]any)[2].(map[string]any)
	if i := m["i"].(*big.Int); i.Int64() != -5 || !m["t"].(time.Time).Equal(time.Unix(3, 4)) {
		t.Errorf("%v", m)
	}
}

// What a hostile peer makes is an error of class ErrType, and no memory, time or stack is spent on
// it that its bytes do not account for. Each would end the process, or hang, in gob alone.
func TestHostileStreams(t *testing.T) {
	effort.Need(t, effort.Usual, "it nests a hundred thousand values")
	definitions, value := streamOf(t, linked(3))
	deep := objectsOf(definitions, splice(t, value, nestedLinks(3), nestedLinks(mostNestedStream+10)))
	fits := objectsOf(definitions, splice(t, value, nestedLinks(3), nestedLinks(10_000)))
	if vs, err := decodeNewObjects[*link](fits); err != nil || len(vs) != 1 {
		t.Errorf("10,000 levels: %v", err)
	}

	definitions, value = streamOf(t, wide{A: 5, Link: linked(3)})
	ignored := objectsOf(definitions, splice(t, value, nestedLinks(3), nestedLinks(mostNestedStream+10)))

	definitions, value = streamOf(t, map[string]int32{"ab": 7})
	huge := objectsOf(definitions, splice(t, value, []byte{1, 2, 'a', 'b'}, append(streamNumberOf(1<<37), 2, 'a', 'b')))

	definitions, value = streamOf(t, entries{5, map[none]none{{}: {}}})
	endless := objectsOf(definitions, splice(t, value, []byte{1, 1, 0, 0, 0}, append([]byte{1}, streamNumberOf(1<<62)...)))

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for what, tc := range map[string]struct {
		decode func([]byte) error
		b      []byte
		want   error
	}{
		"too deep":               {decodes[*link], deep, errStreamDepth},
		"too deep, in one value": {decodeOne[*link], deep, errStreamDepth},
		"too deep, left out":     {decodes[narrow], ignored, errStreamDepth},
		"a huge map":             {decodes[map[string]int32], huge, errStreamCount},
		"a huge map of nothing":  {decodes[narrow], endless, errStreamCount},
	} {
		err := undecoded(tc.decode(tc.b))
		if !errors.Is(err, ErrType) || !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want an error of class %v: %v", what, err, ErrType, tc.want)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<30 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func decodes[T any](b []byte) error { return errOf(decodeNewObjects[T](b)) }

func decodeOne[T any](b []byte) error { return errOf(decodeObjects(b, make([]T, 1))) }

// Every part of a stream may be missing, or be another.
func TestDamagedStreams(t *testing.T) {
	good, err := encodeObjects(nil, []any{1, []any{lengthy{}, branch{Kids: []branch{{Name: "b"}}}}, map[string]any{"a": anything{}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := objectHeaderLen; i < len(good); i++ {
		if err := checkStream(good[objectHeaderLen:i]); err == nil {
			t.Errorf("%d of %d bytes are a stream", i, len(good))
		}
		for _, with := range []byte{0, 1, 0x7f, 0x80, 0xf8, 0xff, good[i] + 1, good[i] ^ 0x40} {
			b := bytes.Clone(good)
			b[i] = with
			_ = decodes[any](b) // whatever that gives
		}
	}
}

// RecvValue of a message whose sender is hostile.
func TestReceiveHostileStream(t *testing.T) {
	definitions, value := streamOf(t, linked(3))
	b := objectsOf(definitions, splice(t, value, nestedLinks(3), nestedLinks(mostNestedStream+10)))
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		if c.Rank() == 0 {
			for range 2 {
				if err := c.send("Send", modeStandard, &payload{b: b, class: classObject}, 1, 0); err != nil {
					return err
				}
			}
			return nil
		}
		for range 2 {
			if _, _, err := RecvValue[*link](c, 0, 0); !errors.Is(err, ErrType) || !errors.Is(err, errStreamDepth) {
				t.Errorf("%v, want an error of class %v: %v", err, ErrType, errStreamDepth)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
