package telemetry

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// Each metric has a name of its own, a sentence and a group, and tells its values in one way.
func TestMetrics(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if m.Name == "" || seen[m.Name] || m.Help == "" || m.Group == "" {
			t.Errorf("%+v: want a name that no other has, a sentence and a group", m)
		}
		seen[m.Name] = true
		ways := 0
		for _, is := range []bool{m.read != nil, m.call != nil, m.Shape != nil} {
			if is {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s tells its values in %d ways", m.Name, ways)
		}
	}
}

// A caller may change the list that it has.
func TestMetricsAreTheCallers(t *testing.T) {
	list := Metrics()
	list[0].Name = "another"
	if Metrics()[0].Name == "another" {
		t.Error("the table has changed")
	}
}

// The sum of what labels tell apart.
func TestMetricSum(t *testing.T) {
	var s engine.Stats
	s.Self.Messages = 1
	s.Ways[engine.TCP].Peers, s.Ways[engine.TCP].Sent[0].Messages, s.Ways[engine.TCP].Sent[2].Messages = 3, 10, 100
	s.Waited = 1500 * time.Millisecond
	s.Posted = 7
	calls := []Calls{{Comm: "world", Op: "Bcast", Count: 2}, {Comm: "world", Op: "Barrier", Count: 3}}
	for name, want := range map[string]float64{
		"sent_messages_total": 111, "waiting_seconds_total": 1.5, "posted_receives": 7, "collectives_total": 5, "peers": 3,
	} {
		found := false
		for _, m := range Metrics() {
			if m.Name != name {
				continue
			}
			found = true
			if got := m.Sum(&s, calls); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
			if m.IsTime() != (name == "waiting_seconds_total") {
				t.Errorf("%s: IsTime is %v", name, m.IsTime())
			}
		}
		if !found {
			t.Errorf("no metric %s", name)
		}
	}
}
