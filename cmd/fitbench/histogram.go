//go:build linux

package main

import (
	"strconv"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// histogram measures half round trips and reports how many of them, in percent, are in each of
// the bins of bench.Bins. Of those rows the case is the size of the message and the size the
// lower bound of the bin in nanoseconds, so that they plot as a histogram.
func histogram(e *env) error {
	for _, size := range e.sizes() {
		out, in := buffer(size), buffer(size)
		ns, err := e.repeat(e.iterations(size), e.warmup(size), func() error { return e.bounce(out, in) })
		if err != nil {
			return err
		}
		halves := each(ns, func(ns float64) float64 { return ns / 2 })
		bins := bench.Bins(halves)
		tail := bench.Quantile(halves, 999, 1000)
		e.report("", size, "half-rtt", "us", each(halves, func(ns float64) float64 { return ns / 1e3 }))
		e.report("", size, "p999", "us", []float64{tail / 1e3})
		for _, b := range bins {
			e.report(strconv.Itoa(size), int(b.Low), "share", "%", []float64{b.Share})
		}
	}
	return nil
}
