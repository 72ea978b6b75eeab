//go:build linux

package web

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// inputOf is what look would read of f now.
func inputOf(f *fake) input {
	in := input{ranks: f.Ranks(), events: f.Events(0), now: time.Now()}
	in.start, in.end = f.Times()
	return in
}

func TestStates(t *testing.T) {
	waits := func(calls ...telemetry.Call) *telemetry.Counters { return &telemetry.Counters{Calls: calls} }
	at := func(op, at string, since time.Duration) telemetry.Call {
		return telemetry.Call{Op: op, At: at, Since: since}
	}
	for _, test := range []struct {
		state      launch.State
		pulse      *telemetry.Pulse
		counters   *telemetry.Counters
		want, says string
	}{
		{state: launch.State{Phase: launch.Waiting}, want: "not started"},
		{state: launch.State{Phase: launch.Started, PID: 1}, want: "starting"},
		{state: launch.State{Phase: launch.Joined, PID: 1}, want: "running"},
		{state: launch.State{Phase: launch.Joined}, pulse: &telemetry.Pulse{}, want: "computing"},
		{state: launch.State{Phase: launch.Joined}, pulse: &telemetry.Pulse{Blocked: 1}, want: "waiting"},
		{state: launch.State{Phase: launch.Joined}, pulse: &telemetry.Pulse{Bounded: 1}, want: "waiting"},
		{state: launch.State{Phase: launch.Joined}, pulse: &telemetry.Pulse{Blocked: 1}, counters: waits(at("Recv", "/a/b/main.go:40", time.Second)),
			want: "waiting", says: "Recv at main.go:40"},
		{state: launch.State{Phase: launch.Joined}, pulse: &telemetry.Pulse{Blocked: 3},
			counters: waits(at("Wait", "/a/b/main.go:7", 12500*time.Millisecond), at("Recv", "", 0), at("Recv", "", 0)),
			want:     "waiting", says: "Wait at main.go:7 for 12s and 2 more"},
		{state: launch.State{Phase: launch.Joined}, pulse: &telemetry.Pulse{Blocked: 1}, counters: waits(at("", "", 0)), want: "waiting"},
		{state: launch.State{Phase: launch.Joined, Code: 3, Why: "aborted the job"}, pulse: &telemetry.Pulse{}, want: "failed", says: "aborted the job"},
		{state: launch.State{Phase: launch.Idle}, pulse: &telemetry.Pulse{Blocked: 1}, want: "idle"},
		{state: launch.State{Phase: launch.Finalizing}, pulse: &telemetry.Pulse{Blocked: 1}, want: "finalizing"},
		{state: launch.State{Phase: launch.Over}, pulse: &telemetry.Pulse{Blocked: 1}, want: "exited"},
		{state: launch.State{Phase: launch.Over, Why: "was ended with the job"}, want: "ended", says: "was ended with the job"},
		{state: launch.State{Phase: launch.Over, Code: 137, Why: "was killed by signal 9 (killed)"}, want: "failed", says: "was killed by signal 9 (killed)"},
		{state: launch.State{Phase: launch.Over, Code: 4}, want: "failed", says: "failed with code 4"},
	} {
		got, says := stateOf(&view.Rank{State: test.state, Pulse: test.pulse, Counters: test.counters})
		if got != test.want || says != test.says {
			t.Errorf("%+v: %q, %q, want %q, %q", test.state, got, says, test.want, test.says)
		}
	}
}

// A job that has not begun has no ranks yet, and a page.
func TestNoJobYet(t *testing.T) {
	p := draw(input{now: time.Now()}, nil)
	if p.job.Phase != jobPreparing || p.job.Size != 0 || p.matrix.n != 0 || p.job.Elapsed != 0 {
		t.Errorf("%+v", p.job)
	}
}

