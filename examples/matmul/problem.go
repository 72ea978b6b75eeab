package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
)

const (
	inner = 1200 // columns of A, rows of B
	cols  = 500  // columns of B, unless -width says otherwise
)

// problem is a product to compute: c = a·b, all by rows. Only the master has one.
type problem struct {
	rows, width int // of c
	a, b, c     []float64
}

// newProblem makes matrices of whole numbers from -8 to 8, the same ones for the same numbers of
// rows and columns.
func newProblem(rows, width int) problem {
	return problem{
		rows: rows, width: width, a: wholeNumbers(0, rows*inner), b: wholeNumbers(1, inner*width), c: make([]float64, rows*width),
	}
}

func wholeNumbers(seed uint64, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(int(timing.Scattered(seed, uint64(i))%17) - 8)
	}
	return v
}

// multiply computes c = a·b for some rows of a. Four rows of b at a time save loads and stores of
// c.
func multiply(c, a, b []float64) {
	clear(c)
	width := len(b) / inner
	for ; len(a) > 0; a, c = a[inner:], c[width:] {
		sum := c[:width]
		for k := 0; k < inner; k += 4 {
			a0, a1, a2, a3 := a[k], a[k+1], a[k+2], a[k+3]
			b0, b1, b2, b3 := b[k*width:][:width], b[(k+1)*width:][:width], b[(k+2)*width:][:width], b[(k+3)*width:][:width]
			for j := range sum {
				sum[j] += a0*b0[j] + a1*b1[j] + a2*b2[j] + a3*b3[j]
			}
		}
	}
}

// verify is Freivalds' algorithm. All numbers stay below 2^53, so it is exact.
func (p problem) verify(tests int) error {
	x := make([]float64, p.width)
	for range tests {
		for i := range x {
			x[i] = float64(rand.IntN(1 << 16))
		}
		want := timesVector(p.a, timesVector(p.b, x))
		for r, got := range timesVector(p.c, x) {
			if got != want[r] {
				return fmt.Errorf("matmul: row %d of the product is wrong", r)
			}
		}
	}
	return nil
}

// timesVector computes m·x.
func timesVector(m, x []float64) []float64 {
	y := make([]float64, len(m)/len(x))
	for r := range y {
		for i, v := range m[r*len(x):][:len(x)] {
			y[r] += v * x[i]
		}
	}
	return y
}
