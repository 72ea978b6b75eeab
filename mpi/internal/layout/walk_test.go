package layout

import (
	"math/rand/v2"
	"testing"
)

// plainOf lists the displacements of the first n bytes of the data of elements that follow each
// other, by Pack.
func plainOf(m *Map, n int) (at []int) {
	count := n/m.Size() + 1
	lo, hi, err := m.Bounds(count)
	if err != nil {
		panic(err)
	}
	mem := make([]byte, hi-lo)
	place := map[int]int{}
	for i := range mem {
		place[i] = i + lo
	}
	// Each byte of memory is told by four passes of its index, a byte each.
	index := make([]int, n)
	for pass := range 4 {
		for i := range mem {
			mem[i] = byte(i >> (8 * pass))
		}
		out := make([]byte, n)
		m.Pack(out, mem, -lo, count, 0)
		for i, b := range out {
			index[i] |= int(b) << (8 * pass)
		}
	}
	for _, i := range index {
		at = append(at, place[i])
	}
	return at
}

// ascendingMap makes a map whose data are in ascending order, even when elements follow each other.
func ascendingMap(rng *rand.Rand, depth int) *Map {
	m := Basic(Kind(rng.IntN(int(kinds))))
	for range rng.IntN(depth + 1) {
		_, span := m.TrueExtent()
		lb, _ := m.TrueExtent()
		room := lb + span
		switch rng.IntN(4) {
		case 0:
			m = must(Resized(m, 0, room+rng.IntN(9)))
			m = must(Contiguous(m, 1+rng.IntN(4)))
		case 1:
			m = must(Hvector(m, 1+rng.IntN(5), 1, room+rng.IntN(20)))
		case 2:
			var displs []int
			for at, i := rng.IntN(5), 0; i < 1+rng.IntN(6); i++ {
				displs = append(displs, at)
				at += room + rng.IntN(12)
			}
			m = must(HindexedBlock(m, 1, displs))
		case 3:
			m = must(Struct([]int{1, 1}, []int{0, room + rng.IntN(8)}, []*Map{m, Basic(Int16)}))
		}
	}
	lb, span := m.TrueExtent()
	return must(Resized(m, 0, lb+span+rng.IntN(10)))
}

func TestWalkIsWherePackTakesFrom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		m := ascendingMap(rng, 4)
		if !m.IsAscending() {
			t.Fatalf("%s is not ascending", m.Signature())
		}
		n := 3*m.Size() + rng.IntN(m.Size())
		at := plainOf(m, n)
		off := rng.IntN(n)
		size := rng.IntN(n - off + 1)
		i := off
		ok := m.Walk(off, size, func(a, k int) bool {
			if k <= 0 {
				t.Fatalf("a run of %d bytes", k)
			}
			for j := range k {
				if at[i] != a+j {
					t.Fatalf("byte %d is at %d, want %d", i, a+j, at[i])
				}
				i++
			}
			return true
		})
		if !ok || i != off+size {
			t.Fatalf("walked %v to %d, want %d", ok, i, off+size)
		}
		if got := m.At(off); got != at[off] {
			t.Fatalf("byte %d is at %d, want %d", off, got, at[off])
		}
		for range 5 {
			where := rng.IntN(at[n-1] + 2)
			before := 0
			for before < n && at[before] < where {
				before++
			}
			if got := m.Before(where); got != before {
				t.Fatalf("%d bytes before %d, want %d", got, where, before)
			}
		}
		if size > 0 {
			visits := 0
			if m.Walk(off, size, func(int, int) bool { visits++; return false }) || visits != 1 {
				t.Fatalf("visited %d after it was to stop", visits)
			}
		}
	}
}

func TestIsAscending(t *testing.T) {
	b := Basic(Byte)
	for what, m := range map[string]*Map{
		"descending":            must(Hindexed(b, []int{1, 1}, []int{4, 0})),
		"overlapping":           must(Hvector(b, 3, 2, 1)),
		"backwards":             must(Hvector(b, 3, 1, -2)),
		"overlapping the next":  must(Resized(must(Contiguous(b, 4)), 0, 3)),
		"all at one place":      must(Resized(b, 0, 0)),
		"a part descends":       must(Struct([]int{1, 1}, []int{0, 10}, []*Map{b, must(Hvector(b, 2, 1, -3))})),
		"a part inside another": must(Struct([]int{1, 1}, []int{0, 1}, []*Map{must(Hvector(b, 2, 1, 4)), b})),
	} {
		if m.IsAscending() {
			t.Errorf("%s: ascending", what)
		}
	}
	if !nothing.IsAscending() {
		t.Error("no data do not ascend")
	}
}

// Values may begin where others lie, and not before them.
func TestIsNondecreasing(t *testing.T) {
	b, d := Basic(Byte), Basic(Float64)
	for what, m := range map[string]*Map{
		"no data":              nothing,
		"blocks that overlap":  must(Hvector(b, 3, 2, 1)),
		"values that overlap":  must(Hvector(d, 3, 1, 4)),
		"the same again":       must(Hindexed(d, []int{1, 1}, []int{8, 8})),
		"overlapping the next": must(Resized(must(Contiguous(b, 4)), 0, 3)),
		"all at one place":     must(Resized(b, 0, 0)),
		"a short in a long":    must(Resized(must(Struct([]int{1, 1, 1}, []int{0, 3, 5}, []*Map{d, b, d})), 0, 5)),
	} {
		if !m.IsNondecreasing() {
			t.Errorf("%s: decreasing", what)
		}
		if m != nothing && m.IsAscending() {
			t.Errorf("%s: ascending", what)
		}
	}
	for what, m := range map[string]*Map{
		"descending":            must(Hindexed(b, []int{1, 1}, []int{4, 0})),
		"backwards":             must(Hvector(b, 3, 1, -2)),
		"blocks that go back":   must(Hvector(b, 3, 3, 1)),
		"the next goes back":    must(Resized(must(Contiguous(b, 4)), 0, 2)),
		"a part descends":       must(Struct([]int{1, 1}, []int{0, 10}, []*Map{b, must(Hvector(b, 2, 1, -3))})),
		"a part inside another": must(Struct([]int{1, 1}, []int{0, 1}, []*Map{must(Hvector(b, 2, 1, 4)), b})),
	} {
		if m.IsNondecreasing() {
			t.Errorf("%s: not decreasing", what)
		}
	}
	for range 2000 {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
		if m := ascendingMap(rng, 4); !m.IsNondecreasing() {
			t.Fatalf("%s is ascending, and decreasing", m.Signature())
		}
	}
}
