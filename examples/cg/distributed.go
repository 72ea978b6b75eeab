package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// tagGhosts is the tag of vector elements on their way to a rank that needs them.
const tagGhosts = 1

// distributed is a matrix of which every rank has a block of rows, ready for products with a vector
// p that is dealt out in the same way.
type distributed struct {
	world *mpi.Comm
	size  int // of the whole matrix
	own   csr // entries in the columns of this rank's elements; columns count from its first
	far   csr // entries in the columns of other ranks; column k is that of ghosts[k]

	ghosts []float64 // elements of p that others have, in the order of their numbers
	picked []float64 // copies of this rank's elements that others need, in the order of ranks
	pick   []int32   // which elements these are
	reqs   []*mpi.Request

	waits  bool          // multiply waits for the ghosts before it computes
	waited time.Duration // for ghosts and for dot products
}

// distribute finds out which elements of p each rank needs, and from which ranks.
func distribute(world *mpi.Comm, rows csr) (*distributed, error) {
	a := &distributed{world: world, size: rows.size}
	need := a.cut(rows)
	getCounts := make([]int, world.Size()) // ghosts from each rank
	for _, i := range need {
		getCounts[ownerOf(int(i), world.Size(), rows.size)]++
	}
	giveCounts := make([]int, world.Size()) // elements for each rank
	if err := mpi.Alltoall(world, getCounts, giveCounts); err != nil {
		return nil, err
	}
	a.pick = make([]int32, total(giveCounts))
	if err := mpi.Alltoallv(world, need, getCounts, nil, a.pick, giveCounts, nil); err != nil {
		return nil, err
	}
	for i := range a.pick {
		a.pick[i] -= int32(rows.first)
	}
	a.connect(getCounts, giveCounts)
	return a, nil
}

// cut divides rows into own and far and returns the numbers of the ghosts, ascending.
func (a *distributed) cut(rows csr) (need []int32) {
	first, next := int32(rows.first), int32(rows.first+rows.rows())
	isOwn := func(c int32) bool { return first <= c && c < next }
	for _, c := range rows.col {
		if !isOwn(c) {
			need = append(need, c)
		}
	}
	slices.Sort(need)
	need = slices.Compact(need)

	a.own.ptr, a.far.ptr = make([]int, 1, len(rows.ptr)), make([]int, 1, len(rows.ptr))
	for r := range rows.rows() {
		for k := rows.ptr[r]; k < rows.ptr[r+1]; k++ {
			part, col := &a.own, rows.col[k]-first
			if !isOwn(rows.col[k]) {
				ghost, _ := slices.BinarySearch(need, rows.col[k])
				part, col = &a.far, int32(ghost)
			}
			part.col, part.val = append(part.col, col), append(part.val, rows.val[k])
		}
		a.own.ptr = append(a.own.ptr, len(a.own.val))
		a.far.ptr = append(a.far.ptr, len(a.far.val))
	}
	return need
}

// ownerOf is the rank of size that has row i.
func ownerOf(i, size, rows int) int {
	r := i * size / rows // never too high
	for firstRow(r+1, size, rows) <= i {
		r++
	}
	return r
}

// connect makes the requests of every product, for just those ranks that share elements.
func (a *distributed) connect(getCounts, giveCounts []int) {
	a.ghosts, a.picked = make([]float64, total(getCounts)), make([]float64, total(giveCounts))
	ghosts, picked := a.ghosts, a.picked
	for r := range a.world.Size() {
		if n := getCounts[r]; n > 0 {
			a.reqs = append(a.reqs, mpi.RecvInit(a.world, ghosts[:n], r, tagGhosts))
			ghosts = ghosts[n:]
		}
		if n := giveCounts[r]; n > 0 {
			a.reqs = append(a.reqs, mpi.SendInit(a.world, picked[:n], r, tagGhosts))
			picked = picked[n:]
		}
	}
}

// multiply computes y = A·p. While the ghosts are on their way it computes with what is here.
func (a *distributed) multiply(y, p []float64) error {
	for i, k := range a.pick {
		a.picked[i] = p[k]
	}
	if err := mpi.StartAll(a.reqs...); err != nil {
		return err
	}
	if a.waits {
		if err := a.await(); err != nil {
			return err
		}
	}
	clear(y)
	a.own.multiplyAdd(y, p)
	if err := a.await(); err != nil { // again: then there is nothing to wait for
		return err
	}
	a.far.multiplyAdd(y, a.ghosts)
	return nil
}

// await waits for the ghosts.
func (a *distributed) await() error {
	began := time.Now()
	_, err := mpi.WaitAll(a.reqs...)
	a.waited += time.Since(began)
	return err
}

// dot is the dot product of vectors that are dealt out, the same on all ranks to the last bit.
func (a *distributed) dot(x, y []float64) (float64, error) {
	var sum [1]float64
	for i, v := range x {
		sum[0] += v * y[i]
	}
	began := time.Now()
	err := mpi.Allreduce(a.world, sum[:], sum[:], mpi.Sum)
	a.waited += time.Since(began)
	return sum[0], err
}

// entries is the number of entries of the whole matrix.
func (a *distributed) entries() (int, error) {
	n := []int{len(a.own.val) + len(a.far.val)}
	err := mpi.Allreduce(a.world, n, n, mpi.Sum)
	return n[0], err
}

// describe says what is to be solved.
func (a *distributed) describe(w io.Writer, o options) error {
	entries, err := a.entries()
	if err != nil {
		return err
	}
	most := []int{len(a.ghosts)}
	if err := mpi.Allreduce(a.world, most, most, mpi.Max); err != nil {
		return err
	}
	what := o.matrix
	if what == "" {
		what = fmt.Sprintf("Poisson on %d x %[1]d x %[1]d points", o.grid)
	}
	fmt.Fprintf(w, "cg: %s: %d rows, %d entries; ranks: %d, each with at most %d rows and %d elements from others\n",
		what, a.size, entries, a.world.Size(), (a.size+a.world.Size()-1)/a.world.Size(), most[0])
	return nil
}

func total(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
