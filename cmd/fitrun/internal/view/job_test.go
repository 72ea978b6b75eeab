//go:build linux

package view

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// spawn begins a job of n ranks that one of the stand's has spawned, the first of which has a
// number.
func (s *stand) spawn(name string, n, first int) *Job {
	j := s.v.Spawned().(*Job)
	plan := &launch.Job{Ranks: make([]launch.Rank, n), Kin: boot.Kin{Name: name, First: first}}
	for r := range n {
		plan.Ranks[r].Info = boot.Info{Rank: r, Size: n, Cores: 1}
		plan.Processes = append(plan.Processes, launch.Process{Host: "c", Ranks: []int{r}, Path: "other"})
	}
	j.Begin(plan, &control{s.asked, name})
	for r := range n {
		j.Changed(r, launch.State{Phase: launch.Joined, PID: 200 + first + r})
	}
	return j
}

// control notes what is asked.
type control struct {
	asked chan question
	name  string
}

func (c *control) Ask(ranks []int, number int, text string) {
	c.asked <- question{ranks, number, c.name}
}
func (c *control) Say(string)        {}
func (c *control) Abort(int, string) {}

func answer(t *testing.T, j *Job, rank, number int, r telemetry.Report) {
	t.Helper()
	data, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	j.Answered(rank, number, data)
}

// A question goes to the ranks of all jobs, each by its own launcher, and in answers ranks have the
// places of the numbers by which they are named.
func TestSpawnedAreAsked(t *testing.T) {
	s := newStand(t)
	s.asked = make(chan question, 2)
	s.v.Job.to = &control{s.asked, ""}
	j := s.spawn("1", 2, 7) // others had the numbers before
	result := make(chan []*telemetry.Report, 1)
	go func() { result <- s.v.Ask(context.Background(), telemetry.AskCounters) }() // ends with the answers
	for range 2 {
		switch q := <-s.asked; q.text {
		case "":
			for r := range 3 {
				answer(t, s.v.Job, r, q.number, counters(1, telemetry.Peer{Rank: 8}, telemetry.Peer{Rank: 99}))
			}
		case "1":
			if !slices.Equal(q.ranks, []int{0, 1}) {
				t.Errorf("asked ranks %v of the spawned job", q.ranks)
			}
			answer(t, j, 0, q.number, telemetry.Report{Pending: &telemetry.Pending{
				Operations: []telemetry.Operation{{Peer: -1, From: []int{2, 7}}, {Peer: 8}},
				Messages:   []telemetry.Message{{Source: 1}}, Comms: []telemetry.Comm{{Ranks: []int{7, 8}, Remote: []int{0, 1000}}},
			}})
			answer(t, j, 1, q.number, counters(5))
		}
	}
	reports := <-result
	if len(reports) != 5 || slices.Contains(reports, nil) {
		t.Fatalf("reports %v", reports)
	}
	p := reports[3].Pending
	if !slices.Equal(p.Operations[0].From, []int{2, 3}) || p.Operations[0].Peer != -1 || p.Operations[1].Peer != 4 || p.Messages[0].Source != 1 ||
		!slices.Equal(p.Comms[0].Ranks, []int{3, 4}) || !slices.Equal(p.Comms[0].Remote, []int{0, Beyond}) {
		t.Errorf("%+v", p)
	}
	ranks := s.v.Ranks()
	if r := ranks[4]; r.Rank != 1 || r.Job != "1" || r.Number != 8 || r.Host != "c" || r.Pulse.FramesIn != 5 {
		t.Errorf("%+v", r)
	}
	if r := ranks[0]; len(r.Traffic) != 1 || r.Traffic[4].Rank != 4 {
		t.Errorf("%+v", r.Traffic)
	}
}

// Jobs that are over are shown for a while. Their places become those of others, and nothing that
// was said of them is said of these: a job that spawns for ever does not grow.
func TestPlacesComeAgain(t *testing.T) {
	s := newStand(t)
	const rounds = 3 * keptRanks
	for n := range rounds {
		j := s.spawn("1", 2, 3+2*n)
		if n == 0 {
			sites := []telemetry.Site{{Op: "Recv", Peer: 3}, {Op: "Send", Peer: 1}}
			answer(t, s.v.Job, 0, 0, telemetry.Report{Counters: &telemetry.Counters{Peers: []telemetry.Peer{{Rank: 3}, {Rank: 1}}, Sites: sites}})
			if r := s.v.Ranks()[0]; len(r.Traffic) != 2 || r.Counters.Sites[0].Peer != 3 {
				t.Fatalf("%+v", r)
			}
		}
		for r := range 2 {
			j.Changed(r, launch.State{Phase: launch.Over})
		}
		j.End()
	}
	ranks := s.v.Ranks()
	if n := len(ranks); n > 3+keptRanks+2 {
		t.Errorf("%d places after %d jobs", n, rounds)
	}
	if spawned, total := s.v.Totals(); spawned != rounds || total != 3+2*rounds {
		t.Errorf("%d jobs with %d ranks in all", spawned, total)
	}
	if r := ranks[0]; len(r.Traffic) != 1 || r.Counters.Sites[0].Peer != -1 || r.Counters.Sites[1].Peer != 1 {
		t.Errorf("of ranks that are gone is said %+v, %+v", r.Traffic, r.Counters.Sites)
	}
	shown := make(map[int]bool)
	for _, r := range ranks {
		if !r.Vacant && shown[r.Number] {
			t.Errorf("rank %d is there twice", r.Number)
		}
		shown[r.Number] = true
	}
	if last := 3 + 2*rounds - 1; !shown[last] || !shown[0] || shown[3] {
		t.Errorf("the last is shown: %v, the first that was spawned: %v", shown[last], shown[3])
	}
}
