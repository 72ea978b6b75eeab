package agree

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// members draws a set and the list of its elements, of a group of n.
func members(t *rapid.T, n int, name string) (Set, []int) {
	list := rapid.SliceOfDistinct(rapid.IntRange(0, n-1), func(r int) int { return r }).Draw(t, name)
	slices.Sort(list)
	var s Set
	for _, r := range list {
		s.Add(r)
	}
	return s, list
}

// TestSet compares sets with sorted lists.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		a, as := members(t, n, "a")
		b, bs := members(t, n, "b")
		both := a.Clone()
		both.AddAll(b)
		common := a.Clone()
		common.Keep(b)
		only := a.Clone()
		for _, r := range bs {
			only.Remove(r)
		}
		var want, wantCommon, wantOnly []int
		for r := range n {
			inA, inB := slices.Contains(as, r), slices.Contains(bs, r)
			if a.Has(r) != inA {
				t.Fatalf("Has(%d) is %v", r, a.Has(r))
			}
			if inA || inB {
				want = append(want, r)
			}
			if inA && inB {
				wantCommon = append(wantCommon, r)
			}
			if inA && !inB {
				wantOnly = append(wantOnly, r)
			}
		}
		for what, x := range map[string]struct {
			got  Set
			want []int
		}{"AddAll": {both, want}, "Keep": {common, wantCommon}, "Remove": {only, wantOnly}, "Clone": {a, as}} {
			if got := x.got.Members(); !slices.Equal(got, x.want) || x.got.Len() != len(x.want) {
				t.Fatalf("%s of %v and %v is %v (%d), want %v", what, as, bs, got, x.got.Len(), x.want)
			}
		}
		if a.Within(b) != (len(wantOnly) == 0) || !a.within(b, only) || a.Equal(b) != slices.Equal(as, bs) {
			t.Fatalf("%v and %v: Within %v, Equal %v", as, bs, a.Within(b), a.Equal(b))
		}
	})
}
