package layout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// source is where a generator's choices come from: a random one, or the fuzzer's bytes.
type source interface {
	intn(n int) int // from 0 to n-1
}

type randomSource struct{ *rand.Rand }

func (s randomSource) intn(n int) int { return s.IntN(n) }

// byteSource takes its choices from bytes, and 0 after them.
type byteSource struct{ b []byte }

func (s *byteSource) intn(n int) int {
	if len(s.b) == 0 {
		return 0
	}
	c := int(s.b[0])
	s.b = s.b[1:]
	return c % n
}

// made is a map and what it should be.
type made struct {
	m    *Map
	n    naive
	text string // how it was made
}

// generator makes maps at random.
type generator struct {
	source
	t *testing.T
	// aligned keeps to displacements that are multiples of this; 1 for any.
	aligned int
	leaf    *made // what to begin with; nil for any basic or Go type
}

// values beyond which a map is not composed further.
const enough = 300

// goTypes are the Go types that maps begin with.
var goTypes = []reflect.Type{
	reflect.TypeFor[struct {
		A int32
		B float64
	}](),
	reflect.TypeFor[struct {
		A float64
		B int8
	}](),
	reflect.TypeFor[[3]struct {
		_ int16
		A [2]int16
		B int64
		C bool
		_ [2]int64
	}](),
	reflect.TypeFor[struct{ A, B, C float32 }](),
	reflect.TypeFor[[4][2]complex64](),
	reflect.TypeFor[struct{}](),
	reflect.TypeFor[struct{ _ [5]byte }](),
	reflect.TypeFor[struct {
		A int64
		B [2]struct {
			A int32
			B int8
		}
		C complex128
	}](),
}

func (g *generator) basic() made {
	if g.leaf != nil {
		return *g.leaf
	}
	if g.intn(3) == 0 {
		t := goTypes[g.intn(len(goTypes))]
		return g.made(fmt.Sprint(t), naiveOf(t))(Of(t))
	}
	k := Kind(g.intn(kinds))
	return made{Basic(k), naiveBasic(k), k.String()}
}

func (g *generator) made(text string, n naive) func(*Map, error) made {
	return func(m *Map, err error) made {
		if err != nil {
			g.t.Fatalf("%s: %v", text, err)
		}
		return made{m, n, text}
	}
}

// disp is a small displacement, of either sign.
func (g *generator) disp() int { return (g.intn(60) - 20) * g.aligned }

// next composes a map of depth levels.
func (g *generator) next(depth int) made {
	if depth == 0 {
		return g.basic()
	}
	old := g.next(depth - 1)
	if len(old.n.entries) > enough {
		return old
	}
	switch g.intn(9) {
	case 0:
		return g.vector(old)
	case 1:
		return g.hvector(old)
	case 2:
		return g.hindexed(old)
	case 3:
		return g.structure(old, depth)
	case 4:
		lb, extent := g.disp(), g.disp()
		return g.made(fmt.Sprintf("resized(%s, %d, %d)", old.text, lb, extent), old.n.resized(lb, extent))(Resized(old.m, lb, extent))
	case 5:
		return g.subarray(old)
	case 6:
		return g.darray(old)
	case 7:
		n := g.intn(5)
		return g.made(fmt.Sprintf("contiguous(%d, %s)", n, old.text), old.n.times(n, old.n.extent()))(Contiguous(old.m, n))
	default:
		return g.indexed(old)
	}
}

func (g *generator) vector(old made) made {
	count, length, stride := g.intn(5), g.intn(4), g.intn(9)-3
	extent := old.n.extent()
	n := old.n.times(length, extent).times(count, stride*extent)
	text := fmt.Sprintf("vector(%d, %d, %d, %s)", count, length, stride, old.text)
	return g.made(text, n)(Vector(old.m, count, length, stride))
}

func (g *generator) hvector(old made) made {
	count, length, stride := g.intn(5), g.intn(4), g.disp()
	n := old.n.times(length, old.n.extent()).times(count, stride)
	text := fmt.Sprintf("hvector(%d, %d, %d, %s)", count, length, stride, old.text)
	return g.made(text, n)(Hvector(old.m, count, length, stride))
}

