package mpi

import "testing"

// The first resource counts that divides the ranks; those that are bound to none of it do not hide
// it.
func TestDividing(t *testing.T) {
	const none = Undefined
	for _, test := range []struct {
		name string
		all  []int64
		n    int
		want int
	}{
		{"one rank", []int64{0, 1, 2}, 3, -1},
		{"all in the same", []int64{0, 1, 2, 0, 1, 2}, 3, -1},
		{"the last", []int64{0, 1, 2, 0, 1, 3}, 3, 2},
		{"the first of two", []int64{0, 1, 2, 0, 5, 3}, 3, 1},
		{"bound to none", []int64{0, none, none, 0, none, none}, 3, -1},
		{"one is bound to none", []int64{0, none, 4, 0, 1, 4}, 3, 1},
		{"the first rank differs", []int64{1, 0, 0}, 1, 0},
	} {
		if got := dividing(test.all, test.n); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
