//go:build linux

package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestSolveReportsEveryAmountOfWork(t *testing.T) {
	var want []string
	for _, size := range []int{8, 128 << 10} {
		for _, c := range workCases {
			for _, row := range []string{"iteration us 3", "mean-iteration us 1", "work us 3", "steps 1 1"} {
				want = append(want, fmt.Sprintf("%s %d %s", c.name, size, row))
			}
		}
	}
	bothSizes(t, func(t *testing.T, ranks int) {
		wantRun(t, ranks, want, "solve", "-iterations", "3", "-warmup", "1", "-sizes", "8,128K")
	})
}

// The work is in the iteration, and so many times as many steps take the case says.
func TestSolveIsNoShorterThanItsWork(t *testing.T) {
	rows, err := runRows(t, "assist", "solve", "-iterations", "4", "-warmup", "0", "-sizes", "8")
	if err != nil {
		t.Fatal(err)
	}
	const each = 4 // rows of a case
	for i, c := range workCases {
		iteration, work, steps := rows[each*i], rows[each*i+2], rows[each*i+3]
		if iteration.Min < work.Min || iteration.Median < work.Median || work.Min <= 0 {
			t.Errorf("%s: iterations take %v us and more, their work %v", c.name, iteration.Min, work.Min)
		}
		if want := float64(stepsOf(workOf(8) * time.Duration(c.times))); steps.Median != want {
			t.Errorf("%s: %v steps, want %v", c.name, steps.Median, want)
		}
	}
}

func TestSolveOfOneCase(t *testing.T) {
	rows, err := runRows(t, "caller", "solve", "-case", "work-3", "-iterations", "2", "-sizes", "8", "-ranks", "4")
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, rows, "solve", 4, []string{"work-3 8 iteration us 2", "work-3 8 mean-iteration us 1", "work-3 8 work us 2", "work-3 8 steps 1 1"})
}

// Jobs that are told the same pace do the same work, whatever each would find.
func TestSolveByPace(t *testing.T) {
	rows, err := runRows(t, "assist", "solve", "-pace", "1000", "-iterations", "2", "-sizes", "8,1M")
	if err != nil {
		t.Fatal(err)
	}
	var steps []float64
	for _, r := range rows {
		if r.Measure == "steps" {
			steps = append(steps, r.Median)
		}
	}
	if want := []float64{20, 60, 180, 1000, 3000, 9000}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
}

func TestWorkBySize(t *testing.T) {
	for size, want := range map[int]time.Duration{
		0: 20 * time.Microsecond, 8: 20 * time.Microsecond, 9: 40 * time.Microsecond, 16 << 10: 40 * time.Microsecond, 64 << 10: 100 * time.Microsecond,
		256 << 10: 300 * time.Microsecond, 1 << 20: time.Millisecond, 4 << 20: 4 * time.Millisecond, 16 << 20: 16 * time.Millisecond, 64 << 20: 16 * time.Millisecond,
	} {
		if got := workOf(size); got != want {
			t.Errorf("beside %d bytes %v, want %v", size, got, want)
		}
	}
}

// The counts of bench/METHOD.md: half a second of work, between 10 and 2,000 iterations.
func TestSolveCount(t *testing.T) {
	for work, want := range map[time.Duration]int{20 * time.Microsecond: 2000, 900 * time.Microsecond: 555, time.Millisecond: 500, 144 * time.Millisecond: 10} {
		if got := solveCount(work); got != want {
			t.Errorf("with work of %v %d iterations, want %d", work, got, want)
		}
	}
}

// The work is a number of steps that is found once: asking again, and doing it again, changes
// nothing.
func TestWorkIsFixed(t *testing.T) {
	const d = 100 * time.Microsecond
	steps := stepsOf(d)
	if steps < 1 {
		t.Fatalf("%v are %d steps", d, steps)
	}
	var first, again chain
	first.run(steps)
	for range 3 {
		again = chain{}
		if again.spend(d); again.x != first.x {
			t.Errorf("the work of %v leads to %v, then to %v", d, first.x, again.x)
		}
		if n := stepsOf(d); n != steps {
			t.Errorf("the work of %v is %d steps, then %d", d, steps, n)
		}
	}
	if nine := stepsOf(9 * d); nine < 9*steps || nine > 9*steps+9 {
		t.Errorf("work of %v is %d steps, nine times as much %d", d, steps, nine)
	}
}