// blocks chooses lengths and displacements; some blocks continue the one before.
func (g *generator) blocks(extent int) (lengths, displs []int) {
	for i := range g.intn(6) {
		d := g.disp()
		if i > 0 && g.intn(3) == 0 {
			d = displs[i-1] + lengths[i-1]*extent
		}
		lengths, displs = append(lengths, g.intn(4)), append(displs, d)
	}
	return lengths, displs
}

func (g *generator) hindexed(old made) made {
	lengths, displs := g.blocks(old.n.extent())
	n := naive{align: 1}
	for i, l := range lengths {
		n = n.with(old.n.times(l, old.n.extent()), displs[i])
	}
	return g.made(fmt.Sprintf("hindexed(%d, %d, %s)", lengths, displs, old.text), n)(Hindexed(old.m, lengths, displs))
}

func (g *generator) indexed(old made) made {
	lengths, displs := g.blocks(1)
	length := g.intn(3)
	block := g.intn(2) == 0
	extent := old.n.extent()
	n := naive{align: 1}
	for i, l := range lengths {
		if block {
			l = length
		}
		n = n.with(old.n.times(l, extent), displs[i]*extent)
	}
	if block {
		return g.made(fmt.Sprintf("indexedBlock(%d, %d, %s)", length, displs, old.text), n)(IndexedBlock(old.m, length, displs))
	}
	return g.made(fmt.Sprintf("indexed(%d, %d, %s)", lengths, displs, old.text), n)(Indexed(old.m, lengths, displs))
}

func (g *generator) structure(old made, depth int) made {
	lengths, displs := g.blocks(old.n.extent())
	maps := make([]*Map, len(lengths))
	n := naive{align: 1}
	texts := make([]string, len(lengths))
	for i, l := range lengths {
		part := old
		if i > 0 && g.intn(2) == 0 {
			part = g.next(g.intn(depth))
			if len(part.n.entries) > enough/4 {
				part = g.basic()
			}
		}
		maps[i] = part.m
		n = n.with(part.n.times(l, part.n.extent()), displs[i])
		texts[i] = part.text
	}
	return g.made(fmt.Sprintf("struct(%d, %d, %s)", lengths, displs, texts), n)(Struct(lengths, displs, maps))
}

func (g *generator) order() Order { return Order(g.intn(2)) }

// indexes calls f with all indexes of an array, in the order in which they lie in memory, and where
// that is.
func indexes(sizes []int, order Order, f func(index []int, at int)) {
	total := 1
	for _, s := range sizes {
		total *= s
	}
	index := make([]int, len(sizes))
	for at := range total {
		rest := at
		for i := range sizes {
			d := i
			if order == RowMajor {
				d = len(sizes) - 1 - i
			}
			index[d] = rest % sizes[d]
			rest /= sizes[d]
		}
		f(index, at)
	}
}

func (g *generator) subarray(old made) made {
	dims := 1 + g.intn(3)
	sizes, subsizes, starts := make([]int, dims), make([]int, dims), make([]int, dims)
	total := 1
	for d := range dims {
		sizes[d] = 1 + g.intn(4)
		subsizes[d] = 1 + g.intn(sizes[d])
		starts[d] = g.intn(sizes[d] - subsizes[d] + 1)
		total *= sizes[d]
	}
	order := g.order()
	extent := old.n.extent()
	n := naive{align: 1}
	indexes(sizes, order, func(index []int, at int) {
		for d, i := range index {
			if i < starts[d] || i >= starts[d]+subsizes[d] {
				return
			}
		}
		n = n.with(old.n, at*extent)
	})
	text := fmt.Sprintf("subarray(%d, %d, %d, %d, %s)", sizes, subsizes, starts, order, old.text)
	return g.made(text, n.resized(0, total*extent))(Subarray(old.m, sizes, subsizes, starts, order))
}

