package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// inputs make the number at place i of n.
var inputs = map[string]func(r *rand.Rand, i, n int) int64{
	"random":    func(r *rand.Rand, _, _ int) int64 { return r.Int64() },
	"sorted":    func(_ *rand.Rand, i, _ int) int64 { return int64(i) },
	"reversed":  func(_ *rand.Rand, i, n int) int64 { return int64(n - i) },
	"scattered": func(_ *rand.Rand, i, _ int) int64 { return int64(timing.Scattered(0, uint64(i)) >> 1) },
	"skewed": func(r *rand.Rand, _, _ int) int64 {
		if r.IntN(2) == 0 {
			return 42
		}
		return r.Int64N(1000)
	},
}

// makeItems makes this rank's block of the numbers.
func makeItems(c *mpi.Comm, o options) []item {
	r := rand.New(rand.NewPCG(o.seed, uint64(c.Rank())))
	first, end := c.Rank()*o.n/c.Size(), (c.Rank()+1)*o.n/c.Size()
	items := make([]item, end-first)
	for i := range items {
		items[i] = item{inputs[o.input](r, first+i, o.n), int32(c.Rank()), int32(i)}
	}
	return items
}

// digest tells collections of items apart. The order of the items makes no difference, nor does it
// matter which ranks have them.
type digest struct {
	Count, Sum int64
	Hash       uint64
}

func (d *digest) add(x item) {
	d.Count++
	d.Sum += x.Key
	h := uint64(x.Key)*0x9e3779b97f4a7c15 ^ uint64(x.Rank)<<32 ^ uint64(x.Index)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	d.Hash += h ^ h>>31
}

// digestOf is the digest of the items of all ranks.
func digestOf(c *mpi.Comm, items []item) (digest, error) {
	all := make([]digest, 1)
	for _, x := range items {
		all[0].add(x)
	}
	add := func(acc, in []digest) {
		for i := range acc {
			acc[i] = digest{acc[i].Count + in[i].Count, acc[i].Sum + in[i].Sum, acc[i].Hash + in[i].Hash}
		}
	}
	err := mpi.Allreduce(c, slices.Clone(all), all, mpi.Commutative(add))
	return all[0], err
}

// check says what is wrong with the result, if anything, and how much the rank with the largest
// share has.
func check(c *mpi.Comm, sorted []item, before digest) (largest int, err error) {
	after, err := digestOf(c, sorted)
	if err != nil {
		return 0, err
	}
	shares := make([]int, c.Size())
	if err := mpi.Allgather(c, []int{len(sorted)}, shares); err != nil {
		return 0, err
	}
	highest, err := highestBefore(c, sorted)
	if err != nil {
		return 0, err
	}
	largest = slices.Max(shares)
	p, each := c.Size(), (int(before.Count)+c.Size()-1)/c.Size()
	bound := 2 * p * ((each + p - 1) / p)
	switch {
	case after != before:
		err = fmt.Errorf("samplesort: %+v went in, %+v came out", before, after)
	case !slices.IsSortedFunc(sorted, compare):
		err = fmt.Errorf("samplesort: rank %d is not in order", c.Rank())
	case len(sorted) > 0 && highest.Is && compare(highest.Item, sorted[0]) >= 0:
		err = fmt.Errorf("samplesort: %+v on rank %d, but %+v on a rank before", sorted[0], c.Rank(), highest.Item)
	case largest > bound:
		err = fmt.Errorf("samplesort: a rank has %d items, regular sampling allows %d", largest, bound)
	}
	return largest, err
}

// highestBefore is the greatest of the last items of the ranks before this one, if they have any.
func highestBefore(c *mpi.Comm, sorted []item) (sample, error) {
	mine, before := make([]sample, 1), make([]sample, 1)
	if len(sorted) > 0 {
		mine[0] = sample{sorted[len(sorted)-1], true}
	}
	higher := func(acc, in []sample) {
		for i := range acc {
			if in[i].Is && (!acc[i].Is || compare(acc[i].Item, in[i].Item) < 0) {
				acc[i] = in[i]
			}
		}
	}
	err := mpi.Exscan(c, mine, before, higher)
	return before[0], err
}
