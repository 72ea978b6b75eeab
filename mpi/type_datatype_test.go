package mpi

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// padded has padding between its fields and at its end.
type padded struct {
	A int8
	B float64
	C int16
}

func TestDatatypeErrors(t *testing.T) {
	double := TypeOf[float64]()
	bad := Contiguous(-3, double)
	for _, test := range []struct {
		name  string
		d     *Datatype
		class ErrorClass
		says  []string
	}{
		{"nil", nil, ErrType, []string{"nil"}},
		{"a type with pointers", TypeOf[string](), ErrType, []string{"TypeOf", "string has no layout"}},
		{"a field with pointers", TypeOf[struct{ N *int }](), ErrType, []string{"field N", "*int"}},
		{"Contiguous of nil", Contiguous(1, nil), ErrType, []string{"Contiguous", "nil"}},
		{"Contiguous", bad, ErrCount, []string{"Contiguous", "-3"}},
		{"Vector count", Vector(-1, 1, 1, double), ErrCount, []string{"count", "-1"}},
		{"Vector block", Vector(1, -2, 1, double), ErrCount, []string{"block length", "-2"}},
		{"Hvector count", Hvector(-1, 1, 1, double), ErrCount, []string{"count", "-1"}},
		{"Hvector block", Hvector(1, -2, 1, double), ErrCount, []string{"block length", "-2"}},
		{"Indexed lengths", Indexed([]int{1, 2}, []int{0}, double), ErrArg, []string{"1 displacements for 2 blocks"}},
		{"Indexed block", Indexed([]int{1, -7}, []int{0, 1}, double), ErrCount, []string{"block 1", "-7"}},
		{"Hindexed lengths", Hindexed(nil, []int{0}, double), ErrArg, []string{"1 displacements for 0 blocks"}},
		{"IndexedBlock", IndexedBlock(-1, []int{0}, double), ErrCount, []string{"-1"}},
		{"HindexedBlock", HindexedBlock(-1, []int{0}, double), ErrCount, []string{"-1"}},
		{"Struct types", Struct([]int{1}, []int{0}, nil), ErrArg, []string{"0 types for 1 blocks"}},
		{"Struct displacements", Struct([]int{1}, nil, []*Datatype{double}), ErrArg, []string{"0 displacements for 1 blocks"}},
		{"Struct nil", Struct([]int{1, 1}, []int{0, 8}, []*Datatype{double, nil}), ErrType, []string{"datatype 1 is nil"}},
		{"Struct block", Struct([]int{-1}, []int{0}, []*Datatype{double}), ErrCount, []string{"block 0", "-1"}},
		{"Subarray dims", Subarray([]int{2}, []int{1, 1}, []int{0}, OrderC, double), ErrArg, []string{"1 sizes, 2 subsizes and 1 starts"}},
		{"Subarray no dims", Subarray(nil, nil, nil, OrderC, double), ErrArg, []string{"0 sizes"}},
		{"Subarray size", Subarray([]int{0}, []int{1}, []int{0}, OrderC, double), ErrArg, []string{"size 0"}},
		{"Subarray subsize", Subarray([]int{3, 3}, []int{1, 4}, []int{0, 0}, OrderC, double), ErrArg, []string{"dimension 1", "subsize 4", "1 to 3"}},
		{"Subarray no subsize", Subarray([]int{3}, []int{0}, []int{0}, OrderC, double), ErrArg, []string{"subsize 0"}},
		{"Subarray start", Subarray([]int{3}, []int{2}, []int{2}, OrderC, double), ErrArg, []string{"starts at 2", "0 to 1"}},
		{"Subarray negative start", Subarray([]int{3}, []int{2}, []int{-1}, OrderC, double), ErrArg, []string{"starts at -1"}},
		{"Subarray order", Subarray([]int{3}, []int{2}, []int{0}, Order(7), double), ErrArg, []string{"Order(7)"}},
		{"Darray dims", Darray(1, 0, []int{2}, nil, nil, []int{1}, OrderC, double), ErrArg, []string{"0 distributions"}},
		{"Darray rank", Darray(2, 2, []int{4}, block(1), nil, []int{2}, OrderC, double), ErrArg, []string{"rank is 2", "0 to 1"}},
		{"Darray negative rank", Darray(2, -1, []int{4}, block(1), nil, []int{2}, OrderC, double), ErrArg, []string{"rank is -1"}},
		{"Darray grid", Darray(4, 0, []int{4}, block(1), nil, []int{2}, OrderC, double), ErrArg, []string{"product", "4"}},
		{"Darray grid of nothing", Darray(4, 0, []int{4}, block(1), nil, []int{0}, OrderC, double), ErrArg, []string{"size 0"}},
		{"Darray grid beyond", Darray(4, 0, []int{4, 4}, block(2), nil, []int{4, 3}, OrderC, double), ErrArg, []string{"size 3"}},
		{"Darray order", Darray(1, 0, []int{4}, block(1), nil, []int{1}, Order(2), double), ErrArg, []string{"Order(2)"}},
		{"Darray size", Darray(1, 0, []int{0}, block(1), nil, []int{1}, OrderC, double), ErrArg, []string{"size 0"}},
		{"Darray blocks", Darray(2, 0, []int{5}, block(1), []int{2}, []int{2}, OrderC, double), ErrArg, []string{"blocks of 2", "3 at least"}},
		{"Darray argument", Darray(2, 0, []int{5}, []Distribution{DistributeCyclic}, []int{-1}, []int{2}, OrderC, double), ErrArg, []string{"-1"}},
		{"Darray none", Darray(2, 0, []int{5}, []Distribution{DistributeNone}, nil, []int{2}, OrderC, double), ErrArg, []string{"needs 1"}},
		{"Darray none's argument", Darray(1, 0, []int{5}, []Distribution{DistributeNone}, []int{2}, []int{1}, OrderC, double), ErrArg, []string{"takes none"}},
		{"Darray distribution", Darray(1, 0, []int{5}, []Distribution{9}, nil, []int{1}, OrderC, double), ErrArg, []string{"Distribution(9)"}},
		{"too large", Contiguous(math.MaxInt, double), ErrArg, []string{"Contiguous", "9223372036854775807", "further than memory"}},
		{"too large a stride", Vector(2, 1, math.MaxInt, double), ErrArg, []string{"Vector(2, 1, 9223372036854775807, float64)"}},
		{"too large a displacement", Indexed([]int{1}, []int{math.MinInt}, double), ErrArg, []string{"further than memory"}},
		{"too large bounds", Resized(double, math.MaxInt, 1), ErrArg, []string{"Resized"}},
		{"too large an array", Subarray([]int{1 << 40, 1 << 40}, []int{1, 1}, []int{0, 0}, OrderC, double), ErrArg, []string{"Subarray"}},
		// The error of a type is that of all that is made from it.
		{"nested", Vector(2, 1, 3, Resized(bad, 0, 8).Dup()), ErrCount, []string{"Contiguous", "-3"}},
		{"nested in Struct", Struct([]int{1, 1}, []int{0, 8}, []*Datatype{double, bad}), ErrCount, []string{"Contiguous", "-3"}},
		{"Dup of nil", (*Datatype)(nil).Dup(), ErrType, []string{"Dup", "nil"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkDatatypeError(t, test.d, test.class, test.says)
		})
	}
	if err := double.Err(); err != nil {
		t.Errorf("TypeOf[float64]: %v", err)
	}
}

