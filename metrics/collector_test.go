//go:build linux && !fitmpi_portable

package metrics

import (
	"math"
	"reflect"
	"strings"
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
				if f := v.Type().Field(i); f.IsExported() {
					fill(v.Field(i), f.Name)
				}
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
	if err := reg.Register(NewCollector(Source{Rank: 3, Stats: func() engine.Stats { return s }, Collectives: someCalls})); err != nil {
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

// TestHistograms: each class of a histogram of engine.Stats is in the buckets from the one that
// ends where it does.
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

// someCalls are collectives whose numbers no other metric has.
func someCalls() []Collective {
	return []Collective{
		{Comm: "world", Op: "Allreduce", Count: 1 << 40, Waited: 1 << 50},
		{Comm: "rows \"of\" 矩阵\n", Op: "Bcast", Count: 1<<40 + 1, Waited: 1<<50 + 1},
	}
}

// TestCollectives: each name and operation is a series, whatever the name is made of.
func TestCollectives(t *testing.T) {
	s, _ := numbered(t)
	families, err := gathered(t, s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var of []string
			for _, l := range m.GetLabel() {
				of = append(of, l.GetValue())
			}
			got[f.GetName()+" "+strings.Join(of, " ")] = m.GetCounter().GetValue()
		}
	}
	for _, c := range someCalls() {
		labels := " " + c.Comm + " " + c.Op + " 3"
		if n := got["fitmpi_collectives_total"+labels]; n != float64(c.Count) {
			t.Errorf("%s on %s: %v, want %d", c.Op, c.Comm, n, c.Count)
		}
		if n := got["fitmpi_collective_wait_seconds_total"+labels]; n != c.Waited.Seconds() {
			t.Errorf("%s on %s: %v s, want %v", c.Op, c.Comm, n, c.Waited)
		}
	}
}

// TestNative: the native buckets hold what the others hold, and what is beyond the last of them.
func TestNative(t *testing.T) {
	var s engine.Stats
	s.Sizes[0], s.Sizes[2], s.Sizes[16], s.Sizes[len(s.Sizes)-1] = 1, 10, 100, 1000 // to 1 byte, to 16, to 4 GiB, none
	s.Gaps.Counts[3], s.Gaps.Counts[30] = 1, 10                                     // 2^-27 s, 1 s
	families, err := gathered(t, s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	type native struct {
		schema int32
		zero   uint64
		upTo   map[float64]int64 // by the end of the bucket
	}
	wants := map[string]native{
		"fitmpi_sent_message_size_bytes": {-1, 1000, map[float64]int64{1: 1, 16: 10, 1 << 32: 100}},
		"fitmpi_progress_gap_seconds":    {0, 0, map[float64]int64{1.0 / (1 << 27): 1, 1: 10}},
	}
	for _, f := range families {
		want, ok := wants[f.GetName()]
		if !ok {
			continue
		}
		delete(wants, f.GetName())
		h := f.GetMetric()[0].GetHistogram()
		got := native{h.GetSchema(), h.GetZeroCount(), map[float64]int64{}}
		index, count, deltas := int32(0), int64(0), h.GetPositiveDelta()
		for _, span := range h.GetPositiveSpan() {
			index += span.GetOffset()
			for range span.GetLength() {
				if count += deltas[0]; count > 0 {
					got.upTo[math.Pow(2, math.Pow(2, -float64(want.schema))*float64(index))] = count
				}
				index, deltas = index+1, deltas[1:]
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", f.GetName(), got, want)
		}
		if len(h.GetBucket()) == 0 {
			t.Errorf("%s has no buckets of its own any more", f.GetName())
		}
	}
	if len(wants) > 0 {
		t.Errorf("not shown: %v", wants)
	}
}
