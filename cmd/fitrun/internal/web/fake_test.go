//go:build linux

package web

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// fake is a job that does what a test says.
type fake struct {
	mu         sync.Mutex
	ranks      []view.Rank // guarded by mu, as all below
	start, end time.Time
	events     []view.Event
	stuck      string
	asked      int
	onAsk      func(f *fake) // called with mu held: what the ranks answer
}

func (f *fake) Ranks() []view.Rank {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ranks)
}

func (f *fake) Times() (start, end time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start, f.end
}

func (f *fake) Events(first int) []view.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events[min(first, len(f.events)):])
}

func (f *fake) Stuck() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stuck
}

func (f *fake) Ask(_ context.Context, question string) []*telemetry.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	if question != telemetry.AskCounters {
		panic("asked for " + question)
	}
	f.asked++
	if f.onAsk != nil {
		f.onAsk(f)
	}
	return nil
}

// change runs do with the job to itself.
func (f *fake) change(do func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f)
}

func (f *fake) note(rank int, text string) {
	f.events = append(f.events, view.Event{Number: len(f.events), At: time.Now(), Rank: rank, World: rank, Text: text})
}

// newFake is a job of n ranks that have all joined, on hosts of so many ranks, for a minute.
func newFake(n, perHost int) *fake {
	f := &fake{start: time.Now().Add(-time.Minute)}
	for r := range n {
		f.ranks = append(f.ranks, view.Rank{
			Rank: r, Host: fmt.Sprintf("node%02d", r/perHost+1), Program: "/home/user/bin/heat2d", Cores: 2, Bound: []int{2 * (r % perHost), 2*(r%perHost) + 1},
			State: launch.State{Phase: launch.Joined, PID: 4000 + r}, Since: f.start.Add(time.Second),
		})
	}
	return f
}

// answer has rank r say that it has these peers and waits or not.
func (f *fake) answer(r int, at time.Duration, blocked int, s engine.Stats, peers ...telemetry.Peer) {
	now := time.Now()
	k := &f.ranks[r]
	k.Pulse = &telemetry.Pulse{At: int64(at), Blocked: blocked}
	k.Counters = &telemetry.Counters{Stats: s, Elapsed: at, Peers: peers}
	k.Pulsed, k.Counted = now, now
	k.Traffic = make(map[int]telemetry.Peer)
	for _, p := range peers {
		k.Traffic[p.Rank] = p
	}
}

// stencil lets all ranks exchange halos with their neighbours in a grid, of so many columns, for so
// many steps; how much they wait differs.
func (f *fake) stencil(columns, steps int) {
	rows := len(f.ranks) / columns
	for r := range f.ranks {
		var s engine.Stats
		var peers []telemetry.Peer
		x, y := r%columns, r/columns
		for _, d := range [][3]int{{-1, 0, 8192}, {1, 0, 8192}, {0, -1, 65536}, {0, 1, 65536}} {
			px, py := x+d[0], y+d[1]
			if px < 0 || py < 0 || px >= columns || py >= rows {
				continue
			}
			t := engine.Traffic{Messages: uint64(steps), Bytes: uint64(steps * d[2])}
			peers = append(peers, telemetry.Peer{Rank: py*columns + px, Way: uint8(engine.TCP), Sent: t, Received: t})
			w := &s.Ways[engine.TCP]
			w.Sent[1].Messages += t.Messages
			w.Sent[1].Bytes += t.Bytes
			w.Received[0].Messages += t.Messages
			w.Received[0].Bytes += t.Bytes
			if d[2] == 8192 {
				s.Sizes[7] += t.Messages
			} else {
				s.Sizes[8] += t.Messages
			}
		}
		took := time.Duration(steps) * time.Millisecond
		s.Waited = took * time.Duration(10+(r*37)%60) / 100
		s.Flights = engine.FlightStats{Count: uint64(steps), Flight: took / 2, Hidden: took / 2 * time.Duration(20+(r*53)%80) / 100}
		s.Sizes[2] = uint64(steps / 10)
		s.Posted, s.EventQueue, s.Active, s.Unsent = 4-r%3, r%4, 4+r%5, (r%7)*4096
		s.BufferUsed, s.BufferHighWater, s.BufferBudget = (r%16)<<18, 9<<20, 16<<20
		f.answer(r, took, (r*37)%5/4, s, peers...)
	}
}
