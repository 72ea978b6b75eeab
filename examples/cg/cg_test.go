package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/examples/internal/timing/timingtest"
	"github.com/fitmpi/fitmpi/mpi"
)

// cg runs the program on n ranks and returns what it printed.
func cg(t *testing.T, n int, args ...string) (string, error) {
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

func wantOutput(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("output lacks %q:\n%s", p, out)
		}
	}
}

func TestPoisson(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, grid := range []string{"1", "2", "9"} {
			t.Run(fmt.Sprintf("ranks=%d/grid=%s", n, grid), func(t *testing.T) {
				out, err := cg(t, n, "-grid", grid, "-tol", "1e-10")
				if err != nil {
					t.Fatal(err)
				}
				wantOutput(t, out, "computed afresh", "known solution")
			})
		}
	}
}

func TestMatrixFile(t *testing.T) {
	for n := 1; n <= 5; n++ {
		out, err := cg(t, n, "-matrix", "testdata/plate12.mtx")
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, out, "144 rows, 672 entries", "computed afresh")
	}
}

func TestMoreRanksThanRows(t *testing.T) {
	if _, err := cg(t, 7, "-matrix", "testdata/tiny.mtx"); err != nil {
		t.Error(err)
	}
}

// The distributed product is that of the whole matrix, for vectors and a matrix without any
// symmetry that could hide a mistake.
func TestProduct(t *testing.T) {
	const size = 23
	var es []entry
	for i := range int32(size) {
		for _, c := range []int32{i, (i * 7) % size, (i*5 + 3) % size, 0} {
			es = append(es, entry{i, c, float64(1 + (i*31+c*17)%11)})
		}
	}
	whole := fromEntries(size, es)
	p, want := make([]float64, size), make([]float64, size)
	for i := range p {
		p[i] = float64(i * i % 101)
	}
	whole.multiplyAdd(want, p)
	for n := 1; n <= 5; n++ {
		err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
			mine := csr{}
			if world.Rank() == 0 {
				mine = whole
			}
			rows, err := deal(world, mine)
			if err != nil {
				return err
			}
			a, err := distribute(world, rows)
			if err != nil {
				return err
			}
			from := rows.first
			y := make([]float64, rows.rows())
			for range 3 { // the requests are persistent
				if err := a.multiply(y, p[from:from+len(y)]); err != nil {
					return err
				}
				for i := range y {
					if y[i] != want[from+i] { // whole numbers: exact in any order
						return fmt.Errorf("row %d is %v, want %v", from+i, y[i], want[from+i])
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

// The solution is that of Gaussian elimination.
func TestEqualsElimination(t *testing.T) {
	a := poisson(3, 0, 27)
	b := make([]float64, 27)
	for i := range b {
		b[i] = math.Sin(float64(i))
	}
	want := eliminate(a, b)
	for n := 1; n <= 5; n++ {
		err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
			from, to := firstRow(world.Rank(), n, 27), firstRow(world.Rank()+1, n, 27)
			d, err := distribute(world, poisson(3, from, to))
			if err != nil {
				return err
			}
			s := &solver{ctx: ctx, a: d, tol: 1e-12, limit: 100, out: &bytes.Buffer{}}
			x, err := s.solve(b[from:to])
			for i, v := range x {
				if math.Abs(v-want[from+i]) > 1e-10 {
					return fmt.Errorf("x[%d] is %v, want %v", from+i, v, want[from+i])
				}
			}
			return err
		})
		if err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

// eliminate solves a·x = b without pivoting, which a positive definite matrix needs not.
func eliminate(a csr, b []float64) []float64 {
	n := len(b)
	m := make([][]float64, n) // with b as the last column
	for r := range m {
		m[r] = make([]float64, n+1)
		for c := range n {
			m[r][c] = a.at(int32(r), int32(c))
		}
		m[r][n] = b[r]
	}
	for k := range n {
		for r := range n {
			if r == k {
				continue
			}
			f := m[r][k] / m[k][k]
			for c := range m[r] {
				m[r][c] -= f * m[k][c]
			}
		}
	}
	x := make([]float64, n)
	for r := range x {
		x[r] = m[r][n] / m[r][r]
	}
	return x
}

func TestNoSolution(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-grid", "8", "-max", "3"}, "raise -max"},
		{[]string{"-grid", "8", "-tol", "1e-30"}, "larger -tol"},
		{[]string{"-matrix", "testdata/indefinite.mtx"}, "not positive definite"},
		{[]string{"-matrix", "testdata/zero.mtx"}, "maps the known solution to 0"},
		{[]string{"-matrix", "testdata/huge.mtx"}, "the residual stays at"},
		{[]string{"-matrix", "testdata/unsymmetric.mtx"}, "entry (1, 2) is 3, but (2, 1) is 2"},
		{[]string{"-matrix", "testdata/broken.mtx"}, "broken.mtx: line 4: column \"4\": want a number from 1 to 3"},
		{[]string{"-matrix", "testdata/none.mtx"}, "no such file"},
		{[]string{"-matrix", "a.mtx", "-grid", "3"}, "not both"},
		{[]string{"-grid", "-3"}, "choose 1 to"},
		{[]string{"-tol", "nan"}, "such as 1e-8"},
		{[]string{"-max", "0"}, "choose 1 or more"},
		{[]string{"-time", "-1"}, "-time -1: choose 1 or more"},
		{[]string{"x"}, "unexpected argument"},
		{[]string{"-x"}, "-h shows the options"},
	} {
		_, err := cg(t, 2, tt.args...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("cg %s: error %v, want one with %q", strings.Join(tt.args, " "), err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, err := cg(t, 2, "-h")
	if err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}

func TestOwner(t *testing.T) {
	for _, rows := range []int{1, 2, 3, 7, 64, 100} {
		for size := 1; size < 12; size++ {
			for i := range rows {
				r := ownerOf(i, size, rows)
				if i < firstRow(r, size, rows) || i >= firstRow(r+1, size, rows) {
					t.Fatalf("row %d of %d belongs to rank %d of %d, they say", i, rows, r, size)
				}
			}
		}
	}
}

// With -time a line is printed for each time and way, with the same answer on any number of ranks.
func TestTimes(t *testing.T) {
	timingtest.Check(t, "cg", 7, 4, timing.Both, func(ranks int) (string, error) {
		return cg(t, ranks, "-grid", "7", "-time", "2")
	})
}
