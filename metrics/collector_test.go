//go:build linux

package metrics

import (
	"reflect"
	"testing"

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
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i), v.Type().Field(i).Name)
			}
		case reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i), name)
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
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() // one of them is nil
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
