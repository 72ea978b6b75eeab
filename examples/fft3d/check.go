package main

import (
	"fmt"
	"io"
	"math"
	"math/cmplx"

	"github.com/fitmpi/fitmpi/mpi"
)

// value is the input at a point: numbers without any order, so that a misplaced one is noticed, and
// known to every rank.
func value(x, y, z int) complex128 {
	h := uint64(x)<<40 | uint64(y)<<20 | uint64(z)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	return complex(float64(h>>40)/(1<<24)-0.5, float64(h&(1<<24-1))/(1<<24)-0.5)
}

// makeInput is this rank's slab of the input.
func (c *cube) makeInput() []complex128 {
	s := c.slab()[:0]
	for x := c.first; x < c.end; x++ {
		for y := range c.n {
			for z := range c.n {
				s = append(s, value(x, y, z))
			}
		}
	}
	return s
}

// frequencies are those to compute from the definition: all of a small cube, else a few.
func (c *cube) frequencies() [][3]int {
	n := c.n
	var fs [][3]int
	if n <= 8 {
		for i := range n * n * n {
			fs = append(fs, [3]int{i / n / n, i / n % n, i % n})
		}
		return fs
	}
	for i := range 12 {
		fs = append(fs, [3]int{(i*i*7 + 1) % n, (i*5 + i*i) % n, (i * 3) % n})
	}
	return fs
}

// define computes frequencies from the definition, each rank from its slab of the input. Lines are
// added up by themselves first, as adding up small sums rounds less.
func (c *cube) define(input []complex128, fs [][3]int) ([]complex128, error) {
	sums, n := make([]complex128, len(fs)), c.n
	for k, f := range fs {
		for i := range len(input) / n {
			x, y := c.first+i/n, i%n
			var line complex128
			for z, v := range input[i*n : (i+1)*n] {
				turn := (f[0]*x + f[1]*y + f[2]*z) % n
				line += v * cmplx.Rect(1, -2*math.Pi*float64(turn)/float64(n))
			}
			sums[k] += line
		}
	}
	err := mpi.Allreduce(c.comm, sums, sums, mpi.Sum)
	return sums, err
}

// check compares the transform with the definition, and what came back with the input.
func (c *cube) check(stdout io.Writer, input, there, back []complex128) error {
	fs := c.frequencies()
	want, err := c.define(input, fs)
	if err != nil {
		return err
	}
	worst := []float64{0, 0} // of the transform, of what came back
	for k, f := range fs {
		if x, y, z := f[0], f[1], f[2]; y >= c.first && y < c.end {
			worst[0] = max(worst[0], cmplx.Abs(there[(x*(c.end-c.first)+y-c.first)*c.n+z]-want[k]))
		}
	}
	for i := range input {
		worst[1] = max(worst[1], cmplx.Abs(back[i]-input[i]))
	}
	if err := mpi.Allreduce(c.comm, worst, worst, mpi.Max); err != nil {
		return err
	}
	// A frequency is a sum of n³ numbers below 1, whose rounding errors grow with its square root.
	tolerance := 1e-14 * math.Sqrt(float64(c.n*c.n*c.n)) * math.Log2(float64(2*c.n))
	fmt.Fprintf(stdout, "checked: %d frequencies differ from their definition by %.1e at most, forth and back from the input by %.1e\n",
		len(fs), worst[0], worst[1])
	if !(worst[0] <= tolerance && worst[1] <= 1e-13) { // so that NaN fails
		return fmt.Errorf("fft3d: the differences should be below %.1e and 1e-13", tolerance)
	}
	return nil
}
