package jobmetrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// rude is a job whose ranks answer all questions with the same.
type rude struct {
	view *view.View
	data []byte
}

// Ask implements launch.Control.
func (c *rude) Ask(ranks []int, number int, _ string) {
	for _, r := range ranks {
		c.view.Answered(r, number, c.data)
	}
}

// Say implements launch.Control.
func (c *rude) Say(string) {}

// Abort implements launch.Control.
func (c *rude) Abort(int, string) {}

// FuzzScrape: whatever ranks answer, a scrape is served.
func FuzzScrape(f *testing.F) {
	for _, c := range []telemetry.Counters{
		{Collectives: []telemetry.Calls{{Comm: "world", Op: "Barrier", Count: 3}}, Ready: &telemetry.Durations{Bounds: []float64{1}, Counts: []uint64{1, 2, 3}}},
		{Stats: engine.Stats{Rejects: map[string]uint64{"bad-proof": 1, "\xff": 2}}, Ready: &telemetry.Durations{Counts: []uint64{1}}, Collectives: []telemetry.Calls{{Comm: "\xff"}, {Comm: "\xff"}}},
		{Peers: []telemetry.Peer{{Rank: 1 << 40, Way: 200}}, Ready: &telemetry.Durations{Bounds: []float64{3, 2, 1}}},
	} {
		b, err := json.Marshal(telemetry.Report{Counters: &c})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := view.New()
		c := &rude{v, data}
		v.Begin(&launch.Job{
			Ranks:     make([]launch.Rank, 2),
			Processes: []launch.Process{{Ranks: []int{0}, Host: "a", Here: true}, {Ranks: []int{1}, Host: "b"}},
		}, c)
		for r := range 2 {
			v.Changed(r, launch.State{Phase: launch.Joined, PID: 100 + r})
		}
		h := Handler(v, "solver")
		for _, path := range []string{"/metrics", "/rank/1/metrics", "/sd"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", "0.01") // a rank that answers nonsense has not answered
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}
