// Package timingtest tests what an example prints with -time.
package timingtest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

var line = regexp.MustCompile(`(?m)^time (\w+) ranks=(\d+) size=(\d+) way=(\w+) seconds=\d\.\d{9} waited=\d\.\d{9} answer=([0-9a-f]{16}) value=(\S+)$`)

// Check runs a program on 1, 2 and 3 ranks. It must print times lines for a problem of this size,
// by turns of these ways. All answers must be the same, and the values but for rounding; one of the
// two must say something.
func Check(t *testing.T, program string, size, times int, ways []string, run func(ranks int) (string, error)) {
	t.Helper()
	var answer string
	var value float64
	for ranks := 1; ranks <= 3; ranks++ {
		out, err := run(ranks)
		if err != nil {
			t.Fatal(err)
		}
		lines := line.FindAllStringSubmatch(out, -1)
		if len(lines) != times {
			t.Errorf("%d ranks: %d lines, want %d:\n%s", ranks, len(lines), times, out)
		}
		for i, l := range lines {
			x, err := strconv.ParseFloat(l[6], 64)
			if err != nil {
				t.Fatal(err)
			}
			if answer == "" {
				answer, value = l[5], x
			}
			if got, want := fmt.Sprint(l[1:5]), fmt.Sprint([]any{program, ranks, size, ways[i%len(ways)]}); got != want {
				t.Errorf("line %d is of %s, want %s", i, got, want)
			}
			if l[5] != answer || !(math.Abs(x-value) <= 1e-9*math.Abs(value)) {
				t.Errorf("%d ranks answer %s, %v; it was %s, %v", ranks, l[5], x, answer, value)
			}
		}
	}
	if answer == "0000000000000000" && value == 0 {
		t.Error("there is no answer")
	}
}
