package mpi

import (
	"encoding/binary"
	"math/big"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

type (
	celsius float64
	point   struct{ X, Y float64 }
	cell    struct {
		On    bool
		Where [3]point
		_     uint16
	}
	person struct {
		Name string
		Tags []string
	}
	node struct {
		Value int
		Next  *node
	}
	withChan struct {
		Name string
		Sub  struct{ Done chan int }
	}
	hidden struct{ _ *int }
	handle struct{ _ uintptr }
	// plainMarshaler is plain, and has a binary form that must not be used.
	plainMarshaler int32
)

func (plainMarshaler) MarshalBinary() ([]byte, error) { panic("plain types travel as memory") }
func (*plainMarshaler) UnmarshalBinary([]byte) error  { panic("plain types travel as memory") }

func TestElemPlain(t *testing.T) {
	checkPlain[bool](t, 1, classBool)
	checkPlain[int8](t, 1, classInt8)
	checkPlain[int16](t, 2, classInt16)
	checkPlain[int32](t, 4, classInt32)
	checkPlain[int64](t, 8, classInt64)
	checkPlain[uint8](t, 1, classUint8)
	checkPlain[uint16](t, 2, classUint16)
	checkPlain[uint32](t, 4, classUint32)
	checkPlain[uint64](t, 8, classUint64)
	checkPlain[float32](t, 4, classFloat32)
	checkPlain[float64](t, 8, classFloat64)
	checkPlain[complex64](t, 8, classComplex64)
	checkPlain[complex128](t, 16, classComplex128)
	checkPlain[celsius](t, 8, classFloat64)
	checkPlain[time.Duration](t, 8, classInt64)
	checkPlain[plainMarshaler](t, 4, classInt32)
	checkPlain[point](t, 16, classComposite)
	checkPlain[cell](t, int(unsafe.Sizeof(cell{})), classComposite)
	checkPlain[[5]int32](t, 20, classComposite)
	checkPlain[struct{}](t, 0, classComposite)
	checkPlain[[0]string](t, 0, classComposite)
	checkPlain[Loc[float64]](t, 16, classComposite)
	wide := strconvIntSize == 64
	if wide {
		checkPlain[int](t, 8, classInt64)
		checkPlain[uint](t, 8, classUint64)
	} else {
		checkPlain[int](t, 4, classInt32)
		checkPlain[uint](t, 4, classUint32)
	}
}

const strconvIntSize = 32 << (^uint(0) >> 63)

func checkPlain[T any](t *testing.T, size int, class elemClass) {
	t.Helper()
	e := elemOf[T]()
	if !e.plain || e.err != nil || e.size != size || e.class != class || e.codec != codecNone {
		t.Errorf("%s: plain %v, size %d, class %v, codec %d, err %v; want plain, %d, %v", e.name, e.plain, e.size, e.class, e.codec, e.err, size, class)
	}
	if e.typ != reflect.TypeFor[T]() || e.name != e.typ.String() {
		t.Errorf("elem of %s says %v, %q", reflect.TypeFor[T](), e.typ, e.name)
	}
}

func TestElemObjects(t *testing.T) {
	checkObject[string](t, codecString)
	checkObject[[]byte](t, codecByteSlice)
	checkObject[binaryText](t, codecBinary)
	checkObject[*regexp.Regexp](t, codecText)
	checkObject[regexp.Regexp](t, codecText)
	checkObject[ownText](t, codecText)
	checkObject[textAndFields](t, codecGob)
	checkObject[textAndBinary](t, codecBinary)
	checkObject[time.Time](t, codecBinary)
	checkObject[*time.Time](t, codecBinary)
	checkObject[netip.Addr](t, codecBinary)
	checkObject[[]float64](t, codecGob)
	checkObject[[]plainMarshaler](t, codecGob)
	checkObject[[]nibble](t, codecGob)
	checkObject[map[string]int](t, codecGob)
	checkObject[any](t, codecGob)
	checkObject[error](t, codecGob)
	checkObject[person](t, codecGob)
	checkObject[*person](t, codecGob)
	checkObject[*int](t, codecGob)
	checkObject[node](t, codecGob)
	checkObject[*big.Int](t, codecGob)
	checkObject[[2]string](t, codecGob)
}

func checkObject[T any](t *testing.T, codec objectCodec) {
	t.Helper()
	e := elemOf[T]()
	if e.plain || e.err != nil || e.class != classObject || e.codec != codec {
		t.Errorf("%s: plain %v, class %v, codec %d, err %v; want an object by codec %d", e.name, e.plain, e.class, e.codec, e.err, codec)
	}
}

func TestElemRefused(t *testing.T) {
	checkRefused[chan int](t, "chan int")
	checkRefused[func()](t, "func()")
	checkRefused[uintptr](t, "uint64")
	checkRefused[handle](t, "uintptr")
	checkRefused[[4]uintptr](t, "uintptr")
	checkRefused[unsafe.Pointer](t, "unsafe.Pointer")
	checkRefused[[]chan int](t, "chan int")
	checkRefused[map[string]func()](t, "func()")
	checkRefused[*withChan](t, "field Sub.Done: type chan int")
	checkRefused[hidden](t, "no exported fields")
	checkRefused[struct{ H *hidden }](t, "field H: ")
	checkRefused[struct {
		Name string
		FD   uintptr
	}](t, "field FD: ")
}

func checkRefused[T any](t *testing.T, says string) {
	t.Helper()
	e := elemOf[T]()
	if e.plain || e.err == nil || e.class == classObject {
		t.Errorf("%s: plain %v, class %v, err %v; want it refused", e.name, e.plain, e.class, e.err)
		return
	}
	if !strings.Contains(e.err.Error(), says) || !strings.Contains(e.err.Error(), "send ") && !strings.Contains(e.err.Error(), "give ") {
		t.Errorf("%s: error %q does not say %q and what to do", e.name, e.err, says)
	}
}

func TestElemOfIsOnePerType(t *testing.T) {
	var wg sync.WaitGroup
	got := make([]*elem, 64)
	for i := range got {
		wg.Go(func() { got[i] = elemOf[struct{ A, B int32 }]() })
	}
	wg.Wait()
	for _, e := range got {
		if e != got[0] {
			t.Fatal("two descriptions of one type")
		}
	}
	if elemOf[int32]() == elemOf[uint32]() {
		t.Error("one description of two types")
	}
}

// Types that share a cache slot must still each find their own description.
func TestElemCacheCollision(t *testing.T) {
	a, b := elemOf[int64](), elemOf[float64]()
	slot := elemSlot(a.id)
	slot.Store(b)
	if got := elemOf[int64](); got != a {
		t.Errorf("elemOf[int64] = %s after a collision", got.name)
	}
}

func TestBytesOf(t *testing.T) {
	v := []uint32{1, 1 << 24, 7}
	b := bytesOf(v)
	if len(b) != 12 || binary.NativeEndian.Uint32(b[4:]) != 1<<24 {
		t.Errorf("bytesOf = %v", b)
	}
	binary.NativeEndian.PutUint32(b[8:], 9)
	if v[2] != 9 {
		t.Error("bytesOf is not a view")
	}
	w := sliceOf[uint32](b[4:])
	w[0] = 5
	if len(w) != 2 || v[1] != 5 {
		t.Errorf("sliceOf = %v over %v", w, v)
	}
	if w := sliceOf[uint32](b[:11]); len(w) != 2 {
		t.Errorf("sliceOf 11 bytes has %d elements, want the 2 whole ones", len(w))
	}
	for what, n := range map[string]int{
		"nil":                len(bytesOf[int](nil)),
		"empty":              len(bytesOf([]int{})),
		"elements of size 0": len(bytesOf(make([]struct{}, 5))),
		"slice of nil":       len(sliceOf[int](nil)),
		"slice of size 0":    len(sliceOf[struct{}](b)),
		"slice of too few":   len(sliceOf[int64](b[:7])),
	} {
		if n != 0 {
			t.Errorf("%s: length %d, want 0", what, n)
		}
	}
}

func TestSliceOfMisalignedPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "not aligned") {
			t.Errorf("recovered %v, want a complaint about alignment", r)
		}
	}()
	sliceOf[uint64](bytesOf([]uint64{1, 2})[1:])
}

func TestElemOfDoesNotAllocate(t *testing.T) {
	v := make([]float64, 8)
	elemOf[float64]()
	if n := testing.AllocsPerRun(100, func() {
		if e := elemOf[float64](); len(sliceOf[float64](bytesOf(v)))*e.size != 64 {
			t.Error("wrong size")
		}
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

var elemSink *elem

func BenchmarkElemOf(b *testing.B) {
	b.Run("float64", func(b *testing.B) {
		for b.Loop() {
			elemSink = elemOf[float64]()
		}
	})
	b.Run("struct", func(b *testing.B) {
		for b.Loop() {
			elemSink = elemOf[point]()
		}
	})
	b.Run("map only", func(b *testing.B) {
		elemOf[point]()
		for b.Loop() {
			e, _ := elems.Load(reflect.TypeFor[point]())
			elemSink = e.(*elem)
		}
	})
}