func block(dims int) []Distribution { return make([]Distribution, dims) } // DistributeBlock is 0

// checkDatatypeError looks at Err, and at what operations say.
func checkDatatypeError(t *testing.T, d *Datatype, class ErrorClass, says []string) {
	t.Helper()
	var errs []error
	errs = append(errs, d.Err(), d.SetName("x"), new(Status).SetElements(d, 0))
	if d != nil { // a nil Datatype is that of T here
		_, err := Pack(nil, []float64{1}, d)
		_, uerr := UnpackExternal(make([]byte, 8), []float64{1}, d)
		errs = append(errs, err, uerr)
	}
	for i, err := range errs {
		if !errors.Is(err, class) {
			t.Errorf("error %d is %v, want one of class %v", i, err, class)
			continue
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("error %d, %q, does not say %q", i, err, s)
			}
		}
	}
	lb, extent := d.Extent()
	trueLB, trueExtent := d.TrueExtent()
	if d.Size() != 0 || lb != 0 || extent != 0 || trueLB != 0 || trueExtent != 0 {
		t.Error("a datatype with an error has a size")
	}
	if n := (Status{bytes: 8}).GetCount(d); n != Undefined {
		t.Errorf("GetCount with it is %d", n)
	}
	if n := (Status{bytes: 8}).GetElements(d); n != Undefined {
		t.Errorf("GetElements with it is %d", n)
	}
}

