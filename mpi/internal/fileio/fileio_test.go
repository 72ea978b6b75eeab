package fileio

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a file in memory.
type disk struct {
	b     []byte
	calls int
	fails int // the call that fails, from 1; 0 for none
}

var errDisk = errors.New("the disk is broken")

func (d *disk) count() error {
	if d.calls++; d.calls == d.fails {
		return errDisk
	}
	return nil
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if err := d.count(); err != nil {
		return 0, err
	}
	if need := int(off) + len(p); need > len(d.b) {
		d.b = append(d.b, make([]byte, need-len(d.b))...)
	}
	return copy(d.b[off:], p), nil
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	if err := d.count(); err != nil {
		return 0, err
	}
	if int(off) >= len(d.b) {
		return 0, io.EOF
	}
	n := copy(p, d.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// scattered is Memory that is not in one piece: data byte i lies at 2*i.
type scattered []byte

func (s scattered) Len() int { return len(s) / 2 }
func (s scattered) Pack(dst []byte, off int) {
	for i := range dst {
		dst[i] = s[2*(off+i)]
	}
}
func (s scattered) Unpack(off int, src []byte) {
	for i, b := range src {
		s[2*(off+i)] = b
	}
}

// randomView is a view with gaps.
func randomView(rng *rand.Rand) View {
	var lens, displs []int
	at := rng.IntN(4)
	for range 1 + rng.IntN(5) {
		n := 1 + rng.IntN(8)
		lens, displs = append(lens, n), append(displs, at)
		at += n + rng.IntN(10)
	}
	m, err := layout.Hindexed(layout.Basic(layout.Byte), lens, displs)
	if err == nil {
		m, err = layout.Resized(m, 0, at+rng.IntN(5))
	}
	if err != nil {
		panic(err)
	}
	return View{Disp: rng.IntN(30), Map: m}
}

// offsets lists where the first n bytes of a view lie.
func offsets(v View, n int) (at []int) {
	for i := range n {
		at = append(at, v.At(i))
	}
	return at
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1 + rng.IntN(255))
	}
	return b
}

// Every access does to a file and to memory what byte by byte would be done.
func TestAccess(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		v := randomView(rng)
		if rng.IntN(8) == 0 {
			v.Map = Plain.Map
		}
		x, n := rng.IntN(50), rng.IntN(200)
		at := offsets(v, x+n)[x:]
		file := &disk{b: random(rng, rng.IntN(600))}
		a := Access{View: v, X: x, Room: 1 + rng.IntN(60), Sift: rng.IntN(2) == 0}
		want := slices.Clone(file.b)
		mem := make(scattered, 2*n)
		data := Bytes(make([]byte, n))
		if a.Data = mem; rng.IntN(2) == 0 {
			a.Data = data
		}
		if rng.IntN(2) == 0 {
			src := random(rng, n)
			a.Data.Unpack(0, src)
			for i, b := range src {
				if need := at[i] + 1; need > len(want) {
					want = append(want, make([]byte, need-len(want))...)
				}
				want[at[i]] = b
			}
			if got, err := a.Write(file); got != n || err != nil || !bytes.Equal(file.b, want) {
				t.Fatalf("wrote %d of %d, %v", got, n, err)
			}
			continue
		}
		have := 0
		for have < n && at[have] < len(file.b) {
			have++
		}
		got, err := a.Read(file)
		if err != nil || got != have {
			t.Fatalf("read %d, %v, want %d of %d", got, err, have, n)
		}
		read := make([]byte, n)
		a.Data.Pack(read, 0)
		for i, b := range read {
			if i < have && b != file.b[at[i]] || i >= have && b != 0 {
				t.Fatalf("byte %d is %d", i, b)
			}
		}
	}
}

// overlappingView is a view of values that may begin where others lie.
func overlappingView(rng *rand.Rand) (v View, width int) {
	kind := []layout.Kind{layout.Byte, layout.Int16, layout.Int32, layout.Float64}[rng.IntN(4)]
	basic := layout.Basic(kind)
	width = basic.Size()
	var lens, displs []int
	at, last := rng.IntN(4), 0
	for range 1 + rng.IntN(5) {
		n := 1 + rng.IntN(5)
		lens, displs = append(lens, n), append(displs, at)
		last = at + width*(n-1)
		at = last + rng.IntN(2*width)
	}
	m := must(layout.Hindexed(basic, lens, displs))
	m = must(layout.Resized(m, 0, max(last-displs[0], 1)+rng.IntN(width)))
	return View{Disp: rng.IntN(30), Map: m, Overlaps: !m.IsAscending()}, width
}

