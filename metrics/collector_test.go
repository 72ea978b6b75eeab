//go:build linux

package metrics

import (
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/fitmpi/fitmpi/engine"
)

// numbered returns Stats whose numbers are 1, 2, 3 and so on, and the field that each belongs to.
func numbered(t *testing.T) (s engine.Stats, fields map[float64]string) {
	t.Helper()
	fields = map[float64]string{}
	var fill func(v reflect.Value, name string)
	fill = func(v reflect.Value, name string) {
		next := len(fields) + 1
		switch v.Kind() {
		case reflect.Array:
			if len(fields) > 0 && v.Len() > 20 { // of a histogram: TestHistogram
				return
			}
			for i := range v.Len() {
				fill(v.Index(i), name)
			}
		case reflect.Int64: // a duration
			v.SetInt(int64(time.Duration(next) * time.Second))
			fields[float64(next)] = name
		case reflect.Bool: // of a peer, not of the whole
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i), v.Type().Field(i).Name)
			}
		case reflect.Map: // counters by name
			v.Set(reflect.ValueOf(map[string]uint64{"timeout": uint64(next), "stranger": uint64(next + 1)}))
			fields[float64(next)], fields[float64(next+1)] = name, name
		case reflect.Int:
			v.SetInt(int64(next))
			fields[float64(next)] = name
		case reflect.Uint64:
			v.SetUint(uint64(next))
			fields[float64(next)] = name
		default:
			t.Fatalf("engine.Stats.%s is a %v: teach this test and the table about it", name, v.Type())
		}
	}
	fill(reflect.ValueOf(&s).Elem(), "Stats")
	return s, fields
}

func gathered(t *testing.T, s engine.Stats) prometheus.Gatherer {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(NewCollector(3, func() engine.Stats { return s })); err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestEveryField holds the table to the struct: every number of Stats is shown once.
func TestEveryField(t *testing.T) {
	s, fields := numbered(t)
	families, err := gathered(t, s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[float64]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() // at most one of them is not nil
			if h := m.GetHistogram(); h != nil {
				if v = h.GetSampleSum(); fields[v] == "" {
					continue // a sum of others
				}
			}
			if other, ok := shown[v]; ok {
				t.Errorf("%s and %s both show %s", other, f.GetName(), fields[v])
			}
			shown[v] = f.GetName()
			for _, l := range m.GetLabel() {
				if l.GetValue() == "" || l.GetName() == "rank" && l.GetValue() != "3" {
					t.Errorf("%s: label %s is %q", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
	for v, name := range fields {
		if _, ok := shown[v]; !ok {
			t.Errorf("no metric shows engine.Stats.%s: add it to the table", name)
		}
	}
}

// TestHistograms: each class of a histogram of engine.Stats is in the buckets from the one that ends where it does.
func TestHistograms(t *testing.T) {
	var s engine.Stats
	s.Sizes[0], s.Sizes[2], s.Sizes[15], s.Sizes[16] = 1, 10, 100, 1000 // to 1 byte, to 16, to 1 GiB, more
	s.Sizes[len(s.Sizes)-1] = 10000                                     // none
	s.Self.Bytes, s.Ways[engine.Shared].Sent[2].Bytes = 3, 4
	s.Gaps.Counts[3], s.Gaps.Counts[30], s.Gaps.Counts[31], s.Gaps.Counts[39] = 1, 10, 100, 1000 // 2^-27 s, 1 s, 2 s, 512 s
	s.Gaps.Sum = 1500 * time.Millisecond
	families, err := gathered(t, s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	type want struct {
		count   uint64
		sum     float64
		buckets map[float64]uint64
	}
	wants := map[string]want{
		"fitmpi_sent_message_size_bytes": {11111, 7, map[float64]uint64{1: 10001, 4: 10001, 16: 10011, 1 << 28: 10011, 1 << 30: 10111}},
		"fitmpi_progress_gap_seconds":    {1111, 1.5, map[float64]uint64{1.0 / (1 << 20): 1, 0.25: 1, 1: 11, 4: 111, 16: 111}},
	}
	for _, f := range families {
		w, ok := wants[f.GetName()]
		if !ok {
			continue
		}
		delete(wants, f.GetName())
		h := f.GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != w.count || h.GetSampleSum() != w.sum {
			t.Errorf("%s: %d of sum %v, want %d of %v", f.GetName(), h.GetSampleCount(), h.GetSampleSum(), w.count, w.sum)
		}
		for _, b := range h.GetBucket() {
			if n, ok := w.buckets[b.GetUpperBound()]; ok && n != b.GetCumulativeCount() {
				t.Errorf("%s: %d up to %v, want %d", f.GetName(), b.GetCumulativeCount(), b.GetUpperBound(), n)
			}
			delete(w.buckets, b.GetUpperBound())
		}
		if len(w.buckets) > 0 {
			t.Errorf("%s has no buckets that end at the keys of %v", f.GetName(), w.buckets)
		}
	}
	if len(wants) > 0 {
		t.Errorf("not shown: %v", wants)
	}
}

func TestLint(t *testing.T) {
	s, _ := numbered(t)
	families, err := gathered(t, s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