func TestDatatypeString(t *testing.T) {
	double := TypeOf[float64]()
	column := Vector(3, 1, 8, double)
	named := column.Dup()
	if err := named.SetName("column"); err != nil {
		t.Fatal(err)
	}
	long := make([]int, 20)
	deep := column
	for range 10 {
		deep = Contiguous(1, deep)
	}
	for want, d := range map[string]*Datatype{
		"float64":                         double,
		"mpi.padded":                      TypeOf[padded](),
		"Vector(3, 1, 8, float64)":        column,
		"column":                          named,
		"Contiguous(2, column)":           Contiguous(2, named),
		"Dup(float64)":                    double.Dup(),
		"Hvector(3, 1, 8, uint8)":         Hvector(3, 1, 8, TypeOf[byte]()),
		"Indexed([1 2], [0 4], float64)":  Indexed([]int{1, 2}, []int{0, 4}, double),
		"Hindexed([1 2], [0 4], float64)": Hindexed([]int{1, 2}, []int{0, 4}, double),
		"IndexedBlock(2, [0 0 0 0 0 0 0 0 ... 20 in all], float64)":       IndexedBlock(2, long, double),
		"HindexedBlock(2, [0 3], float64)":                                HindexedBlock(2, []int{0, 3}, double),
		"Struct([1 1], [0 8], [float64 column])":                          Struct([]int{1, 1}, []int{0, 8}, []*Datatype{double, named}),
		"Subarray([4], [2], [1], OrderFortran, float64)":                  Subarray([]int{4}, []int{2}, []int{1}, OrderFortran, double),
		"Darray(2, 1, [4], [DistributeBlock], [0], [2], OrderC, float64)": Darray(2, 1, []int{4}, block(1), nil, []int{2}, OrderC, double),
		"Resized(float64, -8, 24)":                                        Resized(double, -8, 24),
		"Contiguous(1, Contiguous(1, Contiguous(1, Contiguous(1, ...))))": deep,
		"Struct([0 0 0 0 0 0 0 0 ... 9 in all], [0 0 0 0 0 0 0 0 ... 9 in all], [nil nil nil nil nil nil nil nil ... 9 in all])": Struct(long[:9], long[:9], make([]*Datatype, 9)),
	} {
		if got := d.String(); got != want {
			t.Errorf("String is %q, want %q", got, want)
		}
	}
	if s := (*Datatype)(nil).String(); s != "nil" || (*Datatype)(nil).Name() != "" {
		t.Errorf("nil is %q", s)
	}
	if Combiner(99).String() != "Combiner(99)" || Distribution(1).String() != "DistributeCyclic" {
		t.Error("the constants' names")
	}
}

// What is made from slices does not change with them.
func TestDatatypeIsImmutable(t *testing.T) {
	lens, displs := []int{1, 2}, []int{0, 4}
	kinds := []*Datatype{TypeOf[float64](), TypeOf[float64]()}
	all := []*Datatype{
		Indexed(lens, displs, kinds[0]), Hindexed(lens, displs, kinds[0]), Struct(lens, displs, kinds), IndexedBlock(1, displs, kinds[0]),
		HindexedBlock(1, displs, kinds[0]), Subarray(lens, lens, []int{0, 0}, OrderC, kinds[0]), Darray(2, 0, lens, block(2), nil, lens, OrderC, kinds[0]),
	}
	var before []string
	for _, d := range all {
		before = append(before, d.String())
	}
	lens[0], displs[1], kinds[1] = 9, 9, nil
	for i, d := range all {
		c := d.Contents()
		for _, list := range [][]int{c.BlockLens, c.Displs, c.Sizes, c.Subsizes, c.Starts, c.Dargs, c.Psizes} {
			for j := range list {
				list[j] = 99
			}
		}
		c.Types[0] = nil
		clear(c.Distribs)
		if got := d.String(); got != before[i] {
			t.Errorf("%s has become %s", before[i], got)
		}
	}
}

// TypeOf returns one Datatype for a type, whichever goroutine asks.
func TestTypeOfIsOne(t *testing.T) {
	type fresh struct{ A, B int32 }
	got := make([]*Datatype, 32)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = TypeOf[fresh]() })
	}
	wg.Wait()
	for _, d := range got {
		if d != got[0] {
			t.Fatal("two Datatypes of one type")
		}
	}
	if err := got[0].SetName("mine"); !errors.Is(err, ErrType) || !strings.Contains(err.Error(), "Dup") {
		t.Errorf("SetName on it: %v", err)
	}
}

