package telemetry

import "github.com/fitmpi/fitmpi/engine"

// Shape is what a histogram shows: class k of Counts holds what is more than Base^(k+First-1) and
// at most Base^(k+First). Classes go by powers of 2 or 4, as native buckets of Prometheus do, so
// that those are had from the same counts.
type Shape struct {
	Base   float64
	First  int    // the exponent at which class 0 ends
	Zero   uint64 // observations of 0
	Counts []uint64
	Sum    float64
	Bounds []int // exponents at which buckets end, rising
}

func sizes(name, help string, get func(*engine.Stats) (*engine.SizeCounts, float64)) Metric {
	return Metric{Name: name, Help: help, Shape: func(s *engine.Stats) Shape {
		n, sum := get(s)
		last := len(n) - 1 // messages without payload
		return Shape{Base: 4, Zero: n[last], Counts: n[:last], Sum: sum, Bounds: exponents(0, 15, 1)}
	}}
}

func times(name, help string, get func(*engine.Stats) *engine.TimeHistogram) Metric {
	return Metric{Name: name, Help: help, Shape: func(s *engine.Stats) Shape {
		h := get(s)
		return Shape{Base: 2, First: -30, Counts: h.Counts[:], Sum: h.Sum.Seconds(), Bounds: exponents(-20, 4, 2)}
	}}
}

// exponents are first, first+step, ... up to last.
func exponents(first, last, step int) (e []int) {
	for x := first; x <= last; x += step {
		e = append(e, x)
	}
	return e
}
