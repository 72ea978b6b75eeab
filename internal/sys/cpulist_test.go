package sys

import (
	"slices"
	"testing"
)

func TestFormatAndParseCPUs(t *testing.T) {
	for _, tc := range []struct {
		cpus []int
		want string
	}{{nil, ""}, {[]int{3}, "3"}, {[]int{0, 1, 2, 3, 8}, "0-3,8"}, {[]int{1, 3, 4}, "1,3-4"}} {
		if got := FormatCPUs(tc.cpus); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.cpus, got, tc.want)
		}
		if got, err := ParseCPUs(tc.want); err != nil || !slices.Equal(got, tc.cpus) {
			t.Errorf("%q: %v, %v; want %v", tc.want, got, err, tc.cpus)
		}
	}
	for _, bad := range []string{"x", ",", "1,", "-1", "3-1", "1,1", "2,1", "0-65536", "1-2-3", " 1"} {
		if got, err := ParseCPUs(bad); err == nil {
			t.Errorf("%q passed as %v", bad, got)
		}
	}
}

// What is accepted means the same when it is written again.
func FuzzParseCPUs(f *testing.F) {
	for _, s := range []string{"", "0-3,8", "1,3-4", "0-65535", "7-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUs(s)
		if err != nil {
			return
		}
		again, err := ParseCPUs(FormatCPUs(cpus))
		if err != nil || !slices.Equal(cpus, again) || !slices.IsSorted(cpus) {
			t.Errorf("%q: %v, then %v, %v", s, cpus, again, err)
		}
	})
}
