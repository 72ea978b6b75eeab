package bench

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBins(t *testing.T) {
	got := Bins([]float64{1000, 1023.9, 1024, 1500, 1500})
	want := []Bin{{896, 40}, {1024, 20}, {1280, 40}}
	if !slices.Equal(got, want) {
		t.Errorf("bins %v, want %v", got, want)
	}
	if got := Bins([]float64{0, 9, 13}); !slices.Equal(got[:2], []Bin{{4, got[0].Share}, {5, 0}}) || got[len(got)-1].Low != 12 || len(got) != 7 {
		t.Errorf("bins %v: want 4, 5, 6, 7, 8, 10, 12, of which empty ones have no share", got)
	}
	if got := Bins(nil); got != nil {
		t.Errorf("bins of nothing: %v", got)
	}
}

// Each time is in the bin that says so, the bins follow each other, and nothing is lost.
func TestBinsHoldEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.SliceOfN(rapid.Float64Range(0, 1e11), 1, 50).Draw(t, "ns")
		bins := Bins(ns)
		sum := 0.0
		for i, b := range bins {
			sum += b.Share
			if i > 0 && b.Low <= bins[i-1].Low {
				t.Fatalf("bin %d after bin %d", b.Low, bins[i-1].Low)
			}
		}
		if math.Abs(sum-100) > 1e-6 || bins[0].Share == 0 || bins[len(bins)-1].Share == 0 {
			t.Fatalf("%v are together %v %%", bins, sum)
		}
		for _, x := range ns {
			low := binOf(int64(x))
			if high := low + binWidth(low); x >= 4 && (x < float64(low) || x >= float64(high)) {
				t.Fatalf("%v ns are in the bin from %d to %d", x, low, high)
			}
		}
	})
}

func TestQuantile(t *testing.T) {
	xs := []float64{3, 1, 2}
	if got := Quantile(xs, 999, 1000); got != 3 {
		t.Errorf("tail %v, want 3", got)
	}
	if got := Quantile(xs, 1, 3); got != 1 {
		t.Errorf("first third %v, want 1", got)
	}
	if got := Quantile(nil, 1, 2); got != 0 {
		t.Errorf("of nothing %v", got)
	}
}