// Reading through views whose data overlap gives what byte by byte would be read.
func TestAccessOverlapping(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	overlapping := 0
	for range 3000 {
		v, unit := overlappingView(rng)
		if !v.Map.IsNondecreasing() {
			t.Fatalf("%s is decreasing", v.Map.Signature())
		}
		if v.Overlaps {
			overlapping++
		}
		x, n := rng.IntN(50), rng.IntN(200)
		at := offsets(v, x+n)
		file := &disk{b: random(rng, rng.IntN(300))}
		begun := 0
		for k := 0; v.At(k*unit) < len(file.b); k++ {
			begun++
		}
		if got := v.Begun(len(file.b), unit); got != begun {
			t.Fatalf("%d units of %d begin before %d, want %d", got, unit, len(file.b), begun)
		}
		at = at[x:]
		lo, hi := v.Span(x, n)
		have := n
		for i, where := range at {
			if where < lo || where >= hi {
				t.Fatalf("a byte at %d is not within %d to %d", where, lo, hi)
			}
			if where >= len(file.b) {
				have = min(have, i)
			}
		}
		data := Bytes(make([]byte, n))
		a := Access{View: v, X: x, Data: data, Room: 1 + rng.IntN(60), Sift: rng.IntN(2) == 0}
		if got, err := a.Read(file); err != nil || got != have {
			t.Fatalf("read %d, %v, want %d of %d", got, err, have, n)
		}
		for i, b := range data[:have] {
			if b != file.b[at[i]] {
				t.Fatalf("byte %d is %d, want %d", i, b, file.b[at[i]])
			}
		}
	}
	if overlapping < 1000 {
		t.Errorf("%d views overlap", overlapping)
	}
}

// An access says how far it came.
func TestAccessFails(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for fails := 1; fails < 8; fails++ {
		v := View{Map: must(layout.Resized(layout.Basic(layout.Int32), 0, 100))}
		for _, data := range []Memory{Bytes(random(rng, 40)), scattered(random(rng, 80))} {
			a := Access{View: v, Data: data, Room: 10}
			if n, err := a.Write(&disk{fails: fails}); !errors.Is(err, errDisk) || n > 4*fails || n < 2*(fails-1) {
				t.Errorf("wrote %d, %v", n, err)
			}
			if n, err := a.Read(&disk{b: make([]byte, 2000), fails: fails}); !errors.Is(err, errDisk) || n > 4*fails || n < 2*(fails-1) {
				t.Errorf("read %d, %v", n, err)
			}
		}
	}
	sifting := Access{View: View{Map: must(layout.Resized(layout.Basic(layout.Int32), 0, 8))}, Data: Bytes(make([]byte, 400)), Room: 80, Sift: true}
	file := &disk{b: make([]byte, 2000)}
	if n, err := sifting.Read(file); n != 400 || err != nil || file.calls > 11 {
		t.Errorf("read %d, %v in %d calls", n, err, file.calls)
	}
	if _, err := sifting.Read(&disk{b: make([]byte, 2000), fails: 3}); !errors.Is(err, errDisk) {
		t.Errorf("read: %v", err)
	}
}

func must(m *layout.Map, err error) *layout.Map {
	if err != nil {
		panic(err)
	}
	return m
}

func TestViewCheck(t *testing.T) {
	wide := View{Disp: 5, Map: must(layout.Resized(layout.Basic(layout.Byte), 0, 1<<40))}
	for _, test := range []struct {
		v    View
		x, n int
		ok   bool
	}{
		{Plain, 0, 0, true}, {Plain, 1 << 61, 1 << 61, true}, {Plain, math.MaxInt, 1, false}, {Plain, -1, 2, false}, {Plain, 3, -1, false},
		{Plain, math.MaxInt - 5, 5, false}, {wide, 1 << 20, 1, true}, {wide, 1 << 23, 1, false}, {wide, 0, 1 << 23, false},
		{View{Disp: math.MaxInt, Map: Plain.Map}, 0, 1, false},
	} {
		if err := test.v.Check(test.x, test.n); (err == nil) != test.ok {
			t.Errorf("%d bytes at %d: %v", test.n, test.x, err)
		}
	}
	if lo, hi := wide.Span(2, 0); lo != 0 || hi != 0 {
		t.Errorf("nothing spans %d to %d", lo, hi)
	}
	if !Plain.IsDense(3, 9) || wide.IsDense(0, 2) {
		t.Error("dense is not what has no gaps")
	}
}

func TestRuns(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var list Runs
	for range 2000 {
		base := rng.IntN(1000)
		list.Reset(base)
		type run struct{ at, n int }
		var want []run
		at, total := base, 0
		for range rng.IntN(20) {
			at += rng.IntN(3)
			n := 1 + rng.IntN(2)
			list.Add(at, n)
			want = append(want, run{at, n})
			at, total = at+n, total+n
		}
		var got []run
		b := slices.Clone(list.Bytes())
		n, err := WalkRuns(b, base, at, func(at, n int) { got = append(got, run{at, n}) })
		if err != nil || n != total || !slices.Equal(got, want) {
			t.Fatalf("%v, %v, %d bytes; want %v, %d", got, err, n, want, total)
		}
		if total > 0 {
			if _, err := WalkRuns(b, base, at-1, func(int, int) {}); err == nil {
				t.Fatal("a list that reaches too far was taken")
			}
			if _, err := WalkRuns(b[:len(b)-1], base, at, func(int, int) {}); err == nil {
				t.Fatal("a list that is cut was taken")
			}
		}
	}
	list.Reset(0)
	for i := range 100_000 {
		list.Add(8*i, 4)
	}
	if n := len(list.Bytes()); n > 12 {
		t.Errorf("a column takes %d bytes", n)
	}
}

