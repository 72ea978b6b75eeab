package main

import (
	"cmp"
	"fmt"
	"slices"
)

// csr is consecutive rows of a sparse matrix. Row r has the entries val[ptr[r]:ptr[r+1]], in the
// columns of col.
type csr struct {
	size  int // rows and columns of the whole matrix
	first int // number of the first row in the whole matrix
	ptr   []int
	col   []int32 // ascending within a row
	val   []float64
}

func (a csr) rows() int { return len(a.ptr) - 1 }

// multiplyAdd adds a·x to y.
func (a csr) multiplyAdd(y, x []float64) {
	for r := range y {
		from, to := a.ptr[r], a.ptr[r+1]
		col, sum := a.col[from:to], y[r]
		for k, v := range a.val[from:to] {
			sum += v * x[col[k]]
		}
		y[r] = sum
	}
}

// entry is one element of a sparse matrix; rows and columns count from 0.
type entry struct {
	row, col int32
	val      float64
}

// fromEntries makes a whole matrix. It sorts the entries; those at the same place are added up.
func fromEntries(size int, es []entry) csr {
	slices.SortStableFunc(es, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(x.col, y.col))
	})
	a := csr{size: size, ptr: make([]int, size+1)}
	for i, e := range es {
		if i > 0 && es[i-1].row == e.row && es[i-1].col == e.col {
			a.val[len(a.val)-1] += e.val
			continue
		}
		a.col, a.val = append(a.col, e.col), append(a.val, e.val)
		a.ptr[e.row+1] = len(a.val)
	}
	for r := range size { // rows without entries
		a.ptr[r+1] = max(a.ptr[r+1], a.ptr[r])
	}
	return a
}

// at returns an element of a whole matrix.
func (a csr) at(row, col int32) float64 {
	from, to := a.ptr[row], a.ptr[row+1]
	if k, ok := slices.BinarySearch(a.col[from:to], col); ok {
		return a.val[from+k]
	}
	return 0
}

// checkSymmetric compares a whole matrix with its transpose.
func (a csr) checkSymmetric() error {
	for r := range int32(a.rows()) {
		for k := a.ptr[r]; k < a.ptr[r+1]; k++ {
			c := a.col[k]
			if t := a.at(c, r); t != a.val[k] {
				return fmt.Errorf("the matrix is not symmetric: entry (%d, %d) is %v, but (%d, %d) is %v",
					r+1, c+1, a.val[k], c+1, r+1, t)
			}
		}
	}
	return nil
}

// poisson makes rows from to to of Poisson's equation on n x n x n points with the value 0 around
// them: 6 on the diagonal, -1 for each of up to six neighbours.
func poisson(n, from, to int) csr {
	a := csr{size: n * n * n, first: from, ptr: make([]int, 1, to-from+1)}
	add := func(is bool, col int, v float64) {
		if is {
			a.col, a.val = append(a.col, int32(col)), append(a.val, v)
		}
	}
	for i := from; i < to; i++ {
		x, y, z := i%n, i/n%n, i/n/n
		add(z > 0, i-n*n, -1)
		add(y > 0, i-n, -1)
		add(x > 0, i-1, -1)
		add(true, i, 6)
		add(x < n-1, i+1, -1)
		add(y < n-1, i+n, -1)
		add(z < n-1, i+n*n, -1)
		a.ptr = append(a.ptr, len(a.val))
	}
	return a
}
