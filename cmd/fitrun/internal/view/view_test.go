//go:build linux

package view

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stand is a job of three ranks on two hosts, and what it was asked.
type stand struct {
	t     *testing.T
	v     *View
	asked chan question
}

type question struct {
	ranks  []int
	number int
	text   string
}

func newStand(t *testing.T) *stand {
	s := &stand{t: t, v: New(), asked: make(chan question, 1)}
	job := &launch.Job{Ranks: make([]launch.Rank, 3)}
	for p, host := range []string{"a", "a", "b"} {
		job.Ranks[p].Info = boot.Info{Rank: p, Size: 3, Cores: 1}
		job.Processes = append(job.Processes, launch.Process{Host: host, Ranks: []int{p}, Path: "prog"})
	}
	s.v.Begin(job, s)
	for r := range 3 {
		s.v.Changed(r, launch.State{Phase: launch.Joined, PID: 100 + r})
	}
	return s
}

func (s *stand) Ask(ranks []int, number int, text string) { s.asked <- question{ranks, number, text} }
func (s *stand) Say(string)                               {}
func (s *stand) Abort(int, string)                        {}

// ask asks in another goroutine, whose result comes through the channel.
func (s *stand) ask(ctx context.Context) (question, <-chan []*telemetry.Report) {
	result := make(chan []*telemetry.Report, 1)
	go func() { result <- s.v.Ask(ctx, telemetry.AskCounters) }()
	return <-s.asked, result
}

func (s *stand) answer(rank int, q question, r telemetry.Report) {
	data, err := json.Marshal(&r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.v.Answered(rank, q.number, data)
}

func counters(frames uint64, peers ...telemetry.Peer) telemetry.Report {
	return telemetry.Report{Pulse: telemetry.Pulse{FramesIn: frames}, Counters: &telemetry.Counters{Peers: peers}}
}

func TestAskWaitsForAll(t *testing.T) {
	s := newStand(t)
	q, result := s.ask(context.Background())
	if !slices.Equal(q.ranks, []int{0, 1, 2}) || q.text != telemetry.AskCounters {
		t.Fatalf("asked %+v", q)
	}
	for _, r := range []int{2, 0, 1} {
		s.answer(r, q, counters(uint64(10+r)))
	}
	for r, report := range <-result {
		if report == nil || report.Pulse.FramesIn != uint64(10+r) {
			t.Errorf("rank %d: %+v", r, report)
		}
	}
}

// A rank that leaves while it is asked is not waited for, and what it said before remains.
func TestWhoLeavesKeepsItsFigures(t *testing.T) {
	s := newStand(t)
	s.answer(1, question{number: 0}, counters(7, telemetry.Peer{Rank: 2}))
	q, result := s.ask(context.Background())
	s.answer(0, q, counters(1))
	s.v.Changed(1, launch.State{Phase: launch.Over, PID: 101, Code: 9})
	s.answer(2, q, counters(2))
	reports := <-result
	if reports[0] == nil || reports[1] != nil || reports[2] == nil {
		t.Fatalf("reports %v, want those of ranks 0 and 2", reports)
	}
	r := s.v.Ranks()[1]
	if r.Pulse.FramesIn != 7 || r.State.Code != 9 || r.Host != "a" || len(r.Traffic) != 1 {
		t.Errorf("%+v", r)
	}
	q, result = s.ask(context.Background())
	if !slices.Equal(q.ranks, []int{0, 2}) {
		t.Errorf("asked ranks %v", q.ranks)
	}
	s.v.End()
	if reports := <-result; slices.ContainsFunc(reports, func(r *telemetry.Report) bool { return r != nil }) {
		t.Errorf("a job that is over answers %v", reports)
	}
}

// A rank that does not answer is waited for until the context ends; its answer counts nevertheless
// when it comes.
func TestALateAnswer(t *testing.T) {
	s := newStand(t)
	ctx, cancel := context.WithCancel(context.Background())
	q, result := s.ask(ctx)
	s.answer(0, q, counters(1))
	cancel()
	if reports := <-result; reports[1] != nil {
		t.Errorf("%v", reports)
	}
	s.answer(1, q, counters(5))
	if r := s.v.Ranks()[1]; r.Pulse == nil || r.Pulse.FramesIn != 5 {
		t.Errorf("%+v", r)
	}
}

func TestTrafficAddsUp(t *testing.T) {
	s := newStand(t)
	s.answer(0, question{}, counters(1, telemetry.Peer{Rank: 1}, telemetry.Peer{Rank: 2}))
	old := s.v.Ranks()[0].Traffic
	newer := telemetry.Peer{Rank: 2}
	newer.Sent.Messages = 3
	s.answer(0, question{}, counters(2, newer, telemetry.Peer{Rank: 3}, telemetry.Peer{Rank: -1})) // and two that there are not
	if now := s.v.Ranks()[0].Traffic; len(now) != 2 || now[2].Sent.Messages != 3 || old[2].Sent.Messages != 0 {
		t.Errorf("traffic %v, before %v", now, old)
	}
}

func TestWhatIsNotUnderstood(t *testing.T) {
	s := newStand(t)
	s.answer(0, question{}, counters(4))
	s.v.Answered(0, 0, []byte(`{"Pulse":7}`))
	if r := s.v.Ranks()[0]; r.Wrong == nil || r.Pulse.FramesIn != 4 {
		t.Errorf("%+v", r)
	}
}

func TestEventsAreBounded(t *testing.T) {
	s := newStand(t)
	for range 3 * keptEvents {
		s.v.Said("x")
	}
	es := s.v.Events(0)
	if len(es) < keptEvents || len(es) > 2*keptEvents {
		t.Errorf("%d events are kept", len(es))
	}
	last := es[len(es)-1]
	if more := s.v.Events(last.Number); len(more) != 1 || more[0] != last {
		t.Errorf("from %d on: %v", last.Number, more)
	}
}

// TestNobodyToAsk: before the job begins no rank can be asked, and no caller waits.
func TestNobodyToAsk(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := time.AfterFunc(time.Minute, func() { cancel(errors.New("Ask waits")) })
	defer stop.Stop()
	if reports := New().Ask(ctx, telemetry.AskPulse); len(reports) != 0 || ctx.Err() != nil {
		t.Errorf("%v, %v", reports, context.Cause(ctx))
	}
}

// A job is stuck as long as no rank that cannot go on does anything.
func TestStuck(t *testing.T) {
	s := newStand(t)
	answered := func(activity uint64) {
		s.v.mu.Lock()
		defer s.v.mu.Unlock()
		s.v.ranks[0].Pulse = &telemetry.Pulse{Activity: activity}
	}
	answered(7)
	if got := s.v.Stuck(); got != "" {
		t.Errorf("a job that is well: %q", got)
	}
	s.v.FoundStuck(0, 100, 7)
	s.v.FoundKnot("circle")
	if got := s.v.Stuck(); got != "circle" {
		t.Errorf("%q, want the report", got)
	}
	answered(8)
	if got := s.v.Stuck(); got != "" {
		t.Errorf("it goes on: %q", got)
	}
}