// Every description in the element table that is plain has a layout, and the other way round.
func TestElemAndLayoutAgree(t *testing.T) {
	for _, test := range []struct {
		d *Datatype
		e *elem
	}{
		{TypeOf[bool](), elemOf[bool]()}, {TypeOf[int](), elemOf[int]()}, {TypeOf[uint](), elemOf[uint]()}, {TypeOf[int8](), elemOf[int8]()},
		{TypeOf[uint16](), elemOf[uint16]()}, {TypeOf[complex64](), elemOf[complex64]()}, {TypeOf[complex128](), elemOf[complex128]()},
		{TypeOf[celsius](), elemOf[celsius]()}, {TypeOf[cell](), elemOf[cell]()}, {TypeOf[point](), elemOf[point]()}, {TypeOf[person](), elemOf[person]()},
		{TypeOf[[0]string](), elemOf[[0]string]()}, {TypeOf[struct{}](), elemOf[struct{}]()}, {TypeOf[hidden](), elemOf[hidden]()},
		{TypeOf[handle](), elemOf[handle]()}, {TypeOf[uintptr](), elemOf[uintptr]()}, {TypeOf[[]int](), elemOf[[]int]()},
		{TypeOf[plainMarshaler](), elemOf[plainMarshaler]()}, {TypeOf[Loc[float32]](), elemOf[Loc[float32]]()},
	} {
		if test.e.plain != (test.d.Err() == nil) {
			t.Errorf("%s: plain %v, but the Datatype says %v", test.e.name, test.e.plain, test.d.Err())
		}
		if _, extent := test.d.Extent(); test.e.plain && extent != test.e.size {
			t.Errorf("%s: size %d, extent %d", test.e.name, test.e.size, extent)
		}
		if m := test.d.m; test.e.plain && test.e.class != classComposite && m.Signature() != test.e.class.String() {
			t.Errorf("%s: class %v, signature %s", test.e.name, test.e.class, m.Signature())
		}
	}
}

func TestOver(t *testing.T) {
	double, i32 := TypeOf[float64](), TypeOf[int32]()
	check := func(name string, err *Error, class ErrorClass, says ...string) {
		t.Helper()
		if class == Success {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		if err == nil || err.Class != class {
			t.Errorf("%s: error %v, want one of class %v", name, err, class)
			return
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: error %q does not say %q", name, err, s)
			}
		}
	}
	column := Vector(3, 1, 4, double) // 9 values from the first to the last
	for _, test := range []struct {
		n, count int
		class    ErrorClass
	}{{9, 1, Success}, {8, 1, ErrBuffer}, {18, 2, Success}, {17, 2, ErrBuffer}, {0, 0, Success}, {0, 1, ErrBuffer}, {100, -1, ErrCount}} {
		_, err := over("Send", column, make([]float64, test.n), test.count)
		check(fmt.Sprintf("%d over %d", test.count, test.n), err, test.class, "Send")
	}
	_, err := over("Send", column, make([]float64, 8), 1)
	check("short", err, ErrBuffer, "Vector(3, 1, 4, float64)", "to byte 72", "8 float64", "64 bytes")
	_, err = over("Send", column, make([]float64, 8), math.MaxInt/2)
	check("very many", err, ErrCount, "further than memory")
	_, err = over("Send", Hindexed([]int{1}, []int{-8}, double), make([]float64, 8), 1)
	check("before the buffer", err, ErrBuffer, "8 bytes before")
	_, err = over("Send", column, make([]int64, 9), 1)
	check("another kind", err, ErrType, "a float64 at byte 0", "buffer of int64 has an int64")
	_, err = over("Send", column, make([]byte, 72), 1)
	check("bytes", err, Success)
	_, err = over("Send", column, make([][8]byte, 9), 1)
	check("arrays of bytes", err, Success)
	_, err = over("Send", column, make([]celsius, 9), 1)
	check("a named type", err, Success)
	_, err = over("Send", column, make([][3]float64, 3), 1)
	check("arrays", err, Success)
	_, err = over("Send", column, []string{"x"}, 1)
	check("objects", err, ErrType, "string", "serialised")
	_, err = over[string]("Send", nil, []string{"x"}, 1)
	check("objects without a type", err, ErrType, "string", "serialised")
	_, err = over("Send", Hvector(2, 1, 12, double), make([]float64, 9), 1)
	check("between values", err, ErrType, "a float64 at byte 12", "no value")
	second := Resized(Hindexed([]int{1}, []int{8}, double), 0, 24)
	_, err = over("Send", second, make([]padded, 5), 5)
	check("one field of each", err, Success)
	narrow := Resized(second, 0, 8) // what fits once does not fit twice
	_, err = over("Send", narrow, make([]padded, 5), 1)
	check("one field of one", err, Success)
	_, err = over("Send", narrow, make([]padded, 5), 2)
	check("then another field", err, ErrType, "a float64 at byte 16", "padded has an int16")
	_, err = over("Send", narrow, make([]padded, 5), 1)
	check("one again", err, Success)
	_, err = over("Send", narrow, make([]int64, 5), 1)
	check("over another type", err, ErrType, "int64")
	_, err = over("Send", Resized(i32, 0, 24), make([]padded, 5), 1)
	check("an int32 over an int8", err, ErrType, "an int32 at byte 0", "an int8")
	o, err := over("Send", nil, make([]padded, 5), 1)
	check("no type", err, Success)
	if o.count != 5 || o.size != 5*11 || len(o.mem) != 5*24 {
		t.Errorf("no type: %d values of %d bytes over %d", o.count, o.size, len(o.mem))
	}
	o, err = over("Send", TypeOf[struct{}](), []int(nil), 3)
	check("nothing", err, Success)
	if o.size != 0 {
		t.Errorf("nothing has %d bytes", o.size)
	}
}

