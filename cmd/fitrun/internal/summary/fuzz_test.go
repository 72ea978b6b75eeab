package summary

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// FuzzMake: whatever ranks say that they have counted, a summary is made of it, and can be written.
func FuzzMake(f *testing.F) {
	for _, c := range []telemetry.Counters{
		{},
		{Elapsed: time.Second, Last: true, Peers: []telemetry.Peer{{Rank: 1}}, Sites: []telemetry.Site{{Op: "Recv", Time: time.Second, Peer: 1}}},
		{Elapsed: time.Minute, Stats: engine.Stats{Waited: time.Hour}, Peers: []telemetry.Peer{{Rank: 99, Way: 77}, {Rank: -5}},
			Sites: []telemetry.Site{{Op: "Barrier", Time: time.Hour, Peer: 99, Kind: 200}, {Peer: -1}}, Ready: &telemetry.Durations{Bounds: []float64{1}, Counts: []uint64{1, 2, 3}}},
	} {
		b, err := json.Marshal(telemetry.Report{Counters: &c})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ranks := make([]view.Rank, 3)
		for i, data := range [][]byte{a, b, a} {
			ranks[i].Rank, ranks[i].Host = i, "here"
			if r, err := telemetry.Decode(data); err == nil {
				ranks[i].Counters = r.Counters
			}
		}
		s := Make(ranks, time.Minute, len(ranks)/2)
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteText(io.Discard, Width); err != nil {
			t.Fatal(err)
		}
	})
}