func TestJobRow(t *testing.T) {
	f := newFake(4, 2)
	f.ranks[3].Program = "/bin/other"
	j := draw(inputOf(f), nil).job
	if j.Phase != jobRunning || j.Program != "heat2d" || j.More != 1 || j.Size != 4 || !reflect.DeepEqual(j.Hosts, []string{"node01", "node02"}) || j.Elapsed < 60000 {
		t.Errorf("%+v", j)
	}
	f.end = f.start.Add(7 * time.Second)
	for r := range f.ranks {
		f.ranks[r].State.Phase = launch.Over
	}
	f.ranks[1].State.Code, f.ranks[1].State.Why, f.ranks[1].Since = 2, "exited with code 2", f.start.Add(6*time.Second)
	f.ranks[2].State.Code, f.ranks[2].State.Why, f.ranks[2].Since = 1, "exited with code 1", f.start.Add(5*time.Second)
	j = draw(inputOf(f), nil).job
	if j.Phase != jobOver || j.Elapsed != 7000 || j.Failure != "rank 2 exited with code 1" {
		t.Errorf("%+v", j)
	}
}

// peer is what a rank says of another.
func peer(rank int, sent, received uint64) telemetry.Peer {
	return telemetry.Peer{Rank: rank, Sent: engine.Traffic{Messages: sent / 10, Bytes: sent}, Received: engine.Traffic{Messages: received / 10, Bytes: received}}
}

func TestMatrix(t *testing.T) {
	f := newFake(4, 4)
	f.answer(0, 1, 0, engine.Stats{}, peer(0, 70, 70), peer(1, 100, 200), peer(99, 1, 1), peer(-1, 1, 1))
	f.answer(1, 1, 0, engine.Stats{}, peer(0, 250, 130), peer(3, 10, 500)) // 0 was asked before it had sent the last 30, and before 1 had sent the last 50
	// rank 2 has said nothing, and rank 3 has died before it was asked
	m := draw(inputOf(f), nil).matrix
	want := map[[2]int]uint64{{0, 0}: 70, {0, 1}: 130, {1, 0}: 250, {1, 3}: 10, {3, 1}: 500}
	for from := range 4 {
		for to := range 4 {
			if got := m.cells[from*4+to]; got.bytes != want[[2]int{from, to}] || got.messages != got.bytes/10 {
				t.Errorf("from %d to %d: %+v, want %d bytes", from, to, got, want[[2]int{from, to}])
			}
		}
	}
}

// The matrix of a large job is of groups of ranks, and the rows of its ranks are not all sent.
func TestLargeJob(t *testing.T) {
	f := newFake(1500, 100)
	f.answer(5, 1, 0, engine.Stats{}, peer(6, 100, 0), peer(1499, 30, 0), peer(4, 10, 0))
	p := draw(inputOf(f), nil)
	if m := p.matrix; m.group != 6 || m.n != 250 || m.cells[0].bytes != 10 || m.cells[1].bytes != 100 || m.cells[249].bytes != 30 {
		t.Errorf("group %d, n %d, cells %v", m.group, m.n, m.cells[:2])
	}
	if len(p.ranks) != shownRanks || p.states[stateRunning] != 1499 || p.states[stateComputing] != 1 || p.job.Size != 1500 {
		t.Errorf("%d rows, states %v", len(p.ranks), p.states)
	}
}

// stats are those of a rank that has waited and sent so much.
func stats(waited time.Duration, sent uint64) engine.Stats {
	var s engine.Stats
	s.Waited = waited
	s.Flights = engine.FlightStats{Flight: 2 * waited, Hidden: waited / 2}
	s.Ways[engine.TCP].Sent[0] = engine.Traffic{Messages: sent / 10, Bytes: sent}
	s.Ways[engine.Shared].Received[1] = engine.Traffic{Messages: 1, Bytes: 3}
	s.Self, s.SelfReceived = engine.Traffic{Messages: 1, Bytes: 5}, engine.Traffic{Messages: 1, Bytes: 4}
	return s
}

