package bench

import "slices"

// Summary describes the distribution of repeated measurements of one figure.
type Summary struct {
	N        int     `json:"n"`        // how many measurements
	Min      float64 `json:"min"`      // the smallest
	Sextile1 float64 `json:"sextile1"` // a sixth of the measurements are not above it: the value
	Sextile2 float64 `json:"sextile2"` // a third are not above it
	Median   float64 `json:"median"`
	P99      float64 `json:"p99"`
	Max      float64 `json:"max"`
}

// Summarise describes xs, which it sorts. For a figure of which more is better (a rate, a
// bandwidth), give higherIsBetter. The sextiles are then taken from the top, Min is the largest and
// Max the smallest, so that Min is always the best measurement and Sextile1 always the value. An
// empty xs gives a zero Summary.
func Summarise(xs []float64, higherIsBetter bool) Summary {
	if len(xs) == 0 {
		return Summary{}
	}
	slices.Sort(xs)
	if higherIsBetter {
		slices.Reverse(xs)
	}
	return Summary{
		N:        len(xs),
		Min:      xs[0],
		Sextile1: quantile(xs, 1, 6),
		Sextile2: quantile(xs, 2, 6),
		Median:   quantile(xs, 1, 2),
		P99:      quantile(xs, 99, 100),
		Max:      xs[len(xs)-1],
	}
}

// quantile is the num/den-quantile of the sorted xs by the nearest rank: the first
// value that at least that part of xs is not above, always one that was measured.
func quantile(xs []float64, num, den int) float64 {
	return xs[max((len(xs)*num+den-1)/den, 1)-1]
}
