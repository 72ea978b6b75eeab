package layout

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// must takes a map from its constructor.
func must(m *Map, err error) *Map {
	if err != nil {
		panic(err)
	}
	return m
}

// The programs are as short as the layouts allow, whatever the way they were composed.
func TestPrograms(t *testing.T) {
	double := Basic(Float64)
	column := must(Hvector(double, 1000, 1, 80))
	for _, test := range []struct {
		name      string
		m         *Map
		op        op
		nodes     int
		runs      int
		signature string
	}{
		{"basic", double, opRun, 1, 1, "float64"},
		{"array", must(Contiguous(double, 1<<40)), opRun, 1, 1, "1099511627776*float64"},
		{"array of arrays", must(Contiguous(must(Contiguous(double, 10)), 20)), opRun, 1, 1, "200*float64"},
		{"column", column, opLoop, 2, 1000, "1000*float64"},
		{"columns", must(Contiguous(must(Resized(column, 0, 80000)), 5)), opLoop, 2, 5000, "5000*float64"},
		{"column by index", must(IndexedBlock(double, 1, []int{0, 10, 20, 30})), opLoop, 2, 4, "4*float64"},
		{"neighbours by index", must(IndexedBlock(double, 2, []int{4, 6, 8})), opRun, 1, 1, "6*float64"},
		{"irregular", must(IndexedBlock(double, 1, []int{0, 10, 30})), opSeq, 4, 3, "3*float64"},
		{"two kinds", must(Struct([]int{1, 3}, []int{0, 8}, []*Map{double, Basic(Int32)})), opSeq, 3, 1, "float64 3*int32"},
		{"two kinds, a gap", must(Struct([]int{1, 1, 1}, []int{0, 8, 16}, []*Map{double, Basic(Int32), double})), opSeq, 5, 2, "float64 int32 float64"},
		{"fields of one kind", must(Of(reflect.TypeFor[struct{ A, B, C, D int16 }]())), opRun, 1, 1, "4*int16"},
		{"whole subarray", must(Subarray(double, []int{8, 8}, []int{8, 8}, []int{0, 0}, RowMajor)), opRun, 1, 1, "64*float64"},
		{"rows", must(Subarray(double, []int{8, 8}, []int{3, 8}, []int{2, 0}, RowMajor)), opRun, 1, 1, "24*float64"},
		{"cyclic", must(Darray(double, []int{1 << 30}, []Share{{1, 4, 1}}, RowMajor)), opLoop, 2, 1 << 28, "268435456*float64"},
	} {
		n := test.m.root.n
		if n.op != test.op || nodes(n) != test.nodes || n.runs != test.runs || test.m.Signature() != test.signature {
			t.Errorf("%s: op %d of %d nodes, %d runs, %q; want op %d of %d, %d, %q", test.name, n.op, nodes(n), n.runs, test.m.Signature(),
				test.op, test.nodes, test.runs, test.signature)
		}
	}
}

// nodes is the number of nodes of a program, those that are shared counted again.
func nodes(n *node) int {
	all := 1
	if n.child != nil {
		all += nodes(n.child)
	}
	for _, p := range n.parts {
		all += nodes(p.n)
	}
	return all
}

func TestSignatureIsCut(t *testing.T) {
	pair := must(Struct([]int{1, 1}, []int{0, 4}, []*Map{Basic(Float32), Basic(Int32)}))
	six, seven, many := must(Contiguous(pair, 6)), must(Contiguous(pair, 7)), must(Contiguous(pair, 1<<40))
	if s := six.Signature(); s != strings.TrimSpace(strings.Repeat("float32 int32 ", 6)) {
		t.Errorf("12 groups are %q", s)
	}
	if s := seven.Signature(); !strings.HasPrefix(s, six.Signature()+" ... (14 values, hash ") {
		t.Errorf("14 groups are %q", s)
	}
	if s := many.Signature(); len(s) > 200 || !strings.Contains(s, "(2199023255552 values") {
		t.Errorf("very many groups are %q", s)
	}
	if six.Hash(7) != seven.Hash(6) || six.Hash(1) == seven.Hash(1) || six.Hash(0) != seven.Hash(0) {
		t.Error("the hash is not that of the values")
	}
	if a, b := must(Contiguous(Basic(Float64), 2)).Hash(1), must(Contiguous(Basic(Int64), 2)).Hash(1); a == b {
		t.Error("the hash does not tell kinds apart")
	}
}