func TestPeriods(t *testing.T) {
	f := newFake(1, 1)
	f.answer(0, 10*time.Second, 0, stats(3*time.Second, 100))
	first := draw(inputOf(f), nil)
	r := first.ranks[0]
	if want := (period{Time: 10000, Waited: 3000, Flight: 6000, Hidden: 1500, Sent: 105, Received: 7, Messages: 11}); r.Total != want || r.Last != (period{}) {
		t.Errorf("after one answer %+v, last %+v; want %+v and nothing", r.Total, r.Last, want)
	}
	f.answer(0, 12*time.Second, 0, stats(4*time.Second, 400))
	second := draw(inputOf(f), first)
	want := period{Time: 2000, Waited: 1000, Flight: 2000, Hidden: 500, Sent: 300, Messages: 30}
	if got := second.ranks[0].Last; got != want {
		t.Errorf("between two answers %+v, want %+v", got, want)
	}
	if got := draw(inputOf(f), second).ranks[0].Last; got != want {
		t.Errorf("without a new answer %+v, want %+v still", got, want)
	}
	f.ranks[0].State.Phase = launch.Over
	f.answer(0, 13*time.Second, 0, stats(5*time.Second, 500))
	if got := draw(inputOf(f), second).ranks[0]; got.Last != (period{}) || got.Total.Sent != 505 {
		t.Errorf("a rank that has exited does %+v, total %+v; want nothing, and its last figures", got.Last, got.Total)
	}
}

// A rank that does not answer, because it is stopped for example, is said to be silent; one that
// has exited is not.
func TestSilence(t *testing.T) {
	f := newFake(2, 2)
	for r := range 2 {
		f.answer(r, 1, 1, engine.Stats{})
		f.ranks[r].Pulsed = time.Now().Add(-9500 * time.Millisecond)
	}
	f.ranks[1].State.Phase = launch.Over
	in := inputOf(f)
	in.now = f.ranks[0].Pulsed.Add(9500 * time.Millisecond)
	p := draw(in, nil)
	if p.ranks[0].Stale != 9000 || p.ranks[1].Stale != 0 {
		t.Errorf("silent for %d and %d ms, want 9000 and 0", p.ranks[0].Stale, p.ranks[1].Stale)
	}
}

func TestIntervals(t *testing.T) {
	for want, ns := range map[string][]int{"": nil, "7": {7}, "0-3": {0, 1, 2, 3}, "0-1,4,6-7": {0, 1, 4, 6, 7}} {
		if got := intervals(ns); got != want {
			t.Errorf("%v: %q, want %q", ns, got, want)
		}
	}
}

func TestSizesOfAllRanks(t *testing.T) {
	f := newFake(3, 3)
	var s engine.Stats
	s.Sizes[2], s.Sizes[32] = 5, 1
	f.answer(0, 1, 0, s)
	f.answer(2, 1, 0, s)
	if got := draw(inputOf(f), nil).sizes; got[2] != 10 || got[32] != 2 || got[0] != 0 {
		t.Errorf("sizes %v", got)
	}
}

// BenchmarkPicture is what one picture of a job costs fitrun beside reading the answers.
func BenchmarkPicture(b *testing.B) {
	for _, all := range []bool{false, true} {
		for _, n := range []int{4, 64, 256} {
			f := newFake(n, 16)
			fill := func(steps int) {
				if f.stencil(4, steps); !all {
					return
				}
				for r := range n {
					var peers []telemetry.Peer
					for q := range n {
						peers = append(peers, peer(q, uint64(10*steps), uint64(10*steps)))
					}
					f.answer(r, time.Duration(steps), 0, f.ranks[r].Counters.Stats, peers...)
				}
			}
			b.Run(fmt.Sprintf("ranks=%d/all=%v", n, all), func(b *testing.B) {
				fill(1000)
				prev := draw(inputOf(f), nil)
				fill(2000)
				in := inputOf(f)
				rate := 0.0
				for b.Loop() {
					cur := draw(in, prev)
					u := changes(prev, cur)
					rate = float64(len(u.appendEvent(nil))) / cur.pace.Seconds()
				}
				b.ReportMetric(rate, "sent-B/s")
			})
		}
	}
}
