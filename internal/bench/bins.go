package bench

import (
	"math/bits"
	"slices"
)

// Bin is one bar of a histogram of times.
type Bin struct {
	Low   int64   // its lower bound in nanoseconds; the next bin begins where it ends
	Share float64 // of the measurements, in percent
}

// Bins is the histogram of times in nanoseconds, from the first bin that has a measurement to the
// last. There are four bins from one power of two to the next, equally long: bounds of 4, 5, 6, 7,
// 8, 10, 12, 14, 16 and so on. So bins are the same whatever was measured, and those of several
// programs compare. What is below 4 ns counts as 4.
func Bins(ns []float64) []Bin {
	if len(ns) == 0 {
		return nil
	}
	count := map[int64]int{}
	first, last := binOf(int64(ns[0])), int64(0)
	for _, x := range ns {
		low := binOf(int64(x))
		count[low]++
		first, last = min(first, low), max(last, low)
	}
	var bins []Bin
	for low := first; low <= last; low += binWidth(low) {
		bins = append(bins, Bin{Low: low, Share: 100 * float64(count[low]) / float64(len(ns))})
	}
	return bins
}

// binOf is the lower bound of the bin that a time in nanoseconds is in.
func binOf(ns int64) int64 {
	ns = max(ns, 4)
	width := binWidth(ns)
	return ns / width * width
}

// binWidth is how long the bin is that a time of 4 ns or more is in: a quarter of the power of two
// at or below that.
func binWidth(ns int64) int64 { return 1 << (bits.Len64(uint64(ns)) - 3) }

// Quantile is the num/den-quantile of times in any order, by the nearest rank: the first that at
// least that part of them is not above. It sorts xs; of none it is 0.
func Quantile(xs []float64, num, den int) float64 {
	if len(xs) == 0 {
		return 0
	}
	slices.Sort(xs)
	return quantile(xs, num, den)
}
