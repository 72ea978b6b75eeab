package main

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// item is a number with the place where it was, so that no two are equal.
type item struct {
	Key   int64
	Rank  int32
	Index int32
}

func compare(a, b item) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index))
}

// samplesort returns this rank's part of the numbers of all ranks in order: all that it returns
// comes before what rank+1 returns. It sorts mine in place.
func samplesort(c *mpi.Comm, mine []item) ([]item, error) {
	slices.SortFunc(mine, compare)
	runs, counts, _, err := exchange(c, mine)
	if err != nil {
		return nil, err
	}
	return merge(runs, counts), nil
}

// exchange moves sorted items to where they belong. It returns a sorted run from each rank, one
// behind the other, how many items each has, and how long that took.
func exchange(c *mpi.Comm, mine []item) (runs []item, recvCounts []int, took time.Duration, err error) {
	began := time.Now()
	splitters, err := choose(c, mine)
	if err != nil {
		return nil, nil, 0, err
	}
	sendCounts := share(mine, splitters, c.Size())
	recvCounts = make([]int, c.Size())
	if err := mpi.Alltoall(c, sendCounts, recvCounts); err != nil {
		return nil, nil, 0, err
	}
	total := 0
	for _, n := range recvCounts {
		total += n
	}
	runs = make([]item, total)
	err = mpi.Alltoallv(c, mine, sendCounts, nil, runs, recvCounts, nil)
	return runs, recvCounts, time.Since(began), err
}

// sample is an item, or none, as a rank with few items gives fewer.
type sample struct {
	Item item
	Is   bool
}

// choose returns the splitters, the same on every rank: at most one fewer than there are ranks.
func choose(c *mpi.Comm, sorted []item) ([]item, error) {
	p := c.Size()
	mine, all := make([]sample, p), make([]sample, p*p)
	for i := range min(p, len(sorted)) {
		mine[i] = sample{sorted[i*len(sorted)/min(p, len(sorted))], true}
	}
	if err := mpi.Allgather(c, mine, all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s sample) bool { return !s.Is })
	slices.SortFunc(all, func(a, b sample) int { return compare(a.Item, b.Item) })
	var splitters []item
	for r := 1; r < p && len(all) > 0; r++ {
		splitters = append(splitters, all[min(r*len(all)/p+p/2, len(all)-1)].Item)
	}
	return splitters, nil
}

// share tells how many of the sorted items go to each rank: to rank r those from splitter r-1 on
// and before splitter r. Without splitters there are no items.
func share(sorted, splitters []item, ranks int) []int {
	counts := make([]int, ranks)
	from := 0
	for r, s := range splitters {
		to, _ := slices.BinarySearchFunc(sorted, s, compare)
		counts[r] = to - from // splitters are in order, so none is negative
		from = to
	}
	counts[len(splitters)] = len(sorted) - from
	return counts
}

// cursors is a heap of sorted runs by their first items.
type cursors [][]item

func (h cursors) Len() int           { return len(h) }
func (h cursors) Less(i, j int) bool { return compare(h[i][0], h[j][0]) < 0 }
func (h cursors) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)        { *h = append(*h, x.([]item)) }
func (h *cursors) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge merges sorted runs that lie one behind the other.
func merge(runs []item, counts []int) []item {
	var h cursors
	total := len(runs)
	for _, n := range counts {
		if n > 0 {
			h = append(h, runs[:n])
		}
		runs = runs[n:]
	}
	heap.Init(&h)
	out := make([]item, 0, total)
	for len(h) > 0 {
		out = append(out, h[0][0])
		if h[0] = h[0][1:]; len(h[0]) == 0 {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	return out
}
