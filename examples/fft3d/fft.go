package main

import (
	"iter"
	"math"
	"math/bits"
	"math/cmplx"
)

// lines transforms lines of n points, n a power of two.
type lines struct {
	n     int
	roots []complex128 // exp(-2πi k/n), k < n/2
	some  []complex128 // columns that are transformed at a time
}

func newLines(n int) *lines {
	l := &lines{n: n, roots: make([]complex128, n/2), some: make([]complex128, together*n)}
	for k := range l.roots {
		l.roots[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n))
	}
	return l
}

// rows are the lines of a slab, one behind the other.
func (l *lines) rows(s []complex128) iter.Seq[[]complex128] {
	return func(yield func([]complex128) bool) {
		for ; len(s) > 0; s = s[l.n:] {
			if !yield(s[:l.n]) {
				return
			}
		}
	}
}

// together is how many columns are taken out at a time: neighbours share cache lines, and rows that
// are a power of two apart would drive each other's out of the cache before their next element is
// read.
const together = 8

// transformColumns transforms each column of a matrix of n rows.
func (l *lines) transformColumns(m []complex128) {
	width := len(m) / l.n
	for col := 0; col < width; col += together {
		k := min(together, width-col)
		for i := range l.n {
			for j, v := range m[i*width+col:][:k] {
				l.some[j*l.n+i] = v
			}
		}
		for line := range l.rows(l.some[:k*l.n]) {
			l.transform(line)
		}
		for i := range l.n {
			row := m[i*width+col:][:k]
			for j := range row {
				row[j] = l.some[j*l.n+i]
			}
		}
	}
}

// transform replaces x by its discrete Fourier transform: Cooley and Tukey's algorithm with radix
// 2, in place.
func (l *lines) transform(x []complex128) {
	shift := 65 - bits.Len(uint(l.n))
	for i := range x {
		if j := int(bits.Reverse64(uint64(i)) >> shift); l.n > 1 && i < j {
			x[i], x[j] = x[j], x[i]
		}
	}
	for half := 1; half < l.n; half *= 2 {
		stride := l.n / (2 * half)
		for start := 0; start < l.n; start += 2 * half {
			for k := range half {
				even, odd := x[start+k], x[start+k+half]*l.roots[k*stride]
				x[start+k], x[start+k+half] = even+odd, even-odd
			}
		}
	}
}