func TestOf(t *testing.T) {
	for _, typ := range append(goTypes, reflect.TypeFor[int](), reflect.TypeFor[uint](), reflect.TypeFor[[0]string](), reflect.TypeFor[time.Duration](),
		reflect.TypeFor[[1 << 40]struct{ A, B int64 }]()) {
		m := must(Of(typ))
		if lb, extent := m.Extent(); lb != 0 || extent != int(typ.Size()) || typ.Size() > 0 && m.align != typ.Align() {
			t.Errorf("%v: extent %d from %d, alignment %d; want %d from 0, %d", typ, extent, lb, m.align, typ.Size(), typ.Align())
		}
		if again := must(Of(typ)); again != m {
			t.Errorf("%v has two maps", typ)
		}
	}
	for typ, padded := range map[reflect.Type]bool{
		reflect.TypeFor[struct{ A, B int32 }](): false,
		reflect.TypeFor[struct {
			A int32
			B float64
		}](): true,
		reflect.TypeFor[struct {
			A float64
			B int32
		}](): true,
		reflect.TypeFor[struct{ A, _ int32 }](): true,
		reflect.TypeFor[struct {
			A float64
			B struct{ C, D int32 }
		}](): false,
	} {
		if must(Of(typ)).IsContiguous() == padded {
			t.Errorf("%v: padding %v", typ, !padded)
		}
	}
	for typ, says := range map[reflect.Type]string{
		reflect.TypeFor[string]():                             "a string has no layout",
		reflect.TypeFor[struct{ P *int }]():                   "field P of struct { P *int }: a *int has",
		reflect.TypeFor[[2]struct{ Q struct{ _ uintptr } }](): "field Q of struct { Q struct { _ uintptr } }: field _ of",
		reflect.TypeFor[struct{ F [3]func() }]():              "a func() has no layout",
		reflect.TypeFor[struct{ M map[int]int }]():            "field M",
		reflect.TypeFor[chan int]():                           "chan int",
		reflect.TypeFor[struct{ E error }]():                  "error has no layout",
		reflect.TypeFor[struct{ S []byte }]():                 "[]uint8 has no layout",
		reflect.TypeFor[struct {
			_ struct{ _ [1]struct{ _ any } }
		}](): "interface {} has no layout",
	} {
		if _, err := Of(typ); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: error %v, want %q", typ, err, says)
		}
	}
}

