package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
)

// coordinates gives the point of a number: whole numbers about one of as many places as there are
// clusters. A point depends on nothing but its number, so every rank makes its own.
func (o options) coordinates(number int, x []float64) {
	place, noise := uint64(number%o.clusters*len(x)), uint64(number*len(x))
	for d := range x {
		n := uint64(d)
		x[d] = float64(timing.Scattered(o.seed, place+n)%2000 + timing.Scattered(^o.seed, noise+n)%1500)
	}
}

// firstCentres are the first points.
func (o options) firstCentres() []float64 {
	centres := make([]float64, o.clusters*o.dims)
	for k := range o.clusters {
		o.coordinates(k, centres[k*o.dims:(k+1)*o.dims])
	}
	return centres
}

// block is the points from number first on, and the cluster of each.
type block struct {
	options
	x       []float64 // coordinates, point by point
	cluster []int
}

func newBlock(o options, first, end int) *block {
	b := &block{options: o, x: make([]float64, (end-first)*o.dims), cluster: make([]int, end-first)}
	for i := range b.cluster {
		o.coordinates(first+i, b.x[i*o.dims:(i+1)*o.dims])
	}
	b.forget()
	return b
}

// forget takes all points out of their clusters.
func (b *block) forget() {
	for i := range b.cluster {
		b.cluster[i] = -1
	}
}

// A tally is what some points contribute to the next centres: for each cluster the sums of their
// coordinates, exact in a float64, then their number; behind all the number of points that have
// changed their cluster.
func (o options) newTally() []float64 { return make([]float64, o.clusters*(o.dims+1)+1) }

// assign puts the points from first to before end into the clusters of the nearest centres, and
// their tally into t.
func (b *block) assign(first, end int, centres, t []float64) {
	clear(t)
	for i := first; i < end; i++ {
		x := b.x[i*b.dims : (i+1)*b.dims]
		k := nearest(x, centres)
		if k != b.cluster[i] {
			b.cluster[i] = k
			t[len(t)-1]++
		}
		mine := t[k*(b.dims+1) : (k+1)*(b.dims+1)]
		for d, v := range x {
			mine[d] += v
		}
		mine[b.dims]++
	}
}

// nearest is the number of the centre nearest to x, the first of several.
func nearest(x, centres []float64) int {
	best, at := math.Inf(1), 0
	for k := range len(centres) / len(x) {
		sum := 0.
		for d, c := range centres[k*len(x) : (k+1)*len(x)] {
			sum += (x[d] - c) * (x[d] - c)
		}
		if sum < best {
			best, at = sum, k
		}
	}
	return at
}

// result is where the points have got to.
type result struct {
	centres    []float64
	sizes      []int // of the clusters
	iterations int
}

// move makes the centres the means of their points, by the tally of all points, and reports whether
// that was the last time. A centre without points stays.
func (r *result) move(o options, t []float64) (over bool) {
	r.iterations++
	for k := range o.clusters {
		mine := t[k*(o.dims+1) : (k+1)*(o.dims+1)]
		n := mine[o.dims]
		r.sizes[k] = int(n)
		for d := range o.dims {
			if n > 0 {
				r.centres[k*o.dims+d] = mine[d] / n
			}
		}
	}
	return t[len(t)-1] == 0 || r.iterations == o.iterations
}

// equals says in what two results differ.
func (r *result) equals(want *result) error {
	switch {
	case r.iterations != want.iterations:
		return fmt.Errorf("kmeans: wrong: %d iterations, %d in serial", r.iterations, want.iterations)
	case !slices.Equal(r.sizes, want.sizes):
		return fmt.Errorf("kmeans: wrong: clusters of %v points, %v in serial", r.sizes, want.sizes)
	case !slices.Equal(r.centres, want.centres):
		return fmt.Errorf("kmeans: wrong: centres %v, %v in serial", r.centres, want.centres)
	}
	return nil
}

// serial is the whole computation in one goroutine, without MPI.
func serial(o options) *result {
	b, t := newBlock(o, 0, o.points), o.newTally()
	r := &result{centres: o.firstCentres(), sizes: make([]int, o.clusters)}
	for over := false; !over; over = r.move(o, t) {
		b.assign(0, o.points, r.centres, t)
	}
	return r
}
