//go:build linux

package mpi

import (
	"cmp"
	"runtime/metrics"
	"slices"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// mostCollectives is how many kinds of collectives one report has room for.
const mostCollectives = 100

// mostCalled keeps those of all that were called most, in their order.
func mostCalled(all []telemetry.Calls) []telemetry.Calls {
	if len(all) <= mostCollectives {
		return all
	}
	counts := make([]uint64, len(all))
	for i, c := range all {
		counts[i] = c.Count
	}
	slices.SortFunc(counts, func(a, b uint64) int { return cmp.Compare(b, a) })
	least := counts[mostCollectives-1]
	return slices.DeleteFunc(all, func(c telemetry.Calls) bool { return c.Count < least })[:mostCollectives]
}

// readyTimes is for how long goroutines of the process were ready before they ran, in the buckets
// in which Prometheus' client shows it, a factor of ten apart.
func readyTimes() *telemetry.Durations {
	s := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil // not of this Go any more
	}
	return decades(s[0].Value.Float64Histogram())
}

// decades merges the buckets of h: those that are left end at bounds of its own that are a factor
// of ten apart, up to a second.
func decades(h *metrics.Float64Histogram) *telemetry.Durations {
	var d telemetry.Durations
	next, n := 0.0, uint64(0)
	for i, count := range h.Counts {
		n += count
		if end := h.Buckets[i+1]; end >= next && end > 0 && end <= 1 {
			d.Bounds, d.Counts = append(d.Bounds, end), append(d.Counts, n)
			next, n = 10*end, 0
		}
	}
	d.Counts = append(d.Counts, n)
	return &d
}