// Packing into memory that suffices allocates nothing, and a layout is compared with a type once.
func TestPackAllocations(t *testing.T) {
	src := make([]padded, 10)
	field := Contiguous(10, Resized(Hindexed([]int{1}, []int{16}, TypeOf[int16]()), 0, 24))
	dst := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		b, err := Pack(dst, src, field)
		if err != nil || len(b) != 20 {
			t.Fatal(len(b), err)
		}
		if b, err = PackExternal(b, src, nil); err != nil || len(b) != 20+110 {
			t.Fatal(len(b), err)
		}
		if b, err = Unpack(b, src, field); err != nil || len(b) != 110 {
			t.Fatal(len(b), err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPackExternalKinds(t *testing.T) {
	type all struct {
		B    bool
		I8   int8
		I16  int16
		I32  int32
		I64  int64
		I    int
		U8   uint8
		U16  uint16
		U32  uint32
		U64  uint64
		U    uint
		F32  float32
		F64  float64
		C64  complex64
		C128 complex128
	}
	v := all{true, -2, -2, -2, -2, -2, 1, 1, 1, 1, 1, 1.5, -2, complex(1.5, -2), complex(-2, 1.5)}
	want := []byte{1, 0xfe, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfe}
	minus2 := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}
	one := []byte{0, 0, 0, 0, 0, 0, 0, 1}
	f15, fm2 := []byte{0x3f, 0xc0, 0, 0}, []byte{0xc0, 0, 0, 0}
	d15, dm2 := []byte{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}, []byte{0xc0, 0, 0, 0, 0, 0, 0, 0}
	intSize := strconvIntSize / 8
	want = slices.Concat(want, minus2, minus2[8-intSize:], []byte{1, 0, 1, 0, 0, 0, 1}, one, one[8-intSize:], f15, dm2, f15, fm2, dm2, d15)
	got, err := PackExternal(nil, []all{v}, nil)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("external32 is\n% x (%v), want\n% x", got, err, want)
	}
	little, err := Pack(nil, []all{v}, nil)
	if err != nil || len(little) != len(want) || little[2] != 0xfe || little[3] != 0xff {
		t.Errorf("packed: % x (%v)", little, err)
	}
	var back, again [1]all
	if rest, err := UnpackExternal(got, back[:], nil); err != nil || len(rest) != 0 || back[0] != v {
		t.Errorf("unpacked %+v (%v)", back[0], err)
	}
	if rest, err := Unpack(little, again[:], nil); err != nil || len(rest) != 0 || !reflect.DeepEqual(again[0], v) {
		t.Errorf("unpacked %+v (%v)", again[0], err)
	}
}
