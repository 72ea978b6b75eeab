package main

import (
	"fmt"
	"io"
	"time"
)

// table shows how the time falls with the number of workers.
type table struct {
	w      io.Writer
	rows   int           // of the lines so far
	first  time.Duration // with one worker, or none
	tested int           // products that passed the test
	ranks  int
	cores  int // that they have together
	width  int // of the products
}

func newTable(w io.Writer, ranks, cores int, o options) *table {
	fmt.Fprintf(w, "matmul: A (rows x %d) times B (%d x %d); a master hands out blocks of %d rows; the ranks have %s\n",
		inner, inner, o.width, o.block, plural(cores, "core"))
	return &table{w: w, ranks: ranks, cores: cores, width: o.width}
}

// add shows a line.
func (t *table) add(rows, workers int, elapsed time.Duration) {
	if rows != t.rows {
		fmt.Fprintf(t.w, "\n%7s %8s %10s %9s %11s %8s\n", "rows", "workers", "time", "speed-up", "efficiency", "GFlop/s")
		t.rows, t.first = rows, elapsed
	}
	t.tested++
	who := fmt.Sprint(workers)
	if workers == 0 {
		who = "master" // alone
	}
	speedUp := t.first.Seconds() / elapsed.Seconds()
	fmt.Fprintf(t.w, "%7d %8s %9.3fs %9.2f %10.0f%% %8.2f\n", rows, who, elapsed.Seconds(), speedUp,
		100*speedUp/float64(max(workers, 1)), 2*float64(rows)*inner*float64(t.width)/elapsed.Seconds()/1e9)
}

func (t *table) end() {
	fmt.Fprintf(t.w, "\ncheck: %s passed Freivalds' test\n", plural(t.tested, "product"))
	switch {
	case t.ranks == 1:
		fmt.Fprintln(t.w, "the only rank computed by itself: start more, with fitrun -n, for workers")
	case t.ranks-1 > t.cores:
		fmt.Fprintf(t.w, "more workers than cores (%d): they share them\n", t.cores)
	}
}

// plural is a number with what it counts.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