func (g *generator) darray(old made) made {
	dims := 1 + g.intn(3)
	sizes, shares := make([]int, dims), make([]Share, dims)
	total := 1
	for d := range dims {
		sizes[d] = 1 + g.intn(5)
		shares[d].Of = 1 + g.intn(3)
		shares[d].Block = 1 + g.intn(4)
		shares[d].Index = g.intn(shares[d].Of)
		total *= sizes[d]
	}
	order := g.order()
	extent := old.n.extent()
	n := naive{align: 1}
	indexes(sizes, order, func(index []int, at int) {
		for d, i := range index {
			if i/shares[d].Block%shares[d].Of != shares[d].Index {
				return
			}
		}
		n = n.with(old.n, at*extent)
	})
	text := fmt.Sprintf("darray(%d, %+v, %d, %s)", sizes, shares, order, old.text)
	return g.made(text, n.resized(0, total*extent))(Darray(old.m, sizes, shares, order))
}

// check compares a map with what it should be.
func (d made) check(g *generator) {
	t, m, n := g.t, d.m, d.n
	expect := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, want %v: %s", what, got, want, d.text)
		}
	}
	lb, extent := m.Extent()
	wantLB, wantExtent := n.bounds()
	expect("lower bound", lb, wantLB)
	expect("extent", extent, wantExtent)
	trueLB, trueExtent := m.TrueExtent()
	lo, hi := n.trueBounds()
	expect("true lower bound", trueLB, lo)
	expect("true extent", trueExtent, hi-lo)
	expect("size", m.Size(), n.size())
	expect("values", m.Basics(), len(n.values()))
	expect("runs", m.Runs(), n.runs())
	text, groups := n.signature()
	if groups > signatureRuns {
		want := fmt.Sprintf(" ... (%d values, hash %016x)", len(n.values()), m.Hash(1))
		if got := m.Signature(); len(got) <= len(want) || got[len(got)-len(want):] != want {
			t.Errorf("signature is %q, want it to end in %q: %s", got, want, d.text)
		}
	} else {
		expect("signature", m.Signature(), text)
	}
	kinds := make(map[Kind]bool)
	hash, at := noDigest, 0
	for _, e := range n.values() {
		kinds[e.kind] = true
		hash = hash.then(digestOf(e.kind))
	}
	expect("hash", m.Hash(1), hash.hash)
	_, one := m.OneKind()
	expect("of one kind", one, len(kinds) == 1)
	front := noDigest
	for _, e := range slices.Concat(n.values(), n.values()) {
		front, at = front.then(digestOf(e.kind)), at+e.kind.Size()
		got, ok := m.HashBytes(at)
		expect("hash of some bytes", got, front.hash)
		expect("they are whole values", ok, true)
		if _, ok = m.HashBytes(at - 1); e.kind.Size() > 1 {
			expect("a part of a value is whole", ok, false)
		}
	}
	if n.size() > 0 {
		expect("contiguous", m.IsContiguous(), n.runs() == 1 && n.times(3, extent).runs() == 1 && extent == n.size())
		d.checkCounts(g)
	}
	count := g.intn(4)
	d.checkBytes(g, count, n.times(count, extent))
}

// checkCounts compares BasicsIn and SizeOf with two elements' values.
func (d made) checkCounts(g *generator) {
	size, basics := 0, 0
	for _, e := range d.n.times(2, 0).values() {
		for i := range e.size {
			if got, whole := d.m.BasicsIn(size + i); got != basics || whole != (i == 0) {
				g.t.Fatalf("%d bytes hold %d values, whole %v, want %d, %v: %s", size+i, got, whole, basics, i == 0, d.text)
			}
		}
		if got, err := d.m.SizeOf(basics); err != nil || got != size {
			g.t.Fatalf("%d values have %d bytes (%v), want %d: %s", basics, got, err, size, d.text)
		}
		size, basics = size+e.size, basics+1
	}
}