func FuzzWalkRuns(f *testing.F) {
	f.Add([]byte{1, 2, 3}, 0, 100)
	f.Add([]byte{0, 0, 0}, 0, 100)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0}, 5, 1000)
	f.Fuzz(func(t *testing.T, b []byte, base, end int) {
		if base < 0 || end < base || end-base > 1<<20 {
			return
		}
		last, sum := base, 0
		total, _ := WalkRuns(b, base, end, func(at, n int) {
			if at < last || n <= 0 || at+n > end {
				t.Fatalf("a run of %d at %d after %d, before %d", n, at, last, end)
			}
			last, sum = at+n, sum+n
		})
		if total != sum {
			t.Fatalf("%d bytes, said to be %d", sum, total)
		}
	})
}

func TestCover(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var c Cover
	for range 3000 {
		n := 1 + rng.IntN(300)
		c.Reset(n)
		model := make([]bool, n)
		for range rng.IntN(10) {
			at := rng.IntN(n)
			size := 1 + rng.IntN(n-at)
			c.Add(at, size)
			for i := range size {
				model[at+i] = true
			}
		}
		last := -1
		c.Walk(func(at, size int) bool {
			if at <= last || size <= 0 || at > 0 && model[at-1] || at+size < n && model[at+size] {
				t.Fatalf("a run of %d at %d after %d", size, at, last)
			}
			for i := range size {
				if !model[at+i] {
					t.Fatalf("byte %d is not in the set", at+i)
				}
				model[at+i] = false
			}
			last = at + size
			return true
		})
		if slices.Contains(model, true) {
			t.Fatal("a byte of the set was left out")
		}
	}
}

func TestPlanCovers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		parts := make([]Part, 1+rng.IntN(5))
		lo, hi := math.MaxInt, 0
		for i := range parts {
			if n := rng.IntN(3); n > 0 {
				from := rng.IntN(50_000)
				parts[i] = Part{Lo: from, Hi: from + n*rng.IntN(10_000) + 1, Bytes: 1}
				lo, hi = min(lo, parts[i].Lo), max(hi, parts[i].Hi)
			}
		}
		aggs := 1 + rng.IntN(6)
		p, ok := NewPlan(parts, aggs, 1+rng.IntN(20_000))
		if ok != (hi > 0) {
			t.Fatalf("plan %v of %v", ok, parts)
		}
		if !ok {
			continue
		}
		at := p.Lo
		for a := range aggs {
			for r := range p.Rounds() {
				from, to := p.Of(a, r)
				if to <= from {
					continue
				}
				if from != at || to-from > p.Window {
					t.Fatalf("window %d to %d after %d in %+v", from, to, at, p)
				}
				at = to
			}
			if from, to := p.Of(a, p.Rounds()); from < to {
				t.Fatalf("a round more has %d to %d", from, to)
			}
		}
		if p.Lo > lo || at != hi {
			t.Fatalf("windows from %d to %d, want %d to %d", p.Lo, at, lo, hi)
		}
	}
}

func TestIsWorthIt(t *testing.T) {
	const mb = 1 << 20
	for what, test := range map[string]struct {
		parts []Part
		want  bool
	}{
		"nothing":             {[]Part{{}, {}}, false},
		"one after the other": {[]Part{{0, 100, 100, 0}, {100, 200, 100, 0}}, false},
		"turns":               {[]Part{{0, 10_000, 5000, 8}, {8, 10_008, 5000, 8}}, true},
		"long turns":          {[]Part{{0, 100 * mb, 50 * mb, mb}, {mb, 101 * mb, 50 * mb, mb}}, false},
		"the same":            {[]Part{{0, mb / 64, mb / 64, 0}, {0, mb / 64, mb / 64, 0}}, true},
		"far apart":           {[]Part{{0, 1 << 40, 8, 4}, {4, 1<<40 + 4, 8, 4}}, false},
		"alone":               {[]Part{{0, 10_000, 5000, 8}, {}}, false},
	} {
		if got := IsWorthIt(test.parts); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func TestAggregators(t *testing.T) {
	for _, test := range []struct {
		ranks int
		host  []int
		n     int
		want  []int
	}{
		{1, nil, 1, []int{0}},
		{4, nil, 2, []int{0, 2}},
		{4, nil, 4, []int{0, 1, 2, 3}},
		{6, []int{0, 0, 0, 1, 1, 1}, 2, []int{0, 3}},
		{6, []int{0, 1, 0, 1, 0, 1}, 3, []int{0, 1, 2}},
		{5, []int{0, 0, 0, 0, 1}, 4, []int{0, 1, 2, 4}},
	} {
		if got := Aggregators(test.ranks, test.host, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%d of %d on %v: %v, want %v", test.n, test.ranks, test.host, got, test.want)
		}
	}
}