// What reaches too far is an error; what does not has the bounds that exact arithmetic gives.
func TestTooLarge(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	number := func() int {
		n := int(r.Uint64() >> (1 + r.IntN(63)))
		if r.IntN(3) == 0 {
			return -n
		}
		return n
	}
	count := func() int { return max(number(), 0) >> r.IntN(32) }
	var good, bad int
	for range 20000 {
		lb, extent := number(), number()
		if r.IntN(8) == 0 {
			extent = 0 // so that only the size limits how many there can be
		}
		base, err := Resized(Basic(Float64), lb, extent)
		exact := newExact(lb, extent)
		for _, step := range []func() (*Map, exactBounds, error){
			func() (*Map, exactBounds, error) {
				n, block, stride := count(), count(), number()
				m, err := Hvector(base, n, block, stride)
				return m, exact.repeated(block, exact.extent()).repeated(n, big.NewInt(int64(stride))), err
			},
			func() (*Map, exactBounds, error) {
				n, stride := count(), number()
				m, err := Vector(base, n, 1, stride)
				return m, exact.repeated(n, new(big.Int).Mul(exact.extent(), big.NewInt(int64(stride)))), err
			},
			func() (*Map, exactBounds, error) {
				n, disp := count(), number()
				m, err := Hindexed(base, []int{n}, []int{disp})
				return m, exact.repeated(n, exact.extent()).moved(disp), err
			},
			func() (*Map, exactBounds, error) {
				size := count()
				sub := r.IntN(min(size, 1000) + 1)
				m, err := Subarray(base, []int{size}, []int{sub}, []int{size - sub}, RowMajor)
				at := new(big.Int).Mul(exact.extent(), big.NewInt(int64(size-sub)))
				e := exact.repeated(sub, exact.extent())
				e.trueLB, e.trueUB = e.trueLB.Add(e.trueLB, at), e.trueUB.Add(e.trueUB, at)
				if sub == 0 {
					e.trueLB, e.trueUB = new(big.Int), new(big.Int)
				}
				e.lb, e.ub = new(big.Int), new(big.Int).Mul(exact.extent(), big.NewInt(int64(size)))
				return m, e, err
			},
		} {
			if err != nil {
				break
			}
			m, e, err := step()
			switch {
			case errors.Is(err, ErrTooLarge):
				bad++
				if e.fits() && e.fitsTwice() && exact.fitsTwice() {
					t.Fatalf("too large, although the bounds are %v", e)
				}
			case err != nil:
				t.Fatal(err)
			default:
				good++
				if !e.fits() {
					t.Fatalf("not too large, although the bounds are %v", e)
				}
				if !e.equal(m) {
					t.Fatalf("bounds of %+v, want %v", *m, e)
				}
				n := count()
				lo, hi, err := m.Bounds(n)
				all := e.repeated(n, e.extent())
				if err == nil && (all.trueLB.Cmp(big.NewInt(int64(lo))) != 0 || all.trueUB.Cmp(big.NewInt(int64(hi))) != 0) {
					t.Fatalf("bounds of %d elements of %+v are %d, %d, want %v", n, *m, lo, hi, all)
				}
				if err == nil && all.size.CmpAbs(big.NewInt(limit)) > 0 {
					t.Fatalf("%d elements of %+v are not too large, although they have %v bytes", n, *m, all.size)
				}
				if err != nil && all.fits() {
					t.Fatalf("%d elements of %+v are too large, although the bounds are %v", n, *m, all)
				}
			}
		}
	}
	if good < 1000 || bad < 1000 {
		t.Errorf("%d layouts were possible and %d were not: the generator shows too little", good, bad)
	}
}

// exactBounds are the bounds of a map of marked elements, without limits.
type exactBounds struct{ lb, ub, trueLB, trueUB, size *big.Int }

func newExact(lb, extent int) exactBounds {
	l, e := big.NewInt(int64(lb)), big.NewInt(int64(extent))
	return exactBounds{l, new(big.Int).Add(l, e), new(big.Int), big.NewInt(8), big.NewInt(8)}
}

func (e exactBounds) String() string {
	return fmt.Sprintf("%v to %v, data %v to %v, %v bytes", e.lb, e.ub, e.trueLB, e.trueUB, e.size)
}

func (e exactBounds) extent() *big.Int { return new(big.Int).Sub(e.ub, e.lb) }