// checkBytes compares the four ways of count elements, which are all.
func (d made) checkBytes(g *generator, count int, all naive) {
	t := g.t
	lo, hi, err := d.m.Bounds(count)
	wantLo, wantHi := all.trueBounds()
	if err != nil || lo != wantLo || hi != wantHi {
		t.Errorf("bounds of %d are %d, %d (%v), want %d, %d: %s", count, lo, hi, err, wantLo, wantHi, d.text)
		return
	}
	size, err := d.m.PackedSize(count)
	if err != nil || size != all.size() {
		t.Errorf("%d elements have %d bytes (%v), want %d: %s", count, size, err, all.size(), d.text)
		return
	}
	for _, swapped := range []bool{false, true} {
		at := all.places(swapped)
		// The memory is no larger than it must be, so that an access beyond it panics.
		mem := make([]byte, hi-lo)
		for i := range mem {
			mem[i] = byte(i*7 + 1)
		}
		off := g.intn(size + 1)
		n := g.intn(size - off + 1)
		if g.intn(3) == 0 {
			off, n = 0, size
		}
		stream := make([]byte, n)
		if swapped {
			d.m.PackSwapped(stream, mem, -lo, count, off)
		} else {
			d.m.Pack(stream, mem, -lo, count, off)
		}
		for i := range stream {
			if want := mem[at[off+i]-lo]; stream[i] != want {
				t.Fatalf("byte %d of [%d:%d] of %d elements, swapped %v, is %d, want %d: %s", off+i, off, off+n, count, swapped, stream[i], want, d.text)
			}
		}
		want := make([]byte, len(mem))
		got := make([]byte, len(mem))
		for i := range stream {
			stream[i] = byte(i*5 + 3)
			want[at[off+i]-lo] = stream[i]
		}
		if swapped {
			d.m.UnpackSwapped(got, -lo, count, off, stream)
		} else {
			d.m.Unpack(got, -lo, count, off, stream)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("byte %d of memory after [%d:%d] of %d elements, swapped %v, is %d, want %d: %s", i+lo, off, off+n, count, swapped, got[i], want[i], d.text)
			}
		}
	}
}

// TestRandom composes maps at random and compares each with the naive one.
func TestRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 5000 {
		g := &generator{source: randomSource{r}, t: t, aligned: 1}
		g.next(r.IntN(5)).check(g)
		if t.Failed() {
			return
		}
	}
}

// TestOfRandom makes Go types at random, and maps of them.
func TestOfRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	for range 500 {
		g := &generator{source: randomSource{r}, t: t, aligned: 1}
		typ := g.goType(r.IntN(4))
		leaf := g.made(typ.String(), naiveOf(typ))(Of(typ))
		if len(leaf.n.entries) > enough {
			continue
		}
		leaf.check(g)
		g.leaf = &leaf
		g.next(r.IntN(3)).check(g)
		if t.Failed() {
			return
		}
	}
}

// goType makes a type of depth levels.
func (g *generator) goType(depth int) reflect.Type {
	switch {
	case depth == 0:
		return goBasics[g.intn(len(goBasics))]
	case g.intn(3) == 0:
		return reflect.ArrayOf(g.intn(4), g.goType(depth-1))
	}
	fields := make([]reflect.StructField, g.intn(6))
	for i := range fields {
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: g.goType(g.intn(depth))}
		if g.intn(5) == 0 {
			fields[i].Name, fields[i].PkgPath = "_", "layout"
		}
	}
	return reflect.StructOf(fields)
}

var goBasics = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[int32](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128](), goTypes[0],
}

// FuzzMap is TestRandom by the fuzzer's choices.
func FuzzMap(f *testing.F) {
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
	f.Add([]byte{2, 1, 2, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 200 {
			return
		}
		g := &generator{source: &byteSource{b}, t: t, aligned: 1}
		g.next(g.intn(5)).check(g)
	})
}

// TestConcurrent shares one map between goroutines; the race detector looks on.
func TestConcurrent(t *testing.T) {
	m, err := Hvector(Basic(Float64), 100, 1, 24)
	if err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, 100*24)
	errc := make(chan error)
	for range 4 {
		go func() {
			dst := make([]byte, 100)
			for off := range 700 {
				m.Pack(dst, mem, 0, 1, off)
			}
			if n, whole := m.BasicsIn(16); n != 2 || !whole || m.Signature() != "100*float64" {
				errc <- errors.New("the map has changed")
			}
			errc <- nil
		}()
	}
	for range 4 {
		if err := <-errc; err != nil {
			t.Error(err)
		}
	}
}
