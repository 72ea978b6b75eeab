//go:build linux

package summary

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// TestLine: the line tells what has changed since the last, and the states of now.
func TestLine(t *testing.T) {
	var m Meter
	want := func(why string, ranks []view.Rank, ran time.Duration, line string) {
		t.Helper()
		if got := m.Line(ranks, ran); got != line {
			t.Errorf("%s: %q, want %q", why, got, line)
		}
	}
	running := func(ran time.Duration) []view.Rank {
		ranks := picture(3, ran)
		for r := range ranks {
			ranks[r].State.Phase, ranks[r].Pulse = launch.Joined, new(telemetry.Pulse)
		}
		return ranks
	}
	none := []view.Rank{{State: launch.State{Phase: launch.Waiting}}, {Rank: 1, State: launch.State{Phase: launch.Started}}}
	want("nothing is known yet", none, 0, "fitrun: 0 s | 2 running, 0 waiting")

	ranks := running(2 * sec)
	ranks[0].Pulse.Blocked, ranks[2].Pulse.Bounded = 1, 1
	sends(ranks, 0, 1, 2000, 1<<20)
	waits(ranks, 0, 1, engine.WaitReceive, "Recv", 1, sec)
	waits(ranks, 2, 1, engine.WaitReceive, "Recv", 1, sec)
	want("since the start", ranks, 2*sec,
		"fitrun: 2.00 s | 1 running, 2 waiting | waiting 33% | slowest: rank 1 (0%) | 1.00 k msg/s, 0.98 GiB/s")
	want("no news", ranks, 3*sec, "fitrun: 3.00 s | 1 running, 2 waiting")

	later := running(4 * sec)
	later[1].State.Phase = launch.Over
	sends(later, 0, 1, 2400, 1<<20)
	waits(later, 0, 1, engine.WaitReceive, "Recv", 1, 1200*ms)
	waits(later, 2, 1, engine.WaitReceive, "Recv", 1, 1200*ms)
	later[2].Counters.Stats.Flights = engine.FlightStats{Count: 1, Flight: 4 * sec, Hidden: sec}
	want("since the last", later, 4*sec, "fitrun: 4.00 s | 2 running, 0 waiting, 1 exited | waiting 7%, overlap 25% | 200 msg/s, 200 MiB/s")
}