func (e exactBounds) repeated(n int, stride *big.Int) exactBounds {
	if n == 0 || e.size.Sign() == 0 {
		return exactBounds{new(big.Int), new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
	}
	last := new(big.Int).Mul(big.NewInt(int64(n-1)), stride)
	first := new(big.Int)
	if last.Sign() < 0 {
		first, last = last, first
	}
	add := func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
	return exactBounds{add(e.lb, first), add(e.ub, last), add(e.trueLB, first), add(e.trueUB, last),
		new(big.Int).Mul(e.size, big.NewInt(int64(n)))}
}

func (e exactBounds) moved(disp int) exactBounds {
	if e.size.Sign() == 0 {
		return e
	}
	d := big.NewInt(int64(disp))
	add := func(a *big.Int) *big.Int { return new(big.Int).Add(a, d) }
	return exactBounds{add(e.lb), add(e.ub), add(e.trueLB), add(e.trueUB), e.size}
}

// fits reports whether all bounds are within the limit.
func (e exactBounds) fits() bool {
	for _, b := range []*big.Int{e.lb, e.ub, e.trueLB, e.trueUB, e.size, e.extent(), new(big.Int).Sub(e.trueUB, e.trueLB)} {
		if b.CmpAbs(big.NewInt(limit)) > 0 {
			return false
		}
	}
	return true
}

// fitsTwice reports whether there is room for intermediate results too: strides and displacements
// that another term takes back.
func (e exactBounds) fitsTwice() bool {
	for _, b := range []*big.Int{e.lb, e.ub, e.trueLB, e.trueUB} {
		if b.CmpAbs(big.NewInt(limit/8)) > 0 {
			return false
		}
	}
	return e.size.Sign() > 0
}

func (e exactBounds) equal(m *Map) bool {
	for want, got := range map[*big.Int]int{e.lb: m.lb, e.ub: m.ub, e.trueLB: m.trueLB, e.trueUB: m.trueUB, e.size: m.Size(), e.extent(): m.extent} {
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			return false
		}
	}
	return true
}

func TestChecked(t *testing.T) {
	ints := []int{math.MinInt, math.MinInt + 1, -limit - 1, -limit, -limit + 1, -3037000500, -3, -1, 0, 1, 2, 3037000499, limit - 1, limit, limit + 1, math.MaxInt}
	for _, a := range ints {
		for _, b := range ints {
			var c checked
			got := c.mul(a, b)
			want := new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b)))
			if over := want.CmpAbs(big.NewInt(limit)) > 0; c.over != over || !over && big.NewInt(int64(got)).Cmp(want) != 0 {
				t.Errorf("%d * %d = %d, over %v", a, b, got, c.over)
			}
			c = checked{}
			got = c.add(a, b)
			want = new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(int64(b)))
			over := want.CmpAbs(big.NewInt(limit)) > 0 || a > limit || b > limit || a < -limit || b < -limit
			if c.over != over || !over && big.NewInt(int64(got)).Cmp(want) != 0 {
				t.Errorf("%d + %d = %d, over %v", a, b, got, c.over)
			}
		}
	}
}

// A caller that breaks the contract is told, and does not read beyond.
func TestBeyondTheData(t *testing.T) {
	m := must(Contiguous(Basic(Int32), 3))
	for _, f := range []func(){
		func() { m.Pack(make([]byte, 13), make([]byte, 100), 0, 1, 0) },
		func() { m.Pack(make([]byte, 1), make([]byte, 100), 0, 2, 24) },
		func() { m.Pack(make([]byte, 1), make([]byte, 100), 0, 2, -1) },
		func() { m.Unpack(make([]byte, 11), 0, 1, 0, make([]byte, 12)) },
		func() { must(Contiguous(m, 0)).Pack(make([]byte, 1), nil, 0, 1, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
	must(Contiguous(m, 0)).Pack(nil, nil, 0, 5, 0) // nothing of nothing
}

// Moving any part of any layout allocates nothing.
func TestAllocations(t *testing.T) {
	pair := must(Of(goTypes[0]))
	irregular := must(Hindexed(pair, []int{1, 2, 1}, []int{0, 40, 160}))
	m := must(Hvector(irregular, 10, 2, 500))
	_, hi, _ := m.Bounds(3)
	mem := make([]byte, hi)
	size, _ := m.PackedSize(3)
	p := make([]byte, size-20)
	if n := testing.AllocsPerRun(100, func() {
		m.Pack(p, mem, 0, 3, 7)
		m.Unpack(mem, 0, 3, 7, p)
		m.PackSwapped(p, mem, 0, 3, 7)
		m.UnpackSwapped(mem, 0, 3, 7, p)
		m.BasicsIn(size - 3)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
