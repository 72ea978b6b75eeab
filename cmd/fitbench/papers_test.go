//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// Every test of the papers runs small under each policy, and reports what bench/METHOD.md says.
func TestPaperTests(t *testing.T) {
	for _, test := range []struct{ args, rows string }{
		{"duplex -sizes 8,64K -iterations 3", `
pingpong 8 time us 3
pingping 8 time us 3
 8 ratio 1 3
pingpong 65536 time us 3
pingping 65536 time us 3
 65536 ratio 1 3
`},
		{"duplex -sizes 512K -iterations 2 -policy caller", `
pingpong 524288 time us 2
pingping 524288 time us 2
 524288 ratio 1 2
`},
		{"multi -sizes 8,64K -iterations 3 -policy worker", `
pingpong 8 half-rtt us 3
pingpong 65536 half-rtt us 3
pingping 8 exchange us 3
pingping 65536 exchange us 3
`},
		{"queued -sizes 8,1M -iterations 2 -case posted-100", `
posted-100 8 half-rtt us 2
posted-100 1048576 half-rtt us 2
`},
		{"queued -sizes 8,1M -iterations 2 -case unexpected-1000 -policy caller", `
unexpected-1000 8 half-rtt us 2
unexpected-1000 1048576 half-rtt us 2
`},
		{"bsend -sizes 1K,1M -iterations 2 -late 1ms", `
late-receiver 1024 bsend us 2
arrived 1024 recv us 2
late-receiver 1048576 bsend us 2
arrived 1048576 recv us 2
`},
		{"types -sizes 8,1K -iterations 2", `
float64-sum 8 time us 2
float64-sum 1024 time us 2
float64-user 8 time us 2
float64-user 1024 time us 2
float64-of-two 8 time us 2
float64-of-two 1024 time us 2
struct-user 8 time us 2
struct-user 1024 time us 2
struct-of-two 8 time us 2
struct-of-two 1024 time us 2
object-of-two 8 time us 2
object-of-two 1024 time us 2
`},
	} {
		for _, how := range []struct{ ranks, via, want string }{{"2", "auto", "threads"}, {"3", "tcp", "tcp"}} {
			t.Run(strings.Fields(test.args)[0]+"/"+how.ranks+how.via, func(t *testing.T) {
				rows := rowsOf(t, append(strings.Fields(test.args), "-ranks", how.ranks, "-transport", how.via)...)
				var got strings.Builder
				for _, r := range rows {
					fmt.Fprintln(&got, r.Case, r.Size, r.Measure, r.Unit, r.N)
					if r.Transport != how.want || fmt.Sprint(r.Ranks) != how.ranks || r.Sextile1 <= 0 {
						t.Errorf("a row of transport %s, %d ranks, value %v", r.Transport, r.Ranks, r.Sextile1)
					}
				}
				if want := strings.TrimPrefix(test.rows, "\n"); got.String() != want {
					t.Errorf("got rows\n%s\nwant\n%s", got.String(), want)
				}
			})
		}
	}
}

// The bins hold every measurement, and the tail is no less than the 99th percentile.
func TestHistogramHoldsEverything(t *testing.T) {
	rows := rowsOf(t, "histogram", "-sizes", "8", "-iterations", "50")
	sum, tail := 0.0, 0.0
	for _, r := range rows[2:] {
		if r.Case != "8" || r.Measure != "share" || r.Unit != "%" {
			t.Errorf("a row of case %q, measure %s in %s", r.Case, r.Measure, r.Unit)
		}
		sum += r.Sextile1
	}
	half := rows[0]
	if tail = rows[1].Sextile1; rows[1].Measure != "p999" || half.Measure != "half-rtt" || half.N != 50 || tail < half.P99 || tail > half.Max {
		t.Errorf("%s %v beside %s %+v", rows[1].Measure, tail, half.Measure, half.Summary)
	}
	if math.Abs(sum-100) > 1e-3 {
		t.Errorf("bins hold %v %% of the measurements", sum)
	}
	first, last := float64(rows[2].Size), float64(rows[len(rows)-1].Size)
	const digits = 1e-5 // that CSV leaves out
	if half.Min*1e3*(1+digits) < first || half.Max*1e3*(1+digits) < last {
		t.Errorf("bins from %v to %v ns of times from %v to %v us", first, last, half.Min, half.Max)
	}
}

// Ranks pair up by neighbours; the last of an odd number has no partner.
func TestPartners(t *testing.T) {
	var got []int
	for rank := range 5 {
		got = append(got, (&env{rank: rank}).partner())
	}
	if want := []int{1, 0, 3, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("partners %v, want %v", got, want)
	}
}

// The operations of two values change neither, and do what those over slices do.
func TestOperationsOfTwo(t *testing.T) {
	x, y := sample{"a", []float64{1, 2}}, sample{"b", []float64{10, 20}}
	if got := sampleOfTwo(x, y); got.Name != "a" || !slices.Equal(got.Values, []float64{11, 22}) || x.Values[0] != 1 || y.Values[0] != 10 {
		t.Errorf("%v of %v and %v", got, x, y)
	}
	acc := []cell{{1, 5}, {2, 7}}
	sumCells(acc, []cell{{10, 6}, {20, 6}})
	if want := []cell{{11, 6}, {22, 7}}; !slices.Equal(acc, want) {
		t.Errorf("cells %v, want %v", acc, want)
	}
}
