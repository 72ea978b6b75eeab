package metrics

import (
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// histogramOf is the histogram of a rank: buckets of both kinds.
func histogramOf(h telemetry.Shape, desc *prometheus.Desc) prometheus.Metric {
	buckets, upTo, k := make(map[float64]uint64, len(h.Bounds)), h.Zero, 0
	native := make(map[int]int64)
	for i, n := range h.Counts {
		if n > 0 {
			native[i+h.First] = int64(n)
		}
	}
	for _, exp := range h.Bounds {
		for ; k < len(h.Counts) && k+h.First <= exp; k++ {
			upTo += h.Counts[k]
		}
		buckets[math.Pow(h.Base, float64(exp))] = upTo
	}
	for ; k < len(h.Counts); k++ {
		upTo += h.Counts[k]
	}
	schema := -int32(math.Log2(math.Log2(h.Base))) // buckets end at powers of 2^(2^-schema)
	return histogram{
		prometheus.MustNewConstHistogram(desc, upTo, h.Sum, buckets),
		prometheus.MustNewConstNativeHistogram(desc, upTo, h.Sum, native, nil, h.Zero, schema, 0, time.Time{}),
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
