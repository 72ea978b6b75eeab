package topo

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// bruteBalanced tries all sequences that do not increase, in lexicographic order.
func bruteBalanced(n, k, most int) (best []int) {
	if k == 0 {
		if n == 1 {
			return []int{}
		}
		return nil
	}
	for f := 1; f <= min(n, most); f++ {
		if n%f != 0 {
			continue
		}
		bruteSequences(n/f, k-1, f, []int{f}, func(s []int) {
			if best == nil || spread(s) < spread(best) || spread(s) == spread(best) && slices.Compare(s, best) < 0 {
				best = slices.Clone(s)
			}
		})
	}
	return best
}

func bruteSequences(n, k, most int, begun []int, visit func([]int)) {
	if k == 0 {
		if n == 1 {
			visit(begun)
		}
		return
	}
	for f := 1; f <= min(n, most); f++ {
		if n%f == 0 {
			bruteSequences(n/f, k-1, f, append(slices.Clip(begun), f), visit)
		}
	}
}

func spread(s []int) int { return slices.Max(s) - slices.Min(s) }

// TestDims compares with brute force for every number of ranks up to 600, in 1 to 4 dimensions, and
// with one dimension given.
func TestDims(t *testing.T) {
	most := 600
	if testing.Short() {
		most = 150
	}
	for n := 1; n <= most; n++ {
		for k := 1; k <= 4; k++ {
			want := bruteBalanced(n, k, n)
			got, err := Dims(n, make([]int, k))
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("Dims(%d, %d dimensions) = %v, %v, want %v", n, k, got, err, want)
			}
			for given := 2; given <= 5; given++ {
				dims := make([]int, k+1)
				dims[k/2] = given
				got, err := Dims(n, dims)
				if n%given != 0 {
					if err == nil {
						t.Fatalf("Dims(%d, %v) = %v, want an error", n, dims, got)
					}
					continue
				}
				want := slices.Insert(bruteBalanced(n/given, k, n), k/2, given)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("Dims(%d, %v) = %v, %v, want %v", n, dims, got, err, want)
				}
			}
		}
	}
}

// The examples of MPI 4.1, section 8.5.2, and cases at the border.
func TestDimsExamples(t *testing.T) {
	for _, c := range []struct {
		n    int
		dims []int
		want []int
		says string
	}{
		{6, []int{0, 0}, []int{3, 2}, ""},
		{7, []int{0, 0}, []int{7, 1}, ""},
		{6, []int{0, 3, 0}, []int{2, 3, 1}, ""},
		{7, []int{0, 3, 0}, nil, "not a multiple"},
		{1, nil, []int{}, ""},
		{2, nil, nil, "is not 2"},
		{6, []int{2, 3}, []int{2, 3}, ""},
		{12, []int{2, 3}, nil, "is not 12"},
		{0, []int{0}, nil, "0 ranks"},
		{4, []int{-1}, nil, "dimension 0 is -1"},
		{1, []int{0, 0, 0}, []int{1, 1, 1}, ""},
		{1024, []int{0, 0, 0}, []int{16, 8, 8}, ""},
	} {
		dims := slices.Clone(c.dims)
		got, err := Dims(c.n, dims)
		switch {
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("Dims(%d, %v): error is %v, want one that says %q", c.n, c.dims, err, c.says)
		case c.says == "" && (err != nil || len(got) != len(c.want) || !slices.Equal(got, c.want)):
			t.Errorf("Dims(%d, %v) = %v, %v, want %v", c.n, c.dims, got, err, c.want)
		case !reflect.DeepEqual(dims, c.dims):
			t.Errorf("Dims(%d, %v) changed its argument to %v", c.n, c.dims, dims)
		}
	}
}

// Numbers with as many divisors as there are take no time to speak of.
func TestDimsLarge(t *testing.T) {
	began := time.Now()
	for _, n := range []int{720720, 1 << 20, 1441440, 6 * 5 * 4 * 3 * 1001 * 1024, 999983} {
		for k := 1; k <= 12; k++ {
			got, err := Dims(n, make([]int, k))
			product := 1
			for _, d := range got {
				product *= d
			}
			if err != nil || product != n || !slices.IsSortedFunc(got, func(a, b int) int { return b - a }) {
				t.Errorf("Dims(%d, %d dimensions) = %v, %v", n, k, got, err)
			}
		}
	}
	t.Logf("%v", time.Since(began))
}
