//go:build linux

package metrics

import (
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/fitmpi/fitmpi/engine"
)

// shape is what a histogram shows: class k of counts holds what is more than base^(k+first-1) and
// at most base^(k+first). Classes go by powers of 2 or 4, as native buckets do, so that those are
// had from the same counts.
type shape struct {
	base   float64
	first  int    // the exponent at which class 0 ends
	zero   uint64 // observations of 0
	counts []uint64
	sum    float64
	bounds []int // exponents at which buckets end, rising
}

// metric is the histogram of a rank: buckets of both kinds.
func (h *shape) metric(desc *prometheus.Desc) prometheus.Metric {
	buckets, upTo, k := make(map[float64]uint64, len(h.bounds)), h.zero, 0
	native := make(map[int]int64)
	for i, n := range h.counts {
		if n > 0 {
			native[i+h.first] = int64(n)
		}
	}
	for _, exp := range h.bounds {
		for ; k < len(h.counts) && k+h.first <= exp; k++ {
			upTo += h.counts[k]
		}
		buckets[math.Pow(h.base, float64(exp))] = upTo
	}
	for ; k < len(h.counts); k++ {
		upTo += h.counts[k]
	}
	schema := -int32(math.Log2(math.Log2(h.base))) // buckets end at powers of 2^(2^-schema)
	return histogram{
		prometheus.MustNewConstHistogram(desc, upTo, h.sum, buckets),
		prometheus.MustNewConstNativeHistogram(desc, upTo, h.sum, native, nil, h.zero, schema, 0, time.Time{}),
	}
}

// histogram is one that has buckets of its own and native ones, which Prometheus takes if it is
// told to. The client makes metrics of one kind or the other.
type histogram struct {
	prometheus.Metric // with buckets of its own
	native            prometheus.Metric
}

// Write implements prometheus.Metric.
func (h histogram) Write(out *dto.Metric) error {
	var classic dto.Metric
	if err := errors.Join(h.Metric.Write(&classic), h.native.Write(out)); err != nil {
		return err
	}
	out.Histogram.Bucket, out.Histogram.CreatedTimestamp = classic.Histogram.Bucket, nil
	return nil
}

func sizes(name, help string, get func(*engine.Stats) (*engine.SizeCounts, float64)) metric {
	return metric{name: name, help: help, shape: func(s *engine.Stats) shape {
		n, sum := get(s)
		last := len(n) - 1 // messages without payload
		return shape{base: 4, zero: n[last], counts: n[:last], sum: sum, bounds: exponents(0, 15, 1)}
	}}
}

func times(name, help string, get func(*engine.Stats) *engine.TimeHistogram) metric {
	return metric{name: name, help: help, shape: func(s *engine.Stats) shape {
		h := get(s)
		return shape{base: 2, first: -30, counts: h.Counts[:], sum: h.Sum.Seconds(), bounds: exponents(-20, 4, 2)}
	}}
}

// exponents are first, first+step, ... up to last.
func exponents(first, last, step int) (e []int) {
	for x := first; x <= last; x += step {
		e = append(e, x)
	}
	return e
}
