package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/examples/internal/timing/timingtest"
	"github.com/fitmpi/fitmpi/mpi"
)

// matmul runs the program on n ranks and returns what it printed.
func matmul(t *testing.T, n int, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		if world.Rank() == 0 {
			return run(ctx, world, args, &out)
		}
		return run(ctx, world, args, nil)
	})
	return out.String(), err
}

// plain is the product in the plainest way.
func plain(p problem) []float64 {
	c := make([]float64, p.rows*p.width)
	for r := range p.rows {
		for j := range p.width {
			for k := range inner {
				c[r*p.width+j] += p.a[r*inner+k] * p.b[k*p.width+j]
			}
		}
	}
	return c
}

// Every number of workers computes what serial code computes, exactly: also more workers than
// blocks, and a last block that is shorter.
func TestEqualsSerial(t *testing.T) {
	for _, size := range [][2]int{{1, cols}, {23, cols}, {23, 7}} {
		rows, width := size[0], size[1]
		want := plain(newProblem(rows, width))
		for n := 1; n <= 5; n++ {
			for _, block := range []int{1, 5, 100} {
				err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
					var p problem
					if world.Rank() == 0 {
						p = newProblem(rows, width)
					}
					if err := work(world, options{block: block, width: width}, p); err != nil {
						return err
					}
					if world.Rank() == 0 && !slices.Equal(p.c, want) {
						return fmt.Errorf("the product differs from the serial one")
					}
					return nil
				})
				if err != nil {
					t.Errorf("%d rows, %d columns, in blocks of %d on %d ranks: %v", rows, width, block, n, err)
				}
			}
		}
	}
}

func TestTable(t *testing.T) {
	for n := 1; n <= 5; n++ {
		out, err := matmul(t, n, "-rows", "12,7", "-block", "3")
		if err != nil {
			t.Fatal(err)
		}
		lines := max(n-1, 1)
		if got := strings.Count(out, "%"); got != 2*lines {
			t.Errorf("%d ranks: %d lines with an efficiency, want %d:\n%s", n, got, 2*lines, out)
		}
		if want := fmt.Sprintf("check: %d products passed", 2*lines); !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

func TestVerifyFindsMistakes(t *testing.T) {
	p := newProblem(9, cols)
	multiply(p.c, p.a, p.b)
	if err := p.verify(2); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 4321, len(p.c) - 1} {
		p.c[i]++
		// Caught but for one x in 65536: three tests leave one failure in 10^14 runs.
		if err := p.verify(3); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("row %d ", i/cols)) {
			t.Errorf("element %d is wrong, verify says %v", i, err)
		}
		p.c[i]--
	}
}

func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-rows 0", `"0" is no number`},
		{"-rows 5,,6", `"" is no number`},
		{"-rows x", `"x" is no number`},
		{"-block 0", "choose 1 or more"},
		{"-width 0", "-width 0: choose 1 to"},
		{"-time -1", "-time -1: choose 1 or more"},
		{"2400", "unexpected argument"},
		{"-r", "-h shows the options"},
	} {
		if _, err := matmul(t, 2, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("matmul %s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, err := matmul(t, 2, "-h")
	if err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}

func BenchmarkMultiply(b *testing.B) {
	p := newProblem(40, cols)
	for b.Loop() {
		multiply(p.c, p.a, p.b)
	}
	b.ReportMetric(2*40*inner*cols*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFlop/s")
}

// With -time a line is printed for each time and way, with the same answer on any number of ranks.
func TestTimes(t *testing.T) {
	timingtest.Check(t, "matmul", 90, 2, []string{timing.Overlap}, func(ranks int) (string, error) {
		return matmul(t, ranks, "-rows", "90,90", "-width", "7", "-time", "1")
	})
}
