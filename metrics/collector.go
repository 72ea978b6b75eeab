//go:build linux

package metrics

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

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
	metric
	desc *prometheus.Desc
}

// NewSeries returns the metrics of a rank that labels tell from others.
func NewSeries(labels map[string]string) Series {
	all := make(Series, len(table))
	for i, m := range table {
		all[i] = series{m, prometheus.NewDesc("fitmpi_"+m.name, m.help, m.labels, labels)}
	}
	return all
}

// Collect sends every metric with its values to ch.
func (all Series) Collect(ch chan<- prometheus.Metric, st *engine.Stats, calls []Collective) {
	for _, s := range all {
		emit := func(v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(s.desc, s.kind, v, labels...)
		}
		switch {
		case s.shape != nil:
			h := s.shape(st)
			ch <- h.metric(s.desc)
		case s.call != nil:
			for _, c := range calls {
				emit(s.call(c), c.Comm, c.Op)
			}
		default:
			s.read(st, emit)
		}
	}
}

// metric is a row of the table.
type metric struct {
	name   string // without the prefix fitmpi_
	help   string
	kind   prometheus.ValueType
	labels []string

	// One of these is not nil.
	read  func(s *engine.Stats, emit emit) // emits one value for each set of label values
	shape func(s *engine.Stats) shape      // of a histogram
	call  func(c Collective) float64       // of what has the labels comm and operation
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

// seconds is a counter of a duration.
func seconds(name, help string, get func(*engine.Stats) time.Duration) metric {
	return metric{name: name, help: help, kind: prometheus.CounterValue, read: func(s *engine.Stats, emit emit) {
		emit(get(s).Seconds())
	}}
}

// The values of the label protocol, by index of engine.WayStats.Sent and Received. A receiver does
// not see whether the sender has copied a message that came unannounced.
var (
	sentBy     = [...]string{"short", "eager", "rendezvous"}
	receivedBy = [...]string{"eager", "rendezvous"}
)

// self is the label transport, and protocol, of messages that a rank sends to itself.
const self = "self"

// traffic is a counter by transport and protocol, of messages or of bytes.
func traffic(name, help string, sent bool, get func(engine.Traffic) uint64) metric {
	return metric{
		name: name, help: help, kind: prometheus.CounterValue, labels: []string{"transport", "protocol"},
		read: func(s *engine.Stats, emit emit) {
			for way, w := range inUse(s) {
				ts, names := w.Sent[:], sentBy[:]
				if !sent {
					ts, names = w.Received[:], receivedBy[:]
				}
				for i, t := range ts {
					emit(float64(get(t)), way.String(), names[i])
				}
			}
			own := s.Self
			if !sent {
				own = s.SelfReceived
			}
			emit(float64(get(own)), self, self)
		},
	}
}

func messages(t engine.Traffic) uint64 { return t.Messages }
func payload(t engine.Traffic) uint64  { return t.Bytes }

// inUse yields the transports that lead to a peer.
func inUse(s *engine.Stats) iter.Seq2[engine.Way, *engine.WayStats] {
	return func(yield func(engine.Way, *engine.WayStats) bool) {
		for i := range s.Ways {
			if w := &s.Ways[i]; w.Peers > 0 && !yield(engine.Way(i), w) {
				return
			}
		}
	}
}

func byTransport(kind prometheus.ValueType, name, help string, get func(*engine.WayStats) float64) metric {
	return metric{
		name: name, help: help, kind: kind, labels: []string{"transport"},
		read: func(s *engine.Stats, emit emit) {
			for way, w := range inUse(s) {
				emit(get(w), way.String())
			}
		},
	}
}

// pair is a metric whose label has two values.
func pair[N number](kind prometheus.ValueType, name, help, label string, values [2]string, get func(*engine.Stats) (N, N)) metric {
	return metric{
		name: name, help: help, kind: kind, labels: []string{label},
		read: func(s *engine.Stats, emit emit) {
			a, b := get(s)
			emit(float64(a), values[0])
			emit(float64(b), values[1])
		},
	}
}

func byWait(name, help string, get func(engine.WaitStats) float64) metric {
	return metric{
		name: name, help: help, kind: prometheus.CounterValue, labels: []string{"operation"},
		read: func(s *engine.Stats, emit emit) {
			for i, w := range s.Waits {
				emit(get(w), engine.WaitKind(i).String())
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

func byCall(name, help string, get func(Collective) float64) metric {
	return metric{name: name, help: help, kind: prometheus.CounterValue, labels: []string{"comm", "operation"}, call: get}
}
