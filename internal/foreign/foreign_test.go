package foreign

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// "If the minimum (maximum) occurs more than once, the index is the least" (MPI 5.0, section
// 6.9.4).
func TestLocate(t *testing.T) {
	in := []Pair[float64]{{2, 7}, {1, 3}, {1, 9}, {math.NaN(), 0}}
	for _, c := range []struct {
		op   func(acc, in []Pair[float64])
		want []Pair[float64]
	}{
		{MaxLoc[float64], []Pair[float64]{{2, 7}, {1, 3}, {5, 4}, {0, 4}}},
		{MinLoc[float64], []Pair[float64]{{1, 4}, {1, 3}, {1, 9}, {math.NaN(), 0}}},
	} {
		acc := []Pair[float64]{{1, 4}, {1, 5}, {5, 4}, {0, 4}}
		c.op(acc, in)
		if fmt.Sprint(acc) != fmt.Sprint(c.want) {
			t.Errorf("got %v, want %v", acc, c.want)
		}
	}
	acc := []Real[float32]{{1, 4}, {3, 2}}
	MaxLocReal(acc, []Real[float32]{{1, 3}, {2, 0}})
	if want := []Real[float32]{{1, 3}, {3, 2}}; !slices.Equal(acc, want) {
		t.Errorf("got %v, want %v", acc, want)
	}
	MinLocReal(acc, []Real[float32]{{0, 8}, {3, 1}})
	if want := []Real[float32]{{0, 8}, {3, 1}}; !slices.Equal(acc, want) {
		t.Errorf("got %v, want %v", acc, want)
	}
}

// What C does is asked for by kind and operation, with the memory of all values at once.
func TestNative(t *testing.T) {
	defer func() { Native = nil }()
	asked := ""
	Native = func(k Kind, op Op, acc, in []byte) {
		asked += fmt.Sprint(k, op, len(acc), len(in), " ")
		copy(acc, in)
	}
	d, c, p := make([]LongDouble, 2), make([]LongComplex, 1), make([]LongPair, 3)
	Sum(d, []LongDouble{{1}, {2}})
	Prod(c, c)
	Max(d[:1], d)
	Min(d, d)
	MaxLocLong(p, p)
	MinLocLong(p, p)
	Sum(d[:0], nil)
	if want := "0 0 32 32 1 1 32 32 0 2 16 16 0 3 32 32 2 4 96 96 2 5 96 96 "; asked != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if d[1] != (LongDouble{2}) {
		t.Errorf("the memory is not that of the values: %v", d)
	}
}
