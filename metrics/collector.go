//go:build linux

package metrics

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/engine"
)

// NewCollector returns a collector of the counters and gauges that stats returns, as those of a rank.
func NewCollector(rank int, stats func() engine.Stats) prometheus.Collector {
	c := &collector{stats: stats, series: make([]series, len(table))}
	for i, m := range table {
		c.series[i] = series{m, prometheus.NewDesc("fitmpi_"+m.name, m.help, m.labels, rankLabel(rank))}
	}
	return c
}

func rankLabel(rank int) prometheus.Labels { return prometheus.Labels{"rank": strconv.Itoa(rank)} }

// collector is immutable after NewCollector.
type collector struct {
	stats  func() engine.Stats
	series []series
}

// series is a metric with a rank.
type series struct {
	metric
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.series {
		ch <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.stats()
	for _, s := range c.series {
		s.read(&st, func(v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(s.desc, s.kind, v, labels...)
		})
	}
}

// metric is a row of the table.
type metric struct {
	name   string // without the prefix fitmpi_
	help   string
	kind   prometheus.ValueType
	labels []string
	read   func(s *engine.Stats, emit emit) // emits one value for each set of label values
}

// emit takes a value and the values of its labels.
type emit func(v float64, labels ...string)

// number is what a field of engine.Stats may be.
type number interface{ int | uint64 }

func counter[N number](name, help string, get func(*engine.Stats) N) metric {
	return metric{name: name, help: help, kind: prometheus.CounterValue, read: one(get)}
}

func gauge[N number](name, help string, get func(*engine.Stats) N) metric {
	return metric{name: name, help: help, kind: prometheus.GaugeValue, read: one(get)}
}

func one[N number](get func(*engine.Stats) N) func(*engine.Stats, emit) {
	return func(s *engine.Stats, emit emit) { emit(float64(get(s))) }
}

// protocols are the values of the label protocol, by index of Stats.SentMessages.
var protocols = [len(engine.Stats{}.SentMessages)]string{"short", "eager", "rendezvous"}

func byProtocol(name, help string, get func(*engine.Stats) *[len(protocols)]uint64) metric {
	return metric{
		name: name, help: help, kind: prometheus.CounterValue, labels: []string{"protocol"},
		read: func(s *engine.Stats, emit emit) {
			for i, n := range get(s) {
				emit(float64(n), protocols[i])
			}
		},
	}
}

func byReason(name, help string, get func(*engine.Stats) map[string]uint64) metric {
	return metric{
		name: name, help: help, kind: prometheus.CounterValue, labels: []string{"reason"},
		read: func(s *engine.Stats, emit emit) {
			m := get(s)
			for _, reason := range slices.Sorted(maps.Keys(m)) {
				emit(float64(m[reason]), reason)
			}
		},
	}
}
