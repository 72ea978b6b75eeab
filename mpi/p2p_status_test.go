package mpi

import "testing"

func TestGetCount(t *testing.T) {
	plain := func(bytes int) Status { return Status{bytes: bytes, Count: bytes} }
	objects := Status{bytes: 40, class: classObject, Count: 40}
	decoded := Status{bytes: 40, class: classObject, Count: 3, decoded: true}
	none := Status{bytes: 9, class: classObject, Count: 0, decoded: true}
	for _, test := range []struct {
		what      string
		got, want int
	}{
		{"float64 in 24 bytes", GetCount[float64](plain(24)), 3},
		// "If the amount of data is not an integral multiple of the size of datatype,
		// MPI_UNDEFINED" (section 3.2.5).
		{"float64 in 25 bytes", GetCount[float64](plain(25)), Undefined},
		{"bytes in 25 bytes", GetCount[byte](plain(25)), 25},
		{"points in 48 bytes", GetCount[point](plain(48)), 3},
		{"float64 in nothing", GetCount[float64](plain(0)), 0},
		// "for a datatype of length zero where zero bytes have been transferred is zero" (section
		// 3.2.5).
		{"struct{} in nothing", GetCount[struct{}](plain(0)), 0},
		{"struct{} in a byte", GetCount[struct{}](plain(1)), Undefined},
		{"strings in nothing", GetCount[string](procNullStatus()), 0},
		{"strings in memory", GetCount[string](plain(16)), Undefined},
		{"strings probed", GetCount[string](objects), Undefined},
		{"strings received", GetCount[string](decoded), 3},
		{"no strings received", GetCount[string](none), 0},
		{"float64 in objects", GetCount[float64](objects), Undefined},
		{"channels", GetCount[chan int](plain(8)), Undefined},
	} {
		if test.got != test.want {
			t.Errorf("%s: GetCount = %d, want %d", test.what, test.got, test.want)
		}
	}
}

func TestSpecialNumbersAreNegativeAndDistinct(t *testing.T) {
	seen := map[int]bool{}
	for _, v := range []int{AnySource, AnyTag, ProcNull, Root, Undefined} {
		if v >= 0 || seen[v] {
			t.Errorf("%d is a valid rank, or is there twice", v)
		}
		seen[v] = true
	}
}

func TestSpecialStatuses(t *testing.T) {
	if s := procNullStatus(); s.Source != ProcNull || s.Tag != AnyTag || s.Count != 0 || s.Cancelled {
		t.Errorf("status of ProcNull is %+v", s)
	}
	if s := emptyStatus(); s.Source != AnySource || s.Tag != AnyTag || s.Count != 0 || s.Cancelled {
		t.Errorf("empty status is %+v", s)
	}
}
