package metrics

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Collector is what NewCollector returns, and any registry takes.
type Collector = prometheus.Collector

// Registerer is where collectors are registered: a registry of Prometheus' client, or
// prometheus.DefaultRegisterer.
type Registerer = prometheus.Registerer

// Collective is what is counted of one collective operation on the communicators of one name.
type Collective = telemetry.Calls

// Source is a rank whose counters are shown: its number in the world, Rank, and functions that give
// its counters, Stats, and what is counted of collectives, Collectives, which may be nil. The
// method Counters of a communicator of package mpi returns the Source of the calling rank.
type Source = telemetry.Source

// NewCollector returns a collector of what src counts, as of its rank.
func NewCollector(src Source) Collector { return &collector{src, NewSeries(rankLabels(src))} }

// Register registers the collector of src with reg, a registry that exists already, such as
// prometheus.DefaultRegisterer. The error is the registry's: the same rank is registered with it
// already, for example.
func Register(src Source, reg Registerer) error {
	if reg == nil {
		return errors.New("metrics: the registerer is nil: give a registry, such as prometheus.DefaultRegisterer")
	}
	if err := reg.Register(NewCollector(src)); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

func rankLabels(src Source) prometheus.Labels {
	labels := prometheus.Labels{"rank": strconv.Itoa(src.Rank)}
	if src.Spawned != "" {
		labels["spawned"] = src.Spawned
	}
	return labels
}

// collector is immutable after NewCollector.
type collector struct {
	src    Source
	series Series
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.series {
		ch <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.src.Stats()
	var calls []Collective
	if c.src.Collectives != nil {
		calls = c.src.Collectives()
	}
	c.series.Collect(ch, &st, calls)
}

// Series is the metrics of one rank, without values: for a caller that knows the values of many
// ranks. It is immutable.
type Series []series

// series is a metric with its constant labels.
type series struct {
	telemetry.Metric
	desc *prometheus.Desc
}

// NewSeries returns the metrics of a rank that labels tell from others.
func NewSeries(labels map[string]string) Series {
	table := telemetry.Metrics()
	all := make(Series, len(table))
	for i, m := range table {
		all[i] = series{m, prometheus.NewDesc("fitmpi_"+m.Name, m.Help, m.Labels, labels)}
	}
	return all
}

// Collect sends every metric with its values to ch.
func (all Series) Collect(ch chan<- prometheus.Metric, st *engine.Stats, calls []Collective) {
	for _, s := range all {
		emit := func(v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(s.desc, kinds[s.Kind], v, labels...)
		}
		if s.Shape != nil {
			ch <- histogramOf(s.Shape(st), s.desc)
			continue
		}
		s.Read(st, calls, emit)
	}
}

// kinds are the kinds of metrics as Prometheus calls them.
var kinds = map[telemetry.MetricKind]prometheus.ValueType{
	telemetry.Counter: prometheus.CounterValue, telemetry.Gauge: prometheus.GaugeValue,
}
