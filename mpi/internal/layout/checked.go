package layout

import (
	"errors"
	"math"
	"math/bits"
)

// ErrTooLarge says that a layout, or so many elements of it, reach further than memory can.
var ErrTooLarge = errors.New("the layout reaches further than memory can")

// limit bounds sizes and the magnitude of displacements. Differences of two numbers within it do
// not overflow, so that arithmetic within a finished Map need not be checked.
const limit = math.MaxInt / 2

// checked does arithmetic and remembers whether a result was beyond limit.
type checked struct{ over bool }

// keep returns n, or 0 if n is beyond limit.
func (c *checked) keep(n int) int {
	if n > limit || n < -limit {
		c.over = true
		return 0
	}
	return n
}

// add adds numbers that are each within limit.
func (c *checked) add(a, b int) int { return c.keep(c.keep(a) + c.keep(b)) }

func (c *checked) mul(a, b int) int {
	hi, lo := bits.Mul64(uint64(magnitude(a)), uint64(magnitude(b)))
	if hi != 0 || lo > limit {
		c.over = true
		return 0
	}
	if (a < 0) != (b < 0) {
		return -int(lo)
	}
	return int(lo)
}

// magnitude is |n|, right for the least int too.
func magnitude(n int) uint {
	if n < 0 {
		return -uint(n)
	}
	return uint(n)
}

func (c *checked) err() error {
	if c.over {
		return ErrTooLarge
	}
	return nil
}

// gcd is the greatest common divisor of the magnitudes; gcd(0, b) is |b|.
func gcd(a, b int) int {
	x, y := magnitude(a), magnitude(b)
	for y != 0 {
		x, y = y, x%y
	}
	return int(x)
}
