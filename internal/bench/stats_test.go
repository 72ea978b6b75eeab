package bench

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// upTo is 1 to n, shuffled well enough that a Summary cannot go by the order.
func upTo(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64((i*7919)%n + 1)
	}
	return xs
}

func TestSummarise(t *testing.T) {
	for _, test := range []struct {
		name   string
		xs     []float64
		higher bool
		want   Summary
	}{
		{"nothing", nil, false, Summary{}},
		{"one", []float64{4}, false, Summary{1, 4, 4, 4, 4, 4, 4}},
		{"one, higher is better", []float64{4}, true, Summary{1, 4, 4, 4, 4, 4, 4}},
		{"two", []float64{2, 1}, false, Summary{2, 1, 1, 1, 1, 2, 2}},
		{"six: each sextile is a value", []float64{6, 5, 4, 3, 2, 1}, false, Summary{6, 1, 1, 2, 3, 6, 6}},
		{"seven: ranks are rounded up", upTo(7), false, Summary{7, 1, 2, 3, 4, 7, 7}},
		{"six hundred", upTo(600), false, Summary{600, 1, 100, 200, 300, 594, 600}},
		{"six hundred, higher is better", upTo(600), true, Summary{600, 600, 501, 401, 301, 7, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Summarise(test.xs, test.higher); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// The nearest rank: of a quantile q, at least q of the measurements are no worse, and
// fewer than q are better.
func TestSummariseByCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 300).Draw(t, "xs")
		higher := rapid.Bool().Draw(t, "higher")
		s := Summarise(slices.Clone(xs), higher)
		for _, q := range []struct {
			value    float64
			num, den int
		}{{s.Min, 0, 1}, {s.Sextile1, 1, 6}, {s.Sextile2, 2, 6}, {s.Median, 1, 2}, {s.P99, 99, 100}, {s.Max, 1, 1}} {
			better, same := 0, 0
			for _, x := range xs {
				switch {
				case x == q.value:
					same++
				case x > q.value == higher:
					better++
				}
			}
			if same == 0 {
				t.Fatalf("%v was not measured", q.value)
			}
			if rank := q.num * len(xs); (better+same)*q.den < rank || better > 0 && better*q.den >= rank {
				t.Fatalf("%v is not the %d/%d-quantile of %v", q.value, q.num, q.den, xs)
			}
		}
		if s.N != len(xs) || math.Signbit(s.Max-s.Min) != higher && s.Max != s.Min {
			t.Fatalf("%+v of %v", s, xs)
		}
	})
}

func TestHigherIsBetter(t *testing.T) {
	for unit, want := range map[string]bool{
		"us": false, "ns": false, "ms": false, "bytes": false, "1": false, "ns/byte": false,
		"MB/s": true, "1/s": true, "%": true,
	} {
		if got := HigherIsBetter(unit); got != want {
			t.Errorf("%s: %v, want %v", unit, got, want)
		}
	}
}
