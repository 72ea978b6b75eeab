package telemetry

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// MetricKind is how a value changes.
type MetricKind int

// The kinds.
const (
	Counter MetricKind = iota // it only grows
	Gauge
)

// Metric is something that a rank counts.
type Metric struct {
	Name   string // as Prometheus has it, without the prefix fitmpi_
	Help   string // a sentence
	Group  string // what it is about
	Kind   MetricKind
	Labels []string

	read  func(s *engine.Stats, emit Emit) // emits one value for each set of label values
	call  func(c Calls) float64            // or of what has the labels comm and operation
	Shape func(s *engine.Stats) Shape      // or of a histogram
}

// Emit takes a value and the values of its labels.
type Emit func(v float64, labels ...string)

// Read gives emit the values of m, which is no histogram, one for each set of values that its
// labels have.
func (m *Metric) Read(s *engine.Stats, calls []Calls, emit Emit) {
	if m.call == nil {
		m.read(s, emit)
		return
	}
	for _, c := range calls {
		emit(m.call(c), c.Comm, c.Op)
	}
}

// Sum is the sum of the values of m, which is no histogram.
func (m *Metric) Sum(s *engine.Stats, calls []Calls) (sum float64) {
	m.Read(s, calls, func(v float64, _ ...string) { sum += v })
	return sum
}

// IsTime reports whether values are seconds, which may have fractions.
func (m *Metric) IsTime() bool { return strings.Contains(m.Name, "seconds") }

// of are metrics of a group.
func of(group string, list ...Metric) []Metric {
	for i := range list {
		list[i].Group = group
	}
	return list
}

// number is what a field of engine.Stats may be.
type number interface{ int | uint64 }

func counter[N number](name, help string, get func(*engine.Stats) N) Metric {
	return Metric{Name: name, Help: help, Kind: Counter, read: one(get)}
}

func gauge[N number](name, help string, get func(*engine.Stats) N) Metric {
	return Metric{Name: name, Help: help, Kind: Gauge, read: one(get)}
}

func one[N number](get func(*engine.Stats) N) func(*engine.Stats, Emit) {
	return func(s *engine.Stats, emit Emit) { emit(float64(get(s))) }
}

// seconds is a counter of a duration.
func seconds(name, help string, get func(*engine.Stats) time.Duration) Metric {
	return Metric{Name: name, Help: help, Kind: Counter, read: func(s *engine.Stats, emit Emit) {
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
func traffic(name, help string, sent bool, get func(engine.Traffic) uint64) Metric {
	return Metric{
		Name: name, Help: help, Kind: Counter, Labels: []string{"transport", "protocol"},
		read: func(s *engine.Stats, emit Emit) {
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

func byTransport(kind MetricKind, name, help string, get func(*engine.WayStats) float64) Metric {
	return Metric{
		Name: name, Help: help, Kind: kind, Labels: []string{"transport"},
		read: func(s *engine.Stats, emit Emit) {
			for way, w := range inUse(s) {
				emit(get(w), way.String())
			}
		},
	}
}

// pair is a metric whose label has two values.
func pair[N number](kind MetricKind, name, help, label string, values [2]string, get func(*engine.Stats) (N, N)) Metric {
	return Metric{
		Name: name, Help: help, Kind: kind, Labels: []string{label},
		read: func(s *engine.Stats, emit Emit) {
			a, b := get(s)
			emit(float64(a), values[0])
			emit(float64(b), values[1])
		},
	}
}

func byWait(name, help string, get func(engine.WaitStats) float64) Metric {
	return Metric{
		Name: name, Help: help, Kind: Counter, Labels: []string{"operation"},
		read: func(s *engine.Stats, emit Emit) {
			for i, w := range s.Waits {
				emit(get(w), engine.WaitKind(i).String())
			}
		},
	}
}

func byReason(name, help string, get func(*engine.Stats) map[string]uint64) Metric {
	return Metric{
		Name: name, Help: help, Kind: Counter, Labels: []string{"reason"},
		read: func(s *engine.Stats, emit Emit) {
			m := get(s)
			for _, reason := range slices.Sorted(maps.Keys(m)) {
				emit(float64(m[reason]), reason)
			}
		},
	}
}

func byCall(name, help string, get func(Calls) float64) Metric {
	return Metric{Name: name, Help: help, Kind: Counter, Labels: []string{"comm", "operation"}, call: get}
}
