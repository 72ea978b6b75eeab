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
	line  []complex128 // one column at a time
}

func newLines(n int) *lines {
	l := &lines{n: n, roots: make([]complex128, n/2), line: make([]complex128, n)}
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

// transformColumns transforms each column of a plane of n rows.
func (l *lines) transformColumns(plane []complex128) {
	for col := range l.n {
		for i := range l.line {
			l.line[i] = plane[i*l.n+col]
		}
		l.transform(l.line)
		for i, v := range l.line {
			plane[i*l.n+col] = v
		}
	}
}

// transform replaces x by its discrete Fourier transform: Cooley and Tukey's algorithm with radix 2, in place.
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
